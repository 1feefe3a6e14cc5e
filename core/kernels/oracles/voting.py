"""Slow and obvious versions of :mod:`core.kernels.fragments.voting`."""

from __future__ import annotations

import numpy as np

from core.records.arrays import FloatArray, IntArray

__all__ = ["nearest_of_users", "squared_distance"]


def squared_distance(moves: FloatArray, to_ms: IntArray, one: int, other: int) -> float:
    """Measure at the beginning of the common time, and go to the nearest time in it."""
    (t_a, *at_a, vx_a, vy_a), (t_b, *at_b, vx_b, vy_b) = moves[one].tolist(), moves[other].tolist()
    start = max(t_a, t_b)
    x = at_a[0] + (start - t_a) * vx_a - at_b[0] - (start - t_b) * vx_b
    y = at_a[1] + (start - t_a) * vy_a - at_b[1] - (start - t_b) * vy_b
    vx, vy = vx_a - vx_b, vy_a - vy_b
    speed = vx * vx + vy * vy
    best_ms = -(x * vx + y * vy) / speed if speed > 1e-30 else 0.0
    after_ms = min(max(best_ms, 0.0), float(min(to_ms[one], to_ms[other])) - start)
    x, y = x + after_ms * vx, y + after_ms * vy
    return float(x * x + y * y)


def nearest_of_users(user: IntArray, moves: FloatArray, to_ms: IntArray, reach_m: float) -> list[list[float]]:
    """Compare all segments with all, without a grid; return the squares within reach of each segment, ascending."""
    near: list[list[float]] = []
    for one in range(len(user)):
        of: dict[int, float] = {}
        for other in range(len(user)):
            if user[one] != user[other] and max(moves[one, 0], moves[other, 0]) < min(to_ms[one], to_ms[other]):
                squared = squared_distance(moves, to_ms, one, other)
                of[int(user[other])] = min(of.get(int(user[other]), np.inf), squared)
        near.append(sorted(squared for squared in of.values() if squared <= reach_m * reach_m))
    return near
