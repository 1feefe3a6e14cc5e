"""Validate: every reason on its own, in mixed batches, and at the edges of what is accepted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.ingest import validate
from core.ingest.validate import Rules, ValidCheckIns, user_hash, validate_checkins, validate_fragments
from core.records.demands import NO_DEMANDS, DefaultDemands
from core.records.identity import canonical
from core.records.profile import AttributeValue, Categorical, Numeric, Profile
from core.records.record import CheckIn, Fragment, Point, Reason, Rejected, Rows, Source
from tests.builders import strategies
from tests.builders.windows import (
    NOW_MS,
    SOURCE,
    START_MS,
    USER_KEY,
    checkin,
    fragment,
    hash_of,
    is_placed,
    ms,
    rules,
    told,
)

NOW_S = NOW_MS / 1000


def check(
    *records: CheckIn, needs_position: bool = True, by: Rules | None = None, profile: Profile | None = None
) -> tuple[ValidCheckIns, list[Rejected]]:
    return validate_checkins(
        list(enumerate(records)),
        by or rules(),
        source=SOURCE,
        now_ms=NOW_MS,
        needs_position=needs_position,
        profile=profile,
    )


def check_fragments(
    *records: Fragment, by: Rules | None = None, demands: DefaultDemands = NO_DEMANDS
) -> tuple[Rows, list[Rejected]]:
    rows, rejected, _ = validate_fragments(
        list(enumerate(records)), by or rules(), source=SOURCE, now_ms=NOW_MS, demands=demands
    )
    return rows, rejected


def demanding(user: int | str, k: int, delta_m: float) -> DefaultDemands:
    """What one user demands where a record of theirs does not say it."""
    return DefaultDemands(
        users=np.array([hash_of(user)], dtype=np.uint64),
        k=np.array([k], dtype=np.int32),
        delta_m=np.array([delta_m], dtype=np.float32),
    )


def time_of(ts: Any, **changes: Any) -> int | Reason:
    """The event time that a time stamp becomes, or why it is rejected."""
    valid, rejected = check(checkin(ts=ts), by=rules(**changes))
    return rejected[0].reason if rejected else int(valid.ts_ms[0])


FAULTS: list[tuple[dict[str, Any], Reason]] = [
    ({"lat": 91.0}, Reason.POSITION_OUT_OF_RANGE),
    ({"lat": np.nextafter(-90.0, -91)}, Reason.POSITION_OUT_OF_RANGE),
    ({"lon": np.nextafter(180.0, 181)}, Reason.POSITION_OUT_OF_RANGE),
    ({"lat": math.nan}, Reason.POSITION_OUT_OF_RANGE),
    ({"lon": math.nan}, Reason.POSITION_OUT_OF_RANGE),
    ({"lat": math.inf}, Reason.POSITION_OUT_OF_RANGE),
    ({"lon": -math.inf}, Reason.POSITION_OUT_OF_RANGE),
    ({"lat": 1e308, "lon": -1e308}, Reason.POSITION_OUT_OF_RANGE),
    ({"lat": None}, Reason.MISSING_FIELD),
    ({"lon": None}, Reason.MISSING_FIELD),
    ({"lat": None, "lon": None}, Reason.MISSING_FIELD),
    ({"user": ""}, Reason.MISSING_FIELD),
    ({"user": "x" * 257}, Reason.USER_ID_TOO_LONG),
    ({"user": "x" * 10_000}, Reason.USER_ID_TOO_LONG),
    ({"user": 10**256}, Reason.USER_ID_TOO_LONG),
    ({"user": " " * 257}, Reason.USER_ID_TOO_LONG),
    ({"user": "x" + "\u0301\u0327" * 1_000_000}, Reason.USER_ID_TOO_LONG),  # hours, if it were normalized
    (
        {"ts": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-14)))},
        Reason.TIME_OUT_OF_RANGE,
    ),
    ({"ts": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": datetime(1864, 5, 1, tzinfo=UTC)}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": datetime(2105, 5, 1, tzinfo=UTC)}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": NOW_S + 600.001}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": -1}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": NOW_MS}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": 2**63}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": 10**400}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": -(10**400)}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": 1e308}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": math.nan}, Reason.TIME_OUT_OF_RANGE),
    ({"lat": 0.0, "lon": -0.0}, Reason.POSITION_ZERO),
    ({"user": " \u200b"}, Reason.MISSING_FIELD),
    ({"user": "NULL"}, Reason.MISSING_FIELD),
    ({"ts": math.inf}, Reason.TIME_OUT_OF_RANGE),
    ({"ts": -math.inf}, Reason.TIME_OUT_OF_RANGE),
]


NOWHERE: list[dict[str, Any]] = [{"lat": math.nan}, {"lon": math.nan}, {"lat": 0.0, "lon": -0.0}]
"""Where a point says that it has no position."""


@pytest.mark.parametrize(("changes", "reason"), FAULTS)
def test_one_fault_rejects_a_check_in(changes: dict[str, Any], reason: Reason) -> None:
    """
    A record with one fault is turned away for that fault, and no row is made of it.
    """
    valid, rejected = check(checkin(**changes))
    assert [one.reason for one in rejected] == [reason]
    assert len(valid.offsets) == 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [(changes, reason) for changes, reason in FAULTS if None not in changes.values() and changes not in NOWHERE],
)
def test_the_same_fault_rejects_a_fragment(changes: dict[str, Any], reason: Reason) -> None:
    """
    A bad user, position or time in the last point turns the whole fragment away for the same reason.
    """
    values: dict[str, Any] = {"user": "u1", "ts": START_MS / 1000, "lat": 52.5, "lon": 13.4} | changes
    good = (START_MS / 1000, 52.5, 13.4)
    bad = (values["ts"], values["lat"], values["lon"])
    rows, rejected = check_fragments(fragment([good, good, bad], user=values["user"]))
    assert [one.reason for one in rejected] == [reason]
    assert len(rows) == 0


def test_a_mixed_batch_keeps_the_good_and_names_each_fault() -> None:
    """
    Every record of a batch gets its own verdict, whatever stands beside it; offsets tell which is which.
    """
    records = [record for changes, _ in FAULTS for record in (checkin(user="good"), checkin(**changes))]
    valid, rejected = check(*records)
    assert {one.offset: one.reason for one in rejected} == {2 * i + 1: reason for i, (_, reason) in enumerate(FAULTS)}
    assert len(rejected) == len(FAULTS)
    assert valid.offsets.tolist() == list(range(0, 2 * len(FAULTS), 2))
    assert set(valid.users.tolist()) == {user_hash("good", USER_KEY)}


@pytest.mark.parametrize(
    ("venue", "lat", "lon", "reason"),
    [
        ("park", None, None, None),
        ("park", 52.5, 13.4, None),
        (11711, None, None, None),
        ("park", 52.5, None, Reason.MISSING_FIELD),
        ("park", None, 13.4, Reason.MISSING_FIELD),
        ("park", 91.0, 13.4, Reason.POSITION_OUT_OF_RANGE),
        (None, 52.5, 13.4, Reason.MISSING_FIELD),
        (None, None, None, Reason.MISSING_FIELD),
    ],
)
def test_where_venues_locate_a_position_is_optional_but_never_half(
    venue: str | int | None, lat: float | None, lon: float | None, reason: Reason | None
) -> None:
    """
    Without need of positions a venue is enough; half a position or a wild one is a fault all the same.
    """
    valid, rejected = check(checkin(venue=venue, lat=lat, lon=lon), needs_position=False)
    assert [one.reason for one in rejected] == ([] if reason is None else [reason])
    assert valid.venues == ([] if reason else [str(venue)])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"points": []}, Reason.EMPTY_FRAGMENT),
        ({"points": [(START_MS / 1000, 52.5, 13.4)] * 11}, Reason.TOO_MANY_POINTS),
        ({"k": 1}, Reason.DEMAND_OUT_OF_RANGE),
        ({"k": 0}, Reason.DEMAND_OUT_OF_RANGE),
        ({"k": -(10**400)}, Reason.DEMAND_OUT_OF_RANGE),
        ({"k": 1_000_001}, Reason.DEMAND_OUT_OF_RANGE),
        ({"k": 10**400}, Reason.DEMAND_OUT_OF_RANGE),
        ({"delta_m": 0.0}, Reason.DEMAND_OUT_OF_RANGE),
        ({"delta_m": 1.0}, Reason.DEMAND_OUT_OF_RANGE),
        ({"delta_m": -1e300}, Reason.DEMAND_OUT_OF_RANGE),
        ({"delta_m": 1e7}, Reason.DEMAND_OUT_OF_RANGE),
        ({"delta_m": 1e300}, Reason.DEMAND_OUT_OF_RANGE),
        ({"delta_m": math.nan}, Reason.DEMAND_OUT_OF_RANGE),
        ({"delta_m": math.inf}, Reason.DEMAND_OUT_OF_RANGE),
    ],
)
def test_a_fragment_has_faults_of_its_own(changes: dict[str, Any], reason: Reason) -> None:
    """
    Length and demands are checked for each fragment; a good neighbour stays.
    """
    rows, rejected = check_fragments(fragment(user="before"), fragment(**changes), fragment(user="after"))
    assert [(one.reason, one.offset) for one in rejected] == [(reason, 1)]
    assert rows["offset"].tolist() == [0, 0, 2, 2]


@pytest.mark.parametrize(
    ("k", "delta_m"), [(2, 1.001), (1_000_000, 9_999_999.0), (None, None), (7, None), (None, 50.0)]
)
def test_demands_reach_the_rows(k: int | None, delta_m: float | None) -> None:
    """
    A demand stands in every row of its fragment; no demand is k = 0 and an infinite delta.
    """
    rows, rejected = check_fragments(fragment(k=k, delta_m=delta_m))
    assert not rejected
    assert rows["k"].tolist() == [k or 0] * 2
    assert rows["delta_m"].tolist() == [np.float32(np.inf if delta_m is None else delta_m)] * 2


@pytest.mark.parametrize("k", [None, 2, 8, 1000])
@pytest.mark.parametrize("delta_m", [None, 2.0, 50.0, 5000.0])
def test_what_a_record_demands_itself_counts_instead_of_the_default(k: int | None, delta_m: float | None) -> None:
    """
    For each of the two on its own, stricter or not; the default stands in where the record is silent.
    """
    rows, rejected = check_fragments(fragment(user="u1", k=k, delta_m=delta_m), demands=demanding("u1", 8, 50.0))
    assert not rejected
    assert rows["k"].tolist() == [8 if k is None else k] * 2
    assert rows["delta_m"].tolist() == [50.0 if delta_m is None else delta_m] * 2


def test_a_default_is_its_users_alone() -> None:
    """
    The neighbours of a batch stay as they are, before and after; a bad record is rejected with a default, too.
    """
    records = [fragment(user=user) for user in ("u0", 17, "u1", "17", "u2")]
    bad = [fragment(user=17, k=1), fragment([(START_MS / 1000, 91.0, 13.4)], user=17)]
    rows, rejected = check_fragments(*records, *bad, demands=demanding("17", 8, 50.0))
    assert [one.offset for one in rejected] == [5, 6]
    assert rows["k"].tolist() == [0, 0, 8, 8, 0, 0, 8, 8, 0, 0]
    assert rows["delta_m"].tolist() == [np.inf, np.inf, 50, 50, np.inf, np.inf, 50, 50, np.inf, np.inf]


def test_the_first_fault_is_the_one_that_is_named() -> None:
    """
    A record with several faults is rejected once: user, then position, then time.
    """
    everything = {"user": "", "lat": 91.0, "ts": -1}
    _, rejected = check(
        checkin(**everything), checkin(**everything | {"user": "u"}), checkin(**everything | {"user": "u", "lat": 0.0})
    )
    assert {one.offset: one.reason for one in rejected} == {
        0: Reason.MISSING_FIELD,
        1: Reason.POSITION_OUT_OF_RANGE,
        2: Reason.TIME_OUT_OF_RANGE,
    }


def test_the_first_fault_of_a_fragment_is_the_one_that_is_named() -> None:
    """
    Whichever point it is in, a bad position is told before a bad time, and the fragment is rejected once.
    """
    good, late, off = (START_MS / 1000, 52.5, 13.4), (-1, 52.5, 13.4), (START_MS / 1000, 91.0, 13.4)
    _, rejected = check_fragments(
        *(fragment(points) for points in ([late, off, late], [off, good, late], [good, late]))
    )
    assert {one.offset: one.reason for one in rejected} == {
        0: Reason.POSITION_OUT_OF_RANGE,
        1: Reason.POSITION_OUT_OF_RANGE,
        2: Reason.TIME_OUT_OF_RANGE,
    }
    assert len(rejected) == 3


def test_the_edges_of_what_is_accepted_are_inside() -> None:
    """
    Poles, the antimeridian, and the first, last and furthest time are valid; one millisecond more is not.
    """
    #  earliest                    now    now + ahead
    #  [----------------------------|-----------]
    edges = [checkin(lat=lat, lon=lon) for lat in (-90.0, 90.0, -0.0) for lon in (-180.0, 180.0)]
    assert not check(*edges)[1]
    earliest_ms = rules().earliest_ms
    ahead_ms = NOW_MS + 600_000
    for edge_ms, beyond_ms in ((earliest_ms, earliest_ms - 1), (ahead_ms, ahead_ms + 1)):
        assert time_of(edge_ms, number_ms=1) == edge_ms
        assert time_of(beyond_ms, number_ms=1) == Reason.TIME_OUT_OF_RANGE
    assert time_of(START_MS, number_ms=1, latest_ms=START_MS) == START_MS
    assert time_of(START_MS + 1, number_ms=1, latest_ms=START_MS) == Reason.TIME_OUT_OF_RANGE
    assert not check(checkin(user="x" * 256))[1]


def test_numbers_are_read_in_the_unit_that_is_stated() -> None:
    """
    The same instant as seconds, as milliseconds and as RFC 3339; a number in the other unit is out of range.
    """
    instant = datetime(2026, 11, 27, 21, 0, tzinfo=UTC)
    assert ms(instant) == START_MS
    assert time_of(START_MS // 1000) == START_MS
    assert time_of(START_MS / 1000) == START_MS
    assert time_of(START_MS, number_ms=1) == START_MS
    assert time_of(instant) == time_of(instant, number_ms=1) == START_MS
    assert time_of(START_MS) == Reason.TIME_OUT_OF_RANGE
    assert time_of(START_MS // 1000, number_ms=1) == Reason.TIME_OUT_OF_RANGE


@given(
    moment=st.datetimes(datetime(2000, 1, 2), datetime(2026, 11, 27)),  # noqa: DTZ001 - zones are drawn
    offset_min=st.integers(-23 * 60, 23 * 60),
)
def test_an_offset_names_the_same_instant(moment: datetime, offset_min: int) -> None:
    """
    RFC 3339 with any offset is the instant in UTC, to the millisecond.
    """
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    utc = moment.replace(tzinfo=UTC)
    shifted = utc.astimezone(timezone(timedelta(minutes=offset_min)))
    assert time_of(shifted) == time_of(utc) == ms(utc)


@given(st.integers(ms(datetime(2000, 1, 1, tzinfo=UTC)), START_MS))
def test_a_fraction_of_a_second_is_the_nearest_millisecond(instant_ms: int) -> None:
    """
    Seconds as a float and RFC 3339 of one instant give one event time, so that duplicates meet.
    """
    assert time_of(float(f"{instant_ms // 1000}.{instant_ms % 1000:03d}")) == instant_ms


@pytest.mark.parametrize(
    ("seconds", "expected_ms"), [(1_080_000_000.001, 1_080_000_000_001), (-1.5, -1500), (-0.0009, -1), (0.0009, 1)]
)
def test_rounding_does_not_lean_towards_1970(seconds: float, expected_ms: int) -> None:
    """
    Times are rounded, not cut: cutting would move times before 1970 the other way, and some of 2004 by one.
    """
    assert time_of(seconds, earliest_ms=-(10**6)) == expected_ms


def test_users_meet_by_their_id_alone() -> None:
    """
    All spellings of an id are one user; different keys give hashes that have nothing to do with each other.
    """
    valid, _ = check(checkin(user=17), checkin(user="17 "), checkin(user="017"), checkin(user="18"))
    assert len(set(valid.users.tolist())) == 2
    other, _ = check(checkin(user=17), by=rules(user_key=b"another key of users"))
    assert other.users[0] != valid.users[0]


def test_user_hashes_never_change() -> None:
    """
    A user keeps the hash across processes and versions: rows buffered by one are read by the next.
    """
    assert user_hash("u1", USER_KEY) == 0xE0CB6E90215E2EF6
    assert user_hash("", USER_KEY) == 0x833876EFBF3D47EE


def test_any_text_can_be_a_user_id() -> None:
    """
    A lone surrogate is no Unicode, yet a string in Python: it is hashed like any other, and is no one else.
    """
    valid, rejected = check(*(checkin(user=user) for user in ("\ud800", "\ud801", "?", "u", "ü")))
    assert not rejected
    assert len(set(valid.users.tolist())) == 5


def test_a_rejection_tells_nothing_about_anybody() -> None:
    """
    A detail names the field and what is allowed, never the value: it goes to the dead letters.
    """
    _, rejected = check(checkin(lat=91.2345), checkin(user="Mallory" * 100), checkin(ts=12345), checkin(lon=-191.2345))
    text = repr(rejected)
    assert len(rejected) == 4
    assert not [secret for secret in ("91.2345", "Mallory", "12345") if secret in text]


@given(st.lists(strategies.checkins(), max_size=5), st.booleans())
def test_a_batch_decides_like_its_records_one_by_one(records: list[CheckIn], needs_position: bool) -> None:
    """
    Check-ins: validated alone or together, each has the same row or the same rejection.
    """
    valid, rejected = check(*records, needs_position=needs_position)
    together: dict[int, Any] = {one.offset: (one.reason, one.detail) for one in rejected}
    assert len(together) == len(rejected)
    columns = zip(valid.offsets, valid.users, valid.ts_ms, valid.lat_deg, valid.lon_deg, valid.venues, strict=True)
    for offset, *row in columns:
        assert offset not in together
        together[int(offset)] = repr(row)
    alone: dict[int, Any] = {}
    for i, record in enumerate(records):
        one, refused = check(record, needs_position=needs_position)
        alone[i] = (
            (refused[0].reason, refused[0].detail)
            if refused
            else repr([one.users[0], one.ts_ms[0], one.lat_deg[0], one.lon_deg[0], one.venues[0]])
        )
    assert together == alone


@given(st.lists(strategies.fragments(), max_size=5))
def test_a_batch_of_fragments_decides_like_its_fragments_one_by_one(records: list[Fragment]) -> None:
    """
    Fragments: validated alone or together, each has the same rows or the same rejection.
    """
    rows, rejected = check_fragments(*records)
    together = {one.offset: (one.reason, one.detail) for one in rejected}
    assert len(together) == len(rejected)
    assert not set(rows["offset"].tolist()) & set(together)
    for i, record in enumerate(records):
        own, refused = check_fragments(record)
        own["offset"] = i
        assert rows[rows["offset"] == i].tobytes() == own.tobytes()
        assert together.get(i) == ((refused[0].reason, refused[0].detail) if refused else None)
        assert len(own) == (0 if refused else sum(is_placed(point) for point in record.points))


@given(st.lists(strategies.fragments(), max_size=5))
def test_what_passes_is_in_range(records: list[Fragment]) -> None:
    """
    Whatever comes in, a row has a position on the earth and a time inside the rules.
    """
    rows, _ = check_fragments(*records)
    assert (np.abs(rows["lat"]) <= 90).all()
    assert (np.abs(rows["lon"]) <= 180).all()
    assert ((rows["ts_ms"] >= rules().earliest_ms) & (rows["ts_ms"] <= NOW_MS + 600_000)).all()
    assert ((rows["k"] == 0) | ((rows["k"] >= 2) & (rows["k"] <= 1_000_000))).all()


@pytest.mark.parametrize("nowhere", [*NOWHERE, {"lat": None}, {"lon": None}, {"lat": None, "lon": None}])
def test_a_point_without_a_position_is_left_out_alone(nowhere: dict[str, Any]) -> None:
    """
    A receiver without a fix says null, NaN or 0,0: the other points stay, and what was left out is counted.
    """
    good, bad = (
        Point(START_MS / 1000, 52.5, 13.4),
        Point(**({"ts": START_MS / 1000, "lat": 52.5, "lon": 13.4} | nowhere)),
    )
    records = [(0, Fragment(user="u", points=[good, bad, good])), (1, Fragment(user="u", points=[bad, bad]))]
    rows, rejected, left_out = validate_fragments(records, rules(), source=SOURCE, now_ms=NOW_MS)
    reason = Reason.POSITION_ZERO if 0.0 in nowhere.values() else Reason.MISSING_FIELD
    assert rows["offset"].tolist() == [0, 0]
    assert [(one.offset, one.reason) for one in rejected] == [(1, reason)]
    assert left_out == {reason: 1}


def test_zero_is_a_place_where_the_rules_say_so() -> None:
    """
    Somebody may really be in the Gulf of Guinea.
    """
    there = {"lat": 0.0, "lon": 0.0}
    assert not check(checkin(**there), by=rules(rejects_zero=False))[1]
    rows, rejected = check_fragments(fragment([(START_MS / 1000, 0.0, 0.0)]), by=rules(rejects_zero=False))
    assert (len(rows), rejected) == (1, [])


@pytest.mark.parametrize("position", [(0.0, 13.4), (52.5, 0.0), (0.0, 1e-6)])
def test_the_equator_and_the_meridian_are_places(position: tuple[float, float]) -> None:
    """
    Only both coordinates at exactly zero are no position.
    """
    assert not check(checkin(lat=position[0], lon=position[1]))[1]


class _Counted(Sequence[Point]):
    """A million points that count how often one is looked at."""

    def __init__(self, n: int, point: Point) -> None:
        self.n, self.point, self.looks = n, point, 0

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: Any) -> Any:
        if index >= self.n:
            raise IndexError
        self.looks += 1
        return self.point


def test_a_fragment_that_is_too_long_costs_nothing() -> None:
    """
    Of a million points over the limit not one is looked at.
    """
    points = _Counted(1_000_000, Point(START_MS / 1000, 52.5, 13.4))
    rows, rejected = check_fragments(Fragment(user="u", points=points))  # type: ignore[arg-type]
    assert [one.reason for one in rejected] == [Reason.TOO_MANY_POINTS]
    assert len(rows) == points.looks == 0


@pytest.mark.parametrize(("n", "lat", "n_rejected"), [(1_000_000, 52.5, 0), (200_000, 91.0, 1)])
def test_many_points_are_looked_at_once(n: int, lat: float, n_rejected: int) -> None:
    """
    A fragment as long as the limit, good or bad throughout: each point is read once, and it has one verdict.
    """
    points = _Counted(n, Point(START_MS / 1000, lat, 13.4))
    rows, rejected = check_fragments(
        Fragment(user="u", points=points),  # type: ignore[arg-type]
        by=rules(max_points=n),
    )
    assert points.looks == n
    assert len(rejected) == n_rejected
    assert len(rows) == (0 if n_rejected else n)


def test_ten_thousand_bad_fragments_are_one_pass() -> None:
    """
    A flood of bad fragments in one batch: one rejection each, in linear time (a pass for each would be 10^8 steps).
    """
    bad = [fragment([(START_MS / 1000, 91.0, 13.4)]) for _ in range(10_000)]
    rows, rejected = check_fragments(*bad, fragment())
    assert len(rejected) == 10_000
    assert rows["offset"].tolist() == [10_000, 10_000]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"user":"u","ts":1' + "0" * 400 + ',"lat":1,"lon":2}', Reason.TIME_OUT_OF_RANGE),
        ('{"user":"u","ts":"9999-12-31T23:59:59Z","lat":1,"lon":2}', Reason.TIME_OUT_OF_RANGE),
        ('{"user":"u","ts":-1e300,"lat":1,"lon":2}', Reason.TIME_OUT_OF_RANGE),
        ('{"user":"u","ts":1,"lat":1e300,"lon":2}', Reason.POSITION_OUT_OF_RANGE),
        ('{"user":1' + "0" * 300 + ',"ts":1,"lat":1,"lon":2}', Reason.USER_ID_TOO_LONG),
    ],
)
def test_whatever_json_can_say_has_a_verdict(text: str, reason: Reason) -> None:
    """
    Numbers beyond any float or any 64-bit integer are valid JSON: they are rejected, and nothing breaks.
    """
    decode: Callable[[bytes], CheckIn] = msgspec.json.Decoder(CheckIn).decode
    assert [one.reason for one in check(decode(text.encode()))[1]] == [reason]


def test_nothing_comes_of_nothing() -> None:
    """
    An empty batch is valid.
    """
    valid, rejected = check()
    rows, refused = check_fragments()
    assert (len(valid.offsets), rejected, len(rows), refused) == (0, [], 0, [])


# What is told of the person

PROFILE = Profile(
    (Numeric("age", 18, 99), Categorical("plan", ("basic", "plus")), Categorical("ward", ("x",), others=True))
)
AGE_ALLOWED = "a whole number from 18 to 99"
PLAN_ALLOWED = "one of the 2 values that privacy.attributes allows"


@pytest.mark.parametrize(
    ("attributes", "reason", "detail"),
    [
        ((17, "plus", "x"), Reason.ATTRIBUTE_OUT_OF_RANGE, f"age must be {AGE_ALLOWED}"),
        ((41, "gold", "x"), Reason.ATTRIBUTE_OUT_OF_RANGE, f"plan must be {PLAN_ALLOWED}"),
        ((17, "gold", None), Reason.ATTRIBUTE_OUT_OF_RANGE, f"age must be {AGE_ALLOWED}"),
        ((None, "plus", "x"), Reason.ATTRIBUTE_MISSING, f"age is needed: {AGE_ALLOWED}"),
        ((41, None, "x"), Reason.ATTRIBUTE_MISSING, f"plan is needed: {PLAN_ALLOWED}"),
        ((None, "gold", None), Reason.ATTRIBUTE_MISSING, f"age is needed: {AGE_ALLOWED}"),
        ((), Reason.ATTRIBUTE_MISSING, f"age is needed: {AGE_ALLOWED}"),
    ],
)
def test_a_record_without_an_allowed_attribute_is_rejected(
    attributes: tuple[AttributeValue, ...], reason: Reason, detail: str
) -> None:
    """
    The sentence names the first attribute that is at fault and what is allowed; the records around it pass.
    """
    good = told(41, "plus", None)
    valid, (fault,) = check(good, told(*attributes), good, profile=PROFILE)
    assert (fault.offset, fault.reason, fault.detail) == (1, reason, detail)
    assert valid.offsets.tolist() == [0, 2]
    assert [column.tolist() for column in PROFILE.decode(valid.profiles)] == [[41, 41], [1, 1], [-1, -1]]


def test_an_attribute_is_looked_at_last() -> None:
    """
    A record has one reason, and what is wrong with user, time and place comes first.
    """
    _, rejected = check(told(17, "gold", user=""), told(17, "gold", lat=91.0), told(1, "gold", ts=0), profile=PROFILE)
    assert [one.reason for one in rejected] == [
        Reason.MISSING_FIELD, Reason.POSITION_OUT_OF_RANGE, Reason.TIME_OUT_OF_RANGE
    ]  # fmt: skip


def test_attributes_that_nobody_asked_for_tell_nothing() -> None:
    """
    Without a profile the code of every record is 0, and no record is rejected for what it tells.
    """
    valid, rejected = check(told("Zw9qK", 5), checkin())
    assert not rejected
    assert valid.profiles.tolist() == [0, 0]


def test_valid_check_ins_print_without_what_is_told() -> None:
    """
    Codes are as telling as the values they stand for.
    """
    valid, _ = check(told(41, "plus", "x"), profile=PROFILE)
    assert "profiles" not in repr(valid)
    assert str(int(valid.profiles[0])) not in repr(valid)


# Units of numbers, and records that share a message


UNITS_MS = {"seconds": 1000.0, "milliseconds": 1.0, "microseconds": 1e-3, "nanoseconds": 1e-6}


@given(st.sampled_from([*UNITS_MS]), st.sampled_from([*UNITS_MS]), st.integers(-86_400, 600))
def test_a_time_in_another_unit_is_rejected_and_the_unit_is_named(meant: str, stated: str, after_s: int) -> None:
    """
    A number of any unit means its instant where the settings state that unit. Elsewhere the sentence says which unit
    the number looks like, unless it would be accepted by chance.
    """
    instant_ms = NOW_MS + 1000 * after_s
    number = round(instant_ms / UNITS_MS[meant])
    for rows, rejected in (
        check(checkin(ts=number), by=rules(number_ms=UNITS_MS[stated])),
        check_fragments(fragment([(number, 1.0, 2.0)]), by=rules(number_ms=UNITS_MS[stated])),
    ):
        if meant == stated:
            ts_ms = rows.ts_ms if isinstance(rows, ValidCheckIns) else rows["ts_ms"]
            assert abs(int(ts_ms[0]) - instant_ms) <= UNITS_MS[meant] / 2 + 1
        else:
            (fault,) = rejected
            assert fault.reason is Reason.TIME_OUT_OF_RANGE
            assert fault.detail.endswith(f"; the number looks like {meant} (time.unit)")


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=8), st.booleans())
def test_records_of_one_message_are_judged_one_by_one(given_: list[tuple[int, bool]], of_fragments: bool) -> None:
    """
    They share its offset: a fault rejects its record alone, and says which of the list it was.
    """
    given_ = sorted(given_, key=lambda one: one[0])
    offsets, good = [offset for offset, _ in given_], [is_good for _, is_good in given_]
    elements = [i + 1 for i in range(len(given_))]
    rejected: list[Rejected]
    if of_fragments:
        fragments = [fragment([(START_MS / 1000, 1.0, 2.0 if is_good else 200.0)]) for is_good in good]
        rows, rejected, _ = validate_fragments(
            list(zip(offsets, fragments, strict=True)), rules(), source=SOURCE, now_ms=NOW_MS, elements=elements
        )
        kept = rows["offset"].tolist()
    else:
        checkins = [checkin(lon=2.0 if is_good else 200.0) for is_good in good]
        valid, rejected = validate_checkins(
            list(zip(offsets, checkins, strict=True)),
            rules(),
            source=SOURCE,
            now_ms=NOW_MS,
            needs_position=True,
            elements=elements,
        )
        kept = valid.offsets.tolist()
        assert valid.numbers.tolist() == [i for i, is_good in enumerate(good) if is_good]
    assert kept == [offset for offset, is_good in given_ if is_good]
    assert [(one.offset, one.element) for one in rejected] == [
        (offset, element) for (offset, is_good), element in zip(given_, elements, strict=True) if not is_good
    ]


@pytest.mark.parametrize("most", [1, 2, 100])
def test_a_remembered_user_is_the_same_person(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """
    However many ids are remembered; a number that lost its last digits is nobody's id.
    """
    monkeypatch.setattr(validate, "_REMEMBERED", most)
    users: list[Any] = ["u1", "U1 ", 7, "7", 7.0, 2**70, float(2**70), "u2", "u1", "x" * 100, "null"] * 2
    rules = Rules(user_key=USER_KEY, earliest_ms=0, latest_ms=4_102_444_800_000, max_ahead_ms=0)
    verdict = validate._Verdict(Source("c", 0), range(len(users)))
    hashes = verdict.reject_users(users, rules).tolist()
    spelled = [canonical(user) for user in users]
    rounded = [isinstance(user, float) and user > 2**53 for user in users]
    expected = [
        0 if lost or not name else user_hash(name, USER_KEY) for name, lost in zip(spelled, rounded, strict=True)
    ]
    assert hashes == expected
    assert len(rules.known_users) <= most


@given(st.integers(-(2**70), 2**70))
@example(2**53)
@example(-(2**60))
def test_two_ids_are_never_one_because_a_number_is_rounded(number: int) -> None:
    """
    An id that is a number with a point or an exponent is read only if no other whole number is the same number.
    """
    rules = Rules(user_key=USER_KEY, earliest_ms=0, latest_ms=4_102_444_800_000, max_ahead_ms=0)
    batch = validate._Verdict(Source("c", 0), range(2)).reject_users([number, number + 1], rules)
    verdict = validate._Verdict(Source("c", 0), range(1))  # a later batch, when both are remembered
    (whole, other), (written,) = batch.tolist(), verdict.reject_users([float(number)], rules).tolist()
    assert whole != other
    is_exact = abs(number) < 2**53
    assert written == (whole if is_exact else 0)
    assert [one.reason for one in verdict.rejected] == [Reason.WRONG_TYPE] * (not is_exact)


SIZES_MS = st.sampled_from([1000, 1, 0.001, 1e-06])
NUMBERS = st.integers() | st.integers(-(2**70), 2**70) | st.floats() | st.integers(10**9, 2 * 10**9)


@given(times=st.lists(NUMBERS, max_size=8), number_ms=SIZES_MS)
def test_times_of_a_batch_are_those_of_its_records(times: list[int | float], number_ms: float) -> None:
    """
    Whole numbers, fractions, both, and numbers that no float or 64-bit integer can hold.
    """
    rules = Rules(user_key=USER_KEY, earliest_ms=0, latest_ms=1, max_ahead_ms=0, number_ms=number_ms)
    assert validate._times_ms(times, rules).tolist() == [float(validate._to_ms(ts, rules)) for ts in times]
