"""Clusters after clustering: what a change costs, and whether the clusters still keep what clustering ensured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.kernels.fragments.distances import are_within
from core.kernels.fragments.tracks import distances_mm, nearest_places
from core.models.kdelta.anonymize.cluster.chunks import Block
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


class _Offers:
    """Steps by which one trajectory leaves its cluster and another one may take its place, as columns.

    Few of the steps of a cluster are ever looked at, so each becomes a :data:`ClusterStep` only then.

    Args:
        c: The cluster that is left, or ``TRASH``.
    """

    def __init__(self, c: int) -> None:
        self._c = c
        self._costs = [np.empty(0)]
        self._steps = [np.empty((0, 3), dtype=np.int64)]

    def add(self, i: int, costs: FloatArray, to: IntArray | int, instead: IntArray | int = TRASH) -> None:
        """Offer steps of a trajectory.

        Args:
            i: The trajectory.
            costs: What each step costs, shape ``(q,)``.
            to: Its new cluster in each step, or ``TRASH``.
            instead: The trajectory that takes its place in each step, or ``TRASH`` if none does.
        """
        steps = np.empty((len(costs), 3), dtype=np.int64)
        steps[:, 0], steps[:, 1], steps[:, 2] = i, to, instead
        self._costs.append(costs)
        self._steps.append(steps)

    def cheapest_first(self) -> Iterator[ClusterStep]:
        """Yield the steps; of equally cheap ones the first offered."""
        steps = np.concatenate(self._steps)
        for at in np.argsort(np.concatenate(self._costs), kind="stable"):
            i, to, instead = steps[at].tolist()
            yield ((i, to),) if instead == TRASH else ((i, to), (instead, self._c))


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
        self._distances, self._radius = block.distances, radius
        self._users: list[int] = block.trajectories.users.tolist()
        self._k: list[int] = demands.k.tolist()
        self.cluster, self.pivots = cluster.copy(), pivots.copy()
        self.members: list[list[int]] = [np.flatnonzero(cluster == c).tolist() for c in range(len(pivots))]
        """Members of each cluster, ascending; none of a dissolved one."""
        tracks = block.tracks
        self._places = tracks.xy_mm.reshape(len(cluster), -1)
        self._means = np.full((len(pivots), self._places.shape[1]), np.inf)
        self._own = np.zeros(len(cluster))  # sum of a member's distances from the other members
        self._spare = np.zeros(len(cluster), dtype=np.bool_)  # whether a member's cluster could do without it
        self.tracks = tracks.priced(0.0)
        for c in range(len(pivots)):
            self._measure_pairs(c)
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
        self._measure_pairs(c)
        members = self.members[c]
        for i in members:
            self._spare[i] = self._is_satisfied([j for j in members if j != i])
        self._means[c] = self._places[members].sum(axis=0) / len(members) if members else np.inf

    def _measure_pairs(self, c: int) -> None:
        """Measure how far the members of a cluster are from one another."""
        members = np.array(self.members[c], dtype=np.int64)
        self._own[members] = distances_mm(self.tracks, members, members).sum(axis=1)

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

    def exchanges(self, c: int, leaving: list[int]) -> Iterator[ClusterStep]:
        """Yield steps by which a member leaves a cluster, the cheapest first.

        A member changes places with a member of a near cluster or with a trajectory of the trash, or moves to a near
        cluster. Whether a step keeps everybody within the radius is for :meth:`may`: to measure that takes longer than
        the price, and few steps are tried.

        Args:
            c: The cluster.
            leaving: Those of its members that may leave.
        """
        prices, offers = self._prices(c), _Offers(c)
        for i in leaving:
            cost = prices.replaced(i) + prices.joined_for(i)
            at = np.flatnonzero(cost <= self._most_mm[i])
            offers.add(i, cost[at], prices.their[at], prices.others[at])
            if self._spare[i]:
                cost = prices.left(i) + prices.joined(i)
                at = np.flatnonzero(cost <= self._most_mm[i])
                offers.add(i, cost[at], prices.clusters[at])
        yield from offers.cheapest_first()

    def suppressions(self, c: int, leaving: list[int]) -> Iterator[ClusterStep]:
        """Yield steps by which a member goes to the trash, the cheapest first; another one may take its place."""
        prices, offers = self._prices(c), _Offers(c)
        reached = are_within(self._distances.data, int(self.pivots[c]), prices.others, self._radius)
        for i in leaving:
            if self._spare[i]:
                offers.add(i, np.array([prices.left(i)]), TRASH)
            at = np.flatnonzero((reached | (i == self.pivots[c])) & (prices.their >= 0) & self._spare[prices.others])
            cost = prices.replaced(i) + prices.gained()
            at = at[cost[at] <= self._most_mm[prices.others[at]]]
            offers.add(i, cost[at], TRASH, prices.others[at])
        yield from offers.cheapest_first()

    def places_for(self, i: int) -> Iterator[ClusterStep]:
        """Yield steps by which a trajectory of the trash joins a near cluster, the cheapest first."""
        near = self._nearest(self._places[i])
        near = near[are_within(self._distances.data, i, self.pivots[near], self._radius)]
        costs = []
        for c in near.tolist():
            members = np.array(self.members[c], dtype=np.int64)
            pairs, s = float(self._own[members].sum()) / 2, len(members)
            costs.append((pairs + distances_mm(self.tracks, members, np.array([i])).sum()) / (s + 1) - pairs / s)
        cost, offers = np.array(costs, dtype=np.float64), _Offers(TRASH)
        cheap = cost <= self._most_mm[i]
        offers.add(i, cost[cheap], near[cheap])
        yield from offers.cheapest_first()

    def _prices(self, c: int) -> StepPrices:
        clusters = self.near(c)
        placed = [i for other in clusters.tolist() for i in self.members[other]]
        trash = np.flatnonzero(self.cluster < 0)
        if len(trash):
            trash = trash[nearest_places(self._means[c : c + 1], self._places[trash], _NEAR)[0]]
        others = np.array([*placed, *trash.tolist()], dtype=np.int64)
        clusters, their = np.sort(clusters), self.cluster[others]
        members = np.array(self.members[c], dtype=np.int64)
        return StepPrices(
            members=members,
            clusters=clusters,
            others=others,
            their=their,
            column=np.where(their < 0, len(clusters), np.searchsorted(clusters, their)),
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

    def _is_satisfied(self, members: list[int]) -> bool:
        """Return whether a cluster with some members has the users that each demands."""
        return bool(members) and len({self._users[i] for i in members}) >= max(self._k[i] for i in members)

    def _pivot(self, c: int, members: list[int]) -> int | None:
        """Return the pivot of a cluster with some members: the same if it is one of them. None if there can be none."""
        if not self._is_satisfied(members):
            return None
        array, pivot = np.array(members, dtype=np.int64), int(self.pivots[c])
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
