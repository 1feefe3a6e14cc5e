"""Regrouping: local search brings the members of clusters nearer to one another.

Not part of the published algorithms, which measure members by their distance from a pivot. But if a set is published
around the mean of its members, translations depend on how far all members are from one another. Regrouping therefore
lowers the sum of distances within clusters that keep a smallest size, by moves, exchanges of two and chains of three
(cyclic exchanges: Ahuja, Orlin, Sharma 2000). On the trucks of Athens this saves a sixth of the metres that refinement
by pivots leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from core.kernels.fragments import regrouping as kernels
from core.kernels.fragments import regrouping_steps as taking
from core.kernels.fragments.distances import are_within
from core.kernels.fragments.tracks import nearest_places
from core.models.kdelta.anonymize.cluster.pivot_clusters import PivotClusters
from core.models.kdelta.anonymize.cluster.tracks import Tracks
from core.records.arrays import FloatArray, IntArray

__all__ = ["pairs_of_clusters", "regroup"]

_NEAR = 256  # trajectories, about, in the clusters with which each cluster trades members: those nearest by mean track
_TRIES_EACH = 40  # most steps that are tried, for each trajectory; rarely more than two are needed
_CHAINS_EACH = 4  # chains measured for each cluster in which they begin, the most promising by an estimate
_PLACES = 2  # nearest clusters in which a trajectory of the trash may replace a member
_FROM_MEAN = 0.75  # a member's distance from the mean, divided by its mean distance from all members and itself
_NOBODY = -1


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
    the same in any data set, and memory grows with the number of trajectories: about 2 kB each. Distances that were
    measured are remembered, in 16 MB at most.

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
    return replace(clusters, cluster=search.cluster, pivots=search.pivots.tolist())


class _Search:
    """Clusters as they change, and the best step between any two that are near one another."""

    def __init__(self, tracks: Tracks, clusters: PivotClusters) -> None:
        demands = clusters.demands
        self._distances, self._radius = clusters.distances.data, clusters.radius
        n, c = len(clusters.cluster), len(clusters.pivots)
        order = np.argsort(clusters.cluster, kind="stable")
        sizes = np.bincount(clusters.cluster + 1, minlength=c + 1)
        placed, starts, sizes = order[sizes[0] :], np.cumsum(sizes[1:]) - sizes[1:], sizes[1:]
        first, following, own = placed[starts], np.full(n, _NOBODY), np.zeros(n)
        following[placed[:-1]] = placed[1:]
        following[placed[starts + sizes - 1]] = _NOBODY
        self._groups: kernels.Groups = first, following, own, np.zeros((c, 3)), np.zeros(n)
        self._members: taking.MemberData = (
            np.require(clusters.users, requirements=["C", "W"]),
            np.array(demands.k, dtype=np.int64),
            np.array(demands.delta_m, dtype=np.float64),
            tracks.moments,
            0.0 if (demands.delta_m == demands.delta_m[0]).all() else 2 * _FROM_MEAN,
        )
        self.cluster, self.pivots = clusters.cluster.copy(), np.array(clusters.pivots, dtype=np.int64)
        self._changed, self._counts = np.zeros(c, dtype=np.int64), np.array([_TRIES_EACH * n, 0])
        self._state = self.cluster, self.pivots, self._changed, self._counts, np.zeros(3, dtype=np.int64)

        self._tracks = tracks.priced(0.0)
        taking.measure_groups(self._tracks, self._members, self._groups)
        away_mm = np.sort(_FROM_MEAN * own[placed] / np.repeat(sizes, sizes) / tracks.moments[placed])
        self._tracks = tracks.priced(float(np.rint(away_mm[len(away_mm) // 2])))
        taking.measure_groups(self._tracks, self._members, self._groups)

        self._places = tracks.xy_mm.reshape(n, -1)
        self._means: FloatArray = np.add.reduceat(self._places[placed], starts, axis=0) / sizes[:, None]
        self._near: dict[int, IntArray] = {}  # clusters in which a trajectory of the trash may find a place
        self._tried: dict[int, int] = {}  # number of changes when it last found none
        self._n_near = -(-_NEAR * c // len(placed))
        self._pairs = pairs_of_clusters(nearest_places(self._means, self._means, self._n_near + 1))
        kernels.value_pairs(self._tracks, self._groups, self._pairs)

    def run(self) -> None:
        """Search until no step saves anything, or too many have been tried."""
        everything = self._distances, self._tracks, self._members, self._groups, self._pairs, self._state, self._radius
        while self._counts[0] > 0:
            taking.take_best_steps(*everything)
            if not (self._empty_the_trash() or self._pass_on()):
                break
        for c in range(len(self.pivots)):
            pivot = taking.nearest_to_all(self._distances, self._tracks, self._groups, c, self._radius)
            if pivot != _NOBODY:
                self.pivots[c] = pivot

    def _empty_the_trash(self) -> bool:
        """Let trajectories in the trash join clusters, or replace members that cost more."""
        changed = False
        for i in np.flatnonzero(self.cluster < 0).tolist():
            if i not in self._near:
                self._near[i] = np.sort(nearest_places(self._places[i : i + 1], self._means, self._n_near)[0])
            near = self._near[i]
            if self._tried.get(i, -1) >= self._changed[near].max():
                continue
            self._tried[i] = int(self._counts[1])
            away_mm = kernels.mean_distances_mm(self._tracks, self._groups, i, near)
            nearest: list[int] = near[np.argsort(away_mm, kind="stable")].tolist()
            changed |= self._join(i, nearest) or any(self._replace(i, c) for c in nearest[:_PLACES])
        return changed

    def _join(self, i: int, nearest: list[int]) -> bool:
        """Let a trajectory join the first cluster that accepts it and whose discs do not get smaller by that."""
        delta_m = self._members[2]
        fine = [c for c in nearest if min(delta_m[j] for j in self._members_of(c)) <= delta_m[i]]
        reached = are_within(self._distances, i, self.pivots[fine], self._radius).tolist()
        return any(self._take([(c, _NOBODY, i)], np.inf) for c, is_near in zip(fine, reached, strict=True) if is_near)

    def _replace(self, i: int, c: int) -> bool:
        moments = self._members[3]
        replaceable = [j for j in self._members_of(c) if moments[j] <= moments[i]]
        savings = ((kernels.saved_mm(self._tracks, self._groups, c, j, i), -j) for j in replaceable)
        saved, j = max(savings, default=(0.0, 0))
        return saved > 0 and self._take([(c, -j, i)], saved)

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
                if self._take([(a, i, back), (b, j, i), (c, back, j)], saved):
                    touched[[a, b, c]] = True
        return bool(touched.any())

    def _take(self, step: list[tuple[int, int, int]], saved_mm: float) -> bool:
        """Let a member of each cluster leave, or another one join, if that saves anything and may be."""
        return taking.take_step(
            self._distances,
            self._tracks,
            self._members,
            self._groups,
            self._pairs,
            self._state,
            np.array(step),
            saved_mm,
            self._radius,
        )

    def _members_of(self, c: int) -> Iterator[int]:
        first, following, _, _, _ = self._groups
        i = int(first[c])
        while i != _NOBODY:
            yield i
            i = int(following[i])


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
