"""k^m-anonymity with the least loss: merge locations, suppress visits or split trajectories.

SeqAnon (Poulis et al. 2014) repairs every infrequent subtrajectory by merging locations for the whole window. Most
infrequent subtrajectories belong to a few people. Suppressing a visit of these people, or splitting one of their
trajectories, repairs them as well. One loss, in metres per visit (:mod:`.prices`), compares the three repairs:

    distance that released visits are moved / visits (``D_loc`` of Definition 6)
    + price of a suppressed visit * suppressed visits / visits + price of a split * splits / visits

First, the merges are ordered (:mod:`.hierarchy`): next is always the merge that adds least to the loss. A level is a
number of merges. The higher the level, the fewer infrequent subtrajectories are left for suppression and splits to
repair (:mod:`.repair`). Each step of a repair has the least loss per infrequent subtrajectory that it repairs. The
result is the level with the least total loss. Beyond it, a merge costs more than the local repairs that it saves;
before it, a merge costs less.

The search ends: a level whose repair would take too much suppression or work is not tried again, nor is a finer one; at
the coarsest level nothing limits the local repairs; and each repair ends by itself (:func:`.repair.repair`).

Counts bound the work, not a clock. Levels with too many subtrajectories to count are skipped in favour of coarser ones.
All repairs together examine at most :data:`_MOST_LOOKS` subtrajectories of people; the coarsest level is exempt,
because a person has at most m of them there.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from math import comb
from typing import NamedTuple

import numpy as np

from core.kernels.checkins.merge_order import named_by_kept
from core.models.common.merging import affordable_length, longest_of
from core.models.km.anonymize.least_loss.counted import Counted
from core.models.km.anonymize.least_loss.hierarchy import hierarchy
from core.models.km.anonymize.least_loss.prices import Prices, whole_window_m, window_loss_m
from core.models.km.anonymize.least_loss.repair import Allowed, Effort, repair
from core.models.km.anonymize.least_loss.search import Search
from core.models.km.anonymize.seqanon import Generalization, budget_of, seqanon
from core.models.km.guarantee import KmAnonymity
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["LeastLossOptions", "least_loss"]

_LOOKS = 6
"""Most levels whose infrequent subtrajectories are counted before the most promising level is repaired."""

_LITTLE_WORK, _MODERATE_WORK = 6_000, 5_000_000
"""Visits times levels up to which every level is tried, and up to which SeqAnon is tried as well."""

_MOST_DISTINCT, _MOST_PAIRS = 4_000_000, 50_000_000
"""Most subtrajectories that are counted, and most (subtrajectory, person) pairs: memory grows with both."""

_MOST_LOOKS = 16_000_000
"""Most (subtrajectory, person) pairs that all repairs of a window examine; usual windows need a hundredth."""

_CASCADE, _CASCADE_SHARE = 4, 0.05
"""A repair stops once it suppresses more than this many visits per pair to repair, and more than this share of all
visits: it then keeps exposing further people, and would suppress most of the window."""

_WORTH_TRYING, _WORTH_LOOKING = 0.9, 0.95
"""Another level is repaired only if its predicted loss is at most this share of the best loss so far; a level is
counted only if its predicted loss is at most this share of that of the best known level."""

_NEXT_TO_NOTHING = 1e-9

_START = 0.05
"""The level counted first moves visits by at most this share of the distance that all merges move them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastLossOptions:
    """Prices and budgets.

    Raises:
        ValueError: A share is not in ``0..100``.
    """

    prices: Prices = field(default_factory=Prices)

    max_suppressed_percent: float = 5.0
    """Most visits that may be suppressed, percent. More only if even one location for the whole window requires it: no
    release that keeps the guarantee holds those visits."""

    max_split_percent: float = 5.0
    """Most splits, in percent of the trajectories."""

    def __post_init__(self) -> None:
        for name in ("max_suppressed_percent", "max_split_percent"):
            if not 0 <= getattr(self, name) <= 100:
                raise ValueError(f"{name} is {getattr(self, name)}: it must be in 0..100")


def least_loss(
    trajectories: Sequences, xy_m: FloatArray, guarantee: KmAnonymity, options: LeastLossOptions
) -> Generalization:
    """Make a window k^m-anonymous with the least loss found.

    Args:
        trajectories: The window. Support counts its distinct people; the pieces of a split trajectory belong to the
            same person.
        xy_m: Position of each location, metres, shape ``(L, 2)``; ids are rows.
        guarantee: k and m. With fewer than k people everything is suppressed.
        options: Prices and budgets.

    Raises:
        ValueError: A position is missing or not finite.
    """
    trajectories.check_positions(xy_m)
    if not len(trajectories.locations):
        return Generalization(group_of=np.arange(len(xy_m)), kept=np.zeros(0, np.bool_), merges=0)
    return _Run(trajectories, xy_m, guarantee, options).best()


class _Weighed(NamedTuple):
    lost_m: float
    """Metres per visit."""

    result: Generalization


class _Run:
    def __init__(
        self, trajectories: Sequences, xy_m: FloatArray, guarantee: KmAnonymity, options: LeastLossOptions
    ) -> None:
        self._trajectories, self._xy_m, self._options = trajectories, xy_m, options
        # Subtrajectories longer than the longest trajectory do not occur.
        self._guarantee = replace(guarantee, m=min(guarantee.m, longest_of(trajectories)))
        # Rows of the hierarchy are the locations that are visited: a vocabulary may hold more.
        self._visited, self._rows = np.unique(trajectories.locations, return_inverse=True)
        self._hierarchy = hierarchy(xy_m[self._visited], np.bincount(self._rows))
        self._groups_at = 0, np.arange(len(self._visited))
        self._last: tuple[int, Counted] | None = None
        n_visits = len(trajectories.locations)
        lengths = np.diff(trajectories.starts)
        longest = affordable_length(trajectories, k=guarantee.k, m=guarantee.m)
        inevitable = int(np.maximum(lengths - longest, 0).sum())
        self._whole_m = whole_m = whole_window_m(trajectories, xy_m)
        self._allowed = Allowed(
            # Even at a price of 0, fewer suppressions and splits are better.
            suppression_m=max(options.prices.suppression, _NEXT_TO_NOTHING) * whole_m,
            split_m=max(options.prices.split, _NEXT_TO_NOTHING) * whole_m,
            suppressions=max(inevitable, budget_of(n_visits, options.max_suppressed_percent)),
            splits=budget_of(len(trajectories.users), options.max_split_percent),
        )
        self._search = Search(self._hierarchy, self._allowed)
        self._looks = _MOST_LOOKS
        self._finest = _finest_countable(lengths, len(self._visited), self._guarantee.m)
        self._search.too_fine = self._finest - 1

    def best(self) -> Generalization:
        """Try levels, and return the result with the least loss, the first among equals."""
        work = len(self._rows) * len(self._visited)
        found = self._all_levels() if work <= _LITTLE_WORK else self._promising_levels()
        if work <= _MODERATE_WORK:
            # With few people, the locations that SeqAnon leaves alone may outweigh those that it merges needlessly.
            found.append(self._weighed(seqanon(self._trajectories, self._xy_m, self._guarantee)))
        return min(found, key=lambda weighed: weighed.lost_m).result

    def _all_levels(self) -> list[_Weighed]:
        """Repair every level from the coarsest on, until two in a row would suppress too much."""
        found, failures = [self._coarsest()], 0
        for level in range(self._search.coarsest - 1, self._finest - 1, -1):
            repaired = self._repaired_within(level)
            failures = failures + 1 if repaired is None else 0
            if failures == 2:
                break
            found += [repaired] if repaired else []
        return found

    def _promising_levels(self) -> list[_Weighed]:
        """Repair the level with the least predicted loss, then another one if its predicted loss is clearly lower."""
        self._look(max(self._search.moving(_START), self._finest))
        first = None
        while first is None:
            level = self._most_promising()
            first = self._coarsest() if level == self._search.coarsest else self._repaired_within(level)
        level = self._most_promising()
        if self._search.foretold_m(level) / len(self._rows) > _WORTH_TRYING * first.lost_m:
            return [first]
        another = self._repaired_within(level)
        return [first, another] if another else [first]

    def _most_promising(self) -> int:
        """Count up to :data:`_LOOKS` levels, and return the level with the least predicted loss."""
        search = self._search
        for _ in range(_LOOKS):
            level, known = search.best(), search.best_known()
            if known is not None and search.foretold_m(level) > _WORTH_LOOKING * search.foretold_m(known):
                # One location for the whole window says little about finer levels: count one between as well.
                halfway = search.halfway() if known == search.coarsest else None
                if halfway is None:
                    return known
                level = halfway
            self._look(level)
        return search.best()

    def _look(self, level: int) -> None:
        self._counts(level)

    def _coarsest(self) -> _Weighed:
        """Repair the coarsest level without a budget: every release has to suppress what it suppresses."""
        level = self._search.coarsest
        repaired = self._repair(level, self._counts(level), replace(self._allowed, suppressions=len(self._rows)), None)
        if repaired is None:
            raise RuntimeError("a repair without limits did not finish")
        return repaired

    def _repaired_within(self, level: int) -> _Weighed | None:
        """Repair a level locally; None if that takes more suppression or work than is allowed."""
        counted = self._counts(level)
        cascade = max(_CASCADE * counted.infrequent(self._guarantee.k), int(_CASCADE_SHARE * len(self._rows)))
        allowed = replace(self._allowed, suppressions=min(self._allowed.suppressions, cascade))
        effort = Effort(left=self._looks // 2)  # the other half is for coarser levels
        self._looks -= effort.left
        found = self._repair(level, counted, allowed, effort)
        self._looks += max(effort.left, 0)
        if found is not None:
            return found
        if allowed.suppressions == self._allowed.suppressions and effort.left >= 0:
            self._search.over_budget(level)
        else:
            self._search.failed(level)
        return None

    def _counts(self, level: int) -> Counted:
        """Count the subtrajectories at a level; the last level is remembered, because it is often repaired next."""
        if self._last is None or self._last[0] != level:
            self._last = None  # no two levels are held at once
            counted = Counted.of(self._at(level), self._guarantee.m, n_locations=len(self._visited))
            self._last = level, counted
            self._search.learn(level, counted.infrequent(self._guarantee.k))
        return self._last[1]

    def _groups(self, level: int) -> IntArray:
        """Return the generalized location of each visited location at a level; the last answer is remembered."""
        if self._groups_at[0] != level:
            self._groups_at = level, self._hierarchy.group_of(level)
        return self._groups_at[1]

    def _at(self, level: int) -> Sequences:
        """Return the window as it is generalized at a level."""
        whole = self._trajectories
        return Sequences(users=whole.users, starts=whole.starts, locations=self._groups(level)[self._rows])

    def _repair(self, level: int, counted: Counted, allowed: Allowed, effort: Effort | None) -> _Weighed | None:
        search, group_of_row = self._search, self._groups(level)
        repaired = repair(self._at(level), counted, self._guarantee, allowed, effort)
        if repaired is None:
            return None
        search.repaired(level, suppressed=int(np.count_nonzero(~repaired.kept)), splits=len(repaired.splits))
        # A location whose visits are all suppressed is part of no generalized location.
        group_of, merges = named_by_kept(self._rows, repaired.kept, group_of_row, self._visited, len(self._xy_m))
        return self._weighed(
            Generalization(group_of=group_of, kept=repaired.kept, merges=merges, splits=repaired.splits)
        )

    def _weighed(self, result: Generalization) -> _Weighed:
        prices = self._options.prices
        return _Weighed(window_loss_m(self._trajectories, self._xy_m, result, prices, whole_m=self._whole_m), result)


def _finest_countable(lengths: IntArray, n_locations: int, m: int) -> int:
    """Return the finest level at which few enough subtrajectories can occur to count them.

    Args:
        lengths: Visits of each trajectory, shape ``(n,)``.
        n_locations: Locations that are visited, at least 1.
        m: Most locations of a subtrajectory.
    """
    distinct, counts = np.unique(lengths, return_counts=True)
    of_length = list(zip(distinct.tolist(), counts.tolist(), strict=True))

    def is_countable(n_groups: int) -> bool:
        pairs = [
            sum(n * min(comb(length, size), n_groups**size) for length, n in of_length) for size in range(1, m + 1)
        ]
        kinds = sum(min(n, n_groups**size) for size, n in enumerate(pairs, start=1))
        return bool(kinds <= _MOST_DISTINCT and sum(pairs) <= _MOST_PAIRS)

    if is_countable(n_locations):
        return 0
    # One generalized location has only m subtrajectories: they can always be counted.
    return bisect_left(range(n_locations - 1), True, key=lambda level: is_countable(n_locations - level))
