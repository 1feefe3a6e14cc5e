"""Metres from degrees: compared with the geodesics of another implementation, everywhere on earth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod

from core.places.geo import LocalProjection, mean_position
from core.records.arrays import FloatArray
from tests.builders.strategies import positions

WGS84 = Geod(ellps="WGS84")
RESOLUTION_M = 1e-3  # nearer to the centre than 0.6 mm, PROJ returns the centre

# Four digits, as `mean_position` rounds: up to 1e-8 degrees beside the equator PROJ is off by a share of 1e-4.
CENTRES = st.tuples(
    st.floats(-90, 90).map(lambda lat: round(lat, 4)) | st.sampled_from([0.0, 52.5, 89.9, -89.9, 90.0, -90.0]),
    st.floats(-180, 180) | st.sampled_from([-180.0, 179.9, 180.0]),
)


def around(
    centre: tuple[float, float], bearings_deg: list[float], distances_m: list[float]
) -> tuple[FloatArray, FloatArray]:
    """Positions at bearings and distances from a centre, by the geodesic."""
    n = len(bearings_deg)
    lon, lat, _ = WGS84.fwd(np.full(n, centre[1]), np.full(n, centre[0]), bearings_deg, distances_m)
    return np.asarray(lat), np.asarray(lon)


def city(radius_m: float) -> st.SearchStrategy[tuple[FloatArray, FloatArray]]:
    """Draw a few positions within a radius of a centre anywhere, the centre among them."""
    arms = st.lists(st.tuples(st.floats(0, 360), st.floats(0, radius_m)), min_size=2, max_size=6)
    return st.builds(
        lambda centre, drawn: around(centre, [0.0, *(b for b, _ in drawn)], [0.0, *(d for _, d in drawn)]),
        CENTRES,
        arms,
    )


def pairs_m(xy_m: FloatArray) -> FloatArray:
    """Straight distances between all pairs, shape ``(n, n)``."""
    return np.asarray(np.linalg.norm(xy_m[:, None] - xy_m[None], axis=-1))


def geodesics_m(lat_deg: FloatArray, lon_deg: FloatArray) -> FloatArray:
    """Geodesic distances between all pairs, shape ``(n, n)``."""
    n = len(lat_deg)
    one, other = (index.ravel() for index in np.indices((n, n)))
    return np.asarray(WGS84.inv(lon_deg[one], lat_deg[one], lon_deg[other], lat_deg[other])[2]).reshape(n, n)


@given(where=city(50_000.0))
def test_a_city_is_right_to_a_few_parts_in_100000(where: tuple[FloatArray, FloatArray]) -> None:
    """
    Up to 50 km from the centre, distances are off by at most 0.003 %, at poles and antimeridian as elsewhere.
    """
    expected_m = geodesics_m(*where)
    found_m = pairs_m(LocalProjection.around(*where).to_metres(*where))
    # The mean of the positions may lie up to 50 km from the first, so some are 100 km away from it.
    assert np.abs(found_m - expected_m).max() <= 3e-5 * expected_m.max() + RESOLUTION_M
    assert (np.abs(found_m - expected_m) <= 1e-3 * expected_m + RESOLUTION_M).all()


@given(centre=CENTRES, arms=st.lists(st.tuples(st.floats(0, 360), st.floats(0, 490_000)), min_size=2, max_size=6))
def test_the_error_grows_as_promised_and_never_shortens(
    centre: tuple[float, float], arms: list[tuple[float, float]]
) -> None:
    """
    Up to r from the centre a distance is shown too long by at most (r / 6371 km)^2 / 6 of it, never too short.
    """
    where = around(centre, [b for b, _ in arms], [d for _, d in arms])
    projection = LocalProjection(*centre)
    expected_m, found_m = geodesics_m(*where), pairs_m(projection.to_metres(*where))
    share = (max(d for _, d in arms) / 6_371_000) ** 2 / 6
    assert (found_m <= expected_m * (1 + 1.02 * share) + RESOLUTION_M).all()
    assert (found_m >= expected_m - RESOLUTION_M).all()


@given(centre=CENTRES, bearing=st.floats(0, 360), distance_m=st.floats(0, 5_000_000))
def test_distances_from_the_centre_are_exact(centre: tuple[float, float], bearing: float, distance_m: float) -> None:
    """
    The projection is equidistant: the centre is the origin, and the way from it keeps its length.
    """
    lat, lon = around(centre, [bearing, 0.0], [distance_m, 0.0])
    xy_m = LocalProjection(*centre).to_metres(lat, lon)
    assert np.linalg.norm(xy_m[0]) == pytest.approx(distance_m, abs=RESOLUTION_M, rel=1e-9)
    assert np.linalg.norm(xy_m[1]) == pytest.approx(0.0, abs=RESOLUTION_M)


@pytest.mark.parametrize("lat", [*range(0, 90, 10), 89.9, -89.9])
@pytest.mark.parametrize("lon", [0.0, 180.0, -179.99])
def test_east_is_right_and_north_is_up(lat: float, lon: float) -> None:
    """
    A hundred metres east and north of the centre are (100, 0) and (0, 100), across the antimeridian too.
    """
    lats, lons = around((lat, lon), [90.0, 0.0], [100.0, 100.0])
    xy_m = LocalProjection(lat, lon).to_metres(lats, lons)
    assert xy_m.round(3).tolist() == [[100.0, 0.0], [0.0, 100.0]]


@given(where=city(500_000.0))
def test_there_and_back_is_the_same_place(where: tuple[FloatArray, FloatArray]) -> None:
    """
    Degrees to metres to degrees moves a position by less than a millimetre, and gives degrees in range.
    """
    projection = LocalProjection.around(*where)
    lat, lon = projection.to_degrees(projection.to_metres(*where))
    assert (np.abs(lat) <= 90).all()
    assert (np.abs(lon) <= 180).all()
    moved_m = WGS84.inv(where[1], where[0], lon, lat)[2]
    assert np.max(moved_m) < 1e-3


def test_nothing_is_projected_to_nothing() -> None:
    """
    Empty columns keep their shapes both ways.
    """
    projection = LocalProjection.around(np.empty(0), np.empty(0))
    assert projection.to_metres(np.empty(0), np.empty(0)).shape == (0, 2)
    lat, lon = projection.to_degrees(np.empty((0, 2)))
    assert lat.shape == lon.shape == (0,)


@pytest.mark.parametrize(
    ("lat", "lon", "mean"),
    [
        ([10.0], [20.0], (10.0, 20.0)),
        ([0.0, 0.0], [179.0, -179.0], (0.0, -180.0)),
        ([0.0, 0.0], [-179.0, 179.0], (0.0, -180.0)),
        ([0.0, 0.0], [178.0, -179.0], (0.0, 179.5)),
        ([89.0, 89.0], [0.0, 180.0], (90.0, 0.0)),
        ([-89.0] * 4, [10.0, 100.0, -170.0, -80.0], (-90.0, 0.0)),
        ([90.0, 90.0], [7.0, 133.0], (90.0, 0.0)),
        ([0.0, 0.0], [0.0, 180.0], (0.0, 0.0)),
        ([45.0, -45.0], [30.0, -150.0], (0.0, 0.0)),
        ([], [], (0.0, 0.0)),
    ],
)
def test_the_mean_of_positions(lat: list[float], lon: list[float], mean: tuple[float, float]) -> None:
    """
    The mean is taken on the sphere: it does not jump at the antimeridian, and a pole has one name.
    """
    assert mean_position(np.array(lat), np.array(lon)) == mean


@given(where=positions(), order=st.randoms(use_true_random=False))
def test_the_mean_does_not_depend_on_the_order(where: tuple[FloatArray, FloatArray], order: object) -> None:
    """
    Sums of floats differ by their order; the rounded mean almost never does, and never by more than a digit.
    """
    assert hasattr(order, "shuffle")
    index = list(range(len(where[0])))
    order.shuffle(index)
    one = mean_position(*where)
    other = mean_position(where[0][index], where[1][index])
    assert float(WGS84.inv(one[1], one[0], other[1], other[0])[2]) <= 20.0
