"""Trips: the moves of the people of one window from a location to another one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from core.models.flows.guarantee import TripRule
from core.records.arrays import IntArray
from core.records.by_user import is_last_of_user, same_as_before
from core.trajectories.assemble import SequenceWindow

__all__ = ["FlowWindow", "Trips", "trips_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trips:
    """``t`` trips, by user and then in the order of time. Origin and destination of a trip are different locations."""

    users: IntArray
    """Dense user number of each trip, ascending, shape ``(t,)``."""

    origins: IntArray
    """Location where each trip begins, a row of the vocabulary, shape ``(t,)``."""

    destinations: IntArray
    """Location where each trip ends, shape ``(t,)``."""

    departures: IntArray
    """The stay that each trip begins with: a number of successive visits to one location, shape ``(t,)``."""

    arrivals: IntArray
    """The stay that each trip ends with, shape ``(t,)``."""

    def __len__(self) -> int:
        """Return the number of trips."""
        return len(self.users)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowWindow:
    """The check-ins of one window as trips."""

    visits: SequenceWindow = field(repr=False)
    trips: Trips = field(repr=False)
    stay_of: IntArray = field(repr=False)
    """The stay of each visit, shape ``(p,)``."""

    @property
    def n_users(self) -> int:
        """Distinct people in the rows."""
        return self.visits.n_users

    @property
    def duplicates(self) -> int:
        """Rows left out because they repeat another."""
        return self.visits.duplicates


def trips_of(visits: SequenceWindow, rule: TripRule) -> FlowWindow:
    """Return the trips of a window. A sequence that was cut because it is long goes on: its pieces are one person's."""
    user, location = visits.sequences.owners, visits.sequences.locations  # (p,)
    begins = ~same_as_before(user, location)
    user, location = user[begins], location[begins]  # (s,) stays
    is_first = ~same_as_before(user)
    if rule is TripRule.SUCCESSIVE:
        arrivals = np.flatnonzero(~is_first)
        departures = arrivals - 1
    else:
        departures = np.flatnonzero(is_first)
        arrivals = np.flatnonzero(is_last_of_user(user))
        differs = location[departures] != location[arrivals]
        departures, arrivals = departures[differs], arrivals[differs]
    trips = Trips(
        users=user[departures],
        origins=location[departures],
        destinations=location[arrivals],
        departures=departures,
        arrivals=arrivals,
    )
    return FlowWindow(visits=visits, trips=trips, stay_of=np.cumsum(begins) - 1)
