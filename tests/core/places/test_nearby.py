"""Nearby: every point within the radius is found, and no other, wherever on earth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod

from core.places.nearby import FARTHEST_M, NearbyPoints
from core.records.arrays import FloatArray
from tests.builders.strategies import LATITUDES, LONGITUDES

WGS84 = Geod(ellps="WGS84")


def around(lat: float, lon: float, seed: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Positions up to some 7 km from one, also across the pole and the antimeridian."""
    random = np.random.default_rng(seed)
    azimuths, far_m = random.uniform(0, 360, n), random.uniform(0, 7_000, n)
    found_lon, found_lat, _ = WGS84.fwd(np.full(n, lon), np.full(n, lat), azimuths, far_m)
    return np.asarray(found_lat), np.asarray(found_lon)


@given(lat=LATITUDES | st.sampled_from([90.0, -90.0, 89.99, -89.97]), lon=LONGITUDES, seed=st.integers(0, 99))
def test_the_points_within_the_radius_are_found(lat: float, lon: float, seed: int) -> None:
    """
    The pairs are those of a table of all geodesic distances, and so are their distances.
    """
    points, positions = around(lat, lon, seed, 25), around(lat, lon, seed + 100, 8)
    radius_m = float(np.random.default_rng(seed).uniform(1, FARTHEST_M))
    pairs = NearbyPoints(*points, radius_m).pairs(*positions)
    found = {
        (i, j): distance
        for i, j, distance in zip(
            pairs.positions.tolist(), pairs.points.tolist(), pairs.distance_m.tolist(), strict=True
        )
    }
    for i in range(8):
        for j in range(25):
            true_m = WGS84.inv(positions[1][i], positions[0][i], points[1][j], points[0][j])[2]
            if abs(true_m - radius_m) > 0.002:
                assert ((i, j) in found) == (true_m < radius_m)
            if (i, j) in found:
                assert found[i, j] == pytest.approx(true_m, abs=0.002)


@pytest.mark.parametrize("radius_m", [0.0, -1.0, FARTHEST_M + 1, float("nan")])
def test_a_radius_that_would_be_wrong_is_refused(radius_m: float) -> None:
    """
    Beyond some kilometres a straight line is shorter than the way on the ground.
    """
    with pytest.raises(ValueError, match="a radius is more than 0 m and at most 5000 m"):
        NearbyPoints(np.zeros(1), np.zeros(1), radius_m)
