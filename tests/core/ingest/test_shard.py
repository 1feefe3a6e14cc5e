"""Shard: the same record in the same shard, in every process and version."""

from __future__ import annotations

import h3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ingest.shard import RegionShards, Sharder, SingleShard, UserShards
from core.records.arrays import FloatArray
from tests.builders.strategies import positions
from tests.builders.windows import hash_of

USERS = np.array([hash_of(f"u{i}") for i in range(8)], dtype=np.uint64)
NOWHERE = np.zeros(8)


def names(sharder: Sharder, users: np.typing.NDArray[np.uint64], lat: FloatArray, lon: FloatArray) -> list[str]:
    """The shard of each row."""
    numbers, found = sharder.shard(users, lat, lon)
    return [found[i] for i in numbers.tolist()]


def test_cohorts_never_change() -> None:
    """
    Cohorts of eight users, as they were in the first version.
    """
    assert names(UserShards(4), USERS, NOWHERE, NOWHERE) == [
        "cohort-1",
        "cohort-2",
        "cohort-0",
        "cohort-2",
        "cohort-3",
        "cohort-0",
        "cohort-1",
        "cohort-2",
    ]


def test_regions_never_change() -> None:
    """
    Regions of six places, as they were in the first version.
    """
    lat = np.array([52.516, 40.7564, -33.857, 0.0, 90.0, 0.0])
    lon = np.array([13.378, -73.8454, 151.215, 180.0, 0.0, -180.0])
    assert names(RegionShards(3), USERS[:6], lat, lon) == [
        "831f1dfffffffff",
        "832a10fffffffff",
        "83be0efffffffff",
        "837eb5fffffffff",
        "830326fffffffff",
        "837eb5fffffffff",
    ]


def test_one_crowd_is_one_shard() -> None:
    """
    Everybody everywhere is in the shard `all`.
    """
    assert names(SingleShard(), USERS, NOWHERE, NOWHERE) == ["all"] * 8


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), st.integers(1, 1000))
def test_a_cohort_is_the_hash_modulo(users: list[int], cohorts: int) -> None:
    """
    The whole unsigned hash decides, so the upper half of the hashes is as evenly spread as the lower.
    """
    n = len(users)
    found = names(UserShards(cohorts), np.array(users, dtype=np.uint64), np.zeros(n), np.zeros(n))
    assert found == [f"cohort-{user % cohorts}" for user in users]


@given(where=positions(), resolution=st.integers(0, 4))
def test_a_region_is_the_h3_cell(where: tuple[FloatArray, FloatArray], resolution: int) -> None:
    """
    The shard of a position is the h3 library's name of its cell, poles and antimeridian included.
    """
    users = np.zeros(len(where[0]), dtype=np.uint64)
    expected = [h3.latlng_to_cell(lat, lon, resolution) for lat, lon in zip(*where, strict=True)]
    assert names(RegionShards(resolution), users, *where) == expected


@pytest.mark.parametrize("sharder", [SingleShard(), UserShards(3), RegionShards(2)])
@given(where=positions(), picks=st.lists(st.integers(0, 7), min_size=20, max_size=20))
def test_a_row_is_sharded_alike_alone_and_in_a_batch(
    sharder: Sharder, where: tuple[FloatArray, FloatArray], picks: list[int]
) -> None:
    """
    No row's shard depends on its neighbours, and every shard that is named has a row.
    """
    lat, lon = where
    users = USERS[picks[: len(lat)]]
    numbers, found = sharder.shard(users, lat, lon)
    assert sorted(set(numbers.tolist())) == list(range(len(found)))
    assert len(set(found)) == len(found)
    alone = [names(sharder, users[i : i + 1], lat[i : i + 1], lon[i : i + 1])[0] for i in range(len(lat))]
    assert names(sharder, users, lat, lon) == alone
