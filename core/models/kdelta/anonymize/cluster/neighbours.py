"""Clusters after clustering: what a change costs, and whether the clusters still keep what clustering ensured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.kernels.fragments.distances import are_within
from core.kernels.fragments.tracks import distances_mm, nearest_places
from core.models.kdelta.anonymize.cluster.blocks import Block
from core.models.kdelta.anonymize.cluster.regrouping import Tracks
from core.models.kdelta.anonymize.cluster.step_prices import StepPrices
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import Demands

__all__ = ["TRASH", "ClusterStep", "Neighbours"]

TRASH = -1
_NEAR = 256  # trajectories, about, in the clusters with which a cluster exchanges members
_MOST = 10.0  # largest cost of a step for each moment, in median distances of members from their mean
_MOST_DELTAS = 2.0  # the same in deltas, if that is more
_FROM_MEAN = 0.75  # a member's distance from the mean, divided by its mean distance from all members and itself

ClusterStep = tuple[tuple[int, int], ...]
"""Trajectories that go to another cluster at the same time, each with its new cluster or ``TRASH``."""


def _cheapest_first(costs: list[FloatArray], steps: list[ClusterStep]) -> Iterator[ClusterStep]:
    for at in np.argsort(np.concatenate([*costs, np.empty(0)]), kind="stable").tolist():
        yield steps[at]


class Neighbours:
    """The clusters of one block of ``n`` trajectories, which are numbered as in the block.

    What regrouping lowers is also the price here: the sum of the distances inside clusters, each divided by the
    cluster's size (:func:`~core.models.kdelta.anonymize.cluster.regrouping.regroup`).

    Args:
        block: The trajectories.
        demands: k and delta of each.
        cluster: Cluster of each, in ``0..c - 1``, or -1, shape ``(n,)``.
        pivots: Pivot of each cluster, shape ``(c,)``.
        radius: Largest distance of a member from its pivot, whole units of the block's distances.
    """

    def __init__(self, block: Block, demands: Demands, cluster: IntArray, pivots: IntArray, radius: int) -> None:
        self._distances, self._users, self._k, self._radius = (
            block.distances,
            block.trajectories.users,
            demands.k,
            radius,
        )
        self.cluster, self.pivots = cluster.copy(), pivots.copy()
        self.members: list[list[int]] = [np.flatnonzero(cluster == c).tolist() for c in range(len(pivots))]
        """Members of each cluster, ascending; none of a dissolved one."""
        tracks = Tracks(block.trajectories)
        self._places = tracks.xy_mm.reshape(len(cluster), -1)
        self._means = np.full((len(pivots), self._places.shape[1]), np.inf)
        self._own = np.zeros(len(cluster))  # sum of a member's distances from the other members
        self._spare = np.zeros(len(cluster), dtype=np.bool_)  # whether a member's cluster could do without it
        self.tracks = tracks.priced(0.0)
        for c in range(len(pivots)):
            self._measure(c)
        placed = np.flatnonzero(cluster >= 0)
        sizes = np.bincount(cluster[placed], minlength=len(pivots))
        away_mm = np.sort(_FROM_MEAN * self._own[placed] / sizes[cluster[placed]] / tracks.moments[placed])
        price_mm = float(np.rint(away_mm[len(away_mm) // 2])) if len(away_mm) else 0.0
        self.tracks = tracks.priced(price_mm)
        """The trajectories with the price of moments, as in regrouping."""
        # Largest cost of a step, by trajectory. A set moves points by about delta in any case.
        self._most_mm = np.maximum(_MOST * price_mm, _MOST_DELTAS * 1000 * demands.delta_m) * tracks.moments
        for c in range(len(pivots)):
            self._measure(c)

    def _measure(self, c: int) -> None:
        """Measure the members of a cluster anew."""
        members = np.array(self.members[c], dtype=np.int64)
        self._own[members] = distances_mm(self.tracks, members, members).sum(axis=1)
        for i in self.members[c]:
            self._spare[i] = self._is_satisfied(members[members != i])
        self._means[c] = self._places[members].sum(axis=0) / len(members) if len(members) else np.inf

    def near(self, c: int) -> IntArray:
        """Return the clusters near a cluster, this one not among them, and nearest first."""
        found = self._nearest(self._means[c])
        others: IntArray = found[found != c]
        return others

    def _nearest(self, place: FloatArray) -> IntArray:
        """Return the clusters nearest to a mean track, as many as hold about 256 trajectories."""
        n_near = -(-_NEAR * len(self.members) // max(int((self.cluster >= 0).sum()), 1))
        found = nearest_places(place[None, :], self._means, n_near + 1)[0]
        near: IntArray = found[(found >= 0) & np.isfinite(self._means[found, 0])]
        return near

    def _near_members(self, c: int) -> IntArray:
        """Return the members of the clusters near a cluster, then trajectories of the trash that are near."""
        placed = [i for other in self.near(c).tolist() for i in self.members[other]]
        trash = np.flatnonzero(self.cluster < 0)
        if len(trash):
            trash = trash[nearest_places(self._means[c : c + 1], self._places[trash], _NEAR)[0]]
        return np.array([*placed, *trash.tolist()], dtype=np.int64)

    def exchanges(self, c: int, leaving: list[int]) -> Iterator[ClusterStep]:
        """Yield steps by which a member leaves a cluster, the cheapest first.

        A member changes places with a member of a near cluster or with a trajectory of the trash, or moves to a near
        cluster.

        Args:
            c: The cluster.
            leaving: Those of its members that may leave.
        """
        prices = self._prices(c)
        costs, steps = [], list[ClusterStep]()
        for i in leaving:
            fits = prices.reached | (i == self.pivots[c])
            near = are_within(self._distances.data, i, self.pivots[prices.clusters], self._radius)
            reaches = np.append(near, True)[prices.column] | (prices.others == self.pivots[prices.their])
            at = np.flatnonzero(fits & reaches)
            cost = prices.replaced(i) + prices.joined_for(i)
            at = at[cost[at] <= self._most_mm[i]]
            costs.append(cost[at])
            steps += [
                ((i, to), (j, c)) for j, to in zip(prices.others[at].tolist(), prices.their[at].tolist(), strict=True)
            ]
            if self._spare[i]:
                cost = prices.left(i) + prices.joined(i)
                there = np.flatnonzero(near & (cost <= self._most_mm[i]))
                costs.append(cost[there])
                steps += [((i, to),) for to in prices.clusters[there].tolist()]
        yield from _cheapest_first(costs, steps)

    def suppressions(self, c: int, leaving: list[int]) -> Iterator[ClusterStep]:
        """Yield steps by which a member goes to the trash, the cheapest first; another one may take its place."""
        prices = self._prices(c)
        costs, steps = [], list[ClusterStep]()
        for i in leaving:
            if self._spare[i]:
                costs.append(np.array([prices.left(i)]))
                steps.append(((i, TRASH),))
            at = np.flatnonzero(
                (prices.reached | (i == self.pivots[c])) & (prices.their >= 0) & self._spare[prices.others]
            )
            cost = prices.replaced(i) + prices.gained()
            at = at[cost[at] <= self._most_mm[prices.others[at]]]
            costs.append(cost[at])
            steps += [((i, TRASH), (j, c)) for j in prices.others[at].tolist()]
        yield from _cheapest_first(costs, steps)

    def places_for(self, i: int) -> Iterator[ClusterStep]:
        """Yield steps by which a trajectory of the trash joins a near cluster, the cheapest first."""
        near = self._nearest(self._places[i])
        near = near[are_within(self._distances.data, i, self.pivots[near], self._radius)]
        costs = []
        for c in near.tolist():
            members = np.array(self.members[c], dtype=np.int64)
            pairs, s = float(self._own[members].sum()) / 2, len(members)
            costs.append((pairs + distances_mm(self.tracks, members, np.array([i])).sum()) / (s + 1) - pairs / s)
        cost = np.array(costs, dtype=np.float64)
        cheap = cost <= self._most_mm[i]
        yield from _cheapest_first([cost[cheap]], [((i, c),) for c in near[cheap].tolist()])

    def _prices(self, c: int) -> StepPrices:
        others = self._near_members(c)
        clusters = np.sort(self.near(c))
        their = self.cluster[others]
        members = np.array(self.members[c], dtype=np.int64)
        return StepPrices(
            members=members,
            clusters=clusters,
            others=others,
            their=their,
            column=np.where(their < 0, len(clusters), np.searchsorted(clusters, their)),
            reached=are_within(self._distances.data, int(self.pivots[c]), others, self._radius),
            apart=distances_mm(self.tracks, members, others),
            own=self._own,
            sizes=np.array([len(self.members[one]) for one in clusters.tolist()], dtype=np.float64),
        )

    def may(self, step: ClusterStep) -> bool:
        """Return whether the clusters keep, after a step, the users that members demand and the radius."""
        return all(self._pivot(c, members) is not None for c, members in self._after(step).items())

    def _after(self, step: ClusterStep) -> dict[int, list[int]]:
        """Return the members that each changed cluster would have."""
        changed: dict[int, list[int]] = {}
        for i, to in step:
            for c in (int(self.cluster[i]), to):
                if c != TRASH:
                    changed.setdefault(c, list(self.members[c]))
        for i, to in step:
            if self.cluster[i] != TRASH:
                changed[int(self.cluster[i])].remove(i)
            if to != TRASH:
                changed[to].append(i)
        return {c: sorted(members) for c, members in changed.items()}

    def _is_satisfied(self, members: IntArray) -> bool:
        """Return whether a cluster with some members has the users that each demands."""
        return bool(len(members)) and len(set(self._users[members].tolist())) >= self._k[members].max()

    def _pivot(self, c: int, members: list[int]) -> int | None:
        """Return the pivot of a cluster with some members: the same if it is one of them. None if there can be none."""
        array = np.array(members, dtype=np.int64)
        if not self._is_satisfied(array):
            return None
        pivot = int(self.pivots[c])
        tried = [pivot] if pivot in members else members
        return next((i for i in tried if are_within(self._distances.data, i, array, self._radius).all()), None)

    def take(self, step: ClusterStep) -> None:
        """Take a step that may be taken."""
        changed = self._after(step)
        for i, to in step:
            self.cluster[i] = to
        for c, members in changed.items():
            pivot = self._pivot(c, members)
            self.members[c] = members
            self.pivots[c] = TRASH if pivot is None else pivot
            self._measure(c)

    def dissolve(self, c: int) -> None:
        """Send all members of a cluster to the trash."""
        self.cluster[self.members[c]] = TRASH
        self.members[c] = []
        self.pivots[c] = TRASH
        self._measure(c)
