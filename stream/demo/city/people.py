"""Venues and people of a simulated city: the habits of each person, and the trips and visits of a day."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from core.places.geo import LocalProjection
from core.records.arrays import BoolArray, FloatArray, IntArray
from stream.demo.city.options import CityOptions
from stream.demo.city.roads import Roads

__all__ = ["Day", "Residents", "Venue"]

_DINING, _ERRAND, _LEISURE = range(3)
# Names from the Foursquare taxonomy, by purpose. Homes are not venues.
_CATEGORIES = (
    ("Coffee Shop", "Italian Restaurant", "Bakery", "Sandwich Place"),
    ("Supermarket", "Pharmacy", "Library", "Post Office"),
    ("Bar", "Park", "Gym / Fitness Center", "Movie Theater", "Museum", "Bookstore"),
)
_HABIT = (0.6, 0.25, 0.15)
"""How often a person goes to the first, second and third favourite of a purpose."""

_EXPLORING = 0.15
"""How often a person goes to another venue instead."""

_WALK_M_PER_S = 1.4
_BICYCLE_M_PER_S = 4.5
_WALK_AT_MOST_M = 1_200.0
_BICYCLE_AT_MOST_M = 8_000.0
_VENUE_OFFSET_M = 18.0
_HOUR_S = 3_600.0


class Venue(msgspec.Struct, frozen=True):
    """A venue for check-ins; the fields are the columns of a venues file."""

    id: str
    category: str
    lat: float
    """Degrees north."""
    lon: float
    """Degrees east."""


@dataclass(frozen=True, slots=True, eq=False)
class Day:
    """All trips and check-ins of one day, as columns. Times are whole seconds after the day's midnight."""

    user: IntArray
    """The person of each of ``t`` trips, in order of departure."""
    leave_s: IntArray
    origin: IntArray
    """Road node where a trip starts."""
    target: IntArray
    """Road node where it ends; differs from the origin."""
    m_per_s: FloatArray
    """Speed on foot or by bicycle; NaN for a drive."""
    pace: FloatArray
    """The person's speed as a multiple of the usual speed."""

    visitor: IntArray
    """The person of each of ``c`` check-ins, in order of time; never two by one person in one second."""
    visit_s: IntArray
    venue: IntArray
    """Row of the venue."""


class Residents:
    """The venues of a city and the people with their homes, work places, hours and favourites."""

    def __init__(self, options: CityOptions, roads: Roads, rng: np.random.Generator) -> None:
        self._roads = roads
        self._rate = options.checkins_per_person_day
        n_people, n_nodes = options.people, len(roads.xy_m)
        venue_node = self._open_venues(options, rng)

        out_m = np.hypot(*roads.xy_m.T)  # (n,)
        central = np.exp(-((out_m / (0.5 * options.radius_m)) ** 2))
        self._home = rng.integers(n_nodes, size=n_people)
        self._employed = rng.random(n_people) < 0.85
        office = rng.choice(n_nodes, n_people, p=central / central.sum())
        self._base = np.where(self._employed, office, self._home)  # where a person is during the working day
        self._drives = rng.random(n_people) < 0.4
        self._pace = rng.uniform(0.85, 1.15, n_people)
        self._morning_s = np.clip(rng.normal(8.4, 0.4, n_people), 7.0, 10.0) * _HOUR_S
        self._lunch_s = np.clip(rng.normal(12.3, 0.35, n_people), 11.5, 13.5) * _HOUR_S
        self._evening_s = np.clip(rng.normal(17.4, 0.6, n_people), 16.0, 19.5) * _HOUR_S

        self._venue_node = venue_node
        apart_m = roads.length_m[:, venue_node]  # (n, v)
        self._nearest = np.argmin(apart_m, axis=1)
        popularity = 1.0 / np.arange(1, options.venues + 1)  # Zipf's law; venues are in order of rank
        purpose = np.arange(options.venues) % len(_CATEGORIES)
        self._draws: list[FloatArray] = []  # by purpose: cumulative weights, (n, v)
        self._favourites: list[IntArray] = []  # by purpose: rows of venues, (people, 3)
        for which, far_m in ((_DINING, 500.0), (_ERRAND, 1_000.0), (_LEISURE, 2_000.0)):
            # The small constant keeps every row's sum positive, even if all venues of the purpose are far away.
            weight = np.where(purpose == which, popularity * (np.exp(-apart_m / far_m) + 1e-9), 0.0)
            total = np.cumsum(weight, axis=1)
            self._draws.append(total / total[:, -1:])
            anchor = self._home if which == _ERRAND else self._base
            chosen = self._draw(which, np.repeat(anchor, len(_HABIT)), rng)
            self._favourites.append(chosen.reshape(n_people, len(_HABIT)))

    def _open_venues(self, options: CityOptions, rng: np.random.Generator) -> IntArray:
        out_m = np.hypot(*self._roads.xy_m.T)
        weight = 0.2 + np.exp(-((out_m / (0.5 * options.radius_m)) ** 2))
        node = rng.choice(len(out_m), options.venues, p=weight / weight.sum())
        xy_m = self._roads.xy_m[node] + rng.uniform(-1.0, 1.0, (options.venues, 2)) * _VENUE_OFFSET_M
        degrees = LocalProjection(options.centre_lat, options.centre_lon).to_degrees(xy_m)
        lat, lon = (np.round(axis, 6).tolist() for axis in degrees)
        digits = len(str(options.venues))
        # Ids are random, so that they do not show the rank.
        number = rng.permutation(options.venues) + 1
        kind = rng.integers(2**31, size=options.venues)
        self.venues = tuple(
            Venue(f"v{number[i]:0{digits}d}", names[kind[i] % len(names)], lat[i], lon[i])
            for i, names in enumerate(_CATEGORIES[rank % len(_CATEGORIES)] for rank in range(options.venues))
        )
        return node

    def _draw(self, purpose: int, near: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw a venue near each node, popular ones more often; returns rows of venues, in the shape of ``near``."""
        total = self._draws[purpose]
        n_venues = total.shape[1]
        # One search for all rows: row i of the weights covers i to i + 1.
        raised = (total + np.arange(len(total))[:, None]).ravel()
        found = np.searchsorted(raised, near + rng.random(near.shape), side="right")
        rows: IntArray = np.clip(found - near * n_venues, 0, n_venues - 1)
        return rows

    def _choose(self, purpose: int, at: IntArray, rng: np.random.Generator) -> IntArray:
        """Choose a venue for each person, shape ``(people,)``: usually a favourite, otherwise one nearby."""
        habit = rng.choice(len(_HABIT), len(at), p=_HABIT)
        usual = self._favourites[purpose][np.arange(len(at)), habit]
        return np.where(rng.random(len(at)) < _EXPLORING, self._draw(purpose, at, rng), usual)

    def day(self, *, is_workday: bool, rng: np.random.Generator) -> Day:
        """Simulate a day of everybody; it starts and ends at home."""
        diary = _Diary(self._roads, self._home, self._drives, self._pace)
        if is_workday:
            self._work(diary, rng)
        else:
            self._rest(diary, rng)
        return diary.close(self._nearest, self._rate, rng)

    def _visit(
        self,
        diary: _Diary,
        who: BoolArray,
        purpose: int,
        leave_s: FloatArray,
        rng: np.random.Generator,
    ) -> None:
        venue = self._choose(purpose, diary.at, rng)
        diary.go(who, leave_s, self._venue_node[venue], venue)

    def _work(self, diary: _Diary, rng: np.random.Generator) -> None:
        n, works = len(self._home), self._employed
        morning_s = self._morning_s + np.clip(rng.normal(0.0, 360.0, n), -1_200.0, 1_200.0)
        diary.go(works, morning_s, self._base)
        self._visit(diary, ~works, _ERRAND, morning_s + _HOUR_S, rng)
        diary.go(~works, diary.free_s + rng.uniform(900.0, 2_400.0, n), self._home)

        self._errand(diary, rng.random(n) < 0.5, rng.uniform(9.25, 11.0, n) * _HOUR_S, rng)
        eats_out = rng.random(n) < np.where(works, 0.8, 0.4)
        self._visit(diary, eats_out, _DINING, self._lunch_s + rng.normal(0.0, 300.0, n), rng)
        diary.go(eats_out, diary.free_s + rng.uniform(1_200.0, 2_400.0, n), self._base)

        self._errand(diary, rng.random(n) < 0.6, rng.uniform(13.75, 16.25, n) * _HOUR_S, rng)
        evening_s = self._evening_s + rng.normal(0.0, 900.0, n)
        goes_out = rng.random(n) < 0.45
        self._visit(diary, goes_out, _LEISURE, evening_s, rng)
        stay_s = rng.uniform(0.75, 2.5, n) * _HOUR_S
        diary.go(np.ones(n, bool), np.where(goes_out, diary.free_s + stay_s, evening_s), self._home)

    def _errand(self, diary: _Diary, who: BoolArray, leave_s: FloatArray, rng: np.random.Generator) -> None:
        """Send some people on an errand from work or home, and back."""
        self._visit(diary, who, _ERRAND, leave_s, rng)
        diary.go(who, diary.free_s + rng.uniform(0.0, 1_200.0, len(who)), self._base)

    def _rest(self, diary: _Diary, rng: np.random.Generator) -> None:
        n = len(self._home)
        everyone = np.ones(n, bool)
        for purpose, hour, share in ((_ERRAND, 11.0, 1.0), (_DINING, 13.5, 0.35), (_LEISURE, 15.5, 0.55)):
            leave_s = np.clip(rng.normal(hour, 0.8, n), hour - 2.0, hour + 2.0) * _HOUR_S
            self._visit(diary, rng.random(n) < share, purpose, leave_s, rng)
        diary.go(everyone, diary.free_s + rng.uniform(0.5, 2.0, n) * _HOUR_S, self._home)
        goes_out = rng.random(n) < 0.3
        leave_s = np.clip(rng.normal(19.5, 0.6, n), 18.0, 21.0) * _HOUR_S
        self._visit(diary, goes_out, _LEISURE, leave_s, rng)
        diary.go(goes_out, diary.free_s + rng.uniform(0.75, 2.0, n) * _HOUR_S, self._home)


class _Diary:
    """The plan of a day: where each person is, when they are free, and the legs of their trips so far."""

    def __init__(self, roads: Roads, home: IntArray, drives: BoolArray, pace: FloatArray) -> None:
        self.at = home.copy()
        self.free_s = np.zeros(len(home))
        self._roads, self._drives, self._pace = roads, drives, pace
        self._legs: list[npt.NDArray[np.void]] = []

    def go(self, who: BoolArray, leave_s: FloatArray, target: IntArray, venue: IntArray | None = None) -> None:
        """Send some people to a node (and a venue there) once they are free; all arrays have shape ``(people,)``."""
        user = np.flatnonzero(who & ((target != self.at) | (venue is not None)))
        legs = np.zeros(len(user), _LEG)
        origin, end = self.at[user], target[user]
        length_m = self._roads.length_m[origin, end]
        walks = length_m <= _WALK_AT_MOST_M
        drives = ~walks & (self._drives[user] | (length_m > _BICYCLE_AT_MOST_M))
        m_per_s = np.where(walks, _WALK_M_PER_S, _BICYCLE_M_PER_S)
        seconds = np.where(drives, self._roads.travel_s[origin, end], length_m / m_per_s) / self._pace[user]
        legs["user"], legs["origin"], legs["target"] = user, origin, end
        legs["leave_s"] = np.ceil(np.maximum(leave_s, self.free_s)[user])
        legs["arrive_s"] = np.ceil(legs["leave_s"] + seconds)
        legs["m_per_s"] = np.where(drives, np.nan, m_per_s)
        legs["venue"] = -1 if venue is None else venue[user]
        self.at[user] = end
        self.free_s[user] = legs["arrive_s"] + 300
        self._legs.append(legs)

    def close(self, nearest: IntArray, rate: float, rng: np.random.Generator) -> Day:
        """Turn the legs into trips and draw check-ins, ``rate`` a person on average.

        Args:
            nearest: Row of the venue nearest to each node, shape ``(n,)``: for check-ins around home or work.
            rate: Mean number of check-ins of one person.
            rng: Source of chance.
        """
        legs = np.concatenate(self._legs)
        legs = legs[np.lexsort((legs["leave_s"], legs["user"]))]
        until_s = np.append(legs["leave_s"][1:], 0)
        until_s[legs["user"] != np.append(legs["user"][1:], -1)] = np.iinfo(np.int64).max
        stay_s = np.minimum(until_s - legs["arrive_s"], 2_700)

        weight = np.where(legs["venue"] >= 0, 3.0, 1.0)  # check-ins are likelier at a venue that was the destination
        mean = rate * weight / np.bincount(legs["user"], weight, len(self.at))[legs["user"]]
        seen = np.repeat(np.arange(len(legs)), rng.poisson(mean))  # (c,) rows of legs
        visit_s = legs["arrive_s"][seen] + np.floor(rng.random(len(seen)) * stay_s[seen]).astype(np.int64)
        # A second check-in of one person in one second would be an accidental duplicate.
        _, first = np.unique(np.column_stack([visit_s, legs["user"][seen]]), axis=0, return_index=True)
        seen, visit_s = seen[first], visit_s[first]
        venue = np.where(legs["venue"] >= 0, legs["venue"], nearest[legs["target"]])[seen]

        trips = legs[legs["origin"] != legs["target"]]
        trips = trips[np.argsort(trips["leave_s"], kind="stable")]
        pace = self._pace[trips["user"]]
        return Day(
            trips["user"], trips["leave_s"], trips["origin"], trips["target"], trips["m_per_s"], pace,
            legs["user"][seen], visit_s, venue,
        )  # fmt: skip


_LEG = np.dtype(
    [
        ("user", "<i8"),
        ("leave_s", "<i8"),
        ("arrive_s", "<i8"),
        ("origin", "<i8"),
        ("target", "<i8"),
        ("venue", "<i8"),
        ("m_per_s", "<f8"),
    ]
)
