"""Regrouping: local search brings the members of clusters nearer to one another.

Not part of the published algorithms, which measure members by their distance from a pivot. But if a set is published
around the mean of its members, translations depend on how far all members are from one another. Regrouping therefore
lowers the sum of distances within clusters that keep a smallest size, by moves, exchanges of two and chains of three
(cyclic exchanges: Ahuja, Orlin, Sharma 2000). On the trucks of Athens this saves a sixth of the metres that refinement
by pivots leaves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from core.kernels import regrouping as kernels
from core.kernels.distances import are_within
from core.kernels.tracks import TrackData, distances_mm, nearest_places, place
from core.models.kdelta.anonymize.cluster.pivot_clusters import PivotClusters
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Tracks", "pairs_of_clusters", "regroup"]

_MOMENTS = 60
_NEAR = 256  # trajectories, about, in the clusters with which each cluster trades members: those nearest by mean track
_TRIES_EACH = 40  # most steps that are tried, for each trajectory; rarely more than two are needed
_CHAINS_EACH = 4  # chains measured for each cluster in which they begin, the most promising by an estimate
_PLACES = 2  # nearest clusters in which a trajectory of the trash may replace a member
_FROM_MEAN = 0.75  # a member's distance from the mean, divided by its mean distance from all members and itself
_REMEMBERED = 1 << 20  # most distances between tracks that are remembered: 16 MB
_NOBODY = -1

_Number = TypeVar("_Number", np.int64, np.float64)

_Steps = dict[int, tuple[int, int]]
"""For each cluster the trajectory that leaves it and the one that joins it; -1 for none."""


class Tracks:
    """Positions of ``n`` trajectories at equally spaced moments, which the search uses instead of all their points.

    Args:
        trajectories: The data set, none of them empty.
    """

    def __init__(self, trajectories: PointTrajectories) -> None:
        starts = trajectories.starts
        first_ms, last_ms = trajectories.t_ms[starts[:-1]], trajectories.t_ms[starts[1:] - 1]
        begin_ms = int(first_ms.min()) if len(first_ms) else 0
        step_ms = max((int(last_ms.max()) - begin_ms) / _MOMENTS, 1.0) if len(last_ms) else 1.0
        at_ms = begin_ms + np.rint((np.arange(_MOMENTS) + 0.5) * step_ms).astype(np.int64)
        self.span: FloatArray = np.column_stack(((first_ms - begin_ms) / step_ms, (last_ms - begin_ms) / step_ms))
        """When each trajectory begins and ends, in moments, shape ``(n, 2)``."""
        self.xy_mm: FloatArray = np.zeros((len(first_ms), 2, _MOMENTS))
        """Positions, millimetres, shape ``(n, 2, 60)``. Before a trajectory begins it is at its first position; after
        it ends, at its last."""
        t_ms, xy_m, starts = _writable(trajectories.t_ms), _writable(trajectories.xy_m), _writable(starts)
        place(t_ms, xy_m, starts, at_ms.astype(np.float64), self.xy_mm)
        under_way = (at_ms >= first_ms[:, None]) & (at_ms <= last_ms[:, None])
        # A trajectory that begins and ends between two moments counts at one of them.
        short = np.flatnonzero(~under_way.any(axis=1))
        under_way[short, np.minimum(self.span[short, 0].astype(np.int64), _MOMENTS - 1)] = True
        self.under_way: FloatArray = under_way.astype(np.float64)
        """1 where a trajectory is under way, else 0, shape ``(n, 60)``."""
        self.moments: IntArray = under_way.sum(axis=1)
        """Number of moments at which each trajectory is under way, at least 1, shape ``(n,)``."""

    def priced(self, price_mm: float) -> TrackData:
        """Return the tracks as kernels take them.

        The distance of two trajectories is summed over moments, in whole millimetres. A moment counts half for each of
        the two that is under way. Each moment by which one begins, or ends, later than the other costs ``price_mm`` in
        addition, because a point would be created or deleted there.
        """
        n = len(self.xy_mm)
        n_pairs = 1 << max(min(n * n, _REMEMBERED) - 1, 1).bit_length()
        return (
            self.xy_mm,
            self.under_way,
            self.span,
            price_mm,
            np.zeros(n_pairs, dtype=np.int64),
            np.zeros(n_pairs),
            np.zeros(_MOMENTS),
        )


def regroup(tracks: Tracks, clusters: PivotClusters) -> PivotClusters:
    """Lower the sum of the distances inside clusters, each divided by the cluster's size, step by step.

    This sum is proportional to the members' distances from their mean, with a factor that is almost constant (for
    squared distances it is exactly constant). Distances are those of :meth:`Tracks.priced`. A moment at which a point
    would be created or deleted costs the median distance of a member from its mean when the search began. At a lower
    price, points are deleted without need; at a higher price, length alone determines clusters.

    Of all moves of a member to another cluster and all exchanges of two members, the search takes the one that saves
    most, until none saves anything. Then each trajectory in the trash joins the nearest cluster that accepts it, or
    replaces a member that costs more and is not under way for longer. So the trash holds the trajectories that cost
    most. If nothing of this helps, three clusters pass a member each to the next, in a ring or along a path from a
    cluster that can do without one. Then the search starts again.

    A member that demands a smaller delta than its new cluster has makes the discs smaller for all. Such a step must
    save more than half of what all discs lose by it.

    Every step keeps what clustering ensured: each cluster has the distinct users that each of its members demands, and
    no member is farther from the pivot than the radius. The number of clusters does not change, and the trash does not
    grow. Sums are of whole millimetres, and of equal choices the first wins. A limit on the number of steps tried
    bounds the work.

    A cluster trades members with the nearest other clusters alone, compared by mean tracks when the search began: with
    as many as hold about 256 trajectories. A trajectory of the trash may join the same number of them. So a step costs
    the same in any data set, and memory grows with the number of trajectories: about 2 kB each.

    Args:
        tracks: The trajectories as the search sees them.
        clusters: The same trajectories in clusters. Distances between them matter for the radius alone.

    Returns:
        The clusters. Each pivot is, among the members from which no other is beyond the radius, the nearest to all
        others.
    """
    if not clusters.pivots:
        return clusters
    search = _Search(tracks, clusters)
    search.run()
    return replace(clusters, cluster=search.cluster, pivots=search.pivots)


class _Search:
    """Clusters as they change, and the best step between any two that are near one another."""

    def __init__(self, tracks: Tracks, clusters: PivotClusters) -> None:
        self.cluster, self.pivots = clusters.cluster.copy(), list(clusters.pivots)
        self._distances, self._radius = clusters.distances.data, clusters.radius
        self._user: list[int] = clusters.users.tolist()
        self._k: list[int] = clusters.demands.k.tolist()
        self._delta_m, self._moments = clusters.demands.delta_m, tracks.moments
        self._delta_of: list[float] = self._delta_m.tolist()
        self._moments_of: list[int] = self._moments.tolist()
        self._alike = bool((self._delta_m == self._delta_m[0]).all())
        n, c = len(self.cluster), len(self.pivots)
        self._left = _TRIES_EACH * n
        order = np.argsort(self.cluster, kind="stable")
        sizes = np.bincount(self.cluster + 1, minlength=c + 1)
        placed, starts, sizes = order[sizes[0] :], np.cumsum(sizes[1:]) - sizes[1:], sizes[1:]
        self._members: list[list[int]] = [some.tolist() for some in np.split(placed, starts[1:])]
        self._n_changes = 0
        self._changed = np.zeros(c, np.int64)  # number of changes when each cluster had changed
        self._own, self._state = np.zeros(n), np.zeros((c, 3))
        self._groups: kernels.Groups = (
            np.full(c, _NOBODY),
            np.full(n, _NOBODY),
            self._own,
            self._state,
            np.zeros(n),
        )
        self._tracks = tracks.priced(0.0)
        for number in range(c):
            self._put(number, self._members[number])
        away_mm = np.sort(_FROM_MEAN * self._own[placed] / np.repeat(sizes, sizes) / self._moments[placed])
        self._tracks = tracks.priced(float(np.rint(away_mm[len(away_mm) // 2])))
        for number in range(c):
            self._put(number, self._members[number])

        self._places = tracks.xy_mm.reshape(n, -1)
        self._means: FloatArray = np.add.reduceat(self._places[placed], starts, axis=0) / sizes[:, None]
        self._near: dict[int, IntArray] = {}  # clusters in which a trajectory of the trash may find a place
        self._tried: dict[int, int] = {}  # number of changes when it last found none
        self._n_near = -(-_NEAR * c // len(placed))
        self._pairs = pairs_of_clusters(nearest_places(self._means, self._means, self._n_near + 1))
        kernels.value_pairs(self._tracks, self._groups, self._pairs)

    def run(self) -> None:
        """Search until no step saves anything, or too many have been tried."""
        while self._left > 0:
            while self._step():
                pass
            if not (self._empty_the_trash() or self._pass_on()):
                break
        orders = [self._by_sum(members, self._own[members]) for members in self._members]
        for c, (order, members) in enumerate(zip(orders, self._members, strict=True)):
            self.pivots[c] = next((pivot for pivot in order if self._reaches(pivot, members)), self.pivots[c])

    def _step(self) -> bool:
        """Take the possible move or exchange that saves most."""
        n = len(self.cluster)
        worth, code, refused_worth, refused_code = self._pairs[4:8]
        while self._left > 0:
            pair = kernels.best_pair(self._pairs)
            if pair < 0:
                return False
            moves, step = divmod(int(code[pair]), n * n)
            i, other = divmod(step, n)
            if moves:
                steps = {int(self.cluster[i]): (i, _NOBODY), other: (_NOBODY, i)}
            else:
                steps = {int(self.cluster[i]): (i, other), int(self.cluster[other]): (other, i)}
            if self._take(steps, float(worth[pair])):
                return True
            refused_worth[pair], refused_code[pair] = worth[pair], code[pair]
            kernels.value_pair(self._tracks, self._groups, self._pairs, pair)
        return False

    def _empty_the_trash(self) -> bool:
        """Let trajectories in the trash join clusters, or replace members that cost more."""
        changed = False
        for i in np.flatnonzero(self.cluster < 0).tolist():
            if i not in self._near:
                self._near[i] = np.sort(nearest_places(self._places[i : i + 1], self._means, self._n_near)[0])
            near = self._near[i]
            if self._tried.get(i, -1) >= self._changed[near].max():
                continue
            self._tried[i] = self._n_changes
            away_mm = kernels.mean_distances_mm(self._tracks, self._groups, i, near)
            nearest: list[int] = near[np.argsort(away_mm, kind="stable")].tolist()
            changed |= self._join(i, nearest) or any(self._replace(i, c) for c in nearest[:_PLACES])
        return changed

    def _join(self, i: int, nearest: list[int]) -> bool:
        """Let a trajectory join the first cluster that accepts it and whose discs do not get smaller by that."""
        fine = [c for c in nearest if self._delta_m[self._members[c]].min() <= self._delta_m[i]]
        pivots = np.array([self.pivots[c] for c in fine], dtype=np.int64)
        reached = are_within(self._distances, i, pivots, self._radius).tolist()
        return any(self._take({c: (_NOBODY, i)}, np.inf) for c, is_near in zip(fine, reached, strict=True) if is_near)

    def _replace(self, i: int, c: int) -> bool:
        replaceable = [j for j in self._members[c] if self._moments[j] <= self._moments[i]]
        savings = ((kernels.saved_mm(self._tracks, self._groups, c, j, i), -j) for j in replaceable)
        saved, j = max(savings, default=(0.0, 0))
        return saved > 0 and self._take({c: (-j, i)}, saved)

    def _pass_on(self) -> bool:
        """Let three clusters pass on a member each, in a ring or from one that can do without, if that saves."""
        promises, chains = kernels.chains(self._groups, self._pairs, _CHAINS_EACH)
        a, b, c, _, _, _, ring = chains.T
        chains = chains[np.lexsort((ring, c, b, a, -promises))]
        touched = np.zeros(len(self.pivots), dtype=np.bool_)
        begin = 0
        while begin < len(chains):
            at, saved = kernels.first_chain(self._tracks, self._groups, chains, touched, begin)
            begin = at + 1
            if at < len(chains):
                a, b, c, i, j, back, _ = chains[at].tolist()
                if self._take({a: (i, back), b: (j, i), c: (back, j)}, saved):
                    touched[[a, b, c]] = True
        return bool(touched.any())

    def _take(self, steps: _Steps, saved: float) -> bool:
        """Let members leave and join clusters, if that saves anything and keeps what clustering ensured."""
        self._left -= 1
        after = {c: sorted({*self._members[c], joins} - {leaves, _NOBODY}) for c, (leaves, joins) in steps.items()}
        if not self._alike:
            lost = sum(self._disc(self._members[c]) - self._disc(members) for c, members in after.items())
            if saved <= lost:
                return False
        if not all(self._n_users(members) >= max(self._k[j] for j in members) for members in after.values()):
            return False
        pivots = {c: self._pivot_for(c, members) for c, members in after.items()}
        if _NOBODY in pivots.values():
            return False
        self._n_changes += 1
        for c in after:
            self.cluster[self._members[c]] = _NOBODY
        for c, members in after.items():
            self.pivots[c] = pivots[c]
            self._put(c, members)
        for c in after:
            kernels.value_pairs_of(self._tracks, self._groups, self._pairs, c)
        return True

    def _put(self, c: int, members: list[int]) -> None:
        """Give a cluster its members, ascending, and measure it."""
        first, following, own, state, _ = self._groups
        some = np.array(members)
        self._members[c] = members
        self.cluster[some] = c
        first[c], following[some[:-1]], following[some[-1]] = some[0], some[1:], _NOBODY
        own[some] = distances_mm(self._tracks, some, some).sum(axis=1)
        n_users = self._n_users(members)
        spare = n_users < len(members) or n_users > min(self._k[j] for j in members)
        state[c] = len(members), own[some].sum() / 2, spare
        self._changed[c] = self._n_changes

    def _n_users(self, members: list[int]) -> int:
        return len({self._user[j] for j in members})

    def _disc(self, members: list[int]) -> float:
        """Return what a cluster's discs save its members, millimetres, on the scale of the sums of distances."""
        radius_mm = min(map(self._delta_of.__getitem__, members)) * 500.0
        return radius_mm * float(sum(map(self._moments_of.__getitem__, members))) / (2 * _FROM_MEAN)

    def _pivot_for(self, c: int, members: list[int]) -> int:
        """Return the pivot of a cluster with other members, its present one if possible; -1 if there is none."""
        pivot = self.pivots[c]
        if pivot in members and self._reaches(pivot, members):
            return pivot
        some = np.array(members)
        order = self._by_sum(members, distances_mm(self._tracks, some, some).sum(axis=1))
        return next((pivot for pivot in order if self._reaches(pivot, members)), _NOBODY)

    @staticmethod
    def _by_sum(members: list[int], sums_mm: FloatArray) -> list[int]:
        """Return members, the one nearest to all others first."""
        return [members[at] for at in np.argsort(sums_mm, kind="stable").tolist()]

    def _reaches(self, pivot: int, members: list[int]) -> bool:
        """Return whether no member is farther from a pivot than the radius."""
        return bool(are_within(self._distances, pivot, np.array(members), self._radius).all())


def pairs_of_clusters(near: IntArray) -> kernels.GroupPairs:
    """Return the pairs of clusters of which one is near the other, as kernels take them, without any step yet.

    Args:
        near: Clusters that are near each cluster, this one among them or not, shape ``(c, q)``.
    """
    c = len(near)
    each = np.repeat(np.arange(c), near.shape[1])
    low, high = np.minimum(each, near.ravel()), np.maximum(each, near.ravel())
    both = np.column_stack(np.divmod(np.unique((low * c + high)[low < high]), c))
    e = len(both)
    order = np.argsort(both.ravel(), kind="stable")  # entries of both, by cluster, then by pair
    starts = np.concatenate(([0], np.cumsum(np.bincount(both.ravel(), minlength=c))))
    return (
        both,
        starts,
        order // 2,
        np.full(c, _NOBODY),
        np.zeros(e),
        np.full(e, -1),
        np.full(e, np.inf),
        np.full(e, -1),
        np.zeros((e, 2)),
        np.full((e, 2), _NOBODY),
    )


def _writable(column: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Return an array that a kernel accepts: contiguous and writable."""
    return np.require(column, requirements=["C", "W"])
