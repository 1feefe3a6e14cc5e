"""A division of a window into disjoint places, and what each change of it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.models.flows.tree import PlaceTree, errors_m
from core.models.flows.trips import Trips
from core.places.geo import LocalProjection
from core.places.vocabulary import Vocabulary
from core.records.arrays import BoolArray, IntArray, distinct, ranges, starts_of

__all__ = ["Division", "PlaceChange", "flow_people", "price_m"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlaceChange:
    """A change of some locations' places, and what it does to the trips that begin or end there."""

    locations: IntArray
    """The locations, shape ``(c,)``."""

    places: IntArray
    """Number of the new place of each, shape ``(c,)``."""

    errors_m: IntArray
    """Distance of each from the centre of its new place, metres, shape ``(c,)``."""

    trips: IntArray
    """The trips that begin or end at these locations."""

    kept: BoolArray
    """Which of them are kept after the change."""

    gain_m: int
    """By how much the loss becomes smaller, metres."""

    newly_suppressed: int
    """How many more trips are suppressed."""


class Division:
    """The place of each location of a window, at first the same for all: the root of the tree.

    The loss of a division is a sum over all trips: of a kept trip the distances of both locations from the centres of
    their places, of a suppressed trip twice the price.

    Args:
        tree: The places that there are.
        vocabulary: The window's ``L`` locations.
        trips: Its ``t`` trips, at least one.
        k: Fewest people of a flow that is kept.
    """

    def __init__(self, tree: PlaceTree, vocabulary: Vocabulary, trips: Trips, k: int) -> None:
        self._tree, self._vocabulary, self._trips, self._k = tree, vocabulary, trips, k
        self._price_m = price_m(vocabulary, trips)
        ends = np.concatenate([trips.origins, trips.destinations])
        order = np.argsort(ends, kind="stable")
        self._trip_at = order % len(trips)
        self._starts = starts_of(np.bincount(ends, minlength=len(vocabulary.ids)))
        self.place_of: IntArray = np.zeros(len(vocabulary.ids), np.int64)
        """Number of the place of each location, shape ``(L,)``."""
        self.kept: BoolArray = np.zeros(len(trips), np.bool_)
        """Which trips are in a flow of at least k people, shape ``(t,)``."""
        self._error_m = np.zeros(len(vocabulary.ids), np.int64)
        self.cut: set[int] = set()
        """Numbers of the places in use: each location is in exactly one of them."""
        self.apply(self.join(0))

    @property
    def n_suppressed(self) -> int:
        """Number of trips that are not kept."""
        return len(self.kept) - int(self.kept.sum())

    @property
    def loss_m(self) -> int:
        """The loss, metres."""
        return self._loss_m(np.arange(len(self._trips)), self.kept, self._error_m)

    def split(self, number: int) -> PlaceChange:
        """Return the change that divides a place in use into its children."""
        return self._change(self._tree.places[number].children)

    def join(self, number: int) -> PlaceChange:
        """Return the change that makes one place of everything in it."""
        return self._change((number,))

    def apply(self, change: PlaceChange) -> None:
        """Make a change."""
        self.cut.difference_update(self.place_of[change.locations].tolist())
        self.cut.update(change.places.tolist())
        self.place_of[change.locations] = change.places
        self._error_m[change.locations] = change.errors_m
        self.kept[change.trips] = change.kept

    def _change(self, numbers_of_places: Sequence[int]) -> PlaceChange:
        places = [self._tree.places[number] for number in numbers_of_places]
        locations = np.concatenate([np.array(place.locations) for place in places])
        numbers = np.repeat(np.array(numbers_of_places), [len(place.locations) for place in places])
        errors = np.concatenate([errors_m(place, self._vocabulary) for place in places])
        n_trips = self._starts[locations + 1] - self._starts[locations]
        trips = distinct(self._trip_at[ranges(self._starts[locations], n_trips)])
        place_of, error_m = self.place_of.copy(), self._error_m.copy()
        place_of[locations], error_m[locations] = numbers, errors
        # All trips of a flow that begins or ends in these places are among these trips.
        kept = flow_people(self._trips, trips, place_of) >= self._k
        before = self.kept[trips]
        return PlaceChange(
            locations=locations,
            places=numbers,
            errors_m=errors,
            trips=trips,
            kept=kept,
            gain_m=self._loss_m(trips, before, self._error_m) - self._loss_m(trips, kept, error_m),
            newly_suppressed=int(before.sum()) - int(kept.sum()),
        )

    def _loss_m(self, trips: IntArray, kept: BoolArray, error_m: IntArray) -> int:
        distance = error_m[self._trips.origins[trips]] + error_m[self._trips.destinations[trips]]
        return int(np.where(kept, distance, 2 * self._price_m).sum())


def flow_people(trips: Trips, some: IntArray, place_of: IntArray) -> IntArray:
    """Return of some trips how many distinct people are in the flow of each, if all trips of these flows are given.

    Args:
        trips: The window's trips.
        some: Numbers of trips, shape ``(s,)``.
        place_of: Number of the place of each location, shape ``(L,)``.
    """
    n_places = int(place_of.max(initial=0)) + 1
    pair = place_of[trips.origins[some]] * n_places + place_of[trips.destinations[some]]
    flow = np.unique(pair, return_inverse=True)[1].astype(np.int64)
    n_users = int(trips.users.max(initial=0)) + 1
    members = distinct(flow * n_users + trips.users[some])
    people: IntArray = np.bincount(members // n_users, minlength=1)[flow]
    return people


def price_m(vocabulary: Vocabulary, trips: Trips) -> int:
    """Return the mean distance of the ends of trips from their mean position, whole metres: one end's price.

    So a trip that is suppressed costs as much as one of which only the region of all trips is known.
    """
    ends = np.concatenate([trips.origins, trips.destinations])
    lat, lon = vocabulary.lat_deg[ends], vocabulary.lon_deg[ends]
    xy_m = LocalProjection.around(lat, lon).to_metres(lat, lon)
    away = xy_m - xy_m.mean(axis=0)
    return int(np.rint(np.sqrt((away * away).sum(axis=1)).mean()))
