"""Semantic similarity penalty (Poulis et al. 2014, Section 5, Measures)."""

from __future__ import annotations

import numpy as np

from core.records.arrays import BoolArray, FloatArray
from core.trajectories.trajectory import Sequences
from core.utility.distance import mean_over_visits

__all__ = ["semantic_penalty"]


def semantic_penalty(trajectories: Sequences, dissimilarity: FloatArray, kept: BoolArray) -> float:
    """Return the mean semantic dissimilarity of the locations that are released as one.

    ``P(T') = sum over t' in T' of (1 / |t'| * sum over l' in t' of SD(l')) / |T'|``: the mean over trajectories of
    the mean over their visits. The sum is over every released location. A location without generalization is its own
    closest common ancestor and has ``SD = 1 / |H|`` (Definition 7), so the least P is ``1 / |H|``, not 0. Suppressed
    visits, and trajectories with suppressed visits alone, are not in T'.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        dissimilarity: SD of each location's generalized location, in ``(0, 1]``, shape ``(L,)``: see
            :meth:`core.places.taxonomy.LocationTree.dissimilarity`.
        kept: False for each suppressed visit, shape ``(p,)``.

    Returns:
        A value in ``1 / |H| .. 1``; NaN when nothing is released.
    """
    means = mean_over_visits(trajectories, dissimilarity, kept)
    released = ~np.isnan(means)
    # Sorted, as in expected_distance, because the figure is published.
    return float(np.sort(means[released]).mean()) if released.any() else float("nan")
