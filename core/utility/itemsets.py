"""How well sets of locations are found in a disassociated release (Terrovitis et al. 2012, Section 6).

A window is given by its people's sets of locations (:func:`core.trajectories.location_sets.location_sets`). The
original is compared with a window reconstructed from the release
(:func:`core.models.disassociation.reconstruct.reconstruct`), which gives the paper's tKd and re, or with the certain
parts of records (:func:`core.models.disassociation.reconstruct.certain_subrecords`), which gives its tKd-a and re-a.
Its tKd-ML2 is in :mod:`core.utility.multilevel`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import combinations, pairwise

import numpy as np

from core.support.index import Subtrajectory
from core.trajectories.trajectory import Sequences
from core.utility.patterns import frequent_patterns

__all__ = ["pair_error", "top_deviation", "top_itemsets"]


def top_itemsets(sets: Sequences, *, n: int, largest: int) -> list[tuple[int, Subtrajectory]]:
    """Return the most frequent sets of locations with their supports, by (support descending, size, ids).

    Args:
        sets: The distinct locations of each person, ascending.
        n: Most sets to return; fewer if fewer occur.
        largest: Most locations of a set. The paper has no such bound.
    """
    if not len(sets.locations):
        return []
    threshold = sets.n_users
    # Halved until enough sets are found, so that less frequent sets are not enumerated.
    while True:
        frequent = frequent_patterns(sets, min_support=threshold, longest=largest)
        if len(frequent) >= n or threshold == 1:
            break
        threshold = max(1, threshold // 2)
    counted: Counter[Subtrajectory] = Counter()
    sizes = sorted({len(found) for found in frequent})
    within = {found[:i] for found in frequent for i in range(1, len(found) + 1)}
    for start, end in pairwise(sets.starts.tolist()):
        held = [t for t in sets.locations[start:end].tolist() if (t,) in within]
        counted.update(found for size in sizes for found in combinations(held, size) if found in frequent)
    ranked = sorted((-support, len(found), found) for found, support in counted.items())
    return [(-support, found) for support, _, found in ranked[:n]]


def top_deviation(original: Sequences, other: Sequences, *, n: int = 1000, largest: int = 3) -> float:
    """Share of the ``n`` most frequent sets of the original that are not among those of another (tKd, Equation 2).

    Returns:
        In 0..1; NaN if the original has no sets.
    """
    before = {found for _, found in top_itemsets(original, n=n, largest=largest)}
    after = {found for _, found in top_itemsets(other, n=n, largest=largest)}
    return 1 - len(before & after) / len(before) if before else float("nan")


def pair_error(original: Sequences, others: Collection[Sequences], *, first: int = 0, end: int = 20) -> float:
    """Mean relative error of the supports of pairs of locations (re, Equation 3).

    ``re = |s_o - s_p| / avg(s_o, s_p)``, in 0..2; s_p is the mean over the other windows. Pairs are those of the
    ``first``-th to ``end - 1``-th most frequent locations of the original, ties by id. The paper takes the 200th to
    220th of thousands. Pairs that occur nowhere are left out: the paper does not define their error.

    Returns:
        The mean over the pairs; NaN if there are none.
    """
    supports = np.bincount(original.locations)
    ranked = np.lexsort((np.arange(len(supports)), -supports))[first:end]
    chosen = set(ranked[supports[ranked] > 0].tolist())
    before, after = _pairs(original, chosen), Counter[tuple[int, int]]()
    for other in others:
        after.update(_pairs(other, chosen))
    errors = []
    for pair in before.keys() | after.keys():
        s_o, s_p = before[pair], after[pair] / len(others)
        errors.append(abs(s_o - s_p) / ((s_o + s_p) / 2))
    return float(np.mean(sorted(errors))) if errors else float("nan")


def _pairs(sets: Sequences, chosen: set[int]) -> Counter[tuple[int, int]]:
    counted: Counter[tuple[int, int]] = Counter()
    for start, end in pairwise(sets.starts.tolist()):
        held = [t for t in sets.locations[start:end].tolist() if t in chosen]
        counted.update(combinations(held, 2))
    return counted
