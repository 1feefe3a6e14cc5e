"""Evaluate releases: every figure that a raw feed and a release of it allow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.places.geo import LocalProjection
from core.trajectories.journeys import Journeys
from core.utility.paired import Translation
from core.utility.window_measures import MeasureOptions
from stream.replay.evaluation.attacks import AttackOptions, above_1_k
from stream.replay.evaluation.figures import FIGURES
from stream.replay.evaluation.found_risks import FoundRisks
from stream.replay.evaluation.known_visits import KnownVisits
from stream.replay.evaluation.labelled import LabelledFigures
from stream.replay.evaluation.paired_risk import paired_risks
from stream.replay.evaluation.placed import PlacedFigures, paired, paired_figures, plane_of
from stream.replay.evaluation.sources import ComparedData

__all__ = ["EvaluateOptions", "Evaluation", "evaluate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """How releases are compared."""

    k: int = 5
    """Fewest people behind a frequent pattern; risks above 1/k are counted."""

    cell_m: float = 500.0
    """Side of the cells of heat maps, and of places where a feed has only positions, metres."""

    delta_m: float = 500.0
    """Uncertainty of positions as in (k,δ)-anonymity, a diameter, metres: in a range query a person may be half of it
    away; an adversary knows positions up to it."""

    known: int = 2
    """Visits of a person that the attack knows."""

    seed: int = 1
    measures: MeasureOptions = field(default_factory=MeasureOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The figures of one release."""

    name: str
    form: str
    figures: dict[str, float]
    stated: dict[str, float]
    notes: tuple[str, ...]
    """Why figures are missing."""


def evaluate(
    raw: ComparedData,
    releases: Sequence[ComparedData],
    options: EvaluateOptions,
    *,
    window_ms: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Evaluation]:
    """Compare releases with their raw feed. The same arguments give the same figures.

    Args:
        raw: The raw feed.
        releases: The releases; all are in memory, or none is.
        options: How they are compared.
        window_ms: Windows into which both are cut; by default those of a release of Shoal, else none.
        progress: Called with what is being done.

    Raises:
        EvaluationError: A file has no times and windows are asked for, or nothing can be compared.
    """
    raw_risks: dict[tuple[int | None, KnownVisits], FoundRisks] = {}
    return [
        _Comparison(raw, release, window_ms or release.window_ms, options, raw_risks).run(progress)
        for release in releases
    ]


class _Comparison:
    """Compares one release with the raw feed, part by part.

    Args:
        raw: The raw feed.
        release: The release.
        size_ms: Length of the windows of both; None for one window.
        options: How they are compared.
        raw_risks: What attacks on the raw feed found, by windows and knowledge; it is attacked once for all releases.
    """

    def __init__(
        self,
        raw: ComparedData,
        release: ComparedData,
        size_ms: int | None,
        options: EvaluateOptions,
        raw_risks: dict[tuple[int | None, KnownVisits], FoundRisks],
    ) -> None:
        self._raw, self._release, self._size_ms, self._options = raw, release, size_ms, options
        self._known_of_raw, self._raw_risks, self._risks = raw_risks, FoundRisks(), FoundRisks()
        self._counts = Counter[str]()
        self._placed = PlacedFigures(
            cell_m=options.cell_m,
            uncertainty_m=options.delta_m / 2,
            queries=options.measures.queries,
            seed=options.seed,
        )
        self._labelled = LabelledFigures(k=options.k, options=options.measures, seed=options.seed)
        self._moved = Translation()
        self._paired_risks: dict[str, float] = {}

    def run(self, progress: Callable[[str], None]) -> Evaluation:
        """Read all parts and return the figures."""
        release, size_ms = self._release, self._size_ms
        has_whole_windows = release.is_in_memory or size_ms is not None
        has_whole_people = release.is_in_memory or size_ms is None
        have_ids = False
        parts = zip(self._raw.parts(size_ms), release.parts(size_ms), strict=True)
        for number, (before, after) in enumerate(parts, start=1):
            plane = self._plane()
            step = release.name if release.is_in_memory else f"{release.name}, part {number}"
            self._counts.update(before=len(before), after=len(after))
            self._counts.update(visits_before=before.n_visits, visits_after=after.n_visits)
            progress(f"{step}: positions")
            self._placed.add(before, after, plane, has_whole_windows=has_whole_windows)
            if has_whole_windows:
                progress(f"{step}: locations and patterns")
                self._labelled.add(before, after)
                progress(f"{step}: attacks")
                self._attack(number, before, after, plane)
            if has_whole_people:
                self._pair(before, after, plane)
            have_ids = have_ids or (before.people is not None and after.people is not None)
        if have_ids and not has_whole_people:
            progress(f"{release.name}: people")
            for before, after in zip(self._raw.parts_of_people(size_ms), release.parts_of_people(size_ms), strict=True):
                self._pair(before, after, self._plane())
        figures = self._figures()
        return Evaluation(
            name=release.name,
            form=release.form,
            figures={name: figures[name] for name in FIGURES if name in figures and not math.isnan(figures[name])},
            stated=dict(release.stated),
            notes=tuple(self._notes(figures, has_whole_windows=has_whole_windows)),
        )

    def _plane(self) -> LocalProjection | None:
        total = self._raw.position_sum()
        return None if total is None else plane_of(total)

    def _attack(self, number: int, before: Journeys, after: Journeys, plane: LocalProjection | None) -> None:
        options = self._options
        how = AttackOptions(known=options.known, cell_m=options.cell_m, seed=options.seed, k=options.k)
        kind = KnownVisits.SEQUENCE if after.is_ordered else KnownVisits.LOCATION
        self._raw_risks = self._known_of_raw.setdefault((self._size_ms, kind), FoundRisks())
        if self._raw_risks.n_parts < number:  # else known from the release before this one
            self._raw_risks.add(before, kind, how, plane)
        if self._release.is_of_people:
            self._risks.add(after, kind, how, plane)

    def _pair(self, before: Journeys, after: Journeys, plane: LocalProjection | None) -> None:
        moved = paired(before, after, plane)
        if moved is not None:
            self._moved += moved
        if self._release.is_in_memory and self._release.is_of_people:
            known, delta_m, seed = self._options.known, self._options.delta_m, self._options.seed
            self._paired_risks = paired_risks(before, after, known=known, delta_m=delta_m, seed=seed, plane=plane)

    def _figures(self) -> dict[str, float]:
        counts = self._counts
        figures: dict[str, float] = {
            "journeys": counts["after"],
            "journeys_kept_share": counts["after"] / max(counts["before"], 1),
            "visits_kept_share": counts["visits_after"] / max(counts["visits_before"], 1),
        }
        figures |= self._placed.figures | paired_figures(self._moved) | self._labelled.figures
        for name, found in (("raw_", self._raw_risks), ("", self._risks)):
            if len(found.risks):
                figures |= {
                    f"risk_{name}highest": float(found.risks.max()),
                    f"risk_{name}mean": float(found.risks.mean()),
                }
        if len(self._risks.risks):
            figures["risk_above_1_k"] = above_1_k(self._risks.risks, self._options.k)
        return figures | self._paired_risks

    def _notes(self, figures: Mapping[str, float], *, has_whole_windows: bool) -> Iterator[str]:
        """Yield why figures are missing."""
        if "heat_map_divergence" not in figures:
            yield "positions: not in both, or not in the same coordinates"
        if not has_whole_windows:
            yield (
                "range queries, locations, patterns and risks: need everybody in a window at once, and the whole file "
                "is one window: give --window, or leave --piecewise out"
            )
        elif "tkd" not in figures:
            yield "locations: no names in common; give --kind and the settings of the feed, or --items"
        if not self._release.is_of_people:
            yield "risk of the release: its journeys are not people: shoal replay attacks such releases"
        for whose, found in (("raw feed", self._raw_risks), ("release", self._risks)):
            if found.fault:
                yield f"risk of the {whose}: {found.fault}"
        if not self._release.is_in_memory:
            yield "risk paired: needs everybody in the file at once: leave --piecewise out"
