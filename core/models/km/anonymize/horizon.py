"""k^m-anonymity over a horizon: repair what is infrequent in the joined trajectories of several windows.

It is Definition 4 of Poulis et al. 2014, with joined trajectories in place of those of one window. What earlier windows
released cannot be changed, so the present window is: its generalized locations are merged further, or visits are
suppressed.

As in :mod:`core.models.km.anonymize.least_loss.anonymize` the merges are ordered first: next is always the one that
adds least to the distance visits are moved. For a number of merges, :func:`.suppression.suppress_infrequent` suppresses
the rest. From one generalized location for the whole window on, ever fewer merges are tried, until suppression alone
loses more than the best release found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from core.kernels.checkins.merge_order import distances_between, merge_cheapest, merged, named_by_kept
from core.models.km.anonymize.joined import Earlier, JoinedWindow
from core.models.km.anonymize.least_loss.hierarchy import hierarchy
from core.models.km.anonymize.least_loss.prices import moved_m, whole_window_m
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.anonymize.suppression import suppress_infrequent
from core.models.km.guarantee import KmAnonymity
from core.records.arrays import BoolArray, FloatArray, IntArray, UserHashes
from core.trajectories.generalized import generalized
from core.trajectories.trajectory import Sequences
from core.utility.distance import location_distance
from core.windows.history import History

__all__ = ["Constrained", "hold_over_horizon"]

_RATIO = 1.6
"""Ratio of the numbers of generalized locations that are tried."""

_MOST_AT_ONCE = 2_048
"""Most generalized locations whose pairwise distances are held at once."""

_NEXT_TO_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Constrained:
    """What the constraints of U-SeqAnon allow."""

    constraint_of: IntArray
    """Number of the constraint that holds each location, shape ``(L,)``."""

    budget: int
    """Most of the visited locations that may be suppressed."""


def hold_over_horizon(
    trajectories: Sequences,
    users: UserHashes,
    xy_m: FloatArray,
    guarantee: KmAnonymity,
    result: Generalization,
    history: History,
    *,
    suppression_price: float,
    constrained: Constrained | None = None,
) -> Generalization | None:
    """Make a k^m-anonymous release k^m-anonymous also together with what earlier windows released.

    People with an earlier release that cannot be read are left out.

    Args:
        trajectories: The window.
        users: Keyed hash of each user, ascending, shape ``(n_users,)``.
        xy_m: Position of each location, metres, shape ``(L, 2)``; ids are rows.
        guarantee: k and m.
        result: The release of the window by itself.
        history: What earlier windows released.
        suppression_price: Price of a suppressed visit, in multiples of the distance that one location for the whole
            window moves it.
        constrained: The constraints; None if there are none.

    Returns:
        The release; ``result`` itself if it holds. None if the constraints cannot be kept within their budget.
    """
    earlier = Earlier.of(history, users, m=guarantee.m)
    if not result.kept.any() or not (len(earlier.persons) or earlier.unread.any()):
        return result
    price_m = max(suppression_price, _NEXT_TO_NOTHING) * whole_window_m(trajectories, xy_m)
    run = _Run(trajectories, xy_m, guarantee, result, earlier, price_m, constrained)
    return run.best()


class _Weighed(NamedTuple):
    lost_m: float
    """Distance that visits are moved, and the price of those that are suppressed here, metres."""

    result: Generalization


class _Run:
    def __init__(
        self,
        trajectories: Sequences,
        xy_m: FloatArray,
        guarantee: KmAnonymity,
        result: Generalization,
        earlier: Earlier,
        price_m: float,
        constrained: Constrained | None,
    ) -> None:
        self._trajectories, self._xy_m, self._guarantee = trajectories, xy_m, guarantee
        self._given, self._price_m, self._constrained = result, price_m, constrained
        left = generalized(trajectories.split(result.splits), result.group_of, result.kept)
        self._at = np.flatnonzero(result.kept)  # (q,) where the visits of the release are in the window
        self._groups, self._numbers = np.unique(left.locations, return_inverse=True)  # (G,), (q,)
        self._left = left
        self._readable = ~earlier.unread[left.owners]
        self._joined = JoinedWindow(left, earlier)
        self._merges, self._n_coarsest = self._order_of_merges()
        self._found: dict[int, _Weighed | None] = {}

    def best(self) -> Generalization | None:
        """Return the release with the least loss among those that were tried."""
        n_groups = len(self._groups)
        if (as_given := self._try(n_groups, most=0)) is not None:
            return as_given.result
        best: tuple[int, _Weighed] | None = None
        failures = 0
        for n in _ladder(self._n_coarsest, n_groups):
            found = self._try(n, most=self._affordable(best))
            failures = failures + 1 if found is None else 0
            if found is not None and (best is None or found.lost_m < best[1].lost_m):
                best = n, found
            if best is not None and failures == 2:
                break
        if best is None:
            return None
        for n in _between(best[0], sorted(self._found)):
            found = self._try(n, most=self._affordable(best))
            if found is not None and found.lost_m < best[1].lost_m:
                best = n, found
        return best[1].result

    def _affordable(self, best: tuple[int, _Weighed] | None) -> int:
        """Return how many visits may be suppressed without losing more than the best release."""
        n_visits = len(self._numbers)
        return n_visits if best is None else int(min(best[1].lost_m / self._price_m + _NEXT_TO_NOTHING, n_visits))

    def _try(self, n: int, *, most: int) -> _Weighed | None:
        """Merge until there are ``n`` generalized locations, and suppress; None if that takes too much."""
        into, absorbed = self._merges
        n_groups = len(self._groups)
        group = merged(into, absorbed, n_groups, n_groups - n)
        numbers = np.unique(group, return_inverse=True)[1][self._numbers]
        sequences = replace(self._left, locations=numbers)
        guarantee = self._guarantee
        kept = suppress_infrequent(sequences, self._joined, self._readable, k=guarantee.k, m=guarantee.m, most=most)
        self._found[n] = None
        if kept is None:
            return None
        if n == n_groups and kept.all():
            return _Weighed(0.0, self._given)
        result = self._named(self._groups[group], kept)
        if not self._keeps_budget(result):
            return None
        released_m = moved_m(self._xy_m, result.group_of, self._trajectories.locations[result.kept])
        # In whole millimetres: the last digits of sums may differ between processors.
        found = _Weighed(round(released_m + self._price_m * int((~kept).sum()), 3), result)
        self._found[n] = found
        return found

    def _named(self, group: IntArray, kept: BoolArray) -> Generalization:
        """Return a release of merged groups; a location whose visits are all suppressed is part of none.

        Args:
            group: Name of the merged group of each group, shape ``(G,)``.
            kept: Which of the released visits are left, shape ``(q,)``.
        """
        group_of = self._given.group_of.copy()
        of_location = np.searchsorted(self._groups, group_of)
        of_location[of_location == len(self._groups)] = 0
        released = self._groups[of_location] == group_of
        group_of[released] = group[of_location[released]]
        all_kept = np.zeros(len(self._given.kept), np.bool_)
        all_kept[self._at[kept]] = True
        n_locations = len(group_of)
        group_of, merges = named_by_kept(
            np.ascontiguousarray(self._trajectories.locations),
            all_kept,
            group_of,
            np.arange(n_locations),
            n_locations,
        )
        return replace(self._given, group_of=group_of, kept=all_kept, merges=merges)

    def _keeps_budget(self, result: Generalization) -> bool:
        if self._constrained is None:
            return True
        visited = self._trajectories.locations
        n_suppressed = len(np.unique(visited)) - len(np.unique(visited[result.kept]))
        return n_suppressed <= self._constrained.budget

    def _order_of_merges(self) -> tuple[tuple[IntArray, IntArray], int]:
        """Order the merges of generalized locations, inside their constraints.

        Returns:
            The number of the generalized location that grows with each merge and of the one that it absorbs, and how
            many are left in the end.
        """
        members = np.isin(self._given.group_of, self._groups)
        of_location = np.searchsorted(self._groups, self._given.group_of[members])
        sizes = np.bincount(of_location).astype(np.float64)
        xy_mm = np.rint(self._xy_m[members] * 1000)
        centres = np.column_stack([np.bincount(of_location, axis) / sizes for axis in xy_mm.T])
        visits = np.bincount(self._numbers).astype(np.float64)
        own_mm = np.rint(1000 * location_distance(self._xy_m, self._given.group_of))
        original = self._trajectories.locations[self._at]
        inside_mm = np.bincount(self._numbers, own_mm[original]) * sizes
        parts = _parts(self._groups, self._constrained)
        orders = []
        for part in parts:
            into, absorbed, added_mm = _cheapest(centres[part], visits[part], sizes[part], inside_mm[part])
            orders.append((part[into], part[absorbed], np.maximum.accumulate(np.append(-np.inf, added_mm))[1:]))
        into, absorbed, turns_mm = (np.concatenate(columns) for columns in zip(*orders, strict=True))
        order = np.argsort(turns_mm, kind="stable")  # a part's next merge waits for those before it
        return (np.ascontiguousarray(into[order]), np.ascontiguousarray(absorbed[order])), len(parts)


def _cheapest(
    centres: FloatArray, visits: FloatArray, sizes: FloatArray, inside_mm: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Merge the two that add least to the distance visits are moved, until one is left.

    Args:
        centres: Centroid of each generalized location, millimetres, shape ``(g, 2)``.
        visits: Visits of each, shape ``(g,)``.
        sizes: Members of each, shape ``(g,)``.
        inside_mm: Distance of all visits of each from all of its members, millimetres, shape ``(g,)``.

    Returns:
        The number that grows with each merge, the larger one that it absorbs, and what the merge adds, millimetres.
    """
    if len(centres) > _MOST_AT_ONCE:  # then each counts as one location
        found = hierarchy(centres / 1000, visits.astype(np.int64))
        return found.into, found.absorbed, np.diff(found.moved_m) * 1000
    moved_mm = distances_between(np.ascontiguousarray(np.rint(centres)), visits, sizes)
    np.fill_diagonal(moved_mm, inside_mm)
    return merge_cheapest(moved_mm, sizes.copy())


def _parts(groups: IntArray, constrained: Constrained | None) -> list[IntArray]:
    """Return the numbers of the generalized locations of each constraint, ascending; all together without any."""
    if constrained is None:
        return [np.arange(len(groups))]
    constraint_of = constrained.constraint_of[groups]
    return [np.flatnonzero(constraint_of == one) for one in np.unique(constraint_of)]


def _ladder(first: int, last: int) -> Iterator[int]:
    """Yield numbers from the first to the last, each by a ratio larger than the one before."""
    n = first
    while n < last:
        yield n
        n = max(n + 1, int(n * _RATIO))
    yield last


def _between(n: int, tried: list[int]) -> Iterator[int]:
    """Yield the numbers half way from one to the next ones that were tried on either side."""
    at = tried.index(n)
    for other in tried[max(at - 1, 0) : at + 2]:
        half = (n + other) // 2
        if half not in tried:
            yield half
