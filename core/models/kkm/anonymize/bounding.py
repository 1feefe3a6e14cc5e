"""Rum-bound and Tum-bound: bound the loss in one kind of data, and keep it low in the other (Poulis et al. 2013).

Both form clusters, merge them and generalize the locations of each (section 4). Rum-bound merges as long as NCP stays
within its bound, because larger clusters lose less in locations; Tum-bound merges until UL is within its bound.

Both end: a merge leaves fewer clusters, and each cluster's locations are generalized in finitely many steps.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from core.models.kkm.anonymize.clustering import cluster
from core.models.kkm.anonymize.items import ClusterItems, generalize_items
from core.models.kkm.anonymize.merging import Clusters, next_merge
from core.models.kkm.anonymize.result import BoundNotMet, RTCluster, RTGroup, RTOptions, RTResult
from core.models.kkm.anonymize.spans import BILLION, Spans
from core.models.kkm.anonymize.transactions import TransactionDistances
from core.models.kkm.attributes import Attributes, Schema
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.ncp import mean_certainty_penalty
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.trajectories.trajectory import Sequences
from core.utility.utility_loss import mean_utility_loss

__all__ = ["anonymize_rt"]


def anonymize_rt(
    trajectories: Sequences,
    attributes: Attributes,
    xy_m: FloatArray,
    guarantee: KKmAnonymity,
    options: RTOptions,
    *,
    sensitive: BoolArray | None = None,
    spans: Spans | None = None,
    left_out: BoolArray | None = None,
) -> RTResult | BoundNotMet:
    """Make people with attributes and locations (k,k^m)-anonymous, or (k,l^m)-diverse.

    Only the set of locations in all of a person's trajectories counts.

    Args:
        trajectories: The window, ``p`` visits.
        attributes: Attributes of the same people.
        xy_m: Position of each location, metres, shape ``(L, 2)``; ids are rows.
        guarantee: k, m and l.
        options: How clusters are merged, and the bound.
        sensitive: Which locations are sensitive, shape ``(L,)``; they are not generalized. Required if l is
                given, and only then.
        spans: What the released values of each person have to contain, ``n_users`` sets; by default the person's own
            values.
        left_out: Who is not released, shape ``(n_users,)``; by default nobody is left out.

    Raises:
        ValueError: There are attributes of other people, a position is missing or not finite, or only one of l and
            sensitive locations is given.
    """
    _check(trajectories, attributes, xy_m, guarantee, sensitive)
    people = _People(trajectories, spans or Spans.of_people(attributes), sensitive, left_out)
    run = _Run(people, attributes.schema, xy_m, guarantee, options)
    if options.bound == "ncp":
        if not run.rum_bound():
            return BoundNotMet(bound="ncp", reached=run.ncp, delta=options.delta)
    elif not run.tum_bound():
        return BoundNotMet(bound="ul", reached=run.ul, delta=options.delta)
    return run.finish(trajectories)


class _People:
    """Everybody to release, sorted by attributes, then locations, then user number, which only breaks ties."""

    def __init__(
        self, trajectories: Sequences, spans: Spans, sensitive: BoolArray | None, left_out: BoolArray | None
    ) -> None:
        n = len(spans.losses)
        owner = trajectories.owners
        n_ids = int(trajectories.locations.max(initial=0)) + 1
        visits = np.unique(owner * n_ids + trajectories.locations)
        owner, location = visits // n_ids, visits % n_ids
        bounds = np.searchsorted(owner, np.arange(n + 1)).tolist()
        flat, values = location.tolist(), spans.ends().T.tolist()
        sets = [flat[start:end] for start, end in pairwise(bounds)]
        here = range(n) if left_out is None else np.flatnonzero(~left_out).tolist()
        order = sorted(here, key=lambda user: (values[user], sets[user], user))
        hidden = set() if sensitive is None else set(np.flatnonzero(sensitive).tolist())
        self.users: IntArray = np.array(order, dtype=np.int64)
        self.spans = spans.part(self.users)
        self.visited = [[x for x in sets[user] if x not in hidden] for user in order]
        self.sensitive = [[x for x in sets[user] if x in hidden] for user in order]


class _Run:
    """The state of one run."""

    def __init__(
        self, people: _People, schema: Schema, xy_m: FloatArray, guarantee: KKmAnonymity, options: RTOptions
    ) -> None:
        self._people, self._schema, self._guarantee, self._options = people, schema, guarantee, options
        self._xy_mm = np.rint(xy_m * 1000).astype(np.int64)
        self._clusters = Clusters(*cluster(people.spans, guarantee.k))
        self._n = int(self._clusters.sizes.sum())
        self._unmerged = tuple(
            RTCluster(users=tuple(people.users[members].tolist()), values=self._clusters.spans.values(number))
            for number, members in enumerate(self._clusters.members)
        )
        starts = np.cumsum([0, *map(len, people.visited)], dtype=np.int64)
        locations = np.array([location for visited in people.visited for location in visited], dtype=np.int64)
        self._distances = TransactionDistances(
            starts, locations, self._clusters.members if options.merge != "r" else []
        )
        self._items: dict[int, ClusterItems] = {}
        self._ul_sum = 0  # over ``_items``
        # Sums over the people, whole billionths. Each attribute's loss is rounded: a bound of 1 has to allow any.
        self._limit = round(options.delta * BILLION) * self._n
        self._ncp_limit = self._limit + len(schema) * self._n

    @property
    def ncp(self) -> float:
        """Current mean NCP."""
        return self._clusters.loss / (BILLION * self._n) if self._n else 0.0

    @property
    def ul(self) -> float:
        """Current mean UL, once the locations of every cluster are generalized."""
        return self._ul_sum / (BILLION * self._n) if self._n else 0.0

    def rum_bound(self) -> bool:
        """Merge while NCP is within its bound; False if it exceeds the bound before any merge."""
        if self._clusters.loss > self._ncp_limit:
            return False
        while self._merge_once(self._ncp_limit) is not None:
            pass
        return True

    def tum_bound(self) -> bool:
        """Merge until UL is within its bound; False if it never is."""
        for number in self._clusters.left.tolist():
            self._items_of(number)
        while self._ul_sum > self._limit:
            merged = self._merge_once(None)
            if merged is None:
                return False
            self._items_of(merged)
        return True

    def finish(self, trajectories: Sequences) -> RTResult:
        """Return the result."""
        groups = sorted(map(self._group, self._clusters.left.tolist()), key=lambda group: group.values)
        shown = [[len(group.generalized[index]) for index in visited] for group in groups for visited in group.visited]
        return RTResult(
            groups=tuple(groups),
            kept=_kept(groups, trajectories),
            ncp=mean_certainty_penalty(self._schema, [group.values for group in groups for _ in group.users]),
            ul=mean_utility_loss(shown),
            ul_bounded=self.ul,
            clusters=self._unmerged,
        )

    def _merge_once(self, limit: int | None) -> int | None:
        """Merge two clusters and return the number of the one that is left; None if none may be merged."""
        options = self._options
        found = next_merge(
            self._clusters,
            options.merge,
            self._distances,
            limit=limit,
            measure=self._ul_together if options.distance == "ul" else None,
            n_measured=options.n_measured,
        )
        if found is None:
            return None
        into, absorbed = self._clusters.merge(*found)
        for number in (into, *absorbed):
            if number in self._items:
                self._ul_sum -= self._items.pop(number).loss
        if options.merge != "r":
            for number in absorbed:
                self._distances.merge(into, number)
        return into

    def _items_of(self, number: int) -> ClusterItems:
        if number not in self._items:
            self._items[number] = self._generalized(self._clusters.members[number])
            self._ul_sum += self._items[number].loss
        return self._items[number]

    def _ul_together(self, cluster: int, other: int) -> float:
        members = np.sort(np.concatenate((self._clusters.members[cluster], self._clusters.members[other])))
        return self._generalized(members).loss / len(members)

    def _generalized(self, members: IntArray) -> ClusterItems:
        people, guarantee = self._people, self._guarantee
        return generalize_items(
            [people.visited[person] for person in members.tolist()],
            [people.sensitive[person] for person in members.tolist()],
            self._xy_mm,
            k=guarantee.k,
            m=guarantee.m,
            l=guarantee.l,
        )

    def _group(self, number: int) -> RTGroup:
        items = self._items_of(number)
        return RTGroup(
            users=tuple(self._people.users[self._clusters.members[number]].tolist()),
            values=self._clusters.spans.values(number),
            generalized=items.generalized,
            visited=items.visited,
            sensitive=items.sensitive,
        )


def _kept(groups: list[RTGroup], trajectories: Sequences) -> BoolArray:
    """Return which visits are released, alone or in a generalized location, shape ``(p,)``."""
    n_ids = int(trajectories.locations.max(initial=0)) + 1
    group_of = np.full(trajectories.n_users, len(groups))
    for number, group in enumerate(groups):
        group_of[list(group.users)] = number
    generalized = [
        number * n_ids + location
        for number, group in enumerate(groups)
        for members in group.generalized
        for location in members
    ]
    alone = [
        user * n_ids + location
        for group in groups
        for user, sensitive in zip(group.users, group.sensitive, strict=True)
        for location in sensitive
    ]
    owner = trajectories.owners
    in_group = np.isin(group_of[owner] * n_ids + trajectories.locations, np.array(generalized, dtype=np.int64))
    in_record = np.isin(owner * n_ids + trajectories.locations, np.array(alone, dtype=np.int64))
    kept: BoolArray = in_group | in_record
    return kept


def _check(
    trajectories: Sequences,
    attributes: Attributes,
    xy_m: FloatArray,
    guarantee: KKmAnonymity,
    sensitive: BoolArray | None,
) -> None:
    if attributes.n_users != trajectories.n_users:
        raise ValueError(f"there are attributes of {attributes.n_users} people: the window has {trajectories.n_users}")
    trajectories.check_positions(xy_m)
    if (guarantee.l is None) != (sensitive is None):
        raise ValueError("l and the sensitive locations belong together: give both or none")
    if sensitive is not None and sensitive.shape != (len(xy_m),):
        raise ValueError(f"sensitive has {len(sensitive)} entries: xy_m has {len(xy_m)} rows")
