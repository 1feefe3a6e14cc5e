"""Slow oracle of :mod:`core.kernels.stops.runs`: the stops of one whole track at once."""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["TrackPoint", "TrackStop", "stops_of_track"]


class TrackPoint(NamedTuple):
    """A point of one person's track."""

    ts_ms: int
    lat: float
    lon: float
    place: int


class TrackStop(NamedTuple):
    """A stop of that person."""

    first_ms: int
    last_ms: int
    ended_ms: int
    place: int
    lat: float
    lon: float


def stops_of_track(
    track: list[TrackPoint], *, radius_m: float, min_duration_ms: int, max_gap_ms: int, until_ms: int
) -> list[TrackStop]:
    """Cut the track into runs, and keep those that lasted long enough and had ended by ``until_ms``."""
    runs: list[list[TrackPoint]] = []
    for point in track:
        if runs and _continues(runs[-1], point, radius_m, max_gap_ms):
            runs[-1].append(point)
        else:
            runs.append([point])
    stops = []
    for i, run in enumerate(runs):
        first, last = run[0], run[-1]
        ended_ms = min([last.ts_ms + max_gap_ms, *(after[0].ts_ms for after in runs[i + 1 : i + 2])])
        if first.place >= 0 and last.ts_ms - first.ts_ms >= min_duration_ms and ended_ms < until_ms:
            north = sum(point.lat - first.lat for point in run)
            east = sum(_shorter_way(point.lon - first.lon) for point in run)
            lat, lon = first.lat + north / len(run), first.lon + east / len(run)
            stops.append(TrackStop(first.ts_ms, last.ts_ms, ended_ms, first.place, lat, lon))
    return stops


def _continues(run: list[TrackPoint], point: TrackPoint, radius_m: float, max_gap_ms: int) -> bool:
    first, last = run[0], run[-1]
    is_near = _distance_m(first, point) <= radius_m
    return point.place == first.place and is_near and point.ts_ms - last.ts_ms <= max_gap_ms


def _distance_m(one: TrackPoint, other: TrackPoint) -> float:
    up = math.sin(math.radians(other.lat - one.lat) / 2)
    along = math.sin(math.radians(other.lon - one.lon) / 2)
    chord = up * up + math.cos(math.radians(one.lat)) * math.cos(math.radians(other.lat)) * along * along
    return 2 * 6_371_008.8 * math.asin(min(1.0, math.sqrt(chord)))


def _shorter_way(east: float) -> float:
    if east > 180.0:
        return east - 360.0
    return east + 360.0 if east < -180.0 else east
