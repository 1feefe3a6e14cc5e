"""Refinement: local search improves clusters and keeps the guarantee.

Not part of the published algorithms. Greedy Clustering takes the outermost trajectories as pivots, so a whole cluster
is then translated to its outermost member. On the trucks of Athens refinement saves a third of the metres.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from core.models.kdelta.anonymize.cluster.local_search import LocalSearch, PivotClusters, members_of
from core.records.arrays import FloatArray, IntArray

__all__ = ["refine"]

_MOST_ROUNDS = 10  # rarely more than five change anything
_NEVER = 1 << 62


def refine(clusters: PivotClusters) -> PivotClusters:
    """Lower the sum of the members' distances from their pivots, step by step, in ten rounds at most.

    A round makes the medoid of each cluster its pivot. Then, for each other member in the order of their numbers, it
    looks for the nearest pivot that is nearer than the member's own and whose cluster accepts it. The member moves
    there if its own cluster stays satisfied without it. Otherwise it changes places with the member of that cluster for
    which the exchange saves most. If nothing of this helps, a cluster is dissolved if all its members find a place in
    other clusters and that saves anything.

    A member that demands a smaller delta than its new cluster has makes the discs smaller for all. Its joining costs
    half the difference for each member. It is not possible if distances are not in metres.

    Every step keeps what clustering ensured: each cluster has the distinct users that each of its members demands,
    and no member is farther from the pivot than the radius. No trajectory leaves or joins the trash. Everything is
    decided in whole units; of equal choices the smaller number wins.

    Args:
        clusters: The clusters as clustering left them.

    Returns:
        The clusters that are left, numbered anew in the same order.
    """
    search = _Search(clusters)
    for _ in range(_MOST_ROUNDS):
        moved = search.take_medoids()
        moved |= search.take_better_places()
        if not (moved or search.dissolve()):
            break
    cluster, pivots = search.numbered()
    return replace(clusters, cluster=cluster, pivots=pivots)


class _Search(LocalSearch):
    """Clusters as sets of members, and the distances inside them."""

    def __init__(self, clusters: PivotClusters) -> None:
        super().__init__(clusters)
        self._delta_m: list[float] = clusters.demands.delta_m.tolist()
        self._members = [set(members) for members in members_of(clusters)]
        self._per_metre = clusters.distances.per_metre
        self._apart: dict[tuple[int, int], int] = {}  # distances inside clusters
        self._changed = set(range(len(self._members)))  # clusters whose medoid may have changed

    def take_medoids(self) -> bool:
        """Make the medoid of each changed cluster its pivot; of equal ones the present pivot, or the first."""
        changed = [c for c in sorted(self._changed) if len(self._members[c]) > 1]
        self._changed.clear()
        tables = [sorted(self._members[c]) for c in changed]
        unknown = {pair for members in tables for pair in combinations(members, 2)} - self._apart.keys()
        if unknown:
            ones, others = np.array(sorted(unknown)).T
            measured = self._distances.between(ones, others)
            self._apart.update(zip(sorted(unknown), measured.tolist(), strict=True))
        moved = False
        for c, members in zip(changed, tables, strict=True):
            apart = np.zeros((len(members), len(members)), dtype=np.int64)
            apart[np.triu_indices(len(members), 1)] = [self._apart[pair] for pair in combinations(members, 2)]
            apart += apart.T
            sums = np.where(apart.max(axis=1) <= self._radius, apart.sum(axis=1), _NEVER)
            if sums.min() < sums[members.index(self.pivots[c])]:
                self.pivots[c] = members[int(sums.argmin())]
                moved = True
        return moved

    def numbered(self) -> tuple[IntArray, list[int]]:
        """Return the cluster of each trajectory and the pivots, without numbers of dissolved clusters."""
        left = [c for c, members in enumerate(self._members) if members]
        number = np.full(len(self._members) + 1, -1)
        number[left] = np.arange(len(left))
        return number[self.cluster], [self.pivots[c] for c in left]

    def dissolve(self) -> bool:
        """Dissolve clusters whose members are nearer, in sum, to the pivots of other clusters that satisfy them."""
        left = [c for c, members in enumerate(self._members) if members]
        if len(left) < 2:
            return False
        pivots = np.array([self.pivots[c] for c in left])
        delta_m = np.array([min(self._delta_m[j] for j in self._members[c]) for c in left])
        n_users, size = np.array([(self._n_users(self._members[c]), len(self._members[c])) for c in left]).T
        placed = np.flatnonzero(self.cluster >= 0)
        row_of = np.full(len(self._members), -1)
        row_of[left] = np.arange(len(left))
        own_row = row_of[self.cluster[placed]]
        own = self._distances.measure_pairs(pivots[own_row], placed)
        # (c, n) least distance of each member from the pivots of clusters that satisfy it as they are
        away = np.stack([self._distances.row(pivot).at_least for pivot in pivots.tolist()])[:, placed]
        k, joins_m = np.array(self._k)[placed], np.array(self._delta_m)[placed]
        never = (n_users[:, None] < k) | (away > self._radius)
        never[own_row, np.arange(len(placed))] = True
        prices = self._prices(delta_m[:, None], size[:, None], joins_m)
        at_least_away = np.where(never, _NEVER, np.minimum(away + prices, _NEVER))
        cost = np.bincount(own_row, own, len(left))
        at_least = np.bincount(own_row, at_least_away.min(axis=0), len(left))
        moved, touched = False, set()
        for row in np.flatnonzero(at_least < cost).tolist():
            if row in touched:
                continue
            of_row = np.flatnonzero(own_row == row)
            members = placed[of_row]
            places = self._elsewhere(pivots, at_least_away[:, of_row], prices[:, of_row], members, int(cost[row]))
            if places is None:
                continue
            at_least_away[row] = _NEVER
            for i, to in zip(members.tolist(), places, strict=True):
                self._join(i, left[to])
            touched |= {row, *places}
            moved = True
        return moved

    def _elsewhere(
        self, pivots: IntArray, at_least: IntArray, prices: IntArray, members: IntArray, cost: int
    ) -> list[int] | None:
        """Return the row of the best other pivot of each member; None if all together do not cost less."""
        places, total = [], 0
        for column, i in enumerate(members.tolist()):
            bounds = at_least[:, column]
            best, best_row = int(_NEVER), len(pivots)
            for row in np.argsort(bounds, kind="stable").tolist():
                if bounds[row] > best or bounds[row] == _NEVER:
                    break
                distance = self._from_pivot(int(pivots[row]), i)
                if distance <= self._radius:
                    best, best_row = min((best, best_row), (distance + int(prices[row, column]), row))
            total += best
            if total >= cost:
                return None
            places.append(best_row)
        return places

    def take_better_places(self) -> bool:
        """Let members move to, or change places with a member of, a cluster whose pivot is nearer."""
        own, nearer = self._nearer_pivots()
        self._measure_first_exchanges(own, nearer)
        moved = False
        for i, candidates in nearer:
            for distance, c in sorted(candidates):
                if distance >= own[i]:  # the member has changed places meanwhile
                    break
                if self._move(i, c, own) or self._exchange(i, c, own):
                    moved = True
                    break
        return moved

    def _nearer_pivots(self) -> tuple[dict[int, int], list[tuple[int, list[tuple[int, int]]]]]:
        """Return each member's distance from its pivot, and ``(distance, cluster)`` of all nearer ones."""
        placed = np.flatnonzero(self.cluster >= 0)
        at = self._distances.measure_pairs(np.array(self.pivots, dtype=np.int64)[self.cluster[placed]], placed)
        bounds = np.full(len(self.cluster), -1)
        bounds[placed] = at
        ones, others, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for c, pivot in enumerate(self.pivots):
            if not self._members[c]:
                continue
            may_be = np.flatnonzero((self._distances.row(pivot).at_least < bounds) & (self.cluster != c))
            ones.append(np.full(len(may_be), pivot))
            others.append(may_be)
            numbers.append(np.full(len(may_be), c))
        member, number = np.concatenate(others), np.concatenate(numbers)
        measured = self._distances.measure_pairs(np.concatenate(ones), member)
        nearer: dict[int, list[tuple[int, int]]] = {}
        for i, c, distance in zip(member.tolist(), number.tolist(), measured.tolist(), strict=True):
            if distance < bounds[i]:
                nearer.setdefault(i, []).append((distance, c))
        return dict(zip(placed.tolist(), at.tolist(), strict=True)), sorted(nearer.items())

    def _measure_first_exchanges(self, own: dict[int, int], nearer: list[tuple[int, list[tuple[int, int]]]]) -> None:
        """Measure, in one call, the distances that the first exchange tried by each member needs."""
        pairs = set()
        for i, candidates in nearer:
            distance, c = min(candidates)
            here = self.pivots[self.cluster[i]]
            at_least = self._distances.row(here).at_least
            pairs |= {(here, j) for j in self._members[c] if own[i] - distance + own[j] > at_least[j]}
        if pairs:
            ones, others = np.array(sorted(pairs)).T
            self._distances.measure_pairs(ones, others)

    def _move(self, i: int, to: int, own: dict[int, int]) -> bool:
        """Move a member to another cluster, if its own can do without it and the other satisfies it."""
        here = int(self.cluster[i])
        if not self._satisfied(self._members[here] - {i}):
            return False
        if self._from_pivot(self.pivots[to], i) + self._price(to, i) >= own[i]:
            return False
        if not self._satisfied(self._members[to] | {i}):
            return False
        self._put({i: to}, own)
        return True

    def _exchange(self, i: int, to: int, own: dict[int, int]) -> bool:
        """Let a member change places with the one of another cluster for which that saves most."""
        here = int(self.cluster[i])
        others = np.array(sorted(self._members[to] - {self.pivots[to]}), dtype=np.int64)
        theirs = np.array([own[j] for j in others.tolist()], dtype=np.int64)
        saved = own[i] - self._from_pivot(self.pivots[to], i) - self._price(to, i)
        row = self._distances.row(self.pivots[here])
        prices = self._prices_of(here, others)
        worth = saved + theirs - prices > row.at_least[others]
        others, theirs, prices = others[worth], theirs[worth], prices[worth]
        away = self._distances.measure(self.pivots[here], others)
        gains = saved + theirs - prices - away
        for at in np.argsort(-gains, kind="stable").tolist():
            j = int(others[at])
            if gains[at] <= 0:
                return False
            if (
                away[at] <= self._radius
                and self._satisfied(self._members[here] - {i} | {j})
                and self._satisfied(self._members[to] - {j} | {i})
            ):
                self._put({i: to, j: here}, own)
                return True
        return False

    def _price(self, c: int, i: int) -> int:
        """Return what it costs a cluster that a new member makes its discs smaller."""
        return int(self._prices_of(c, np.array([i]))[0])

    def _prices_of(self, c: int, joining: IntArray) -> IntArray:
        """Return this cost of a cluster for each of some new members."""
        smallest_m = min(self._delta_m[j] for j in self._members[c])
        joins_m = np.array([self._delta_m[j] for j in joining.tolist()])
        return self._prices(np.array([smallest_m]), np.array([len(self._members[c])]), joins_m)

    def _prices(self, delta_m: FloatArray, size: IntArray, joins_m: FloatArray) -> IntArray:
        """Return this cost for clusters of given deltas and sizes and new members of given deltas; broadcast."""
        if self._per_metre is None:
            return np.where(delta_m > joins_m, _NEVER, 0)
        lost_m = np.minimum(np.maximum(delta_m - joins_m, 0.0) / 2 * size, 1e12)
        prices: IntArray = np.ceil(lost_m * self._per_metre).astype(np.int64)
        return prices

    def _from_pivot(self, pivot: int, i: int) -> int:
        return int(self._distances.measure(pivot, np.array([i]))[0])

    def _put(self, places: dict[int, int], own: dict[int, int]) -> None:
        for i, to in places.items():
            self._join(i, to)
            own[i] = self._from_pivot(self.pivots[to], i)

    def _join(self, i: int, to: int) -> None:
        here = int(self.cluster[i])
        self._members[here].discard(i)
        self._members[to].add(i)
        self.cluster[i] = to
        self._changed |= {here, to}
