"""Print the table of the models of check-ins, side by side on three real feeds.

Run it as ``python -m tests.benchmarks.table_models DATA_DIR [FEED ...] [--only MODEL ...] [--k K ...]`` for some rows.

What a feed does not have is drawn from a seed: attributes of people, and which locations are sensitive. Values that are
sensitive under ``lkc`` are categories of venues, where the feed has them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from core.records.record import Kind
from stream.feeds.feed import Feed
from stream.replay.summary import Summary
from stream.settings.load import load_settings
from tests.benchmarks.feed_places import venues_of, write_places
from tests.benchmarks.replays import SECRET, measured_replay
from tests.benchmarks.table_real_feeds import FEEDS as REAL_FEEDS

__all__ = ["FEEDS", "KS", "MODELS", "Inputs", "M", "Model", "main", "table"]

FEEDS = ("gowalla_nyc", "fsq_calgary", "flickr_edin")
"""The feeds, with the windows and vocabularies of the table of k and m."""

KS, M = (3, 5), 2

SENSITIVE_SHARE = 0.1
"""Share of the locations of a feed that are sensitive for the models that know such."""

SENSITIVE_VALUES: dict[str, tuple[str, ...]] = {
    "fsq_calgary": ("Residence > Home (private)", "Nightlife Spot > Pub", "Professional & Other Places > Office"),
    "flickr_edin": ("Entertainment", "Museum"),
}
"""Categories that are sensitive for ``lkc``; Gowalla has none."""

TAXONOMIES = {"fsq_calgary": ("venue_categories.csv", "Shop & Service")}
"""The file behind the categories of a feed's venues, and the category of those that it lacks."""

PLANS = (
    ("any", ""),
    ("prepaid", "any"),
    ("monthly", "any"),
    ("prepaid small", "prepaid"),
    ("prepaid large", "prepaid"),
    ("monthly single", "monthly"),
    ("monthly family", "monthly"),
)
"""The hierarchy of the attribute ``plan``; people have one of its leaves."""

MOST_S = 600
"""After how many seconds a run is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One row of each feed and k."""

    label: str
    given: dict[str, object]
    figures: tuple[tuple[str, str, str], ...]
    """Of the measures shown: name, label, and how it is written."""

    people: bool = False
    """Whether it needs people with attributes."""

    places: bool = False
    """Whether it needs sensitive locations."""

    values: bool = False
    """Whether it uses categories that are sensitive, where there are some."""

    linked: bool = False
    """Whether its records are linked to the venues of the feed, by position and category; only if these have one."""


_D = (("distance_m", "D", ",.0f"),)
_MEANING = (*_D, ("semantic_penalty", "SD", ".3f"))
_PATTERNS = (("visits_kept_share", "kept", ".2f"), ("sim1", "SIM1", ".2f"), ("sim2", "SIM2", ".2f"))
_PAIRS = (("visits_kept_share", "kept", ".2f"),)
_LOSSES = (("ncp", "NCP", ".2f"), ("ul", "UL", ".2f"))
_LABELS = (*_LOSSES, ("are", "ARE", ".2f"), ("tkd_ml2", "tKd-ML2", ".2f"))
_SETS = (("tkd", "tKd", ".2f"), ("re", "re", ".2f"), ("tkd_ml2", "tKd-ML2", ".2f"))

MODELS = (
    Model(label="seqanon", given={}, figures=_D),
    Model(label="sd-seqanon", given={"privacy.model": "sd-seqanon"}, figures=_D),
    Model(
        label="u-seqanon, level:1", given={"privacy.model": "u-seqanon", "privacy.constraints": "level:1"}, figures=_D
    ),
    Model(label="seqanon, places", given={}, figures=_MEANING, linked=True),
    Model(label="sd-seqanon, places", given={"privacy.model": "sd-seqanon"}, figures=_MEANING, linked=True),
    Model(label="least-loss", given={"privacy.model": "least-loss"}, figures=_D),
    Model(label="auto", given={"privacy.model": "auto"}, figures=_D),
    Model(label="lm-anon, l=2", given={"privacy.model": "lm-anon"}, figures=_D, places=True),
    Model(label="zga, l=2", given={"privacy.model": "zga"}, figures=_D, places=True),
    Model(label="sga, l=2", given={"privacy.model": "sga"}, figures=_D, places=True),
    Model(
        label="lkc, one slot",
        given={"privacy.model": "lkc", "privacy.time_slot": "window", "privacy.horizon": 1},
        figures=_PAIRS,
        values=True,
    ),
    Model(
        label="lkc, slots of a day",
        given={"privacy.model": "lkc", "privacy.time_slot": "1d", "privacy.horizon": 1},
        figures=_PAIRS,
        values=True,
    ),
    Model(label="p2ka", given={"privacy.model": "p2ka"}, figures=_PATTERNS),
    Model(label="rum-bound", given={"privacy.model": "rum-bound", "privacy.horizon": 1}, figures=_LOSSES, people=True),
    Model(label="tum-bound", given={"privacy.model": "tum-bound", "privacy.horizon": 1}, figures=_LOSSES, people=True),
    Model(label="sets-apriori", given={"privacy.model": "sets-apriori"}, figures=_LABELS),
    Model(label="sets-lra", given={"privacy.model": "sets-lra"}, figures=_LABELS),
    Model(label="sets-vpa", given={"privacy.model": "sets-vpa"}, figures=_LABELS),
    Model(label="coat, level:1", given={"privacy.model": "coat", "privacy.constraints": "level:1"}, figures=_LABELS),
    Model(label="pcta, level:1", given={"privacy.model": "pcta", "privacy.constraints": "level:1"}, figures=_LABELS),
    Model(label="disassociation", given={"privacy.model": "disassociation"}, figures=_SETS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """A feed, and what was drawn for it."""

    name: str
    file: Path
    with_people: Path
    """The same records, with attributes of their person."""

    plans: Path
    """The hierarchy of one of these."""

    sensitive: tuple[str, ...]
    """Names of locations."""

    places: dict[str, object] | None
    """Settings of locations that are its venues, with their categories as taxonomy; None if these have none."""

    @classmethod
    def make(cls, name: str, data: Path, folder: Path) -> Inputs:
        """Draw what the feed does not have."""
        file = data / f"{name}.csv.gz"
        with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        plans = folder / "plans.csv"
        with plans.open("w", newline="") as out:
            csv.writer(out).writerows((("category", "parent"), *PLANS))
        with_people = folder / f"{name}.ndjson"
        _write_people(rows, with_people)
        return cls(
            name=name,
            file=file,
            with_people=with_people,
            plans=plans,
            sensitive=_sensitive(name, rows),
            places=_places(name, rows, data, folder),
        )

    def given(self, model: Model, k: int) -> dict[str, object]:
        """Return the settings of a run."""
        given = {**REAL_FEEDS[self.name], **model.given, "privacy.k": k, "privacy.m": M}
        if given.get("privacy.time_slot") == "window":
            given["privacy.time_slot"] = given["window.size"]
        if model.linked:
            given |= self.places or {}
        if model.places:
            given["privacy.sensitive_locations"] = self.sensitive
        if model.values and self.name in SENSITIVE_VALUES:
            given["fields.category"] = "unused"  # the name is that of a field of ours, which nothing needs here
            given["privacy.sensitive_field"] = "category"
            given["privacy.sensitive_values"] = SENSITIVE_VALUES[self.name]
        if model.people:
            given["privacy.attributes"] = {"age": "18..90", "plan": str(self.plans)}
        return given


def _write_people(rows: list[dict[str, str]], file: Path) -> None:
    rng = np.random.default_rng(1)
    leaves = [plan for plan, _ in PLANS if plan not in {parent for _, parent in PLANS}]
    users = sorted({row["user"] for row in rows})
    ages, plans = rng.integers(18, 91, len(users)).tolist(), rng.choice(leaves, len(users)).tolist()
    people = dict(zip(users, zip(ages, plans, strict=True), strict=True))
    with file.open("w", encoding="utf-8") as out:
        for row in rows:
            age, plan = people[row["user"]]
            where = {"lat": float(row["lat"]), "lon": float(row["lon"])}
            record = {"user": row["user"], "ts": float(row["ts"]), **where, "age": age, "plan": plan}
            out.write(json.dumps(record) + "\n")


def _places(name: str, rows: list[dict[str, str]], data: Path, folder: Path) -> dict[str, object] | None:
    """Write the venues of a feed, each at the middle of its records, as a file of places."""
    if not all(row["category"] for row in rows):
        return None
    file = folder / "places.csv"
    write_places(file, venues_of(rows), with_categories=True)
    given: dict[str, object] = {"location.kind": "pois", "location.pois_file": str(file), "fields.venue": "unused"}
    if name not in TAXONOMIES:
        return given | {"privacy.taxonomy": "categories"}
    tree, default = TAXONOMIES[name]
    return given | {"privacy.taxonomy": str(data / tree), "privacy.default_category": default}


def _sensitive(name: str, rows: list[dict[str, str]]) -> tuple[str, ...]:
    """Draw a tenth of the locations that a feed visits, by name."""
    settings = load_settings(given={"privacy.secret": SECRET, **REAL_FEEDS[name]})
    plan = Feed(settings, Kind.CHECKINS, secret=SECRET).plan
    locator = plan.locator
    assert locator is not None  # plans of check-ins have one
    lat, lon = (np.array([float(row[which]) for row in rows]) for which in ("lat", "lon"))
    ids, found = locator.locate(lat, lon, [None] * len(rows))
    names = sorted(locator.describe(np.unique(ids[found]))[0])
    drawn = np.random.default_rng(1).random(len(names)) < SENSITIVE_SHARE
    return tuple(name for name, is_sensitive in zip(names, drawn.tolist(), strict=True) if is_sensitive)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of one run."""

    summary: Summary
    measures: dict[str, float | None]
    cpu_s: float
    """Without measuring."""


def _run(inputs: Inputs, model: Model, k: int, answer: Connection) -> None:
    given, file = inputs.given(model, k), inputs.with_people if model.people else inputs.file
    plain, measures = measured_replay(file, given)
    answer.send(Run(summary=plain.summary, measures=measures, cpu_s=plain.cpu_s))


def run(inputs: Inputs, model: Model, k: int) -> Run | None:
    """Replay a feed in a process of its own; None where it took too long."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(inputs, model, k, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(MOST_S):
            return None
        answer: Run = ours.recv()
        return answer
    finally:
        process.terminate()
        process.join()


def _cells(model: Model, found: Run | None) -> list[str]:
    if found is None:
        return ["stopped", *["-"] * 6]
    summary = found.summary
    n_accepted = summary.records - summary.rejected - summary.duplicates - summary.late
    shares = [
        f"{100 * count / n_accepted:.1f}"
        for count in (summary.points_released, summary.points_suppressed, summary.withheld_records)
    ]
    values = [(label, found.measures.get(name), form) for name, label, form in model.figures]
    own = ", ".join(f"{label} {'-' if value is None else format(value, form)}" for label, value, form in values)
    # Sets are not attacked: what is released of a person is no one trajectory.
    attacked = not model.people and model.figures not in (_LABELS, _SETS)
    risk = f"{summary.highest_risk:.2f}" if attacked else "-"
    return [*shares, str(summary.windows_refused), own, risk, f"{found.cpu_s:.1f}"]


def table(data: Path, feeds: Sequence[str], models: Sequence[Model], ks: Sequence[int]) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield (
        "| feed | k | model | released, % | suppressed, % | withheld, % | windows refused | its measure "
        "| highest risk | CPU, s |"
    )
    yield "| --- | ---: | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |"
    n_done, n_runs = 0, len(feeds) * len(ks) * len(models)
    for name in feeds:
        with tempfile.TemporaryDirectory() as folder:
            inputs = Inputs.make(name, data, Path(folder))
            for k, model in product(ks, models):
                n_done += 1
                if model.linked and inputs.places is None:
                    continue
                sys.stderr.write(f"{n_done} of {n_runs}: {name}, k={k}, {model.label} ...\n")
                yield f"| {' | '.join([name, str(k), model.label, *_cells(model, run(inputs, model, k))])} |"


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("feeds", nargs="*", default=list(FEEDS), metavar="FEED", help=", ".join(FEEDS))
    parser.add_argument("--only", nargs="+", default=[], metavar="MODEL", help="names as in privacy.model")
    parser.add_argument("--k", nargs="+", type=int, default=list(KS))
    args = parser.parse_args()
    if unknown := {*args.feeds} - {*FEEDS}:
        parser.error(f"no such feed: {', '.join(sorted(unknown))}; the feeds are {', '.join(FEEDS)}")
    models = [one for one in MODELS if not args.only or one.given.get("privacy.model", "seqanon") in args.only]
    if not models:
        parser.error("no row of the table is of these models")
    for line in table(args.data, args.feeds, models, args.k):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
