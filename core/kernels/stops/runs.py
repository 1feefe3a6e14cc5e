"""Stops: runs of points that stay near their first point, or at one place."""

from __future__ import annotations

import math

from core.kernels.kernel import kernel
from core.records.arrays import FloatArray, IntArray

__all__ = ["distance_m", "find_runs"]

EARTH_RADIUS_M = 6_371_008.8
"""Mean radius of the earth, metres."""


@kernel("float64(float64, float64, float64, float64)")
def distance_m(lat_1: float, lon_1: float, lat_2: float, lon_2: float) -> float:
    """Return the great-circle distance of two positions, degrees, by the haversine formula."""
    up = math.sin(math.radians(lat_2 - lat_1) / 2)
    along = math.sin(math.radians(lon_2 - lon_1) / 2)
    chord = up * up + math.cos(math.radians(lat_1)) * math.cos(math.radians(lat_2)) * along * along
    return 2 * EARTH_RADIUS_M * math.asin(min(1.0, math.sqrt(chord)))


@kernel(
    "int64(int64[::1], int64[::1], float64[::1], float64[::1], int64[::1], float64, int64, int64,"
    " int64[:, ::1], float64[:, ::1], int64[:, ::1], float64[:, ::1])",
)
def find_runs(
    person: IntArray,
    ts_ms: IntArray,
    lat: FloatArray,
    lon: FloatArray,
    place: IntArray,
    radius_m: float,
    min_duration_ms: int,
    max_gap_ms: int,
    runs: IntArray,
    anchors: FloatArray,
    stops: IntArray,
    means: FloatArray,
) -> int:
    """Continue each person's run, and write down the runs that ended and lasted long enough.

    A point belongs to the run of the points before it if it is at the place of the run's first point, at most
    ``radius_m`` from it, and at most ``max_gap_ms`` after the last point. Any other point ends the run and begins the
    next one. A run at place -1, which is none, is not a stop however long it lasts.

    Args:
        person: Number of the person of each point, shape ``(n,)``.
        ts_ms: Time of each point; those of a person ascend.
        lat: Degrees north.
        lon: Degrees east.
        place: Place of each point; equal numbers where only the radius counts.
        radius_m: Greatest distance of a point from the first point of its run.
        min_duration_ms: Shortest time between the first and the last point of a stop.
        max_gap_ms: Longest time between two successive points of a run.
        runs: The run of each person, continued in place, shape ``(people, 4)``: number of points, times of the first
            and last point, place. No points: no run yet.
        anchors: The same, shape ``(people, 4)``: latitude and longitude of the first point; sums over all points of
            degrees north and east of it.
        stops: Where stops are written, shape ``(n, 5)``: person, times of the first and last point, time of the end,
            place. The end is the time of the point that ended the run, but at most ``max_gap_ms`` after the last point.
        means: The same, shape ``(n, 2)``: mean latitude and longitude of the points.

    Returns:
        Number of stops.
    """
    n_stops = 0
    for i in range(len(person)):
        who = person[i]
        if runs[who, 0]:
            last_ms = runs[who, 2]
            if (
                place[i] != runs[who, 3]
                or ts_ms[i] - last_ms > max_gap_ms
                or distance_m(anchors[who, 0], anchors[who, 1], lat[i], lon[i]) > radius_m
            ):
                if last_ms - runs[who, 1] >= min_duration_ms and runs[who, 3] >= 0:
                    stops[n_stops, 0], stops[n_stops, 1], stops[n_stops, 2] = who, runs[who, 1], last_ms
                    stops[n_stops, 3] = min(ts_ms[i], last_ms + max_gap_ms)
                    stops[n_stops, 4] = runs[who, 3]
                    means[n_stops, 0] = anchors[who, 0] + anchors[who, 2] / runs[who, 0]
                    means[n_stops, 1] = anchors[who, 1] + anchors[who, 3] / runs[who, 0]
                    n_stops += 1
                runs[who, 0] = 0
        if runs[who, 0] == 0:
            runs[who, 1], runs[who, 3] = ts_ms[i], place[i]
            anchors[who, 0], anchors[who, 1], anchors[who, 2], anchors[who, 3] = lat[i], lon[i], 0.0, 0.0
        runs[who, 0] += 1
        runs[who, 2] = ts_ms[i]
        anchors[who, 2] += lat[i] - anchors[who, 0]
        east = lon[i] - anchors[who, 1]
        if east > 180.0:
            east -= 360.0
        elif east < -180.0:
            east += 360.0
        anchors[who, 3] += east
    return n_stops
