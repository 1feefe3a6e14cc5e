"""Stops: where people stay. The points of a window become visits, as check-ins would be.

The rule is that of Li, Zheng et al. 2008 (Mining user similarity based on location history, stay points), which also
scikit-mobility uses: a run of points within a radius of its first point is a stop if it lasts long enough; the first
point outside begins the next run. Unlike there, points that are long apart belong to different runs, because nobody
knows where the person was in between, and a stop counts from its first to its last point. With places in place of a
radius, a run is a visit of one place: a region of interest that somebody passes through (Pensa et al. 2008, section
5.1).

A run does not end with its window. It is carried to the next one as a few numbers for each person, however many points
it has, and the stop is told in the window in which it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.kernels.stops.runs import find_runs
from core.places.locate import Locator
from core.records.arrays import BoolArray, FloatArray, IntArray, UserHashes
from core.records.record import RUN, VISIT, Rows

__all__ = ["FoundStops", "StopRule"]


class FoundStops(NamedTuple):
    """What the points of a window give."""

    visits: Rows
    """The stops that ended in the window, rows of :data:`core.records.record.VISIT`; each at the time of its end."""

    n_nowhere: int
    """Stops that are not among the visits, because the vocabulary has no location for them."""

    runs: Rows
    """The runs that go on, rows of :data:`core.records.record.RUN`, by user."""

    def __repr__(self) -> str:
        """Show numbers of rows alone: the values are the whereabouts of people."""
        return f"FoundStops(<{len(self.visits)} visits>, n_nowhere={self.n_nowhere}, <{len(self.runs)} runs>)"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """When somebody stops.

    Raises:
        ValueError: A length or a time is negative.
    """

    radius_m: float
    """Greatest distance of the points of a stop from its first point, metres; not used if ``by_place``."""

    min_duration_ms: int
    """Shortest time between the first and the last point of a stop, milliseconds."""

    max_gap_ms: int
    """Longest time between two successive points of a stop, milliseconds. Silence this long ends the stop."""

    by_place: bool = False
    """Whether a stop lasts as long as its points are at one place of the vocabulary, whatever their distance."""

    def __post_init__(self) -> None:
        if min(self.radius_m, self.min_duration_ms, self.max_gap_ms) < 0:
            raise ValueError("radius_m, min_duration_ms and max_gap_ms must not be negative")

    def find(self, points: Rows, carried: Rows, locator: Locator, *, start_ms: int, end_ms: int) -> FoundStops:
        """Find the stops that ended in a window.

        Args:
            points: The points of the window, rows of :data:`core.records.record.POINT`, in any order.
            carried: The runs that had not ended with the window before, rows of :data:`core.records.record.RUN`, each
                of another user.
            locator: The vocabulary of locations, and the places if stops are found by place.
            start_ms: Where the window begins.
            end_ms: The first instant after it.
        """
        points = points[np.lexsort((points["offset"], points["ts_ms"], points["user"]))]
        users = np.unique(np.concatenate((points["user"], carried["user"])))
        runs, anchors = np.zeros((len(users), 4), np.int64), np.zeros((len(users), 4))
        of_carried = np.searchsorted(users, carried["user"])
        runs[of_carried] = np.column_stack(
            (carried["n"], carried["first_ms"], carried["last_ms"], self._places(carried, locator))
        )
        anchors[of_carried] = np.column_stack([carried[name] for name in ("lat", "lon", "north", "east")])

        stops, means = np.empty((len(points), 5), np.int64), np.empty((len(points), 2))
        n_stops = find_runs(
            np.searchsorted(users, points["user"]).astype(np.int64),
            np.ascontiguousarray(points["ts_ms"]),
            np.ascontiguousarray(points["lat"]),
            np.ascontiguousarray(points["lon"]),
            self._places(points, locator),
            np.inf if self.by_place else self.radius_m,
            self.min_duration_ms,
            self.max_gap_ms,
            runs,
            anchors,
            stops,
            means,
        )
        # Silence ends a run, too: in the window in which it becomes too long.
        is_silent = runs[:, 2] + self.max_gap_ms < end_ms
        is_stop = is_silent & (runs[:, 2] - runs[:, 1] >= self.min_duration_ms) & (runs[:, 3] >= 0)
        ended = np.concatenate((stops[:n_stops], self._ended(runs, is_stop)))
        lat, lon = np.concatenate((means[:n_stops], anchors[is_stop, :2] + anchors[is_stop, 2:] / runs[is_stop, :1])).T
        visits, n_nowhere = self._visits(users, ended, lat, (lon + 180.0) % 360.0 - 180.0, locator, start_ms)
        return FoundStops(visits, n_nowhere, _carried(users, runs, anchors, ~is_silent))

    def _places(self, rows: Rows, locator: Locator) -> IntArray:
        """Return the place of each row by its position, -1 for none; 0 for all if stops are not found by place."""
        if not self.by_place:
            return np.zeros(len(rows), np.int64)
        locations, found = locator.locate(rows["lat"], rows["lon"], [None] * len(rows))
        return np.where(found, locations, -1)

    def _ended(self, runs: IntArray, chosen: BoolArray) -> IntArray:
        """Return the chosen runs as stops that silence has ended."""
        of_chosen = runs[chosen]
        return np.column_stack(
            (np.flatnonzero(chosen), of_chosen[:, 1:3], of_chosen[:, 2] + self.max_gap_ms, of_chosen[:, 3])
        )

    def _visits(
        self, users: UserHashes, ended: IntArray, lat: FloatArray, lon: FloatArray, locator: Locator, start_ms: int
    ) -> tuple[Rows, int]:
        """Return stops as visits, and the number of stops that have no location."""
        if self.by_place:
            locations, found = ended[:, 4], np.ones(len(ended), np.bool_)
        else:
            locations, found = locator.locate(lat, lon, [None] * len(ended))
        visits = np.zeros(int(found.sum()), VISIT)
        visits["offset"] = np.arange(len(visits))
        visits["user"] = users[ended[found, 0]]
        # If nobody was heard of for a while, there were no windows in which silence could end a run.
        visits["ts_ms"] = np.maximum(ended[found, 3], start_ms)
        visits["location"] = locations[found]
        return visits, int((~found).sum())


def _carried(users: UserHashes, runs: IntArray, anchors: FloatArray, chosen: BoolArray) -> Rows:
    carried = np.empty(int(chosen.sum()), RUN)
    carried["user"] = users[chosen]
    for column, name in enumerate(("n", "first_ms", "last_ms")):
        carried[name] = runs[chosen, column]
    for column, name in enumerate(("lat", "lon", "north", "east")):
        carried[name] = anchors[chosen, column]
    return carried
