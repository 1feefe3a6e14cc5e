"""LSTD by its definition: each point looks at every segment of the other trajectory."""

from __future__ import annotations

import itertools
import math

import numpy as np

from core.records.arrays import FloatArray, IntArray

__all__ = ["lay_path", "lstd", "nearest_moment"]


def lay_path(
    starts: IntArray, t_ms: IntArray, xy_m: FloatArray, origin_ms: int, origin_m: FloatArray
) -> list[list[float]]:
    """Return the rows of a path (:func:`core.kernels.fragments.matching.lay_path`)."""
    path = []
    for begin, end in itertools.pairwise(starts.tolist()):
        places = np.column_stack((t_ms[begin:end] - origin_ms, (xy_m[begin:end] - origin_m) * 1000)).tolist()
        for row, following in itertools.zip_longest(places, places[1:], fillvalue=places[-1]):
            step = [there - here for here, there in zip(row, following, strict=True)]
            squared = step[1] ** 2 + step[2] ** 2
            path.append([*row, *step, 1 / squared if squared else 0.0])
    return path


def nearest_moment(
    path: FloatArray, begin: int, end: int, t: float, x: float, y: float, tolerance: float
) -> tuple[float, float, float]:
    """Find when, and where, a trajectory was nearest to a point."""
    its = path[begin:end].tolist()
    first, last = its[0][0], its[-1][0]
    if not first <= t <= last or first == last:
        at, own_x, own_y = its[0 if t < first or first == last else -1][:3]
        return at, own_x, own_y
    from_t, to_t = max(t - tolerance, first), min(t + tolerance, last)
    found = []
    for number, (at, own_x, own_y, step_t, step_x, step_y, per_squared) in enumerate(its[:-1], start=1):
        # A point where two segments meet belongs to the later one at from_t, and to the earlier one at to_t.
        if (number < len(its) - 1 and its[number][0] <= from_t) or from_t < to_t <= at or at > to_t:
            continue
        along = ((own_x - x) * step_x + (own_y - y) * step_y) * -per_squared
        share = along if per_squared else (t - at) / step_t  # where it stands still the nearest time counts
        share = min(max(share, (from_t - at) / step_t, 0.0), (to_t - at) / step_t, 1.0)
        off_x, off_y = own_x - x + step_x * share, own_y - y + step_y * share
        then = at + step_t * share
        found.append((float(round(off_x * off_x + off_y * off_y)), abs(then - t), then, off_x + x, off_y + y))
    _, _, at, own_x, own_y = min(found, key=lambda each: each[:2])
    return at, own_x, own_y


def lstd(starts: IntArray, path: FloatArray, one: int, other: int, tolerance: float, speed: float) -> int:
    """Measure LSTD (:func:`core.kernels.fragments.matching.lstd`)."""
    total, n_points = 0.0, 0
    for own, theirs in ((one, other), (other, one)):
        way = 0.0
        for t, x, y in path[starts[own] : starts[own + 1], :3].tolist():
            at, at_x, at_y = nearest_moment(path, starts[theirs], starts[theirs + 1], t, x, y, tolerance)
            way += math.sqrt((at_x - x) ** 2 + (at_y - y) ** 2) + abs(at - t) * speed
            n_points += 1
        total += way
    return round(total / n_points)
