"""Intake: a batch of records in, a chunk of rows per shard out; nothing is lost, and nothing depends on the batch."""

from __future__ import annotations

from collections import Counter

import h3
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.ingest.intake import CheckInIntake, FragmentIntake, Intake
from core.ingest.shard import RegionShards, Sharder, SingleShard, UserShards
from core.places.locate import Area, AreaGrid, Locator, MetricGrid
from core.records.profile import Categorical, Numeric, Profile
from core.records.record import POINT, VISIT, CheckIn, Chunk, Fragment, Kind, Reason, Rejected
from tests.builders import strategies
from tests.builders.windows import (
    NOW_MS,
    PLACES,
    SOURCE,
    START_MS,
    VENUES,
    checkin,
    fragment,
    hash_of,
    is_placed,
    rules,
    told,
)

BERLIN = Area(south=52.3, west=13.0, north=52.7, east=13.8)


def checkin_intake(locator: Locator = VENUES, sharder: Sharder | None = None) -> CheckInIntake:
    return CheckInIntake(rules(), locator, sharder or SingleShard(), vocabulary="v1")


def fragment_intake(sharder: Sharder | None = None) -> FragmentIntake:
    return FragmentIntake(rules(), sharder or SingleShard(), vocabulary="v1")


def run(intake: Intake, *records: CheckIn | Fragment, first: int = 0) -> tuple[list[Chunk], list[Rejected]]:
    taken = intake.run(list(enumerate(records, first)), source=SOURCE, n_partitions=4, now_ms=NOW_MS)
    return taken.chunks, taken.rejected


def test_a_check_in_becomes_a_visit() -> None:
    """
    Offset, keyed hash, event time and location: that is all that goes on where no more is asked for.
    """
    (chunk,), rejected = run(checkin_intake(), checkin(user="u7", venue="park"), first=41)
    assert not rejected
    assert chunk.rows.dtype == VISIT
    assert chunk.rows.tolist() == [(41, hash_of("u7"), START_MS, PLACES.index("park"), 0)]
    assert (chunk.kind, chunk.shard, chunk.source) == (Kind.CHECKINS, "all", SOURCE)
    assert (chunk.n_partitions, chunk.vocabulary) == (4, "v1")


def test_a_visit_carries_what_is_told_of_its_person() -> None:
    """
    Each row has the code of its own record, also where records before it are rejected, for whatever reason.
    """
    profile = Profile((Numeric("age", 18, 99), Categorical("plan", ("basic", "plus"))))
    intake = CheckInIntake(rules(), VENUES, SingleShard(), vocabulary="v1", profile=profile)
    (chunk,), rejected = run(
        intake,
        told(17, "plus", user="u0", venue="park"),
        told(41, "plus", user="u1", venue="nowhere"),
        told(42, "basic", user="u2", venue="park"),
        told(43, user="u3", venue="park"),
        told("44", "plus", user="u4", venue="cinema"),
    )
    reasons = {one.offset: one.reason for one in rejected}
    assert reasons == {0: Reason.ATTRIBUTE_OUT_OF_RANGE, 1: Reason.UNKNOWN_VENUE, 3: Reason.ATTRIBUTE_MISSING}
    assert chunk.rows["offset"].tolist() == [2, 4]
    assert [column.tolist() for column in profile.decode(chunk.rows["profile"])] == [[42, 44], [0, 1]]


def test_a_fragment_becomes_its_points() -> None:
    """
    One row for each point, all with the offset of their record.
    """
    (chunk,), rejected = run(fragment_intake(), fragment(user="u7", k=5), first=41)
    assert not rejected
    assert chunk.rows.dtype == POINT
    assert chunk.kind is Kind.FRAGMENTS
    assert [(row["offset"], row["user"], row["k"]) for row in chunk.rows] == [(41, hash_of("u7"), 5)] * 2
    assert chunk.rows["lat"].tolist() == [52.5, 52.5001]


def test_what_finds_no_location_is_rejected_with_the_vocabularys_reason() -> None:
    """
    Outside the area, or at an unknown venue: the record is valid, but there is no place for it.
    """
    grid = AreaGrid(BERLIN, rows=2, columns=2)
    chunks, rejected = run(checkin_intake(grid), checkin(lat=48.1, lon=11.6), checkin())
    assert [(one.reason, one.offset) for one in rejected] == [(Reason.OUTSIDE_AREA, 0)]
    assert [chunk.rows["offset"].tolist() for chunk in chunks] == [[1]]
    chunks, rejected = run(checkin_intake(), checkin(venue="parks"), checkin(venue=None))
    assert not chunks
    assert {one.offset: one.reason for one in rejected} == {0: Reason.UNKNOWN_VENUE, 1: Reason.MISSING_FIELD}


def test_a_batch_without_a_good_record_has_no_chunk() -> None:
    """
    Nothing is forwarded for nothing.
    """
    assert run(checkin_intake()) == ([], [])
    assert run(fragment_intake()) == ([], [])
    chunks, rejected = run(fragment_intake(), fragment(k=1))
    assert (chunks, len(rejected)) == ([], 1)


def test_a_trajectory_is_cut_where_a_region_ends() -> None:
    """
    The points of one fragment go to the regions where they lie, under one offset.
    """
    #  Berlin . . | . . Sydney
    across = fragment([(START_MS / 1000, 52.516, 13.378), (START_MS / 1000 + 1, -33.857, 151.215)])
    chunks, _ = run(fragment_intake(RegionShards(2)), across)
    assert sorted(chunk.shard for chunk in chunks) == sorted(
        [h3.latlng_to_cell(52.516, 13.378, 2), h3.latlng_to_cell(-33.857, 151.215, 2)]
    )
    assert [chunk.rows["offset"].tolist() for chunk in chunks] == [[0], [0]]


def test_a_venue_lends_its_position_to_the_shard() -> None:
    """
    By venue, the region is the venue's: the record's own position may be missing or wrong.
    """
    (chunk,), _ = run(checkin_intake(VENUES, RegionShards(5)), checkin(venue="bakery", lat=0.0, lon=0.0))
    assert chunk.shard == h3.latlng_to_cell(52.50, 13.30, 5)


SHARDERS = st.sampled_from([SingleShard(), UserShards(3), RegionShards(2)])


@given(records=st.lists(strategies.checkins(), max_size=6), sharder=SHARDERS, grid=st.booleans())
def test_every_check_in_is_forwarded_or_rejected_once(records: list[CheckIn], sharder: Sharder, grid: bool) -> None:
    """
    No record gets lost and none is doubled; rows keep the order of their offsets; shards differ.
    """
    chunks, rejected = run(checkin_intake(MetricGrid(250.0) if grid else VENUES, sharder), *records)
    forwarded = [offset for chunk in chunks for offset in chunk.rows["offset"].tolist()]
    assert sorted(forwarded + [one.offset for one in rejected]) == list(range(len(records)))
    assert all((np.diff(chunk.rows["offset"]) > 0).all() and len(chunk.rows) for chunk in chunks)
    assert len({chunk.shard for chunk in chunks}) == len(chunks)


@given(records=st.lists(strategies.fragments(), max_size=4), sharder=SHARDERS)
def test_every_point_is_forwarded_or_rejected_with_its_fragment(records: list[Fragment], sharder: Sharder) -> None:
    """
    A fragment is forwarded with all its points that have a position, or rejected once with none.
    """
    chunks, rejected = run(fragment_intake(sharder), *records)
    forwarded = Counter(offset for chunk in chunks for offset in chunk.rows["offset"].tolist())
    refused = {one.offset for one in rejected}
    assert len(refused) == len(rejected)
    placed = [sum(is_placed(point) for point in record.points) for record in records]
    assert forwarded == {i: n for i, n in enumerate(placed) if i not in refused}
    assert all((np.diff(chunk.rows["offset"]) >= 0).all() for chunk in chunks)


@given(records=st.lists(strategies.checkins(), max_size=6), cut=st.integers(0, 6), sharder=SHARDERS)
def test_batches_may_be_cut_anywhere(records: list[CheckIn], cut: int, sharder: Sharder) -> None:
    """
    Two batches give the rows of one, shard by shard: where a poll ends changes nothing.
    """
    intake = checkin_intake(MetricGrid(250.0), sharder)

    def rows(*parts: tuple[list[Chunk], list[Rejected]]) -> dict[str, list[object]]:
        found: dict[str, list[object]] = {}
        for chunks, _ in parts:
            for chunk in chunks:
                found.setdefault(chunk.shard, []).extend(chunk.rows.tolist())
        return found

    whole = run(intake, *records)
    first, second = run(intake, *records[:cut]), run(intake, *records[cut:], first=min(cut, len(records)))
    assert rows(whole) == rows(first, second)
    assert {one.offset: one.reason for one in whole[1]} == {one.offset: one.reason for one in first[1] + second[1]}


@given(records=st.lists(strategies.fragments(), max_size=3))
def test_repeating_a_batch_repeats_its_bytes(records: list[Fragment]) -> None:
    """
    The ingest hop may repeat: the same records give the same chunks.
    """
    intake = fragment_intake(UserShards(3))
    first, again = ([(chunk.shard, chunk.rows.tobytes()) for chunk in run(intake, *records)[0]] for _ in range(2))
    assert first == again
