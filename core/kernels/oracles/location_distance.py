"""Slow oracle of :mod:`core.kernels.checkins.location_distance`."""

from __future__ import annotations

import numpy as np

from core.records.arrays import FloatArray, IntArray

__all__ = ["mean_distances"]


def mean_distances(xy_m: FloatArray, group_of: IntArray, order: IntArray) -> FloatArray:
    """The mean of the distances to all members of the group."""
    mean_m = np.zeros(len(xy_m))
    for location in range(len(xy_m)):
        members = order[group_of[order] == group_of[location]]
        dx, dy = (xy_m[location] - xy_m[members]).T
        mean_m[location] = np.sqrt(dx * dx + dy * dy).mean() if len(members) > 1 else 0.0
    return mean_m
