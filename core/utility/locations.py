"""Statistics of the generalized locations of a release (Poulis et al. 2014, Figures 6 to 9, 15, 17 and 19)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.records.arrays import FloatArray, IntArray
from core.utility.distance import diameter, location_distance

__all__ = ["LocationStatistics", "location_statistics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationStatistics:
    """Number, size and extent of the generalized locations of a release."""

    original: int
    """Number of locations that are released without generalization."""

    generalized: int
    """Number of generalized locations with at least two members (Definition 5)."""

    mean_size: float
    """Mean number of members of a generalized location; NaN if there is none."""

    mean_distance_share: float
    """Average distance in a generalized location, over the largest distance, in ``0..1``; NaN if there is none."""


def location_statistics(xy_m: FloatArray, group_of: IntArray) -> LocationStatistics:
    """Describe the locations of a release.

    The "percent of distance in generalized locations" is ``avg over l' of avg{d(l_i, l_j) | 1 <= i < j <= v}``
    divided by the distance between the two furthermost locations. The paper says "the average Euclidean distance
    of all locations contained in each generalized location": here this is the average over pairs of different
    members, and each generalized location counts once, however often it is visited. The furthermost locations are
    those of the release, including members; if all of them coincide, the share is 0.

    Args:
        xy_m: Position of each location in the release, also as a member, metres, shape ``(L, 2)``.
        group_of: Generalized location of each of them, shape ``(L,)``.
    """
    _, number, sizes = np.unique(group_of, return_inverse=True, return_counts=True)
    several = sizes > 1
    if not several.any():
        nan = float("nan")
        return LocationStatistics(original=len(sizes), generalized=0, mean_size=nan, mean_distance_share=nan)
    # D_loc includes a member's distance of 0 to itself: only v - 1 of its v distances are between different members.
    with_itself_m = np.bincount(number, location_distance(xy_m, group_of)) / sizes
    between_m = with_itself_m[several] * sizes[several] / (sizes[several] - 1)
    widest_m = diameter(xy_m)
    return LocationStatistics(
        original=int((~several).sum()),
        generalized=int(several.sum()),
        mean_size=float(sizes[several].mean()),
        mean_distance_share=float(between_m.mean()) / widest_m if widest_m > 0 else 0.0,
    )
