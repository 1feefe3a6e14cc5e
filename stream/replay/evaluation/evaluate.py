"""Evaluate releases: every figure that a raw feed and a release of it allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.release.background import TooManyInstancesError
from core.trajectories.journeys import Journeys
from core.utility.window_measures import MeasureOptions
from stream.replay.evaluation.attacks import AttackOptions, KnownVisits, attack
from stream.replay.evaluation.figures import FIGURES
from stream.replay.evaluation.labelled import compare_labels
from stream.replay.evaluation.paired_risk import paired_risks
from stream.replay.evaluation.placed import compare_positions
from stream.replay.evaluation.sources import DataSource

__all__ = ["EvaluateOptions", "Evaluation", "EvaluationError", "cut_into_windows", "evaluate"]


class EvaluationError(Exception):
    """A comparison is not possible; the message says why and what to do."""


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
    raw: DataSource,
    releases: Sequence[DataSource],
    options: EvaluateOptions,
    *,
    window_ms: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Evaluation]:
    """Compare releases with their raw feed. The same arguments give the same figures.

    Args:
        raw: The raw feed.
        releases: The releases.
        options: How they are compared.
        window_ms: Windows into which both are cut; by default those of a release of Shoal, else none.
        progress: Called with what is being done.

    Raises:
        EvaluationError: A file has no times and windows are asked for, or nothing can be compared.
    """
    return [_evaluate(raw, release, options, window_ms, progress) for release in releases]


def cut_into_windows(source: DataSource, size_ms: int | None) -> Journeys:
    """Return the journeys of a source in windows of a size; None leaves them as they are.

    Raises:
        EvaluationError: The file has no times, so that it cannot be cut.
    """
    if size_ms is None or source.window_ms == size_ms:  # already in these windows, which need not have times
        return source.journeys
    if source.journeys.t_ms is None:
        raise EvaluationError(f"{source.name}: has no times, so that it cannot be cut into windows: leave --window out")
    return source.journeys.in_windows(size_ms)


def _evaluate(
    raw: DataSource,
    release: DataSource,
    options: EvaluateOptions,
    window_ms: int | None,
    progress: Callable[[str], None],
) -> Evaluation:
    size_ms = window_ms or release.window_ms
    before, after = cut_into_windows(raw, size_ms), cut_into_windows(release, size_ms)
    notes = list[str]()
    progress(f"{release.name}: counting")
    figures: dict[str, float] = {
        "journeys": len(after),
        "journeys_kept_share": len(after) / max(len(before), 1),
        "visits_kept_share": after.n_visits / max(before.n_visits, 1),
    }
    progress(f"{release.name}: positions")
    positions = compare_positions(
        before,
        after,
        cell_m=options.cell_m,
        uncertainty_m=options.delta_m / 2,
        queries=options.measures.queries,
        generator=np.random.default_rng([options.seed, 1]),
    )
    if not positions:
        notes.append("positions: not in both, or not in the same coordinates")
    progress(f"{release.name}: locations and patterns")
    labels: dict[str, float] = {}
    if before.label_of is not None and after.label_of is not None:
        generator = np.random.default_rng([options.seed, 2])
        labels = compare_labels(before, after, k=options.k, options=options.measures, generator=generator)
    if not labels:
        notes.append("locations: no names in common; give --kind and the settings of the feed, or --items")
    progress(f"{release.name}: attacks")
    risks = _risks(before, after, options, notes, is_of_people=release.is_of_people)
    if release.is_of_people:
        risks |= paired_risks(before, after, known=options.known, delta_m=options.delta_m, seed=options.seed)
    figures |= positions | labels | risks
    return Evaluation(
        name=release.name,
        form=release.form,
        figures={name: figures[name] for name in FIGURES if name in figures and not math.isnan(figures[name])},
        stated=release.stated,
        notes=tuple(notes),
    )


def _risks(
    before: Journeys, after: Journeys, options: EvaluateOptions, notes: list[str], *, is_of_people: bool
) -> dict[str, float]:
    how = AttackOptions(known=options.known, cell_m=options.cell_m, seed=options.seed, k=options.k)
    kind = KnownVisits.SEQUENCE if after.is_ordered else KnownVisits.LOCATION
    found: dict[str, float] = {}
    if not is_of_people:
        notes.append("risk of the release: its journeys are not people: shoal replay attacks such releases")
    for name, journeys in (("raw_", before), *([("", after)] if is_of_people else [])):
        try:
            result = attack(journeys, kind, how)
        except TooManyInstancesError as fault:
            notes.append(f"risk of the {'raw feed' if name else 'release'}: {fault}")
            continue
        if result is not None:
            found |= {f"risk_{name}highest": result.highest, f"risk_{name}mean": result.mean}
            if not name:
                found["risk_above_1_k"] = result.above
    return found
