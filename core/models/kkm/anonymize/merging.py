"""RMERGE and TMERGE: which clusters become one (Poulis et al. 2013, section 4).

The seed is the cluster of least NCP. R merges it with the cluster that costs the least NCP, T with the one whose
locations are most alike, RT with the one whose ranks in these two orders have the smallest sum. The text is followed
where the printed steps of RMERGE_RT contradict it (they would merge ``C_i`` whatever cluster was found).

Ties: the seed by fewer members, then by the clusters' order; its partner by what the merge costs in NCP, fewer members,
then the clusters' order; in RT by the place in the order of NCP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.models.kkm.anonymize.spans import Spans
from core.models.kkm.anonymize.transactions import TransactionDistances
from core.records.arrays import FloatArray, IntArray

__all__ = ["Clusters", "Merge", "next_merge"]

Merge = Literal["r", "t", "rt"]


class Clusters:
    """The current clusters: the members of each, and the NCP of all.

    Args:
        spans: Generalized attributes of ``c`` clusters.
        members: People of each, ascending.
    """

    def __init__(self, spans: Spans, members: list[IntArray]) -> None:
        self.spans, self.members = spans, members
        self.left: IntArray = np.arange(len(members))
        """Numbers of the clusters that are left, ascending."""
        self.sizes = np.array([len(cluster) for cluster in members], dtype=np.int64)
        self._above = 1 + int(self.sizes.sum())  # no cluster has so many members
        self.loss = int(spans.losses @ self.sizes)
        """Sum of NCP over the people, whole billionths."""

    def seed(self) -> int:
        """Return the cluster of least NCP."""
        return int(self.left[np.argmin(self.rank(self.left, self.spans.losses[self.left]))])

    def rank(self, numbers: IntArray, losses: IntArray) -> IntArray:
        """Return whole numbers that order clusters by losses, then by their members."""
        ranks: IntArray = losses * self._above + self.sizes[numbers]
        return ranks

    def loss_with(self, cluster: int, others: IntArray, losses: IntArray) -> IntArray:
        """Return :attr:`loss` after merging a cluster with each of some others, given the merged clusters' losses."""
        sizes, old = self.sizes, self.spans.losses
        apart = old[cluster] * sizes[cluster] + old[others] * sizes[others]
        together: IntArray = self.loss - apart + losses * (sizes[cluster] + sizes[others])
        return together

    def merge(self, one: int, other: int) -> tuple[int, list[int]]:
        """Merge two clusters, and all others that then have the same generalized attributes.

        Without the latter, two groups of one release would have equal attributes but different generalized locations.

        Returns:
            The cluster that is left, the first of them, and those that were merged into it.
        """
        self.spans.replace(one, self.spans.part(np.array([one])).joined(self.spans, other), 0)
        alike = self.spans.is_as(one)
        united = sorted({one, other, *self.left[alike[self.left]].tolist()})
        into, absorbed = united[0], united[1:]
        self.spans.replace(into, self.spans, one)
        self.members[into] = np.sort(np.concatenate([self.members[number] for number in united]))
        self.sizes[into] = len(self.members[into])
        self.left = np.delete(self.left, np.searchsorted(self.left, absorbed))
        self.loss = int(self.spans.losses[self.left] @ self.sizes[self.left])
        return into, absorbed


def next_merge(
    clusters: Clusters,
    merge: Merge,
    distances: TransactionDistances,
    *,
    limit: int | None,
    measure: Callable[[int, int], float] | None,
    n_measured: int,
) -> tuple[int, int] | None:
    """Choose which two clusters to merge.

    Args:
        clusters: The current clusters.
        merge: What similarity is judged by.
        distances: Distances between their sets of locations.
        limit: Largest sum of NCP after the merge, whole billionths; None for no limit. As printed, R considers only the
            cluster with the least NCP for the two, although another one may have a smaller sum over all.
        measure: Returns UL of two clusters as one; None to use BTD alone.
        n_measured: For how many clusters UL is measured, the best ones by BTD.

    Returns:
        The seed and its partner, or None where there is none.
    """
    if len(clusters.left) < 2:
        return None
    seed = clusters.seed()
    others = clusters.left[clusters.left != seed]
    losses = clusters.spans.part(others).joined(clusters.spans, seed).losses
    ranks = clusters.rank(others, losses)
    # R needs the first one only. Clusters are in the order of their numbers, which breaks ties.
    by_loss = np.array([np.argmin(ranks)]) if merge == "r" else np.argsort(ranks, kind="stable")
    others, losses = others[by_loss], losses[by_loss]
    allowed = np.ones(len(others), dtype=np.bool_)
    if limit is not None:
        allowed = clusters.loss_with(seed, others, losses) <= limit
    if merge == "r":
        return (seed, int(others[0])) if allowed[0] else None
    order = _order(distances.together(seed, others), merge)
    order = order[allowed[order]]
    if measure is not None and len(order):
        some = np.sort(order[:n_measured])
        order = some[_order(np.array([measure(seed, int(others[at])) for at in some]), merge)]
    return (seed, int(others[order[0]])) if len(order) else None


def _order(unlike: FloatArray, merge: Merge) -> npt.NDArray[np.intp]:
    """Order clusters given in the order of NCP: by the distance of locations, or by both orders, shape ``(o,)``."""
    by_items = np.argsort(unlike, kind="stable")
    if merge == "t":
        return by_items
    place = np.empty(len(by_items), dtype=np.int64)
    place[by_items] = np.arange(len(by_items))
    return np.argsort(np.arange(len(by_items)) + place, kind="stable")
