from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod

from core.models.kdelta.guarantee import KDelta
from core.models.kdelta.verify import KDeltaReport, verify_kdelta

WGS84 = Geod(ellps="WGS84")
PLACES = st.sampled_from(
    [(37.8, -122.4), (70.0, 25.0), (-16.5, 179.9999), (0.0, 0.0), (89.9999, 10.0), (-45.0, -180.0)]
)


def pair_at(lat: float, lon: float, azimuth: float, distance_m: float) -> dict[str, Any]:
    """Two trajectories of one point, so far apart."""
    lon2, lat2, _ = WGS84.fwd(lon, lat, azimuth, distance_m)
    return {
        "sets": [0, 0],
        "users": [1, 2],
        "t_ms": [[5], [5]],
        "lat_deg": [[lat], [lat2]],
        "lon_deg": [[lon], [lon2]],
    }


def verify(release: dict[str, Any], k: int = 2, delta_m: float = 500.0) -> KDeltaReport:
    return verify_kdelta(**release, guarantee=KDelta(k=k, delta_m=delta_m))


@given(PLACES, st.floats(0, 360), st.sampled_from([2.0, 500.0, 100_000.0]), st.floats(1e-5, 0.5))
def test_a_pair_slightly_beyond_delta_is_found_and_one_within_is_not(
    place: tuple[float, float], azimuth: float, delta_m: float, slightly_m: float
) -> None:
    """
    The geodesic decides, to a hundredth of a millimetre, also across the antimeridian and beside the pole.
    """
    within = verify(pair_at(*place, azimuth, delta_m - slightly_m), delta_m=delta_m)
    assert within.holds
    assert within.largest_distance_m == pytest.approx(delta_m - slightly_m, abs=1e-6)
    beyond = verify(pair_at(*place, azimuth, delta_m + slightly_m), delta_m=delta_m)
    assert not beyond.holds
    assert beyond.violations == {"too_far_apart": 1}
    assert beyond.largest_distance_m == pytest.approx(delta_m + slightly_m, abs=1e-6)


@given(PLACES, st.integers(2, 9), st.integers(1, 5), st.integers(0, 2**32), st.floats(2, 2000))
def test_all_pairs_are_measured(place: tuple[float, float], size: int, stamps: int, seed: int, delta_m: float) -> None:
    """
    Count and largest distance are those of the geodesic of every pair at every time stamp.
    """
    rng = np.random.default_rng(seed)
    azimuths, away_m = rng.uniform(0, 360, (size, stamps)), rng.uniform(0, 1000, (size, stamps))
    lon, lat, _ = WGS84.fwd(np.full_like(away_m, place[1]), np.full_like(away_m, place[0]), azimuths, away_m)
    all_m = [
        WGS84.inv(lon[a, j], lat[a, j], lon[b, j], lat[b, j])[2]
        for a, b in itertools.combinations(range(size), 2)
        for j in range(stamps)
    ]
    report = verify_kdelta(
        [3] * size,
        list(range(size)),
        [list(range(stamps))] * size,
        list(lat),
        list(lon),
        KDelta(k=2, delta_m=delta_m),
    )
    assert report.largest_distance_m == pytest.approx(max(all_m), abs=1e-6)
    assert report.violations.get("too_far_apart", 0) == sum(one > delta_m for one in all_m)


def test_a_large_set_is_checked_in_parts_without_losing_a_pair() -> None:
    """
    However a set is divided for checking, the one pair that is too far apart is found, wherever it stands.
    """
    size, stamps = 1100, 3
    for one, other in ((0, 1), (0, size - 1), (951, 955), (size - 2, size - 1)):
        lat = np.full((size, stamps), 50.0)
        lat[one, 1], lat[other, 1] = 50.0 - 0.0025, 50.0 + 0.0025
        report = verify_kdelta(
            [0] * size, range(size), [[1, 2, 3]] * size, list(lat), [[8.0] * stamps] * size, KDelta(k=2, delta_m=500)
        )
        assert report.violations == {"too_far_apart": 1}
        assert report.largest_distance_m == pytest.approx(556, abs=1)


def test_people_are_counted_not_trajectories() -> None:
    """
    Two pieces of one user are one person: the set is too small.
    """
    release = pair_at(37.0, 1.0, 0.0, 10.0)
    assert verify(release).smallest_set == 2
    release["users"] = [1, 1]
    report = verify(release)
    assert report.violations == {"too_few_users": 1}
    assert report.smallest_set == 1


def test_every_set_needs_k_people() -> None:
    """
    The smallest set counts, not the average.
    """
    where: dict[str, Any] = {"t_ms": [[0]] * 5, "lat_deg": [[1.0]] * 5, "lon_deg": [[2.0]] * 5}
    release = {"sets": [0, 1, 0, 1, 0], "users": [0, 1, 2, 3, 4], **where}
    assert verify(release, k=2).holds
    assert verify(release, k=3).violations == {"too_few_users": 1}
    assert verify(release, k=4).violations == {"too_few_users": 2}


@pytest.mark.parametrize(
    ("first", "second", "number"),
    [
        ([0, 1], [0, 2], 1),  # different
        ([0, 1], [0], 1),  # one is missing
        ([0, 0], [0, 0], 2),  # not strictly ascending
        ([1, 0], [1, 0], 2),
        ([], [], 2),  # nothing released as a trajectory
    ],
)
def test_time_stamps_of_a_set_are_equal_and_ascending(first: list[int], second: list[int], number: int) -> None:
    """
    Everyone of a set is seen at the same times, at least once, in order.
    """
    release = {
        "sets": [0, 0],
        "users": [0, 1],
        "t_ms": [first, second],
        "lat_deg": [[1.0] * len(first), [1.0] * len(second)],
        "lon_deg": [[2.0] * len(first), [2.0] * len(second)],
    }
    assert verify(release).violations == {"time_stamps": number}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 90.001, None])
def test_what_is_no_position_is_a_violation(bad: float | None) -> None:
    """
    A comparison with not-a-number is false; it must not pass for close. Nor may a position be missing.
    """
    release = pair_at(37.0, 1.0, 0.0, 10.0)
    release["lat_deg"][1] = [] if bad is None else [bad]
    assert verify(release).violations == {"position": 1}


def test_an_empty_release_holds() -> None:
    """
    Nothing gives nobody away.
    """
    report = verify_kdelta([], [], [], [], [], KDelta(k=2, delta_m=5))
    assert report.holds
    assert report.smallest_set is None
    assert report.largest_distance_m == 0


def test_columns_of_different_lengths_are_an_error() -> None:
    """
    A trajectory without a user or a set is a mistake of the caller, not a release.
    """
    with pytest.raises(ValueError, match="one entry for each"):
        verify_kdelta([0], [0, 1], [[0]], [[0.0]], [[0.0]], KDelta(k=2, delta_m=5))


def test_a_set_needs_what_its_most_demanding_member_demands() -> None:
    """
    The largest k and the smallest delta of a set count for all of it and for no other set; the guarantee's own hold
    in any case.
    """
    where: dict[str, Any] = {"t_ms": [[0]] * 5, "lat_deg": [[1.0], [1.0001], [1.0], [1.0001], [1.0]]}
    release = {"sets": [0, 0, 1, 1, 1], "users": [0, 1, 2, 3, 4], "lon_deg": [[2.0]] * 5, **where}  # 11 m apart
    promise = KDelta(k=2, delta_m=20.0, personal=True)

    def found(k: list[int], delta_m: list[float]) -> dict[str, int]:
        return dict(verify_kdelta(**release, guarantee=promise, k=k, delta_m=delta_m).violations)

    assert found([2, 2, 2, 3, 2], [20.0, 20.0, 12.0, 20.0, 20.0]) == {}
    assert found([2, 3, 2, 2, 2], [20.0] * 5) == {"too_few_users": 1}
    assert found([2, 2, 2, 2, 4], [20.0] * 5) == {"too_few_users": 1}
    assert found([2] * 5, [20.0, 11.0, 20.0, 20.0, 20.0]) == {"too_far_apart": 1}
    assert found([2] * 5, [20.0, 20.0, 20.0, 20.0, 11.0]) == {"too_far_apart": 2}
    # Who demands less is still given what everybody is.
    assert found([1] * 5, [99.0] * 5) == {}
    stricter = KDelta(k=3, delta_m=11.0, personal=True)
    assert verify_kdelta(**release, guarantee=stricter, k=[1] * 5, delta_m=[99.0] * 5).violations == {
        "too_few_users": 1,
        "too_far_apart": 3,
    }


@pytest.mark.parametrize("demands", [{"k": [2]}, {"delta_m": [5.0]}])
def test_demands_of_another_length_are_an_error(demands: dict[str, Any]) -> None:
    """
    A demand that belongs to no trajectory is a mistake of the caller.
    """
    with pytest.raises(ValueError, match="one entry for each"):
        verify_kdelta(**pair_at(37.0, 1.0, 0.0, 10.0), guarantee=KDelta(k=2, delta_m=20.0), **demands)
