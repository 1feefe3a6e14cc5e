"""Oracle of :mod:`core.kernels.fragments.translation`: the same by ``np.interp`` and means."""

from __future__ import annotations

import numpy as np

from core.kernels.oracles.matching import nearest_moment
from core.records.arrays import FloatArray, IntArray

__all__ = ["represent"]


def represent(
    starts: IntArray,
    t_ms: IntArray,
    xy_m: FloatArray,
    path: FloatArray,
    origin_ms: int,
    origin_m: FloatArray,
    tolerance: float,
    pivot: int,
    members: IntArray,
    at_ms: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the matched times and positions of the members of one set, shapes ``(s, m)`` and ``(s, m, 2)``, and the
    means of these positions, shape ``(m, 2)``.
    """
    of_pivot = slice(starts[pivot], starts[pivot + 1])
    mean_m = np.column_stack([np.interp(at_ms, t_ms[of_pivot], axis) for axis in xy_m[of_pivot].T])
    matched = np.empty((len(members), len(at_ms), 3))
    for _ in range(2):
        reference = np.column_stack((at_ms - origin_ms, (mean_m - origin_m) * 1000.0)).tolist()
        for row, member in enumerate(members.tolist()):
            for j, (t, x, y) in enumerate(reference):
                matched[row, j] = nearest_moment(path, starts[member], starts[member + 1], t, x, y, tolerance)
        matched_m = matched[:, :, 1:] / 1000.0 + origin_m
        mean_m = matched_m.mean(axis=0)
    return matched[:, :, 0], matched_m, mean_m
