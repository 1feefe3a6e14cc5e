"""Oracle of :mod:`core.kernels.fragments.regrouping_steps`: clusters are lists, and everything is measured anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["after_step", "nearest_to_all"]

Passes = Mapping[int, tuple[int, int]]
"""For each cluster the member that leaves it and the one that joins it; -1 for none."""


def nearest_to_all(apart: FloatArray, near: BoolArray, members: Sequence[int]) -> int:
    """Return the member with the least sum of distances of those that are near all members, or -1."""
    fine = [i for i in members if all(near[i, j] for j in members)]
    return min(fine, key=lambda i: (float(sum(apart[i, j] for j in members)), i), default=-1)


def after_step(
    clusters: Sequence[Sequence[int]],
    pivots: Sequence[int],
    step: Passes,
    saved_mm: float,
    *,
    users: IntArray,
    k: IntArray,
    delta_m: FloatArray,
    moments: IntArray,
    scale: float,
    apart: FloatArray,
    near: BoolArray,
) -> tuple[list[list[int]], list[int]] | None:
    """Return the clusters and pivots after a step, or None if it is refused.

    Args:
        clusters: Members of each cluster, ascending.
        pivots: Pivot of each.
        step: The step.
        saved_mm: What it saves.
        users: User of each track.
        k: How many users each demands.
        delta_m: The delta that each demands.
        moments: At how many moments each is under way.
        scale: By what the radius of a disc is divided to be on the scale of distances, 0 if discs do not count.
        apart: Distances of all tracks.
        near: Whether one is within the radius of another.
    """
    after = [list(its) for its in clusters]
    for c, (leaves, joins) in step.items():
        after[c] = sorted({*after[c], joins} - {leaves, -1})

    def disc_mm(members: Sequence[int]) -> float:
        return min(float(delta_m[i]) for i in members) * 500.0 * sum(int(moments[i]) for i in members) / scale

    if any(not after[c] or len({int(users[i]) for i in after[c]}) < max(k[i] for i in after[c]) for c in step):
        return None
    if scale and saved_mm <= sum(disc_mm(clusters[c]) - disc_mm(after[c]) for c in step):
        return None
    new_pivots = list(pivots)
    for c in step:
        if new_pivots[c] not in after[c] or not all(near[new_pivots[c], i] for i in after[c]):
            new_pivots[c] = nearest_to_all(apart, near, after[c])
    return None if -1 in new_pivots else (after, new_pivots)
