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

from core.kernels.checkins.merge_order import named_by_kept
from core.models.km.anonymize.earlier import Earlier
from core.models.km.anonymize.group_merges import GroupMerges
from core.models.km.anonymize.joined import JoinedWindow
from core.models.km.anonymize.least_loss.prices import moved_m, whole_window_m
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.anonymize.suppression import suppress_infrequent
from core.models.km.guarantee import KmAnonymity
from core.records.arrays import BoolArray, FloatArray, IntArray, UserHashes
from core.trajectories.generalized import generalized
from core.trajectories.trajectory import Sequences
from core.windows.history import History

__all__ = ["ConstraintBudget", "hold_over_horizon"]

_RATIO = 1.6
"""Ratio of the numbers of generalized locations that are tried."""

_NEXT_TO_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConstraintBudget:
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
    constrained: ConstraintBudget | None = None,
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
        constrained: ConstraintBudget | None,
    ) -> None:
        self._trajectories, self._xy_m, self._guarantee = trajectories, xy_m, guarantee
        self._given, self._price_m, self._constrained = result, price_m, constrained
        left = generalized(trajectories.split(result.splits), result.group_of, result.kept)
        self._at = np.flatnonzero(result.kept)  # (q,) where the visits of the release are in the window
        self._groups, self._numbers = np.unique(left.locations, return_inverse=True)  # (G,), (q,)
        self._left = left
        self._readable = ~earlier.unread[left.owners]
        self._joined = JoinedWindow.of(left, earlier)
        self._merges = GroupMerges.of(
            xy_m,
            result.group_of,
            trajectories.locations[result.kept],
            None if constrained is None else constrained.constraint_of,
        )
        self._tried: set[int] = set()

    def best(self) -> Generalization | None:
        """Return the release with the least loss among those that were tried."""
        n_groups = len(self._groups)
        if (as_given := self._try(n_groups, most=0)) is not None:
            return as_given.result
        best: tuple[int, _Weighed] | None = None
        failures = 0
        for n in _ladder(self._merges.n_coarsest, n_groups):
            found = self._try(n, most=self._affordable(best))
            failures = failures + 1 if found is None else 0
            if found is not None and (best is None or found.lost_m < best[1].lost_m):
                best = n, found
            if best is not None and failures == 2:
                break
        if best is None:
            return None
        for n in _between(best[0], sorted(self._tried)):
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
        n_groups = len(self._groups)
        group = self._merges.until(n)
        numbers = np.unique(group, return_inverse=True)[1][self._numbers]
        sequences = replace(self._left, locations=numbers)
        guarantee = self._guarantee
        kept = suppress_infrequent(sequences, self._joined, self._readable, k=guarantee.k, m=guarantee.m, most=most)
        self._tried.add(n)
        if kept is None:
            return None
        if n == n_groups and kept.all():
            return _Weighed(0.0, self._given)
        result = self._named(self._groups[group], kept)
        if not self._keeps_budget(result):
            return None
        released_m = moved_m(self._xy_m, result.group_of, self._trajectories.locations[result.kept])
        # In whole millimetres: the last digits of sums may differ between processors.
        return _Weighed(round(released_m + self._price_m * int((~kept).sum()), 3), result)

    def _named(self, group: IntArray, kept: BoolArray) -> Generalization:
        """Return a release of merged groups; a location whose visits are all suppressed is part of none.

        Args:
            group: Name of the merged group of each group, shape ``(G,)``.
            kept: Which of the released visits are left, shape ``(q,)``.
        """
        group_of = self._given.group_of.copy()
        of_location = np.searchsorted(self._groups, group_of)
        of_location[of_location == len(self._groups)] = 0
        is_released = self._groups[of_location] == group_of
        group_of[is_released] = group[of_location[is_released]]
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
