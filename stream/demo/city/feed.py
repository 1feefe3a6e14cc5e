"""The messages of a simulated city, in order of arrival."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import count
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from core.records.arrays import FloatArray, IntArray
from core.records.record import Kind
from stream.demo.city.delivery import Message, SentAs, deliver
from stream.demo.city.dirt import Dirt
from stream.demo.city.options import CityOptions
from stream.demo.city.people import Day, Residents, Venue
from stream.demo.city.roads import build_roads

__all__ = ["MAX_FRAGMENT_SPAN_MS", "NOISE_M", "City"]

GPS_EVERY_S = 30

NOISE_M = 10.0
"""Farthest a GPS point lies from its road, metres."""

MAX_FRAGMENT_SPAN_MS = 8 * GPS_EVERY_S * 1_000
"""Longest time from the first to the last point of a fragment, which has at most 9 points.

The allowed lateness must cover this and ``max_delay_s``."""

_NOISE_SIGMA_M = 3.5
_DAY_S = 86_400
_DAY_MS = _DAY_S * 1_000
_M_PER_DEG = 111_194.9  # of latitude, on the mean sphere: good enough for noise
_DEMANDED_K = (2, 3, 5, 8, 10)
_DEMANDED_DELTA_M = (100, 200, 300, 500)

_arrival_ms = attrgetter("arrival_ms")


class City:
    """A city whose people move along its roads and check in at its venues.

    The same options give the same bytes. Every day and every slice of a day has its own random generator, so the
    content does not depend on how far the feed is read. Memory is bounded by the messages of one slice (an hour; ten
    minutes in a large city), for a feed of any length.
    """

    def __init__(self, options: CityOptions) -> None:
        self.options = options
        self.roads = build_roads(options, self._rng(0))
        self._residents = Residents(options, self.roads, self._rng(1))
        self.sent: Counter[SentAs] = Counter(dict.fromkeys(SentAs, 0))
        """Messages yielded so far by all iterators, by what happened to them."""
        self.dirt: Counter[Dirt] = Counter(dict.fromkeys(Dirt, 0))
        """Spoiled messages yielded so far, by fault."""

        digits = len(str(options.people))
        self._users = [f"u{number:0{digits}d}" for number in range(1, options.people + 1)]
        self._keys = [user.encode() for user in self._users]
        self._demands = self._own_demands(self._rng(2))
        self._slice_s = 3_600 if options.people <= 5_000 else 600
        self._encode = msgspec.json.Encoder().encode

    @property
    def venues(self) -> tuple[Venue, ...]:
        """The venues, the most popular first."""
        return self._residents.venues

    def _rng(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.options.seed, *purpose])

    def _own_demands(self, rng: np.random.Generator) -> dict[int, dict[str, int]]:
        demanding = rng.random(self.options.people) < self.options.own_demands_share
        k = rng.choice(_DEMANDED_K, self.options.people).tolist()
        delta_m = rng.choice(_DEMANDED_DELTA_M, self.options.people).tolist()
        return {user: {"k": k[user], "delta_m": delta_m[user]} for user in np.flatnonzero(demanding).tolist()}

    def messages(self, *, until_ms: int | None) -> Iterator[Message]:
        """Yield the city's messages from its start on, in order of arrival.

        Args:
            until_ms: Stop before the first message that arrives at this time or later, milliseconds since the epoch;
                None means never.
        """
        waiting: list[Message] = []
        for fresh, end_ms in self._slices():
            waiting += fresh
            waiting.sort(key=_arrival_ms)
            # Records of later slices happen at end_ms or later, and arrive after it.
            n_ready = bisect_left(waiting, end_ms, key=_arrival_ms)
            ready, waiting = waiting[:n_ready], waiting[n_ready:]
            for message in ready:
                if until_ms is not None and message.arrival_ms >= until_ms:
                    return
                self.sent[message.sent_as] += 1
                if message.dirt is not None:
                    self.dirt[message.dirt] += 1
                yield message
            if until_ms is not None and end_ms >= until_ms:
                return

    def _slices(self) -> Iterator[tuple[list[Message], int]]:
        """Yield, without end, the messages that begin in each slice of time, and the slice's end."""
        for day_number in count(self.options.start_ms // _DAY_MS):
            midnight_s = day_number * _DAY_S
            # Day 0 of the epoch was a Thursday.
            day = self._residents.day(is_workday=(day_number + 3) % 7 < 5, rng=self._rng(3, day_number))
            for number, start_s in enumerate(range(0, _DAY_S, self._slice_s)):
                end_s = start_s + self._slice_s
                rng = self._rng(4, day_number, number)
                # A night out may end after midnight: the last slice also takes the trips after midnight.
                bounds_s = [start_s, end_s if end_s < _DAY_S else 2 * _DAY_S]
                fresh = self._fragments(day, midnight_s, bounds_s, rng)
                fresh += self._checkins(day, midnight_s, bounds_s, rng)
                yield fresh, (midnight_s + end_s) * 1_000

    def _checkins(self, day: Day, midnight_s: int, bounds_s: list[int], rng: np.random.Generator) -> list[Message]:
        start, stop = np.searchsorted(day.visit_s, bounds_s)
        event_s = midnight_s + day.visit_s[start:stop]
        kept = event_s * 1_000 >= self.options.start_ms
        event_s, user = event_s[kept], day.visitor[start:stop][kept]
        values = [
            self._encode(
                {
                    "user": self._users[u],
                    "ts": ts,
                    "lat": v.lat,
                    "lon": v.lon,
                    "venue": v.id,
                    "category": v.category,
                }
            )
            for u, ts, v in zip(
                user.tolist(),
                _rfc3339(event_s),
                [self.venues[row] for row in day.venue[start:stop][kept].tolist()],
                strict=True,
            )
        ]
        return self._deliver(Kind.CHECKINS, user, values, event_s, rng)

    def _fragments(self, day: Day, midnight_s: int, bounds_s: list[int], rng: np.random.Generator) -> list[Message]:
        start, stop = np.searchsorted(day.leave_s, bounds_s)
        if start == stop:
            return []
        trips = slice(start, stop)
        n_points, event_s, lat, lon = self._points(day, trips, midnight_s, rng)
        rows = list(zip(_rfc3339(event_s), lat.tolist(), lon.tolist(), strict=True))

        # Pieces of 4 to 9 points; a trip shorter than that is one fragment.
        n_pieces = np.where(n_points > 0, np.maximum(1, n_points // rng.integers(4, 6, len(n_points))), 0)
        piece, of_trip = _count_up(n_pieces)  # (f,) each
        before = (np.cumsum(n_points) - n_points)[of_trip]
        first = before + piece * n_points[of_trip] // n_pieces[of_trip]
        end = before + (piece + 1) * n_points[of_trip] // n_pieces[of_trip]
        user = day.user[trips][of_trip]

        values: list[bytes] = []
        for u, i, j in zip(user.tolist(), first.tolist(), end.tolist(), strict=True):
            record: dict[str, Any] = {"user": self._users[u], "points": rows[i:j]}
            if u in self._demands:
                record |= self._demands[u]
            values.append(self._encode(record))
        return self._deliver(Kind.FRAGMENTS, user, values, event_s[end - 1], rng)

    def _deliver(
        self, kind: Kind, user: IntArray, values: list[bytes], event_s: IntArray, rng: np.random.Generator
    ) -> list[Message]:
        keys = [self._keys[u] for u in user.tolist()]
        return deliver(kind, keys, values, event_s * 1_000, options=self.options, rng=rng)

    def _points(
        self, day: Day, trips: slice, midnight_s: int, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Drive, ride or walk ``t`` trips and measure a position every 30 s.

        Returns:
            The number of points of each trip, shape ``(t,)``; of all points, one trip after the other, the
            event times in seconds, latitudes and longitudes in degrees, each of shape ``(n,)``.
        """
        origin, leave_s = day.origin[trips], day.leave_s[trips]
        step_trip, node = self.roads.paths(origin, day.target[trips])  # (steps,)
        from_node, m_per_s = origin[step_trip], day.m_per_s[trips][step_trip]
        reached_s = np.where(
            np.isnan(m_per_s),
            self.roads.travel_s[from_node, node],
            self.roads.length_m[from_node, node] / m_per_s,
        )
        reached_s /= day.pace[trips][step_trip]  # (steps,) seconds after the departure
        arrival_s = reached_s[np.flatnonzero(np.append(np.diff(step_trip), 1))]  # (t,)

        since_start_ms = (midnight_s + leave_s) * 1_000 - self.options.start_ms
        # Points before the start are dropped.
        first = np.maximum(0, -(since_start_ms // (GPS_EVERY_S * 1_000)))  # (t,)
        n_points = np.maximum(0, np.floor(arrival_s / GPS_EVERY_S).astype(np.int64) + 1 - first)
        tick, trip = _count_up(n_points)  # (n,) each
        after_s = (tick + first[trip]) * GPS_EVERY_S

        # One interpolation for all trips: each trip has a section of the axis that is longer than any trip.
        axis = step_trip * float(_DAY_S) + reached_s
        at = trip * float(_DAY_S) + after_s
        lat = np.interp(at, axis, self.roads.lat_deg[node])
        lon = np.interp(at, axis, self.roads.lon_deg[node])
        noise_m = rng.normal(0.0, _NOISE_SIGMA_M, (2, len(at)))
        # Leaves a margin for rounding and for the earth's flattening.
        noise_m *= np.minimum(1.0, (NOISE_M - 0.2) / np.maximum(np.hypot(*noise_m), 1e-9))
        lon += noise_m[1] / (_M_PER_DEG * np.cos(np.radians(lat)))
        lat += noise_m[0] / _M_PER_DEG
        lon = (lon + 180.0) % 360.0 - 180.0
        return n_points, midnight_s + leave_s[trip] + after_s, np.round(lat, 6), np.round(lon, 6)


def _count_up(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Number the members of each group: ``[2, 1]`` gives ``[0, 1, 0]``, and the groups ``[0, 0, 1]``."""
    group = np.repeat(np.arange(len(counts)), counts)
    return np.arange(len(group)) - (np.cumsum(counts) - counts)[group], group


def _rfc3339(event_s: IntArray) -> list[str]:
    """Write instants, seconds since the epoch, as RFC 3339 in UTC; shape ``(n,)``."""
    if len(event_s) == 0:
        return []
    # Many points share a second, and formatting is slow: format each second once.
    seconds, row = np.unique(event_s, return_inverse=True)
    texts = np.datetime_as_string(seconds.astype("datetime64[s]"), timezone="UTC").tolist()
    return [texts[i] for i in row.tolist()]
