"""The table of a frontier: one row for each combination, as CSV and for the terminal.

Like the measures of a replay, it is computed from raw records: show it only to people who may see these, and do not
publish it. It contains only sums and means over windows, no position and no id.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from core.models.frontier import undominated
from stream.replay.frontier import Combination

__all__ = ["NOTICE", "FrontierRow", "as_csv", "frontier_rows"]

NOTICE = "computed from raw records; not for publication"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierRow:
    """One row; its fields are the columns, and None is an empty cell.

    The figures are empty if nothing was released, or measuring failed.
    """

    model: str
    """The model, or the name of a variant of one."""

    promise: str
    """The name of its promise (PRIVACY.md). Only rows of the same promise protect people alike."""

    k: int
    m: int | None
    """Check-ins only: number of locations that an adversary knows. The promise of ``p2ka`` does not depend on it."""

    delta_m: float | None
    """Fragments only: delta, metres."""

    windows: int
    windows_released: int
    windows_failed: int
    """Windows withheld because the verifier refused them or the anonymizer failed. All other withheld windows have too
    few people, or people with too little in common."""

    points: int
    """Visits (check-ins) or points (fragments) of accepted records, without duplicates and late ones."""

    points_released: int
    points_suppressed: int
    """Points left out of released windows."""

    points_withheld: int
    """Points of windows that are not released."""

    unreleased_percent: float | None
    """Suppressed and withheld points, as a share of all points."""

    people_lost_percent: float | None
    """Share of people of whom nothing is released. A person in several windows counts once in each."""

    distance_m: float | None
    """Metres; mean over windows, weighted by points released. Check-ins: D (Poulis et al. 2014, Definition 6), 0 if
    locations are released unchanged. Fragments: mean distance between a released point and its original point."""

    time_s: float | None
    """Fragments only: mean time between a released point and its original point, seconds."""

    highest_linkage: float | None
    """Largest figure that the attack on a release and the one before it found
    (:attr:`core.release.linkage.LinkageRisk.highest`). Empty without two releases of a shard."""

    mean_linkage: float | None
    """Mean probability that this attack names a set, or trajectory, that has a person of the one before."""

    frontier: bool
    """Whether the row is on the frontier: no other row of the same k and m (or delta) is lower in ``distance_m`` or
    ``unreleased_percent`` and at most as high in the other."""

    frontier_of_promise: bool
    """The same, among rows of the same promise."""

    status: str
    """``complete``; ``partial``: the run ended before the end of the file; or ``failed``: measuring failed."""

    notice: str = NOTICE

    @property
    def losses(self) -> tuple[float, float] | None:
        """The two figures that are compared: points not released, and distance; None if one is missing."""
        if self.distance_m is None or self.unreleased_percent is None:
            return None
        return self.unreleased_percent, self.distance_m

    @property
    def panel(self) -> tuple[int, float | None]:
        """k, and m or delta: rows with the same values are compared."""
        return self.k, self.delta_m if self.m is None else self.m


def frontier_rows(combinations: Sequence[Combination], *, ended_early: bool) -> list[FrontierRow]:
    """Make the rows of combinations, in their order.

    Args:
        combinations: The combinations that were run.
        ended_early: Whether the run ended before the end of the file.
    """
    values = [_values(one) for one in combinations]
    panels = [tuple(one.values.values()) for one in combinations]
    losses = [(figures.unreleased_percent, figures.distance_m) for figures in values]
    frontier = _on_frontier(panels, losses)
    of_promise = _on_frontier([(*panel, one.promise) for panel, one in zip(panels, combinations, strict=True)], losses)
    return [
        FrontierRow(
            model=one.variant,
            promise=one.promise,
            k=int(one.values["k"]),
            m=int(one.values["m"]) if "m" in one.values else None,
            delta_m=one.values.get("delta_m"),
            windows=one.tally.windows,
            windows_released=one.tally.windows_released,
            windows_failed=one.tally.windows_failed,
            points=one.tally.points,
            points_released=one.tally.points_released,
            points_suppressed=one.tally.points_suppressed,
            points_withheld=one.tally.points_withheld,
            frontier=on,
            frontier_of_promise=on_of_promise,
            status="failed" if one.fault is not None else "partial" if ended_early else "complete",
            unreleased_percent=figures.unreleased_percent,
            people_lost_percent=figures.people_lost_percent,
            distance_m=figures.distance_m,
            time_s=figures.time_s,
            highest_linkage=figures.highest_linkage,
            mean_linkage=figures.mean_linkage,
        )
        for one, figures, on, on_of_promise in zip(combinations, values, frontier, of_promise, strict=True)
    ]


def as_csv(rows: Sequence[FrontierRow]) -> bytes:
    """Write rows as CSV (RFC 4180), UTF-8, with a header; true is ``yes``, false is ``no``."""
    out = io.StringIO()
    writer = csv.writer(out)
    names = [field.name for field in fields(FrontierRow)]
    writer.writerow(names)
    writer.writerows([_cell(getattr(row, name)) for name in names] for row in rows)
    return out.getvalue().encode()


class _Values(NamedTuple):
    unreleased_percent: float | None
    people_lost_percent: float | None
    distance_m: float | None
    time_s: float | None
    highest_linkage: float | None
    mean_linkage: float | None


def _values(one: Combination) -> _Values:
    """Return the figures of a combination, rounded as written: rows are compared by the figures that readers see."""
    if one.fault is not None:
        return _Values(None, None, None, None, None, None)
    tally = one.tally
    return _Values(
        unreleased_percent=_rounded(tally.unreleased_percent, 3),
        people_lost_percent=_rounded(tally.people_lost_percent, 3),
        distance_m=_rounded(tally.distance_m, 1),
        time_s=_rounded(tally.time_s, 1) if "delta_m" in one.values else None,
        highest_linkage=_rounded(tally.highest_linkage, 4),
        mean_linkage=_rounded(tally.mean_linkage, 4),
    )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits) + 0.0  # never -0.0


def _on_frontier(
    panels: Sequence[tuple[object, ...]], losses: Sequence[tuple[float | None, float | None]]
) -> list[bool]:
    """Return for every row whether it is on the frontier of its panel."""
    on = [False] * len(panels)
    for panel in set(panels):
        points = [(i, (x, y)) for i, (x, y) in _known(losses) if panels[i] == panel]
        for (i, _), is_on in zip(points, undominated([point for _, point in points]), strict=True):
            on[i] = is_on
    return on


def _known(losses: Sequence[tuple[float | None, float | None]]) -> Iterator[tuple[int, tuple[float, float]]]:
    """Yield the losses that are known, with the numbers of their rows."""
    for i, (x, y) in enumerate(losses):
        if x is not None and y is not None:
            yield i, (x, y)


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value
