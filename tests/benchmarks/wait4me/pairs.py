"""Which raw point each released point of the authors' program was made of, read from the release itself.

``python -m tests.benchmarks.wait4me.pairs DATA_DIR`` prints the mean translations beside those of the log.

The program moves a raw point towards the pivot's point of the same time, until it is half of delta away. So a released
point is on the line from the pivot's point to its raw point. A raw point may be released at several times: a trajectory
that is shorter than the pivot stays at its last point. The log adds up all released points, created ones included,
and divides by the raw points of released trajectories.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.records.arrays import FloatArray, IntArray
from core.trajectories.journeys import Journeys
from stream.replay.evaluation.sources import read_source

__all__ = ["MadeOf", "made_of"]

_HALF_DELTA_M = 250.0
_EXACT_M = 0.02
"""A position is written with three digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeOf:
    """Sums over the released points of a release."""

    points: int
    """Raw points of released trajectories."""

    metres: float
    """Sum of the distances from raw to released points, metres."""

    seconds: float
    """Sum of the times between them, seconds."""

    moved: int
    """Released points that are elsewhere than their raw point."""

    repeated: int
    """Released points whose raw point is also that of the point before: Shoal calls such points created."""

    metres_of_repeated: float
    """Their part of ``metres``."""

    unexplained: int
    """Released points that are on the line to no raw point."""


def made_of(raw: Journeys, released: Journeys) -> MadeOf:
    """Pair every released point with its raw one; among those that fit, in order, with the nearest in time.

    Args:
        raw: The trucks of Athens, one journey for each, at every 30 s.
        released: The release of the authors' program: a pivot is released as it was.
    """
    row_of = {name: row for row, name in enumerate(raw.people or ())}
    pairs = [
        (_trajectory(raw, row_of[name]), _trajectory(released, row)) for row, name in enumerate(released.people or ())
    ]
    pivots = [after for before, after in pairs if len(before) == len(after) and np.allclose(before, after)]
    metres = seconds = metres_of_repeated = 0.0
    moved = repeated = unexplained = 0
    for before, after in pairs:
        pivot = _pivot_of(after, pivots)
        towards_m = before[None, :, 1:] - pivot[:, None, 1:]  # (m, n, 2)
        apart_m = np.maximum(np.sqrt((towards_m**2).sum(axis=2)), 1e-9)
        expected = pivot[:, None, 1:] + towards_m * np.minimum(1, _HALF_DELTA_M / apart_m)[:, :, None]
        fits = np.sqrt(((expected - after[:, None, 1:]) ** 2).sum(axis=2)) < _EXACT_M
        apart_s = np.abs(after[:, None, 0] - before[None, :, 0])
        found = _in_order(np.where(fits, apart_s, 1e9))
        at = np.arange(len(after))
        distances_m = np.sqrt(((before[found, 1:] - after[at, 1:]) ** 2).sum(axis=1))
        metres, seconds = metres + float(distances_m.sum()), seconds + float(apart_s[at, found].sum())
        is_repeated = np.append(False, found[1:] == found[:-1])
        repeated += int(is_repeated.sum())
        metres_of_repeated += float(distances_m[is_repeated].sum())
        moved += int((distances_m > _EXACT_M / 2).sum())
        unexplained += int((~fits[at, found]).sum())
    points = sum(len(before) for before, _ in pairs)
    return MadeOf(
        points=points,
        metres=metres,
        seconds=seconds,
        moved=moved,
        repeated=repeated,
        metres_of_repeated=metres_of_repeated,
        unexplained=unexplained,
    )


def _trajectory(journeys: Journeys, row: int) -> FloatArray:
    """Return seconds, x and y of the points of a journey, shape ``(n, 3)``."""
    assert journeys.t_ms is not None
    assert journeys.xy is not None
    at = slice(int(journeys.starts[row]), int(journeys.starts[row + 1]))
    return np.column_stack([journeys.t_ms[at] / 1000, journeys.xy[at]])


def _pivot_of(member: FloatArray, pivots: list[FloatArray]) -> FloatArray:
    """Return the pivot that is nearest to a member at all times."""
    as_long = [pivot for pivot in pivots if len(pivot) == len(member)]
    return min(as_long, key=lambda pivot: float(((pivot[:, 1:] - member[:, 1:]) ** 2).sum(axis=1).max()))


def _in_order(costs: FloatArray) -> IntArray:
    """Choose a column for each row, ascending with repetitions, with the least sum, shape ``(m,)``."""
    best, came_from = costs[0], []
    for row in costs[1:]:
        least = np.minimum.accumulate(best)
        came_from.append(np.maximum.accumulate(np.where(best == least, np.arange(len(best)), 0)))
        best = least + row
    chosen = [int(best.argmin())]
    for columns in reversed(came_from):
        chosen.append(int(columns[chosen[-1]]))
    return np.array(chosen[::-1], np.int64)


if __name__ == "__main__":
    _DATA = Path(sys.argv[1])
    _RAW = read_source(_DATA / "athens_trucks_w4m.tsv.gz").journeys
    _FOUND = made_of(_RAW, read_source(_DATA / "w4m_reference_trucks_k5.out.gz").journeys)
    sys.stdout.write(
        f"{_FOUND.metres / _FOUND.points:,.2f} m and {_FOUND.seconds / _FOUND.points:,.1f} s a raw point, "
        f"{_FOUND.moved:,} points moved, {_FOUND.unexplained:,} on no line; the log has 4,591.85 m, 405.0 s, 88,963\n"
        f"without the {_FOUND.repeated:,} points that repeat a raw one: "
        f"{(_FOUND.metres - _FOUND.metres_of_repeated) / _FOUND.points:,.0f} m a raw point\n"
    )
