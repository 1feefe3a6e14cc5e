"""Distances of locations from their generalized locations, metres (Poulis et al. 2014, Definitions 6 and 8).

The distances cover the visits that are released. A suppressed visit has no distance: it is left out here, and must be
counted separately (``~kept``), so that neither figure hides the other.

Each function takes ``group_of``, the generalized location of each location, shape ``(L,)``. With ``dissimilarity``,
the semantic dissimilarity SD of each location's generalized location, in ``(0, 1]``, shape ``(L,)``, it returns the
combined distance of Definition 8 instead of the distance of Definition 6.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from core.kernels.checkins.location_distance import mean_distances
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.trajectories.trajectory import Sequences

__all__ = [
    "dataset_distance",
    "diameter",
    "expected_distance",
    "location_distance",
    "mean_over_visits",
    "normalized_distance",
    "pairwise_distances",
    "trajectory_distance",
]

Array = TypeVar("Array", IntArray, FloatArray)

# Bounds the memory of one block of pairwise distances.
_PAIRS_AT_ONCE = 1_000_000


def location_distance(xy_m: FloatArray, group_of: IntArray, *, dissimilarity: FloatArray | None = None) -> FloatArray:
    """Mean distance of each location to the members of its generalized location.

    ``D_loc(l, {l_1, .., l_v}) = avg{d(l, l_i) | 1 <= i <= v}``, d the Euclidean distance, ``l`` itself one of
    the members; 0 for a location that is not merged. ``C_loc(l, l') = avg{d(l, l_i) * SD(l') | 1 <= i <= v}``.

    Args:
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        group_of: See the module.
        dissimilarity: See the module.

    Returns:
        Metres, shape ``(L,)``.

    Raises:
        ValueError: A dissimilarity is outside ``(0, 1]``.
    """
    order = np.argsort(group_of, kind="stable")
    distance_m = mean_distances(np.ascontiguousarray(xy_m, np.float64), np.ascontiguousarray(group_of), order)
    if dissimilarity is None:
        return distance_m
    if not ((dissimilarity > 0) & (dissimilarity <= 1)).all():
        raise ValueError("a semantic dissimilarity is outside (0, 1]: it is a share of the taxonomy's leaves")
    return distance_m * dissimilarity


def trajectory_distance(
    trajectories: Sequences,
    xy_m: FloatArray,
    group_of: IntArray,
    kept: BoolArray,
    *,
    dissimilarity: FloatArray | None = None,
) -> FloatArray:
    """Mean location distance over the released visits of each trajectory.

    ``D_traj(t, t') = avg{D_loc(l_i, l'_i) | 1 <= i <= n}`` over the ``n`` visits that are kept; ``C_traj`` is
    the same mean of ``C_loc``.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        group_of: See the module.
        kept: False for each suppressed visit, shape ``(p,)``.
        dissimilarity: See the module.

    Returns:
        Metres, shape ``(n,)``; NaN for a trajectory without released visits.
    """
    return mean_over_visits(trajectories, location_distance(xy_m, group_of, dissimilarity=dissimilarity), kept)


def mean_over_visits(trajectories: Sequences, value_of: FloatArray, kept: BoolArray) -> FloatArray:
    """Mean, over the released visits of each trajectory, of a value that each location has.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        value_of: Value of each location, shape ``(L,)``.
        kept: False for each suppressed visit, shape ``(p,)``.

    Returns:
        Means, shape ``(n,)``; NaN for a trajectory without released visits.
    """
    n = len(trajectories.users)
    trajectory_of = np.repeat(np.arange(n), np.diff(trajectories.starts))[kept]
    sums = np.bincount(trajectory_of, value_of[trajectories.locations[kept]], minlength=n)
    counts = np.bincount(trajectory_of, minlength=n)
    means = np.full(n, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def dataset_distance(
    trajectories: Sequences,
    xy_m: FloatArray,
    group_of: IntArray,
    kept: BoolArray,
    *,
    dissimilarity: FloatArray | None = None,
) -> float:
    """Mean trajectory distance over the trajectories that are released.

    ``D(T, T') = avg{D_traj(t_i, t'_i) | 1 <= i <= u}`` over the ``u`` trajectories with a released visit;
    ``C(T, T')`` is the same mean of ``C_traj``. Arguments as for :func:`trajectory_distance`.

    Returns:
        Metres; NaN when nothing is released.
    """
    mean_m = trajectory_distance(trajectories, xy_m, group_of, kept, dissimilarity=dissimilarity)
    released = ~np.isnan(mean_m)
    return float(mean_m[released].mean()) if released.any() else float("nan")


def expected_distance(trajectories: Sequences, xy_m: FloatArray, group_of: IntArray, kept: BoolArray) -> float:
    """Dataset distance as expected with knowledge of the release alone.

    A generalized location stands for exactly one of its members (Definition 5). If each of the ``v`` is equally
    likely at every visit, ``E[D_loc] = avg{d(l_i, l_j) | 1 <= i, j <= v}``, and the means of Definition 6 over visits
    and trajectories follow. Unlike :func:`dataset_distance` it does not depend on which member was visited, so it
    may be published with the release. Arguments as for :func:`trajectory_distance`.

    Returns:
        Metres; NaN when nothing is released.
    """
    distance_m = location_distance(xy_m, group_of)
    n_members = np.bincount(group_of)
    expected_m = (np.bincount(group_of, distance_m) / np.maximum(n_members, 1))[group_of]
    mean_m = mean_over_visits(trajectories, expected_m, kept)
    released = ~np.isnan(mean_m)
    # Sorted, so that not even a rounding error reveals the order of people.
    return float(np.sort(mean_m[released]).mean()) if released.any() else float("nan")


def diameter(xy_m: FloatArray) -> float:
    """Return the largest distance between two locations, metres; 0 for fewer than two.

    Args:
        xy_m: Positions, metres, shape ``(L, 2)``.
    """
    if len(xy_m) < 2:
        return 0.0
    from_centre_m = pairwise_distances(xy_m, xy_m.mean(axis=0)[None])[:, 0]
    at_least_m = float(pairwise_distances(xy_m[[np.argmax(from_centre_m)]], xy_m).max())
    # By the triangle inequality the two ends are at least this far from the centre; nearer locations need no
    # comparison. One part in a million allows for rounding.
    candidates = xy_m[from_centre_m >= at_least_m * (1 - 1e-6) - from_centre_m.max()]
    return max(float(pairwise_distances(rows, candidates).max()) for rows in _blocks(candidates, len(candidates)))


def normalized_distance(distance_m: float, xy_m: FloatArray) -> float:
    """Divide a distance of Definition 6 by the diameter of the vocabulary.

    The paper divides by "the maximum distance between locations in T". Here this is the maximum over all
    locations of the window's vocabulary, including suppressed ones, before generalization: it is a property of the
    window, not of the release. If all locations coincide, the distance is 0, and so is the result.

    Args:
        distance_m: D_loc, D_traj or D, metres.
        xy_m: Position of each location of the vocabulary, metres, shape ``(L, 2)``.

    Returns:
        A share in ``0..1``.
    """
    widest_m = diameter(xy_m)
    return distance_m / widest_m if widest_m > 0 else distance_m


def pairwise_distances(from_m: FloatArray, to_m: FloatArray) -> FloatArray:
    """Return Euclidean distances, metres, shape ``(a, b)``, between positions ``(a, 2)`` and ``(b, 2)``."""
    dx_m = from_m[:, None, 0] - to_m[None, :, 0]
    dy_m = from_m[:, None, 1] - to_m[None, :, 1]
    distance_m: FloatArray = np.sqrt(dx_m * dx_m + dy_m * dy_m)
    return distance_m


def _blocks(rows: Array, width: int) -> list[Array]:
    """Split rows into blocks, to bound the memory of each block's distances to ``width`` others."""
    step = max(1, _PAIRS_AT_ONCE // width)
    return [rows[first : first + step] for first in range(0, len(rows), step)]
