"""Mixing at borders: the people of an earlier set are spread over several clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.models.kdelta.anonymize.across import EarlierSets
from core.models.kdelta.anonymize.borders import Borders, Change
from core.models.kdelta.anonymize.cluster.chunks import Block
from core.models.kdelta.anonymize.cluster.clustering import Clustering
from core.models.kdelta.anonymize.cluster.neighbours import TRASH, ClusterStep, Neighbours
from core.records.arrays import IntArray
from core.trajectories.trajectory import Demands

__all__ = ["MixedBorders"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixedBorders:
    """Of the people of an earlier set who are released, at most one in ``l`` is in any one of several clusters.

    As long as too many people of a set are in one cluster, the cheapest step is taken that brings the promise nearer:
    one of them changes places with a member of a near cluster or a trajectory of the trash, or moves to a near cluster.
    If there is none, one of them is suppressed; another trajectory may take the place. If the cluster could not do
    without, it is dissolved: each member moves to another cluster if that is allowed and does not break more, or is
    suppressed.

    This ends: each step leaves fewer trajectories in clusters, or as many in fewer clusters, or the same numbers and a
    smaller excess. If nobody is left in a cluster, the promise holds.

    Every cluster keeps what clustering ensured: the distinct users that each member demands, and a pivot from which no
    member is farther than the radius. Prices are those of regrouping; of equal ones the smaller numbers win.
    """

    earlier: Sequence[EarlierSets]
    l: int  # noqa: E741 - the name in the literature
    is_one_crowd: bool
    """Whether the whole window has too few people for two clusters: then its only cluster breaks nothing. If mending
    leaves one of several, that one is not exempt: it could be the people of an earlier set again."""

    companions: None = field(default=None, init=False)

    def mend(self, clustering: Clustering, users: IntArray, demands: Demands, blocks: Sequence[Block]) -> Clustering:
        """See :meth:`~core.models.kdelta.anonymize.across.Across.mend`."""
        borders = Borders(self.earlier, users, clustering.cluster, l=self.l)
        block_of = np.empty(len(users), dtype=np.int64)
        for number, block in enumerate(blocks):
            block_of[block.members] = number
        parts: dict[int, _Part] = {}
        is_exempt = self.is_one_crowd and len(clustering.pivots) == 1
        while not is_exempt and (broken := borders.first_broken()) is not None:
            set_, c = broken
            number = int(block_of[clustering.pivots[c]])
            if number not in parts:
                parts[number] = _Part(borders, clustering, users, demands, blocks[number])
            parts[number].mend(set_, c)
        cluster, pivots = clustering.cluster.copy(), clustering.pivots.copy()
        for part in parts.values():
            part.write(cluster, pivots)
        left = np.flatnonzero(pivots >= 0)
        renumbered = np.full(len(pivots) + 1, TRASH, dtype=np.int64)
        renumbered[left] = np.arange(len(left))
        return Clustering(cluster=renumbered[cluster], pivots=pivots[left], radius=clustering.radius)


class _Part:
    """The clusters of one block, as they are mended."""

    def __init__(
        self, borders: Borders, clustering: Clustering, users: IntArray, demands: Demands, block: Block
    ) -> None:
        self._borders, self._block = borders, block
        self._users: list[int] = users[block.members].tolist()
        cluster = clustering.cluster[block.members]
        self._numbers = np.unique(cluster[cluster >= 0])  # the block's clusters, as they are numbered in the data set
        own = np.where(cluster < 0, TRASH, np.searchsorted(self._numbers, cluster))
        pivots = np.searchsorted(block.members, clustering.pivots[self._numbers])
        self._clusters = Neighbours(block, demands.of(block.members), own, pivots, clustering.radius)

    def write(self, cluster: IntArray, pivots: IntArray) -> None:
        """Write the mended clusters over those of the whole data set; a dissolved one has the pivot -1."""
        own, members = self._clusters.cluster, self._block.members
        cluster[members] = np.where(own < 0, TRASH, self._numbers[own])
        pivot = self._clusters.pivots
        pivots[self._numbers] = np.where(pivot < 0, TRASH, members[pivot])

    def mend(self, set_: int, number: int) -> None:
        """Take the best step against one flow that is too large."""
        c = int(np.searchsorted(self._numbers, number))
        leaving = [i for i in self._clusters.members[c] if self._borders.is_of(set_, self._users[i])]
        for step in self._clusters.exchanges(c, leaving):
            if self._helps(step) and self._clusters.may(step):
                self._take(step)
                return
        allowed = [step for step in self._clusters.suppressions(c, leaving) if self._clusters.may(step)]
        if allowed:
            self._take(min(allowed, key=lambda step: self._borders.after(self._changes(step))))
            return
        self._dissolve(c)

    def _changes(self, step: ClusterStep) -> list[Change]:
        return [(self._users[i], self._number(int(self._clusters.cluster[i])), self._number(to)) for i, to in step]

    def _number(self, c: int) -> int:
        return TRASH if c == TRASH else int(self._numbers[c])

    def _helps(self, step: ClusterStep) -> bool:
        return self._borders.after(self._changes(step)) < self._borders.excess

    def _take(self, step: ClusterStep) -> None:
        self._borders.change(self._changes(step))
        self._clusters.take(step)

    def _dissolve(self, c: int) -> None:
        """Dissolve a cluster: each member goes where that costs least and breaks nothing more."""
        members = list(self._clusters.members[c])
        self._borders.change(self._changes(tuple((i, TRASH) for i in members)))
        self._clusters.dissolve(c)
        for i in members:
            for step in self._clusters.places_for(i):
                if self._borders.after(self._changes(step)) <= self._borders.excess and self._clusters.may(step):
                    self._take(step)
                    break
