"""Regrouping: local search brings the members of clusters nearer to one another.

Not part of the published algorithms, which measure members by their distance from a pivot. But if a set is published
around the mean of its members, translations depend on how far all members are from one another. Regrouping therefore
lowers the sum of distances within clusters that keep a smallest size, by moves, exchanges of two and chains of three
(cyclic exchanges: Ahuja, Orlin, Sharma 2000). On the trucks of Athens this saves a sixth of the metres that refinement
by pivots leaves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from core.models.kdelta.anonymize.cluster.local_search import LocalSearch, PivotClusters, members_of
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories, positions_at

__all__ = ["LARGEST", "Tracks", "regroup"]

LARGEST = 2_000
"""Most trajectories that are regrouped together, which takes 100 MB; larger data sets are left as they are."""

_MOMENTS = 60
_TRIES_EACH = 40  # most steps that are tried, for each trajectory; rarely more than two are needed
_CHAINS_EACH = 4  # chains measured for each cluster in which they begin, the most promising by an estimate
_PLACES = 2  # nearest clusters in which a trajectory of the trash may replace a member
_FROM_MEAN = 0.75  # a member's distance from the mean, divided by its mean distance from all members and itself
_NOBODY = -1
_NEVER = -np.inf

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
        self._span = (first_ms - begin_ms) / step_ms, (last_ms - begin_ms) / step_ms  # in moments
        self._xy_mm: FloatArray = np.zeros((2, len(first_ms), _MOMENTS))
        for i, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            points = slice(start, end)
            self._xy_mm[:, i] = 1000.0 * positions_at(at_ms, trajectories.t_ms[points], trajectories.xy_m[points]).T
        under_way = (at_ms >= first_ms[:, None]) & (at_ms <= last_ms[:, None])
        # A trajectory that begins and ends between two moments counts at one of them.
        short = np.flatnonzero(~under_way.any(axis=1))
        under_way[short, np.minimum(self._span[0][short].astype(np.int64), _MOMENTS - 1)] = True
        self._under_way: FloatArray = under_way.astype(np.float64)
        self.moments: IntArray = under_way.sum(axis=1)
        """Number of moments at which each trajectory is under way, at least 1, shape ``(n,)``."""

    def apart_mm(self, price_mm: float) -> FloatArray:
        """Return the distance of any two trajectories, summed over moments, shape ``(n, n)``, whole millimetres.

        A moment counts half for each of the two that is under way. Before it begins, a trajectory is at its first
        position; after it ends, at its last. Each moment by which one begins, or ends, later than the other costs
        ``price_mm`` in addition, because a point would be created or deleted there.
        """
        n = len(self.moments)
        apart = np.zeros((n, n))
        for i in range(n):
            off, off_y = self._xy_mm[:, i:] - self._xy_mm[:, i, None]
            np.square(off, out=off)
            off += np.square(off_y, out=off_y)
            np.sqrt(off, out=off)
            apart[i, i:] = np.einsum("nm,nm->n", off, self._under_way[i:] + self._under_way[i]) / 2
        for when in self._span:
            apart += np.triu(price_mm * np.abs(when[:, None] - when))
        apart = np.rint(apart)
        apart += np.triu(apart, 1).T
        return apart


def regroup(tracks: Tracks, clusters: PivotClusters) -> PivotClusters:
    """Lower the sum of the distances inside clusters, each divided by the cluster's size, step by step.

    This sum is proportional to the members' distances from their mean, with a factor that is almost constant (for
    squared distances it is exactly constant). Distances are those of :meth:`Tracks.apart_mm`. A moment at which a point
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


class _Search(LocalSearch):
    """Clusters, the distance of every trajectory from each, and the saving of every step."""

    def __init__(self, tracks: Tracks, clusters: PivotClusters) -> None:
        super().__init__(clusters)
        self._delta_m, self._moments = clusters.demands.delta_m, tracks.moments
        self._alike = bool((self._delta_m == self._delta_m[0]).all())
        self._known: dict[tuple[int, int], int] = {}  # distances of members from pivots
        n, c = len(self.cluster), len(self.pivots)
        self._left = _TRIES_EACH * n
        self._members = members_of(clusters)
        self._to: FloatArray = np.zeros((n, c))  # from each to all members of each cluster, mm
        self._inside, self._size = np.zeros(c), np.zeros(c)  # between any two members of each, mm
        self._spare = np.zeros(c, dtype=bool)  # whether it can do without a member
        placed = np.flatnonzero(self.cluster >= 0)
        own = self.cluster[placed]
        self._apart = tracks.apart_mm(0.0)
        for number in range(c):
            self._put(number)
        away_mm = np.sort(_FROM_MEAN * self._to[placed, own] / self._size[own] / self._moments[placed])
        self._apart = tracks.apart_mm(float(np.rint(away_mm[len(away_mm) // 2])))
        for number in range(c):
            self._put(number)
        self._exchanging: FloatArray = np.full((n, n), _NEVER)  # what each exchange would save
        self._moving: FloatArray = np.full((n, c), _NEVER)  # what each move would save
        self._value_steps(placed, np.arange(c))

    def run(self) -> None:
        """Search until no step saves anything, or too many have been tried."""
        while self._left > 0:
            while self._step():
                pass
            if not (self._empty_the_trash() or self._pass_on()):
                break
        for c, members in enumerate(self._members):
            central = self._central(members)
            self.pivots[c] = self.pivots[c] if central is None else central

    def _step(self) -> bool:
        """Take the possible move or exchange that saves most."""
        while self._left > 0:
            exchange, move = int(self._exchanging.argmax()), int(self._moving.argmax())
            by_exchange, by_move = float(self._exchanging.flat[exchange]), float(self._moving.flat[move])
            if max(by_exchange, by_move) <= 0:
                return False
            if by_exchange >= by_move:
                i, j = divmod(exchange, len(self.cluster))
                if self._take({int(self.cluster[i]): (i, j), int(self.cluster[j]): (j, i)}, by_exchange):
                    return True
                self._exchanging[i, j] = self._exchanging[j, i] = _NEVER
            else:
                i, to = divmod(move, len(self._members))
                if self._take({int(self.cluster[i]): (i, _NOBODY), to: (_NOBODY, i)}, by_move):
                    return True
                self._moving[i, to] = _NEVER
        return False

    def _empty_the_trash(self) -> bool:
        """Let trajectories in the trash join clusters, or replace members that cost more."""
        trash = np.flatnonzero(self.cluster < 0)
        if not len(trash):
            return False
        near = np.stack([self._distances.row(pivot).at_least[trash] <= self._radius for pivot in self.pivots])
        changed = False
        for column, i in enumerate(trash.tolist()):
            nearest = np.argsort(self._to[i] / self._size, kind="stable")
            reached = (c for c in nearest[near[nearest, column]].tolist() if self._reaches(self.pivots[c], [i]))
            changed |= any(self._join(i, c) for c in reached) or any(
                self._replace(i, c) for c in nearest[:_PLACES].tolist()
            )
        return changed

    def _join(self, i: int, c: int) -> bool:
        # A trajectory may join only if the discs do not get smaller.
        return bool(self._delta_m[self._members[c]].min() <= self._delta_m[i]) and self._take({c: (_NOBODY, i)}, np.inf)

    def _replace(self, i: int, c: int) -> bool:
        replaceable = [j for j in self._members[c] if self._moments[j] <= self._moments[i]]
        saved, j = max(((self._saved(c, j, i), -j) for j in replaceable), default=(0.0, 0))
        return saved > 0 and self._take({c: (-j, i)}, saved)

    def _pass_on(self) -> bool:
        """Let three clusters pass on a member each, in a ring or from one that can do without, if that saves."""
        best, who = self._best_to_pass()
        chains: list[tuple[float, int, int, int, bool]] = []
        for a in range(len(best) - 1):
            after = slice(a + 1, None)  # a ring is found once, from the first of its clusters
            rings = best[a, after, None] + best[after, after] + best[after, a]
            chains += [(promise, a, a + 1 + b, a + 1 + c, True) for promise, b, c in _highest(rings)]
            if self._spare[a]:
                paths = best[a][:, None] + best
                paths[:, a] = _NEVER
                chains += [(promise, a, b, c, False) for promise, b, c in _highest(paths)]
        touched: set[int] = set()
        for _, a, b, c, ring in sorted(chains, key=lambda chain: (-chain[0], *chain[1:])):
            if touched & {a, b, c}:
                continue
            i, j, back = int(who[a, b]), int(who[b, c]), int(who[c, a]) if ring else _NOBODY
            steps = {a: (i, back), b: (j, i), c: (back, j)}
            saved = sum(self._saved(where, *step) for where, step in steps.items())
            if saved > 0 and self._take(steps, saved):
                touched |= {a, b, c}
        return bool(touched)

    def _best_to_pass(self) -> tuple[FloatArray, IntArray]:
        """Return the estimated saving of a cluster's best member to pass to another, and this member, ``(c, c)``."""
        order = np.concatenate([np.array(members) for members in self._members])
        own, size = self.cluster[order], self._size
        value = (self._to[order, own] / size[own])[:, None] - self._to[order] * ((size - 1) / np.square(size))
        value[np.arange(len(order)), own] = _NEVER
        ends = np.cumsum([len(members) for members in self._members]).tolist()
        rows_of = [slice(end - len(members), end) for end, members in zip(ends, self._members, strict=True)]
        best = np.stack([value[rows].max(axis=0) for rows in rows_of])
        who = np.stack([order[rows][value[rows].argmax(axis=0)] for rows in rows_of])
        return best, who

    def _take(self, steps: _Steps, saved: float) -> bool:
        """Let members leave and join clusters, if that saves anything and keeps what clustering ensured."""
        self._left -= 1
        after = {c: sorted({*self._members[c], joins} - {leaves, _NOBODY}) for c, (leaves, joins) in steps.items()}
        if not self._alike:
            lost = sum(self._disc(self._members[c]) - self._disc(members) for c, members in after.items())
            if saved <= lost:
                return False
        pivots = {c: self._pivot_for(c, members) for c, members in after.items()}
        if _NOBODY in pivots.values():
            return False
        for c, members in after.items():
            self.cluster[self._members[c]] = _NOBODY
            self._members[c], self.pivots[c] = members, pivots[c]
        for c in after:
            self._put(c)
        gone = [leaves for leaves, _ in steps.values() if leaves >= 0 and self.cluster[leaves] < 0]
        self._exchanging[gone] = self._exchanging[:, gone] = self._moving[gone] = _NEVER
        changed = np.array(sorted(i for members in after.values() for i in members))
        self._value_steps(changed, np.array(sorted(after)))
        return True

    def _put(self, c: int) -> None:
        """Measure a cluster whose members have changed."""
        members = self._members[c]
        self.cluster[members] = c
        self._to[:, c] = self._apart[:, members].sum(axis=1)
        self._inside[c] = self._to[members, c].sum() / 2
        self._size[c] = len(members)
        n_users = self._n_users(members)
        self._spare[c] = n_users < len(members) or n_users > min(self._k[j] for j in members)

    def _value_steps(self, some: IntArray, clusters: IntArray) -> None:
        """Store what all steps of some members would save, and all moves to some clusters."""
        placed = np.flatnonzero(self.cluster >= 0)
        exchanges = self._exchanges(some, placed)
        self._exchanging[np.ix_(some, placed)] = exchanges
        self._exchanging[np.ix_(placed, some)] = exchanges.T
        self._moving[some] = self._moves(some, np.arange(len(self._size)))
        self._moving[np.ix_(placed, clusters)] = self._moves(placed, clusters)

    def _exchanges(self, some: IntArray, others: IntArray) -> FloatArray:
        """Return what the exchanges of ``s`` members with ``o`` others would save, shape ``(s, o)``.

        A cluster costs ``inside / size``. If j replaces i, the size stays. ``inside`` loses the distances of i from all
        members and gains those of j from all but i, so it falls by ``to[i] - to[j] + apart[i, j]``.
        """
        to, size, apart = self._to, self._size, self._apart[np.ix_(some, others)]
        own, theirs = self.cluster[some], self.cluster[others]
        here_less = to[some, own][:, None] - to[np.ix_(others, own)].T + apart
        there_less = to[others, theirs] - to[np.ix_(some, theirs)] + apart
        saved: FloatArray = here_less / size[own][:, None]
        saved += there_less / size[theirs]
        saved[own[:, None] == theirs] = _NEVER
        return saved

    def _moves(self, some: IntArray, clusters: IntArray) -> FloatArray:
        """Return what the moves of ``s`` members to ``d`` clusters would save, shape ``(s, d)``.

        A cluster costs ``inside / size``. A move makes the member's own cluster cheaper and the other one dearer.
        """
        to, size, inside, own = self._to, self._size, self._inside, self.cluster[some]
        cost: FloatArray = inside / size
        cheaper = cost[own] - (inside[own] - to[some, own]) / (size[own] - 1)
        dearer = (inside[clusters] + to[np.ix_(some, clusters)]) / (size[clusters] + 1) - cost[clusters]
        saved: FloatArray = cheaper[:, None] - dearer
        saved[~self._spare[own]] = _NEVER
        saved[own[:, None] == clusters] = _NEVER
        return saved

    def _saved(self, c: int, leaves: int, joins: int) -> float:
        """Return how much less a cluster costs if one member leaves, or another joins, or both."""
        inside, size = float(self._inside[c]), float(self._size[c])
        if leaves != _NOBODY:
            inside, size = inside - self._to[leaves, c], size - 1
        if joins != _NOBODY:
            between = 0.0 if leaves == _NOBODY else self._apart[leaves, joins]
            inside, size = inside + self._to[joins, c] - between, size + 1
        return float(self._inside[c] / self._size[c] - inside / size)

    def _disc(self, members: list[int]) -> float:
        """Return what a cluster's discs save its members, millimetres, on the scale of the sums of distances."""
        radius_mm = float(self._delta_m[members].min()) * 500.0
        return radius_mm * float(self._moments[members].sum()) / (2 * _FROM_MEAN)

    def _pivot_for(self, c: int, members: list[int]) -> int:
        """Return the pivot of a cluster with other members, its present one if possible; -1 if they break a rule."""
        if not self._satisfied(members):
            return _NOBODY
        pivot = self.pivots[c]
        if pivot in members and self._reaches(pivot, members):
            return pivot
        central = self._central(members)
        return _NOBODY if central is None else central

    def _central(self, members: list[int]) -> int | None:
        """Return, among the members from which no other is beyond the radius, the one nearest to all others."""
        order = np.argsort(self._apart[np.ix_(members, members)].sum(axis=1), kind="stable").tolist()
        return next((members[at] for at in order if self._reaches(members[at], members)), None)

    def _reaches(self, pivot: int, members: list[int]) -> bool:
        """Return whether no member is farther from a pivot than the radius."""
        pairs = [(min(pivot, j), max(pivot, j)) for j in members if j != pivot]
        unknown = [pair for pair in pairs if pair not in self._known]
        if unknown:
            ones, others = np.array(unknown, dtype=np.int64).T
            self._known.update(zip(unknown, self._distances.between(ones, others).tolist(), strict=True))
        return all(self._known[pair] <= self._radius for pair in pairs)


def _highest(promises: FloatArray) -> list[tuple[float, int, int]]:
    """Return the most promising entries of a table, at most one a row, with their rows and columns."""
    columns = promises.argmax(axis=1)
    values: npt.NDArray[np.float64] = promises[np.arange(len(promises)), columns]
    rows = np.argsort(-values, kind="stable")[:_CHAINS_EACH].tolist()
    return [(float(values[row]), row, int(columns[row])) for row in rows if values[row] > 0]
