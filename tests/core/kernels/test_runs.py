from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.oracles.runs import TrackPoint, TrackStop, stops_of_track
from core.kernels.stops.runs import distance_m, find_runs
from tests.budgets import examples

RADIUS_M, DURATION_MS, GAP_MS = 100.0, 60_000, 300_000


def tracks(rng: np.random.Generator, n_people: int, n: int) -> list[list[TrackPoint]]:
    """People who stay, drift, leave, and cross the antimeridian; some points have the time of the one before."""
    found = []
    for _ in range(n_people):
        lat, lon = float(rng.uniform(-80, 80)), float(rng.choice([179.9999, -179.9999, 16.3]))
        ts_ms, place, track = 0, 0, []
        for _ in range(n):
            ts_ms += int(rng.choice([0, 20_000, 40_000, GAP_MS, GAP_MS + 1]))
            scale = float(rng.choice([0.0, 0.0003, 0.0012, 0.1]))
            lat = min(90.0, max(-90.0, lat + scale * float(rng.normal())))
            lon = (lon + scale * float(rng.normal()) + 180.0) % 360.0 - 180.0
            place = int(rng.choice([place, place, -1, 3]))
            track.append(TrackPoint(ts_ms, lat, lon, place))
        # The last point ends the run before it: the kernel knows no end of a window, so no end by silence.
        track.append(TrackPoint(ts_ms + 1, -lat, lon, 7))
        found.append(track)
    return found


def by_kernel(people: list[list[TrackPoint]], *, radius_m: float, compiled: bool) -> list[list[TrackStop]]:
    order = [(who, point) for who, track in enumerate(people) for point in track]
    order.sort(key=lambda row: row[1].ts_ms)  # people in turn; each keeps the order of its track
    n = len(order)
    runs, anchors = np.zeros((len(people), 4), np.int64), np.zeros((len(people), 4))
    stops, means = np.empty((n, 5), np.int64), np.empty((n, 2))
    run = find_runs if compiled else find_runs.definition
    n_stops = run(
        np.array([who for who, _ in order], np.int64),
        np.array([point.ts_ms for _, point in order], np.int64),
        np.array([point.lat for _, point in order]),
        np.array([point.lon for _, point in order]),
        np.array([point.place for _, point in order], np.int64),
        radius_m,
        DURATION_MS,
        GAP_MS,
        runs,
        anchors,
        stops,
        means,
    )
    found: list[list[TrackStop]] = [[] for _ in people]
    for (who, first_ms, last_ms, ended_ms, place), (lat, lon) in zip(
        stops[:n_stops].tolist(), means[:n_stops].tolist(), strict=True
    ):
        found[who].append(TrackStop(first_ms, last_ms, ended_ms, place, lat, lon))
    return found


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=examples(200))
@given(seed=st.integers(0, 2**32 - 1), n_people=st.integers(1, 4), n=st.integers(1, 40), by_place=st.booleans())
def test_runs_are_those_of_the_whole_track(compiled: bool, seed: int, n_people: int, n: int, by_place: bool) -> None:
    """
    Bit for bit.
    """
    people = tracks(np.random.default_rng(seed), n_people, n)
    radius_m = float("inf") if by_place else RADIUS_M
    for track, found in zip(people, by_kernel(people, radius_m=radius_m, compiled=compiled), strict=True):
        expected = stops_of_track(
            track, radius_m=radius_m, min_duration_ms=DURATION_MS, max_gap_ms=GAP_MS, until_ms=2**60
        )
        assert found == expected


def test_distances_are_those_of_the_sphere() -> None:
    """
    A degree along a meridian, half a turn around the earth, and a step across the antimeridian.
    """
    degree_m = 6_371_008.8 * np.pi / 180
    assert distance_m(0.0, 0.0, 1.0, 0.0) == pytest.approx(degree_m)
    assert distance_m(90.0, 0.0, -90.0, 77.0) == pytest.approx(180 * degree_m)
    assert distance_m(0.0, 179.5, 0.0, -179.5) == pytest.approx(degree_m)
    assert distance_m(60.0, 0.0, 60.0, 0.001) == pytest.approx(degree_m / 2000, rel=1e-6)
