"""Companions: people who were in the same sets in the earlier windows of an epoch are clustered together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.kernels.fragments.tracks import nearest_places
from core.models.kdelta.anonymize.cluster.chunks import Block
from core.models.kdelta.anonymize.cluster.clustering import Clustering
from core.models.kdelta.anonymize.distance.distances import Distances
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import Demands, PointTrajectories

__all__ = ["Companions"]


_MOST_TIMES_K = 4
"""Most people wanted in a set, as a multiple of k: larger sets lose fewer people, and move points farther."""

_STAY = 0.5
"""For how long a trajectory is taken to stay where it ends, in parts of a window."""

_NEAR = 64  # clusters whose pivots are measured for a newcomer: those nearest by mean position


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Companions:
    """With whom each person of a window was released in the earlier windows of its epoch.

    People with the same past (the same sets in the same windows, or none) form a block. Blocks are clustered
    separately, so the members of a set share their past, and whoever joins a set later has at least as many people
    there whose past includes the own one as the person demands.
    """

    block: IntArray
    """Block of each person of the window, shape ``(n_users,)``."""

    pasts: tuple[frozenset[int], ...] = field(repr=False)
    """The earlier sets of each block, numbered over all windows; none for people who were not released yet."""

    windows_left: int
    """How many windows of the epoch come after this one."""

    size_ms: int
    """Length of a window."""

    def apart(self, trajectories: PointTrajectories) -> list[IntArray]:
        """Return the trajectories of each block, ascending numbers."""
        of_block = self.block[trajectories.users]
        order = np.argsort(of_block, kind="stable")
        bounds = np.flatnonzero(np.diff(of_block[order])) + 1
        return np.split(order, bounds) if len(order) else []

    def ahead(self, trajectories: PointTrajectories) -> PointTrajectories:
        """Return the trajectories by which people are compared.

        If the epoch goes on, each stays where it ends for half a window more, because people who are near one another
        at the end are most likely to be near in the next window. It has as many points there as in half a window.
        """
        if not self.windows_left or not len(trajectories.users):
            return trajectories
        counts = np.diff(trajectories.starts)
        more = np.maximum((counts * _STAY).astype(np.int64), 1)
        ends = trajectories.starts[1:] - 1
        starts = np.append(0, np.cumsum(counts + more))
        of = np.repeat(np.arange(len(counts)), more)
        nth = np.arange(len(of)) - np.repeat(np.cumsum(more) - more, more) + 1
        begin_ms = int(trajectories.t_ms.max()) + 1
        at = np.repeat(trajectories.starts[1:], more)
        stay_ms = begin_ms + nth * int(self.size_ms * _STAY) // more[of]
        return PointTrajectories(
            users=trajectories.users,
            starts=starts,
            t_ms=np.insert(trajectories.t_ms, at, stay_ms),
            xy_m=np.insert(trajectories.xy_m, at, trajectories.xy_m[ends[of]], axis=0),
        )

    def wanted(self, demands: Demands, chunks: Sequence[Block], *, within_m: float) -> Demands:
        """Return how large sets should be made.

        People leave, and others turn off. So a set should have the people that its members demand, doubled for each
        window that is left, up to four times; it can then be divided, or lose people. A chunk that is too small for two
        such sets stays in one set, and people with fewer others around want no more than there are.

        Args:
            demands: k and delta of each trajectory.
            chunks: The trajectories in the parts that are clustered separately.
            within_m: How far away others are around, by mean positions, metres.
        """
        k = demands.k.copy()
        times = min(2 ** min(self.windows_left, _MOST_TIMES_K), _MOST_TIMES_K)
        for chunk in chunks:
            least, half = demands.k[chunk.members], chunk.trajectories.n_users // 2 + 1
            around = _counts_within(chunk.trajectories.mean_positions_m(), within_m)
            k[chunk.members] = np.maximum(least, np.minimum(np.minimum(least * times, half), around))
        return replace(demands, k=k)

    def place_the_rest(
        self, clustering: Clustering, trajectories: PointTrajectories, distances: Distances, demands: Demands
    ) -> Clustering:
        """Let trajectories of the trash join the cluster of the nearest pivot within the radius that satisfies them.

        A cluster satisfies a trajectory if it has the users that the trajectory demands, its own among them, whose past
        includes the past of its user, and if its delta is not larger than the trajectory demands. Nobody else loses
        anything by that: the others have the same people as before, and more.

        Args:
            clustering: Clusters that keep the promise.
            trajectories: The data set, numbered as in the window.
            distances: Distances between them.
            demands: What each demands.
        """
        if self.is_alone or not len(clustering.pivots):
            return clustering
        places = _Places(self, clustering, trajectories, demands)
        cluster = clustering.cluster.copy()
        for i in np.flatnonzero(cluster < 0).tolist():
            candidates = np.array([c for c in places.near(i) if places.accepts(c, i)], dtype=np.int64)
            away = distances.between(i, clustering.pivots[candidates])
            if len(away) and away.min() <= clustering.radius:
                cluster[i] = candidates[away.argmin()]
                places.put(int(cluster[i]), i)
        return replace(clustering, cluster=cluster)

    @property
    def is_alone(self) -> bool:
        """Whether nobody was released in this epoch yet; all people are then in one block."""
        return not any(self.pasts)


def _counts_within(xy_m: FloatArray, radius_m: float) -> IntArray:
    """Count the places within a radius of each of ``n`` places, itself among them, in whole millimetres."""
    xy_mm, radius_mm = np.rint(xy_m * 1000), round(radius_m * 1000)
    counts = np.empty(len(xy_mm), dtype=np.int64)
    for at, (x, y) in enumerate(xy_mm.tolist()):
        counts[at] = np.count_nonzero(np.square(xy_mm[:, 0] - x) + np.square(xy_mm[:, 1] - y) <= radius_mm**2)
    return counts


class _Places:
    """The clusters that trajectories of the trash may join."""

    def __init__(
        self, companions: Companions, clustering: Clustering, trajectories: PointTrajectories, demands: Demands
    ) -> None:
        self._companions, self._demands, self._users = companions, demands, trajectories.users
        self._means_m: FloatArray = trajectories.mean_positions_m()
        self._pivot_means_m = np.ascontiguousarray(self._means_m[clustering.pivots])
        n = len(clustering.pivots)
        self._people: list[set[int]] = [set() for _ in range(n)]
        self._least_m = [np.inf] * n
        self._with: dict[int, set[int]] = {}
        """The clusters with somebody who was in an earlier set."""
        for i in np.flatnonzero(clustering.cluster >= 0).tolist():
            self.put(int(clustering.cluster[i]), i)

    def _past(self, user: int) -> frozenset[int]:
        return self._companions.pasts[int(self._companions.block[user])]

    def put(self, c: int, i: int) -> None:
        """Note that a trajectory is in a cluster."""
        user = int(self._users[i])
        self._people[c].add(user)
        self._least_m[c] = min(self._least_m[c], float(self._demands.delta_m[i]))
        for set_ in self._past(user):
            self._with.setdefault(set_, set()).add(c)

    def near(self, i: int) -> Iterator[int]:
        """Return the clusters that a trajectory might join, ascending."""
        past = self._past(int(self._users[i]))
        if past:
            return iter(sorted(set.intersection(*(self._with.get(set_, set()) for set_ in past))))
        found = nearest_places(self._means_m[i : i + 1], self._pivot_means_m, _NEAR)[0]
        return iter(np.sort(found).tolist())

    def accepts(self, c: int, i: int) -> bool:
        """Return whether a cluster satisfies a trajectory."""
        user = int(self._users[i])
        blocks = Counter(int(self._companions.block[one]) for one in self._people[c] | {user})
        past = self._past(user)
        supporting = sum(n for block, n in blocks.items() if past <= self._companions.pasts[block])
        return supporting >= int(self._demands.k[i]) and self._least_m[c] <= float(self._demands.delta_m[i])
