"""``shoal attack``: how surely people can be found in a raw feed or in a release of any tool."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from core.release.attacks.background import TooManyInstancesError
from core.trajectories.journeys import Journeys
from stream.cli.console import print_line, stderr
from stream.cli.evaluate import DataFiles, number, with_data_files
from stream.cli.garbage import collect_garbage_rarely
from stream.cli.options import DURATION
from stream.replay.evaluation.attacks import AttackOptions, AttackResult
from stream.replay.evaluation.attacks import attack as attacked
from stream.replay.evaluation.known_visits import MEANINGS, KnownVisits
from stream.replay.evaluation.sources import DataSource, EvaluationError, cut_into_windows
from stream.replay.results.part_files import PartFiles

__all__ = ["attack"]


@dataclass(frozen=True)
class _Found:
    """What one attack found in one file."""

    source: DataSource
    journeys: Journeys
    kind: KnownVisits
    result: AttackResult | None
    fault: str


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--attack",
    "kinds",
    type=click.Choice([kind.value for kind in KnownVisits]),
    multiple=True,
    help="What the adversary knows. May be repeated; by default all of them.",
)
@click.option(
    "--known",
    type=click.IntRange(1, 10),
    default=2,
    show_default=True,
    help="Number of known visits, places, points or companions.",
)
@click.option("--slot", type=DURATION, default="1h", show_default=True, help="Precision of known times.")
@click.option(
    "--cell-m",
    type=click.FloatRange(0),
    default=500.0,
    show_default=True,
    help="Side of the cells that positions stand for, metres; 0 for exact positions.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Precision of known numbers of visits, a share of them.",
)
@click.option("--k", type=click.IntRange(2), default=5, show_default=True, help="Risks above 1/k are counted.")
@click.option("--window", type=DURATION, help="Attack each window alone, such as 7d; needed for linking.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The same seed, same draws.")
@click.option(
    "--people",
    type=click.Path(path_type=Path, dir_okay=False),
    help="CSV file to write: file,attack,person,risk. It names people as the files do.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV with one line for each file and attack.")
@with_data_files
def attack(
    files: tuple[Path, ...],
    kinds: tuple[str, ...],
    known: int,
    slot: int,
    cell_m: float,
    tolerance: float,
    k: int,
    window: int | None,
    seed: int,
    people: Path | None,
    as_json: bool,
    as_csv: bool,
    config: Path | None,
    given: tuple[str, ...],
    **options: Any,
) -> None:
    """Attack the people in FILES, raw feeds or releases of any tool.

    FILES are read as `shoal evaluate` reads them; with --kind all that are not releases of Shoal are feeds with these
    settings. The adversary knows something of a person, and takes everybody in the file who fits. The risk of a person
    is the highest probability of finding the person in this way, over everything of that kind that may be known
    (Pellungrini et al. 2017). Each file is attacked by itself: in a release, the risk is the probability of
    distinguishing a person from all other released people.

    Prints for each attack the highest and the mean risk, and the share of people above 1/k. Do not publish them.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    how = AttackOptions(known=known, slot_ms=slot, cell_m=cell_m, tolerance=tolerance, k=k, seed=seed)
    data = DataFiles(config, given, options)
    collect_garbage_rarely()
    found: list[_Found] = []
    with stderr.status("reading") as status:
        for path in files:
            source = data.read(path, status.update, is_raw=True)
            journeys = cut_into_windows(source, window)
            for kind in [KnownVisits(name) for name in kinds] or list(KnownVisits):
                result, fault = None, "not possible, the file lacks times, order, places, or ids"
                if not source.is_of_people:
                    found.append(_Found(source, journeys, kind, None, "its journeys are not people"))
                    continue
                try:
                    result = attacked(journeys, kind, how, partial(_show, status, source.name))
                except TooManyInstancesError as refusal:
                    fault = str(refusal)
                found.append(_Found(source, journeys, kind, result, fault))
    if people is not None:
        _write_people(found, people)
    rows = [_as_dict(one) for one in found]
    if as_json:
        click.echo(json.dumps({"k": k, "known": known, "attacks": rows}))
    elif as_csv:
        writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        for source in {id(one.source): one.source for one in found}.values():
            _print(source, [row for row, one in zip(rows, found, strict=True) if one.source is source], k)
    if all(one.result is None for one in found):
        raise EvaluationError(f"no attack was possible: {found[0].fault}")


def _show(status: Status, name: str, step: str) -> None:
    status.update(f"{name}: {step}")


def _as_dict(one: _Found) -> dict[str, object]:
    result = one.result
    return {
        "file": one.source.name,
        "attack": one.kind.value,
        "known": MEANINGS[one.kind],
        "people": None if result is None else len(result.risks),
        "highest": None if result is None else round(result.highest, 6),
        "mean": None if result is None else round(result.mean, 6),
        "above_1_k": None if result is None else round(result.above, 6),
        "unique": None if result is None or result.unique is None else round(result.unique, 6),
        "chance": None if result is None or result.chance is None else round(result.chance, 6),
        "note": one.fault if result is None else "",
    }


def _print(source: DataSource, rows: list[dict[str, Any]], k: int) -> None:
    """Print a table of the attacks on one file, what each knows, and which were not possible."""
    table = Table(
        title=f"risks of {escape(source.name)}, not for publication; lower is better",
        title_justify="left",
        box=box.SIMPLE,
    )
    table.add_column("attack", no_wrap=True)
    for name in ("people", "highest", "mean", f"above 1/{k}"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("the adversary knows")
    possible = [row for row in rows if not row["note"]]
    for row in possible:
        known = row["known"]
        if row["unique"] is not None:
            known += f"; {row['unique']:.1%} of draws are unique"
        if row["chance"] is not None:
            known += f"; by chance {row['chance']:.3g}"
        values = [number(row[name]) for name in ("people", "highest", "mean", "above_1_k")]
        table.add_row(row["attack"], *values, known)
    if possible:
        Console().print(table)
    for note in dict.fromkeys(row["note"] for row in rows if row["note"]):
        print_line(f"{source.name}: {', '.join(row['attack'] for row in rows if row['note'] == note)}: {note}")


def _write_people(found: list[_Found], path: Path) -> None:
    """Write the risk of each person; people without an id outside one window have their number in the file."""
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file", "attack", "person", "risk"])
    for one in found:
        if one.result is None:
            continue
        ids = one.journeys.people
        for user, risk in zip(one.result.users.tolist(), one.result.risks.tolist(), strict=True):
            name = str(user) if ids is None else ids[user]
            table.writerow([one.source.name, one.kind, name, f"{risk:.6g}"])
    with PartFiles(path.parent) as parts:
        parts.open(path.name).write(text.getvalue().encode())
        parts.complete()
    print_line(f"{path} names people: keep it as you keep the raw feed")
