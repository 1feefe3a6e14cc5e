"""Bit-vector transaction distance: how unlike the sets of locations in a cluster are (Poulis et al. 2013, section 5).

``BTD(r1, r2) = (ones(b1 xor b2) + 1) / (ones(b1 and b2) + 1)``, and the BTD of a cluster is the largest between any
two of its records, one with itself included. The scanned paper leaves open whether the upper operator is XOR or OR. XOR
is the first that it lists, and the only one whose count can be 0, which explains the ``+ 1``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.records.arrays import FloatArray, IntArray

__all__ = ["TransactionDistances"]

# These two bound memory, not the result.
_CELLS_KEPT = 1 << 24
_ROWS_AT_ONCE = 512


class TransactionDistances:
    """BTD of the clusters that are left, and of any two of them together.

    A cluster's row of distances to all records is computed when first needed. When two clusters merge, the row of the
    merged one is the element-wise maximum of their rows. So no row is computed twice while all rows fit into 128 MiB.

    Args:
        starts: Where the locations of each person begin, shape ``(n + 1,)``.
        locations: Their sets of locations, shape ``(starts[-1],)``.
        members: People of each of ``c`` clusters, nobody in two.
    """

    def __init__(self, starts: IntArray, locations: IntArray, members: list[IntArray]) -> None:
        self._distinct(starts, locations, members)
        self._cluster_of = np.arange(len(members))  # (c,) current cluster of each initial one
        self._first = [[number] for number in range(len(members))]
        self._rows: dict[int, FloatArray] = {}  # per current cluster: largest BTD to each initial one
        self.inside: FloatArray = np.array([self._within(number) for number in range(len(members))])
        """BTD of each cluster, shape ``(c,)``; meaningless once merged into another."""

    def together(self, cluster: int, others: IntArray) -> FloatArray:
        """Return ``BTD(C with C_i)`` of one cluster and each of some others, shape ``(o,)``."""
        row = self._row(cluster)
        across = np.zeros(len(self.inside))
        np.maximum.at(across, self._cluster_of, row)
        both: FloatArray = np.maximum(np.maximum(self.inside[cluster], self.inside[others]), across[others])
        return both

    def merge(self, into: int, absorbed: int) -> None:
        """Make one cluster of two."""
        self.inside[into] = self.together(into, np.array([absorbed]))[0]
        mine, theirs = self._rows.pop(into), self._rows.pop(absorbed, None)
        self._first[into] += self._first[absorbed]
        self._cluster_of[self._first[absorbed]] = into
        if theirs is not None:
            self._keep(into, np.maximum(mine, theirs))

    def _distinct(self, starts: IntArray, locations: IntArray, members: list[IntArray]) -> None:
        """Number the distinct sets of locations: people with equal sets have equal distances."""
        number: dict[bytes, int] = {}
        sets: list[IntArray] = []
        held: list[list[int]] = []
        for cluster in members:
            own: dict[int, None] = {}
            for person in cluster.tolist():
                visited = locations[starts[person] : starts[person + 1]]
                at = number.setdefault(visited.tobytes(), len(sets))
                if at == len(sets):
                    sets.append(visited)
                own[at] = None
            held.append(list(own))
        self._sets = sets
        self._sizes = np.array([len(visited) for visited in sets], dtype=np.int64)  # (u,)
        self._held = [np.array(own, dtype=np.int64) for own in held]
        self._begins = np.cumsum([0, *map(len, held)])[:-1]  # (c,) where each cluster begins in the following
        self._held_flat = np.concatenate(self._held) if held else np.empty(0, dtype=np.int64)
        flat = np.concatenate(sets) if sets else np.empty(0, dtype=np.int64)
        owner = np.repeat(np.arange(len(sets)), self._sizes)
        order = np.argsort(flat, kind="stable")
        self._holders = owner[order]  # sets that hold each location, location by location
        self._holders_from = np.searchsorted(flat[order], np.arange(int(flat.max(initial=-1)) + 2))

    def _row(self, cluster: int) -> FloatArray:
        """Return the largest BTD between a cluster's records and those of each initial cluster, shape ``(c,)``."""
        if cluster not in self._rows:
            farthest = np.zeros(len(self._sets))
            for number in {number: None for first in self._first[cluster] for number in self._held[first].tolist()}:
                holders = [
                    self._holders[self._holders_from[location] : self._holders_from[location + 1]]
                    for location in self._sets[number].tolist()
                ]
                both = np.bincount(np.concatenate(holders), minlength=len(self._sets)) if holders else 0 * self._sizes
                np.maximum(farthest, _btd(self._sizes[number], self._sizes, both), out=farthest)
            self._keep(cluster, np.maximum.reduceat(farthest[self._held_flat], self._begins))
        return self._rows[cluster]

    def _keep(self, cluster: int, row: FloatArray) -> None:
        while self._rows and (len(self._rows) + 1) * len(row) > _CELLS_KEPT:
            del self._rows[next(iter(self._rows))]
        self._rows[cluster] = row

    def _within(self, cluster: int) -> float:
        own = self._held[cluster]
        sizes = self._sizes[own]
        places, column = np.unique(np.concatenate([self._sets[number] for number in own.tolist()]), return_inverse=True)
        if len(own) * len(places) > _CELLS_KEPT:
            return float(self._row(cluster)[cluster])  # computed to all others as well, but in little memory
        holds = np.zeros((len(own), len(places)), dtype=np.float32)  # whole numbers below 2 ** 24 are exact
        holds[np.repeat(np.arange(len(own)), sizes), column] = 1.0
        return max(
            float(_btd(sizes[at : at + _ROWS_AT_ONCE, None], sizes, holds[at : at + _ROWS_AT_ONCE] @ holds.T).max())
            for at in range(0, len(own), _ROWS_AT_ONCE)
        )


def _btd(size: IntArray, others: IntArray, both: npt.NDArray[np.generic]) -> FloatArray:
    """Return BTD from the sizes of sets and of intersections; each is one division, rounded alike on any machine."""
    shared = both.astype(np.float64)
    distance: FloatArray = (size + others - 2.0 * shared + 1.0) / (shared + 1.0)
    return distance
