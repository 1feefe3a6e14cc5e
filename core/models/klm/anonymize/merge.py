"""l^m-Anon: generalize the nonsensitive locations of one cluster (Select-Organize-Anonymize, Algorithm l^m-Anon).

The published loop is followed: sizes 1 to m, the subtrajectories that are not protected in ascending order of
support, and for each the merging of its least supported location with the nearest one until it is protected. It
differs in three points.

The paper's condition bounds a number of people by l; its text bounds a probability by 1/l. Here the probability is
bounded.

Merging never lowers a support, but it can raise the share of a sensitive location: two groups of supporters may each
have a low enough share, and their union too high a one. So the sizes are repeated until nothing is merged any more.

The published loop may not end. Even if all locations are one, only people with a trajectory of ``i`` nonsensitive
visits or more support a subtrajectory of ``i`` locations; no other generalization gives it more supporters. If they are
fewer than k, trajectories are cut, as for SeqAnon (:mod:`core.models.km.anonymize.seqanon`). If too many of them were
at one sensitive location, no merging protects that location; it is ignored while merging, and its visits are suppressed
afterwards (:mod:`core.models.klm.anonymize.suppress`). In all other cases, one location for the whole cluster protects
every subtrajectory. So the loop ends: a cluster of L locations has at most L - 1 merges.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.models.common.merge_cost import Spatial
from core.models.common.merging import GeneralizedLocations, affordable_visits, longest_of
from core.models.klm.anonymize.carriers import Carriers
from core.models.klm.guarantee import KLmDiversity
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.support.index import Subtrajectory
from core.support.table import SubtrajectoryTable, subtrajectories
from core.trajectories.recoding import SUPPRESSED, Label
from core.trajectories.trajectory import Sequences

__all__ = ["MergedCluster", "generalize_cluster"]

_STEPS_OF_A_LIST = 1000
"""Fixed cost of listing subtrajectories, in steps."""

_LOCATIONS_AT_ONCE = 20
"""Locations that the search for the nearest one compares in the time of one step."""

_ROUNDS = 10
"""Most rounds over the sizes; shares that are still too high then are lowered by suppression.

The first round settles every support; later ones lower shares that merging has raised, and few are needed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergedCluster:
    """The generalized nonsensitive visits of one cluster."""

    labels: tuple[Label, ...]
    """The generalized locations, ascending; no location is in two of them."""

    label_of: IntArray
    """Index into ``labels`` of each visit, -1 where it is suppressed, shape ``(p,)``."""

    merges: int
    """How many times two generalized locations were made one."""

    work: int
    """Steps of counted work, which take about equally long: one for each counted pair of a subtrajectory and a
    supporter, each supporter moved when two subtrajectories become one, each renamed subtrajectory, and each twenty
    locations compared for the nearest one; a thousand for each listing of the cluster's subtrajectories of one size."""


def generalize_cluster(
    sequences: Sequences, xy_m: FloatArray, carriers: Carriers, guarantee: KLmDiversity
) -> MergedCluster:
    """Generalize one cluster until supports are at least k, and shares at most 1/l as far as merging can lower them.

    Ties: as for SeqAnon.

    Args:
        sequences: The nonsensitive visits of the cluster's people, ``p`` of them.
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        carriers: The sensitive locations of the same people.
        guarantee: k, l and m.
    """
    run = _Run(sequences, xy_m, carriers, guarantee)
    for _ in range(_ROUNDS):
        before = run.merges
        for size in range(1, min(guarantee.m, run.longest) + 1):
            run.work_on(size)
        if run.merges == before:
            break
    labels, label_of = run.labels()
    return MergedCluster(labels=labels, label_of=label_of, merges=run.merges, work=run.work)


class _Run:
    """The state of one cluster; the locations that are left are renumbered in the order of their ids."""

    def __init__(self, sequences: Sequences, xy_m: FloatArray, carriers: Carriers, guarantee: KLmDiversity) -> None:
        self._guarantee, self._carriers = guarantee, carriers
        self._kept = affordable_visits(sequences, k=guarantee.k, m=guarantee.m)
        left = sequences.where(self._kept)
        self._used, self._locations = np.unique(left.locations, return_inverse=True)
        self._left = left
        self.longest = longest_of(left)
        local = Sequences(users=left.users, starts=left.starts, locations=self._locations)
        visitors = dict(enumerate(_people(subtrajectories(local, 1))))
        self._places = GeneralizedLocations(visitors, xy_m[self._used], Spatial())
        self._longest_of = np.zeros(left.n_users, np.int64)
        np.maximum.at(self._longest_of, left.users, np.diff(left.starts))
        self.merges = self.work = 0

    def labels(self) -> tuple[tuple[Label, ...], IntArray]:
        """Return the generalized locations by the ids of the vocabulary, and which of them each visit has."""
        group_of = np.array(self._places.group_of, np.int64)
        order = np.argsort(group_of, kind="stable")
        groups, firsts = np.unique(group_of[order], return_index=True)
        bounds = pairwise([*firsts.tolist(), len(order)])
        label_of = np.full(len(self._kept), SUPPRESSED, np.int64)
        label_of[self._kept] = np.searchsorted(groups, group_of[self._locations])
        return tuple(tuple(self._used[order[first:end]].tolist()) for first, end in bounds), label_of

    def work_on(self, size: int) -> None:
        """Protect the subtrajectories of one size."""
        groups = np.array(self._places.group_of, np.int64)[self._locations]
        table = subtrajectories(Sequences(users=self._left.users, starts=self._left.starts, locations=groups), size)
        self.work += len(table.users) + _STEPS_OF_A_LIST
        settled_by_merging = self._settled_by_merging(size)
        unprotected = table.supports < self._guarantee.k
        rows, places, people = self._carriers.counts(table)
        revealing = (people * self._guarantee.l > table.supports[rows]) & settled_by_merging[places]
        unprotected[rows[revealing]] = True
        if not unprotected.any():
            return
        index = _Index(table, self._carriers, settled_by_merging, self._guarantee)
        supports, keys = table.supports[unprotected].tolist(), table.locations[unprotected].tolist()
        for _, subtrajectory in sorted(zip(supports, keys, strict=True)):
            self._protect(tuple(self._places.group_of[location] for location in subtrajectory), index)
        self.work += index.moved

    def _protect(self, current: Subtrajectory, index: _Index) -> None:
        while index.is_unprotected(current):
            least = min(current, key=lambda location: (self._places.support(location), location))
            nearest = self._places.nearest(least)
            if nearest is None:
                raise RuntimeError("one generalized location is left and a subtrajectory is still not protected")
            into, absorbed = min(least, nearest), max(least, nearest)
            self._places.merge(into, absorbed)
            index.merge(into, absorbed)
            current = tuple(into if location == absorbed else location for location in current)
            self.merges += 1
            self.work += 1 + len(self._used) // _LOCATIONS_AT_ONCE

    def _settled_by_merging(self, size: int) -> BoolArray:
        """Return which sensitive locations have a low enough share once all other locations are one."""
        enough = self._longest_of >= size
        people = np.bincount(
            self._carriers.places[enough[self._carriers.users]], minlength=len(self._carriers.locations)
        )
        settled: BoolArray = people * self._guarantee.l <= np.count_nonzero(enough)
        return settled


class _Index:
    """The supporters of the subtrajectories of one size, kept up to date while locations merge.

    Unlike :class:`core.support.index.SupportIndex` it keeps all supporters, however many: shares depend on them.
    """

    def __init__(
        self, table: SubtrajectoryTable, carriers: Carriers, heeded: BoolArray, guarantee: KLmDiversity
    ) -> None:
        self._guarantee = guarantee
        keys: list[Subtrajectory] = list(map(tuple, table.locations.tolist()))
        self._people = dict(zip(keys, _people(table), strict=True))
        self._containing: defaultdict[int, list[Subtrajectory]] = defaultdict(list)
        for key in keys:
            for location in {*key}:
                self._containing[location].append(key)
        self._carried: defaultdict[int, list[int]] = defaultdict(list)
        counted = heeded[carriers.places]
        for user, place in zip(carriers.users[counted].tolist(), carriers.places[counted].tolist(), strict=True):
            self._carried[user].append(place)
        # Those that were checked already: many subtrajectories become the same one.
        self._protected: set[Subtrajectory] = set()
        self.moved = 0

    def is_unprotected(self, subtrajectory: Subtrajectory) -> bool:
        """Return whether a subtrajectory has too few supporters, or too many of them with one sensitive location."""
        if subtrajectory in self._protected:
            return False
        people = self._people.get(subtrajectory)
        if people is not None and self._is_unsafe(people):
            return True
        self._protected.add(subtrajectory)
        return False

    def _is_unsafe(self, people: set[int]) -> bool:
        if len(people) < self._guarantee.k:
            return True
        carriers = self._carried.keys() & people
        if len(carriers) * self._guarantee.l <= len(people):
            return False
        most = max(Counter(place for user in carriers for place in self._carried[user]).values())
        return most * self._guarantee.l > len(people)

    def merge(self, kept: int, absorbed: int) -> None:
        """Release two locations as one: every ``absorbed`` becomes ``kept``."""
        for old in self._containing.pop(absorbed, ()):
            people = self._people.pop(old, None)
            if people is None:
                continue  # a location may occur in it twice
            new = tuple(kept if location == absorbed else location for location in old)
            self._protected.discard(new)
            self.moved += 1
            if new in self._people:
                # Into the larger set: so a supporter moves no more often than a set can double.
                smaller, larger = sorted((people, self._people[new]), key=len)
                larger |= smaller
                self._people[new] = larger
                self.moved += len(smaller)
                continue
            self._people[new] = people
            for location in {*new}:
                self._containing[location].append(new)


def _people(table: SubtrajectoryTable) -> list[set[int]]:
    users = table.users.tolist()
    return [set(users[start:end]) for start, end in pairwise(table.starts.tolist())]
