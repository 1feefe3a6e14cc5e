"""SeqAnon: k^m-anonymity for sequences of locations by distance-based generalization (Poulis et al. 2014).

The published loop is followed as printed (Section 4.1): sizes 1 to m, infrequent subtrajectories by support,
and for each the merging of its least supported location with the nearest one until its support is k.

One addition is ours, and acts only where that loop would never end. However far locations are merged, a
subtrajectory of ``i`` locations has no more supporters than there are people with a trajectory of ``i``
visits. Let ``limit`` be the k-th largest value, over all people, of the visits in one's longest trajectory.
Nothing raises a subtrajectory of more than ``limit`` locations to k; so when ``limit < m``, no release that
keeps the guarantee, however it generalizes, holds a trajectory of more than ``limit`` visits. Such ones are
therefore cut to ``limit`` visits before anything is merged. These are the fewest occurrences that can be
suppressed, and no more are needed: in what remains, one location for the whole window would satisfy every
subtrajectory, so the loop ends with the guarantee, at the latest there. Every support it looks at is one
after suppression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.guarantees import KmAnonymity
from core.support import Subtrajectory, SupportIndex, subtrajectories
from core.trajectory import FloatArray, IntArray, Sequences

__all__ = ["Generalization", "seqanon"]

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Generalization:
    """What to release: visit ``j`` as ``group_of[locations[j]]``, and not at all unless ``kept[j]``."""

    group_of: IntArray
    """Generalized location of each location, named by its smallest member's id, shape ``(L,)``.

    A location that no kept visit uses stands alone.
    """

    kept: BoolArray
    """False where an occurrence is suppressed, shape ``(p,)``."""

    merges: int
    """How many times two generalized locations were made one."""


def seqanon(trajectories: Sequences, xy_m: FloatArray, guarantee: KmAnonymity) -> Generalization:
    """Make a window k^m-anonymous: suppress where no generalization can help, and generalize.

    Ties: infrequent subtrajectories are taken by (support, ids), the location to generalize by (support, id),
    the one to merge it with by (centroid distance in whole millimetres, id); the id of a generalized location
    is its smallest member's.

    Args:
        trajectories: The window. Support counts its distinct people.
        xy_m: Position of each location, metres, shape ``(L, 2)``; ids are rows.
        guarantee: k and m. With fewer than k people everything is suppressed.

    Raises:
        ValueError: A position is missing or not finite.
    """
    if len(trajectories.locations) and int(trajectories.locations.max()) >= len(xy_m):
        raise ValueError(f"a location id is {int(trajectories.locations.max())}: xy_m has {len(xy_m)} rows")
    if not np.isfinite(xy_m).all():
        raise ValueError("xy_m holds a position that is not finite: every location needs one")

    kept = _kept(trajectories, guarantee)
    remaining = _select(trajectories, kept)
    places = _GeneralizedLocations(remaining, xy_m)
    merges = 0
    for size in range(1, min(guarantee.m, _longest(remaining)) + 1):
        index = SupportIndex(_generalize(remaining, places), size=size, k=guarantee.k)
        for _, subtrajectory in index.infrequent():
            merges += _raise_support(subtrajectory, index, places)
    return Generalization(group_of=np.array(places.group_of, np.int64), kept=kept, merges=merges)


def _raise_support(subtrajectory: Subtrajectory, index: SupportIndex, places: _GeneralizedLocations) -> int:
    """Merge until a subtrajectory has support k (Algorithm SeqAnon, steps 5 to 8); return how often."""
    merges = 0
    current = tuple(places.group_of[location] for location in subtrajectory)
    while not index.is_frequent(current):
        least = min(current, key=lambda location: (places.support(location), location))
        nearest = places.nearest(least)
        into, absorbed = min(least, nearest), max(least, nearest)
        places.merge(into, absorbed)
        index.merge(into, absorbed)
        current = tuple(into if location == absorbed else location for location in current)
        merges += 1
    return merges


class _GeneralizedLocations:
    """The generalized locations in use, each named by its smallest member's id."""

    def __init__(self, trajectories: Sequences, xy_m: FloatArray) -> None:
        self.group_of = list(range(len(xy_m)))
        self._members = [[location] for location in self.group_of]
        self._visitors: dict[int, set[int]] = {}
        table = subtrajectories(trajectories, 1)
        for location, start, end in zip(table.locations[:, 0], table.starts, table.starts[1:], strict=False):
            self._visitors[int(location)] = set(table.users[start:end].tolist())
        # Whole millimetres: sums of integers do not depend on the order of merging.
        self._sums_mm = np.rint(xy_m * 1000).astype(np.int64)  # (L, 2)
        self._x_mm, self._y_mm = self._sums_mm.astype(np.float64).T.copy()  # (L,) centroids
        self._in_use = np.zeros(len(xy_m), np.bool_)
        self._in_use[table.locations[:, 0]] = True

    def support(self, location: int) -> int:
        """Count the distinct people who visit a generalized location."""
        return len(self._visitors[location])

    def nearest(self, location: int) -> int:
        """Find the other generalized location in use with the nearest centroid, ties by id."""
        dx, dy = self._x_mm - self._x_mm[location], self._y_mm - self._y_mm[location]
        # A square root is rounded alike on every processor; np.hypot is not.
        distance_mm = np.rint(np.sqrt(dx * dx + dy * dy))
        distance_mm[~self._in_use] = np.inf
        distance_mm[location] = np.inf
        found = int(np.argmin(distance_mm))
        if distance_mm[found] == np.inf:
            raise RuntimeError("one generalized location is left and a subtrajectory is still infrequent")
        return found

    def merge(self, into: int, absorbed: int) -> None:
        """Make one generalized location of two; ``into`` is the smaller id."""
        for member in self._members[absorbed]:
            self.group_of[member] = into
        self._members[into] += self._members[absorbed]
        self._visitors[into] |= self._visitors.pop(absorbed)
        self._sums_mm[into] += self._sums_mm[absorbed]
        self._x_mm[into], self._y_mm[into] = self._sums_mm[into] / len(self._members[into])
        self._in_use[absorbed] = False


def _kept(trajectories: Sequences, guarantee: KmAnonymity) -> BoolArray:
    """Tell which visits stay when trajectories too long for any generalization are cut down, shape ``(p,)``.

    The visits to the locations with the largest support stay, the earlier of two alike: a rare location that
    stayed would have to be generalized.
    """
    lengths = np.diff(trajectories.starts)  # (n,)
    longest = np.zeros(trajectories.n_users, np.int64)
    np.maximum.at(longest, trajectories.users, lengths)
    limit = int(np.sort(longest)[-guarantee.k]) if len(longest) >= guarantee.k else 0
    kept = np.ones(len(trajectories.locations), np.bool_)
    if limit >= guarantee.m or lengths.max(initial=0) <= limit:
        return kept
    table = subtrajectories(trajectories, 1)
    supports = table.supports[np.searchsorted(table.locations[:, 0], trajectories.locations)]  # (p,)
    order = np.lexsort((-supports, np.repeat(np.arange(len(lengths)), lengths)))
    kept[order] = np.arange(len(order)) - np.repeat(trajectories.starts[:-1], lengths) < limit
    return kept


def _select(trajectories: Sequences, kept: BoolArray) -> Sequences:
    starts = np.concatenate(([0], np.cumsum(kept)))[trajectories.starts]
    return Sequences(users=trajectories.users, starts=starts, locations=trajectories.locations[kept])


def _generalize(trajectories: Sequences, places: _GeneralizedLocations) -> Sequences:
    locations = np.array(places.group_of, np.int64)[trajectories.locations]
    return Sequences(users=trajectories.users, starts=trajectories.starts, locations=locations)


def _longest(trajectories: Sequences) -> int:
    return int(np.diff(trajectories.starts).max(initial=0))
