"""Codec: the exact bytes of what leaves, round trips of what stays inside, and a fault for every bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.ingest.intake import CheckInIntake, FragmentIntake, Intake
from core.ingest.shard import SingleShard
from core.ingest.validate import Rules
from core.models.common.plan import ALGORITHMS
from core.models.common.sequences import SequenceTrajectory
from core.models.disassociation.released import ClusterGroup, NamedCluster, NamedJoint
from core.models.kdelta.released import PointTrajectory
from core.models.kkm.released import AttributeRecord
from core.models.lkc.released import PairTrajectory
from core.places.locate import MetricGrid
from core.records.instants import rfc3339
from core.records.record import (
    INPUT_KINDS,
    POINT,
    ROW_TYPES,
    VISIT,
    CheckIn,
    Chunk,
    Fragment,
    Kind,
    Point,
    Reason,
    Rejected,
    Source,
    attribute_field,
)
from core.release.locations import GeneralizedLocation
from core.release.outcome import Account, Release, Released, ReleaseRefused, Withheld, WithholdReason
from core.windows.seal import FeedStart, Seal, SealedUntil, SealRecord
from core.windows.window import WindowKey
from stream.formats.chunks import chunk_from_bytes, chunk_to_bytes
from stream.formats.dead_letters import dead_letter
from stream.formats.errors import DecodeError, VersionError
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import standard_tokens
from stream.formats.input.mapping import MappingOptions, Unreadable
from stream.formats.input.messages import MessageReader
from stream.formats.release.messages import outcome_messages
from stream.formats.seals import seal_from_bytes, seal_key, seal_to_bytes
from tests.builders.inputs import NAMES, decoder

NINE_MS = 1_795_813_200_000  # 2026-11-27T21:00:00Z
KEYS = {kind: WindowKey(end_ms=NINE_MS + 900_000, kind=kind, shard="all", start_ms=NINE_MS) for kind in (*Kind,)}
RULES = Rules(user_key=b"k" * 16, earliest_ms=0, latest_ms=4_102_444_800_000, max_ahead_ms=0)
INTAKES: dict[Kind, Intake] = {
    Kind.CHECKINS: CheckInIntake(RULES, MetricGrid(500.0), SingleShard(), vocabulary="v"),
    Kind.FRAGMENTS: FragmentIntake(RULES, SingleShard(), vocabulary="v"),
}

Decode = Callable[[bytes], CheckIn | Fragment]


def fault_of(value: bytes, kind: Kind = Kind.CHECKINS) -> tuple[Reason, str]:
    """Return why a message cannot be decoded."""
    with pytest.raises(UnreadableError) as fault:
        decoder(kind, NAMES)(value)
    return fault.value.reason, fault.value.detail


def take_in(value: bytes, kind: Kind) -> list[tuple[Reason, str]]:
    """Return why the service turns a message away: nothing where it accepts it."""
    entries = [entry for _, entry in MessageReader(kind, MappingOptions(names=NAMES)).read(value)]
    records = [(0, entry) for entry in entries if isinstance(entry, (CheckIn, Fragment))]
    taken = INTAKES[kind].run(records, source=Source("t", 0), n_partitions=1, now_ms=NINE_MS)
    unreadable = [(entry.reason, entry.detail) for entry in entries if isinstance(entry, Unreadable)]
    return unreadable + [(one.reason, one.detail) for one in taken.rejected]


# What leaves: golden bytes


VERSIONS = b'"versions":' + msgspec.json.encode(ALGORITHMS) + b"}"

SEQUENCES = Release(
    release_id="9f2c000000000001",
    key=KEYS[Kind.CHECKINS],
    model="seqanon",
    parameters={"k": 2, "m": 2},
    population=2,
    people=2,
    trajectories=(
        SequenceTrajectory(pseudonym="5be1000000000001", locations=(("8a2a",), ("8a2a", "8a2b"))),
        SequenceTrajectory(pseudonym="5be1000000000002", locations=(("8a2a",),)),
    ),
    locations=(GeneralizedLocation(members=("8a2a", "8a2b"), lat_deg=40.75, lon_deg=-73.84),),
    points_released=3,
    points_suppressed=None,
    smallest_support=2,
    information_loss={"distance_m": 12.5, "generalized_locations": 1},
    account=Account(duplicates=4, released=3, suppressed=1),
)
POINTS = Release(
    release_id="9f2c000000000002",
    key=KEYS[Kind.FRAGMENTS],
    model="w4m",
    parameters={"k": 2, "delta_m": 500.0, "distance": "lstd", "translation": "exchangeable"},
    population=None,
    people=2,
    trajectories=(
        PointTrajectory(
            pseudonym="5be1000000000001",
            t_ms=np.array([NINE_MS, NINE_MS + 30_500]),
            lat_deg=np.array([37.8, 37.801]),
            lon_deg=np.array([-122.41, -122.4]),
        ),
    ),
    locations=None,
    points_released=2,
    points_suppressed=0,
    smallest_support=2,
    information_loss={"trash": None, "sets": 1},
    account=Account(released=2),
)
WITHHELD = Withheld(
    release_id="9f2c000000000003",
    key=KEYS[Kind.CHECKINS],
    model="seqanon",
    parameters={"k": 5, "m": 2},
    reason=WithholdReason.TOO_FEW_PEOPLE,
    account=Account(withheld=77, duplicates=33),
)
HEAD = b'"window":["2026-11-27T21:00:00Z","2026-11-27T21:15:00Z"],"shard":"all",'


def test_a_released_sequence_has_these_bytes() -> None:
    """
    One message per trajectory, key ``release:index``, Kafka's time stamp the end of the window, as DESIGN.md has it.
    """
    first, second, _ = outcome_messages(SEQUENCES)
    assert first == (
        "anonymized",
        b"9f2c000000000001:0",
        b'{"schema":1,"release":"9f2c000000000001",' + HEAD + b'"pseudonym":"5be1000000000001",'
        b'"locations":[["8a2a"],["8a2a","8a2b"]]}',
        NINE_MS + 900_000,
    )
    assert second.key == b"9f2c000000000001:1"


def test_a_released_gps_trajectory_has_these_bytes() -> None:
    """
    Points are ``[time, lat, lon]``; a time has milliseconds only where it needs them.
    """
    first, _ = outcome_messages(POINTS)
    assert first == (
        "anonymized",
        b"9f2c000000000002:0",
        b'{"schema":1,"release":"9f2c000000000002",' + HEAD + b'"pseudonym":"5be1000000000001",'
        b'"points":[["2026-11-27T21:00:00Z",37.8,-122.41],["2026-11-27T21:00:30.500Z",37.801,-122.4]]}',
        NINE_MS + 900_000,
    )


PAIR = PairTrajectory(
    pseudonym="5be1000000000001", visits=((NINE_MS, "8a2a"), (NINE_MS + 300_000, "8a2b")), sensitive=("surgery",)
)
RECORD = AttributeRecord(
    pseudonym="5be1000000000001",
    attributes={"age": (20.0, 29.5), "plan": "paid"},
    locations=(("8a2a", "8a2b"), ("8a2c",)),
    sensitive=("8a2d",),
)
GROUP = ClusterGroup(
    clusters=(
        NamedCluster(size=2, record_chunks=((("8a2a", "8a2b"), ("8a2a",)),), term_chunk=("8a2c",)),
        NamedCluster(size=3, record_chunks=(), term_chunk=()),
    ),
    joint_clusters=(NamedJoint(first=0, end=2, shared_chunks=((("8a2d",), ("8a2d",)),)),),
)
HEADED = b'{"schema":1,"release":"9f2c000000000001",' + HEAD
NAMED = HEADED + b'"pseudonym":"5be1000000000001",'


@pytest.mark.parametrize(
    ("trajectory", "expected"),
    [
        (
            PAIR,
            NAMED + b'"visits":[["2026-11-27T21:00:00Z","8a2a"],["2026-11-27T21:05:00Z","8a2b"]],'
            b'"sensitive":["surgery"]}',
        ),
        (
            replace(PAIR, sensitive=(), one_of=("surgery", None)),
            NAMED + b'"visits":[["2026-11-27T21:00:00Z","8a2a"],["2026-11-27T21:05:00Z","8a2b"]],'
            b'"one_of":["surgery",null]}',
        ),
        (
            replace(PAIR, visits=((0, "8a2a"), (86_399_000, "8a2b"), (86_399_500, "8a2b")), sensitive=(), of_day=True),
            NAMED + b'"visits":[["00:00:00","8a2a"],["23:59:59","8a2b"],["23:59:59.500","8a2b"]],"sensitive":[]}',
        ),
        (
            replace(PAIR, visits=((-1_000, "8a2a"), (0, "8a2b"))),
            NAMED + b'"visits":[["1969-12-31T23:59:59Z","8a2a"],["1970-01-01T00:00:00Z","8a2b"]],'
            b'"sensitive":["surgery"]}',
        ),
        (
            RECORD,
            NAMED + b'"attributes":{"age":[20.0,29.5],"plan":"paid"},"locations":[["8a2a","8a2b"],["8a2c"]],'
            b'"sensitive":["8a2d"]}',
        ),
        (
            replace(RECORD, locations=(), sensitive=()),
            NAMED + b'"attributes":{"age":[20.0,29.5],"plan":"paid"},"locations":[]}',
        ),
        (
            GROUP,
            HEADED + b'"clusters":[{"size":2,"record_chunks":[[["8a2a","8a2b"],["8a2a"]]],"term_chunk":["8a2c"]},'
            b'{"size":3,"record_chunks":[],"term_chunk":[]}],'
            b'"joint_clusters":[{"first":0,"end":2,"shared_chunks":[[["8a2d"],["8a2d"]]]}]}',
        ),
    ],
    ids=["pairs", "over a horizon", "pairs of a day", "pairs before 1970", "attributes", "attributes alone", "sets"],
)
def test_a_message_of_the_other_models_has_these_bytes(trajectory: Released, expected: bytes) -> None:
    """
    Visits with instants or times of day; attributes as bounds or a node, and a set of places; clusters with what they
    share. All are plain JSON, which says the same when it is read and written again.
    """
    message, _ = outcome_messages(replace(SEQUENCES, trajectories=(trajectory,)))
    assert message.value == expected
    assert json.dumps(json.loads(message.value), separators=(",", ":")).encode() == expected


def test_a_sensitive_location_is_marked_in_the_windows_message() -> None:
    """
    It has one more field than others.
    """
    places = (
        GeneralizedLocation(members=("8a2a",), lat_deg=40.75, lon_deg=-73.84, sensitive=True),
        GeneralizedLocation(members=("8a2b",), lat_deg=40.75, lon_deg=-73.84),
    )
    *_, window = outcome_messages(replace(SEQUENCES, locations=places))
    expected = b'"locations":[{"members":["8a2a"],"lat":40.75,"lon":-73.84,"sensitive":true},'
    assert expected + b'{"members":["8a2b"],"lat":40.75,"lon":-73.84}],' in window.value


def test_the_windows_message_of_a_release_comes_last_and_has_these_bytes() -> None:
    """
    It commits the window: model and parameters, published counts, the generalized locations, utility, versions.
    """
    assert list(outcome_messages(SEQUENCES))[-1] == (
        "windows",
        b"9f2c000000000001",
        b'{"schema":1,"release":"9f2c000000000001",' + HEAD + b'"kind":"checkins","model":"seqanon",'
        b'"parameters":{"k":2,"m":2},"outcome":"released","verified":true,"population":2,"people":2,"trajectories":2,'
        b'"points_released":3,"points_suppressed":null,"smallest_support":2,'
        b'"information_loss":{"distance_m":12.5,"generalized_locations":1},'
        b'"locations":[{"members":["8a2a","8a2b"],"lat":40.75,"lon":-73.84}],' + VERSIONS,
        NINE_MS + 900_000,
    )
    assert list(outcome_messages(POINTS))[-1].value == (
        b'{"schema":1,"release":"9f2c000000000002",' + HEAD + b'"kind":"fragments","model":"w4m",'
        b'"parameters":{"k":2,"delta_m":500.0,"distance":"lstd","translation":"exchangeable"},"outcome":"released",'
        b'"verified":true,"population":null,"people":2,"trajectories":1,"points_released":2,"points_suppressed":0,'
        b'"smallest_support":2,"information_loss":{"trash":null,"sets":1},' + VERSIONS
    )


def test_a_withheld_window_has_these_bytes_and_no_count() -> None:
    """
    Only the windows message is sent, with the reason: the account of its records stays inside.
    """
    assert list(outcome_messages(WITHHELD)) == [
        (
            "windows",
            b"9f2c000000000003",
            b'{"schema":1,"release":"9f2c000000000003",' + HEAD + b'"kind":"checkins","model":"seqanon",'
            b'"parameters":{"k":5,"m":2},"outcome":"withheld","reason":"too_few_people","verified":false,'
            b"" + VERSIONS,
            NINE_MS + 900_000,
        )
    ]


def test_a_refused_window_leaves_like_a_withheld_one() -> None:
    """
    What the verifier counted is for the operator: outside only the reason is told.
    """
    refused = ReleaseRefused(
        release_id="9f2c000000000004",
        key=KEYS[Kind.CHECKINS],
        model="seqanon",
        parameters={"k": 5, "m": 2},
        finding="3 subtrajectories",
        account=Account(withheld=77),
    )
    (message,) = outcome_messages(refused)
    assert json.loads(message.value)["reason"] == "verification_failed"
    assert b"subtrajectories" not in message.value
    assert b"77" not in message.value


def test_a_dead_letter_has_these_bytes() -> None:
    """
    Why, and where the record stands; its content stays there.
    """
    rejected = Rejected(reason=Reason.WRONG_TYPE, detail="Expected `float`", source=Source("checkins", 3), offset=41)
    assert dead_letter(Kind.CHECKINS, rejected) == (
        b'{"schema":1,"kind":"checkins","reason":"wrong_type","detail":"Expected `float`",'
        b'"topic":"checkins","partition":3,"offset":41}'
    )
    assert dead_letter(Kind.CHECKINS, rejected, "8f+1").endswith(b',"offset":41,"log":"8f+1"}')


def test_an_instant_is_written_in_utc_whatever_its_age() -> None:
    """
    RFC 3339 with ``Z``, before 1970 too.
    """
    assert rfc3339(-3_339_575_999_750) == "1864-03-04T12:00:00.250Z"


# What stays inside: seals


SEAL = Seal(
    key=KEYS[Kind.CHECKINS], last_offset=812, n_rows=4321, release_id="9f2c000000000001", digest="d1", writer="w-1"
)
UNTIL = SealedUntil(kind=Kind.FRAGMENTS, shard="all", until_ms=NINE_MS, last_offset=811)


def test_a_seal_has_these_bytes() -> None:
    """
    A later version has to read the seals of an earlier one: their form is fixed.
    """
    assert seal_to_bytes(SEAL) == (
        b'{"type":"seal","kind":"checkins","shard":"all","start_ms":1795813200000,"end_ms":1795814100000,'
        b'"last_offset":812,"n_rows":4321,"release":"9f2c000000000001","digest":"d1","writer":"w-1"}'
    )
    assert seal_key(SEAL) == b"seal|checkins|all|1795813200000|1795814100000|812|w-1"


def test_the_start_of_a_feed_has_these_bytes() -> None:
    """
    A worker of a later version begins where an earlier one has agreed to begin.
    """
    start = FeedStart(
        kind=Kind.CHECKINS,
        group="shoal-ingest",
        setting="latest",
        offsets={"gps.a": {0: 12, 1: 0}},
        topic_ids={"gps.a": "0" * 32},
        writer="w-1",
    )
    assert seal_to_bytes(start) == (
        b'{"type":"start","kind":"checkins","group":"shoal-ingest","setting":"latest",'
        b'"offsets":{"gps.a":{"0":12,"1":0}},"topic_ids":{"gps.a":"00000000000000000000000000000000"},"writer":"w-1"}'
    )
    assert seal_key(start) == b"start|checkins|w-1"
    assert seal_from_bytes(seal_to_bytes(start)) == start


def test_sealed_until_has_these_bytes() -> None:
    """
    One record stands for all completed windows of a shard.
    """
    assert seal_to_bytes(UNTIL) == (
        b'{"type":"sealed_until","kind":"fragments","shard":"all","until_ms":1795813200000,"last_offset":811}'
    )
    assert seal_key(UNTIL) == b"until|fragments|all|1795813200000"
    before = b'{"type":"sealed_until","kind":"fragments","shard":"all","until_ms":1795813200000}'
    assert seal_from_bytes(before) == replace(UNTIL, last_offset=-1)


instants = st.integers(-(2**53), 2**53)
seal_records: st.SearchStrategy[SealRecord] = st.one_of(
    st.builds(SealedUntil, kind=st.sampled_from(Kind), shard=st.text(), until_ms=instants),
    st.builds(
        Seal,
        key=st.builds(WindowKey, end_ms=instants, kind=st.sampled_from(Kind), shard=st.text(), start_ms=instants),
        last_offset=st.integers(0, 2**63 - 1),
        n_rows=st.integers(0, 2**40),
        release_id=st.text(),
        digest=st.text(),
        writer=st.text(),
    ),
)


@given(seal_records)
def test_seals_survive_the_round_trip(record: SealRecord) -> None:
    """
    A successor reads exactly what was sealed.
    """
    assert seal_from_bytes(seal_to_bytes(record)) == record


@pytest.mark.parametrize(
    "other",
    [
        replace(SEAL, writer="w-2"),
        replace(SEAL, last_offset=813),
        replace(SEAL, key=SEAL.key._replace(shard="cohort-1")),
        replace(SEAL, key=SEAL.key._replace(kind=Kind.FRAGMENTS)),
        replace(SEAL, key=SEAL.key._replace(start_ms=NINE_MS - 1)),
        replace(SEAL, key=SEAL.key._replace(end_ms=NINE_MS + 1)),
        UNTIL,
    ],
)
def test_different_seals_have_different_keys(other: SealRecord) -> None:
    """
    Compaction keeps the newest record of a key: it must never let a later seal replace the first.
    """
    assert seal_key(other) != seal_key(SEAL)


@given(st.binary())
@example(b"{}")
@example(b'{"type":"seal"}')
@example(b"null")
@example(b'{"type":"sealed_until","kind":"checkins","shard":"\xff","until_ms":1}')
@example(b'{"type":"sealed_until","kind":"checkins","shard":"a","until_ms":1,"x":' + b"[" * 100_000)
def test_foreign_bytes_are_not_a_seal(value: bytes) -> None:
    """
    What somebody else wrote to the seals topic is an error of ours by name, not a crash.
    """
    with pytest.raises(DecodeError, match="does another program write"):
        seal_from_bytes(value)


# What stays inside: chunks


numbers = st.integers(-(2**63), 2**63 - 1)
visit = st.tuples(numbers, st.integers(0, 2**64 - 1), numbers, numbers, st.integers(0, 2**32 - 1))
point = st.tuples(
    numbers, st.integers(0, 2**64 - 1), numbers, st.floats(), st.floats(), st.integers(0, 10**6), st.floats(width=32)
)
rows = {kind: st.lists(visit if kind is Kind.CHECKINS else point, max_size=5) for kind in Kind}
chunks = st.sampled_from(Kind).flatmap(
    lambda kind: st.builds(
        Chunk,
        kind=st.just(kind),
        shard=st.text(),
        source=st.builds(Source, topic=st.text(), partition=st.integers(0, 10**6)),
        n_partitions=st.integers(0, 10**6),
        vocabulary=st.text(),
        rows=rows[kind].map(lambda own: np.array(own, dtype=ROW_TYPES[kind])),
        complete_ms=st.none() | numbers,
    )
)


def chunk_of(n: int) -> Chunk:
    """Return a chunk of so many visits."""
    return Chunk(
        kind=Kind.CHECKINS,
        shard="all",
        source=Source("checkins", 1),
        n_partitions=2,
        vocabulary="v1",
        rows=np.zeros(n, dtype=VISIT),
    )


@given(chunks)
def test_chunks_survive_the_round_trip(chunk: Chunk) -> None:
    """
    The window stage gets what ingest sent, bit for bit, and cannot change it.
    """
    again = chunk_from_bytes(chunk_to_bytes(chunk))
    for name in ("kind", "shard", "source", "n_partitions", "vocabulary", "complete_ms"):
        assert getattr(again, name) == getattr(chunk, name)
    assert again.rows.dtype == chunk.rows.dtype
    assert again.rows.tobytes() == chunk.rows.tobytes()
    assert not again.rows.flags.writeable


def test_a_chunk_has_these_bytes() -> None:
    """
    What waits on the shards topic outlives an upgrade: version 2 has this form, its last parts may be missing.
    """
    eight = b"\x02\xa8checkins\xa3all\xa8checkins\x01\x02\xa2v1\xc4\x00"
    empty = chunk_of(0)
    assert chunk_to_bytes(empty) == b"\x9a" + eight + b"\xc0\xa0"
    assert chunk_to_bytes(replace(empty, complete_ms=5, log_id="8f")) == b"\x9a" + eight + b"\x05\xa28f"
    assert chunk_from_bytes(b"\x98" + eight).complete_ms is None
    assert chunk_from_bytes(b"\x99" + eight + b"\x05").log_id == ""
    assert (VISIT.itemsize, POINT.itemsize) == (36, 48)


@given(st.binary())
@example(b"\x90")
@example(b"\x98\x01\xa8checkins\xa3\xff\xff\xff\xa8checkins\x01\x02\xa2v1\xc4\x00")
@example(b"\x9a\x01\xa8checkins\xa3all\xa8checkins\x01\x02\xa2v1\xc4\x00\xc0" + b"\x91" * 100_000)
@example(b"\x98\x01\xa8checkins\xa3all\xa8checkins\x01\x02\xa2v1\xc4\x01x")  # a row of version 1 is 32 bytes
@example(b"\x98\x02\xa8checkins\xa3all\xa8checkins\x01\x02\xa2v1\xc4\x20" + b"x" * 32)  # of version 2 36
def test_foreign_bytes_are_not_a_chunk(value: bytes) -> None:
    """
    What somebody else wrote to the shards topic is an error of ours by name, not a crash.
    """
    with pytest.raises(DecodeError, match="does another program write"):
        chunk_from_bytes(value)


def test_a_chunk_of_another_version_says_what_to_do() -> None:
    """
    A chunk of a newer program is neither misread nor skipped, whatever its rows are.
    """
    for n in (0, 1):
        with pytest.raises(VersionError, match=r"has version 3, this program reads 2: upgrade it"):
            chunk_from_bytes(b"\x9a\x03" + chunk_to_bytes(chunk_of(n))[2:])
    with pytest.raises(VersionError):
        chunk_from_bytes(b"\x98\x03\xa8checkins\xa3all\xa8checkins\x01\x02\xa2v1\xc4\x01x")


def test_a_chunk_of_version_1_is_still_read() -> None:
    """
    Check-ins that were forwarded before the upgrade told nothing of their person; fragments are the same in both.
    """
    head = b"\x99\x01\xa8checkins\xa3all\xa8checkins\x01\x02\xa2v1\xc4\x40"
    chunk = chunk_from_bytes(head + np.arange(1, 9, dtype="<i8").tobytes() + b"\x05")
    assert chunk.rows.dtype == VISIT
    assert chunk.rows.tolist() == [(1, 2, 3, 4, 0), (5, 6, 7, 8, 0)]
    assert not chunk.rows.flags.writeable
    assert (chunk.vocabulary, chunk.complete_ms) == ("v1", 5)
    points = replace(chunk_of(0), kind=Kind.FRAGMENTS, rows=np.ones(2, dtype=POINT))
    value = chunk_to_bytes(points)
    assert chunk_from_bytes(b"\x9a\x01" + value[2:]).rows.tobytes() == points.rows.tobytes()


# Input that is right


def test_a_check_in_of_the_design_is_read() -> None:
    """
    All fields, a time in RFC 3339.
    """
    record = decoder(Kind.CHECKINS, NAMES)(
        b'{"user":"u1","ts":"2026-11-27T21:00:00Z","lat":40.7564,"lon":-73.8454,"venue":"11711","category":"Park"}'
    )
    assert isinstance(record, CheckIn)
    assert (record.user, record.lat, record.lon, record.venue) == ("u1", 40.7564, -73.8454, "11711")
    assert take_in(b'{"user":"u1","ts":"2026-11-27T21:00:00Z","lat":40,"lon":-73}', Kind.CHECKINS) == []


def test_a_fragment_of_the_design_is_read() -> None:
    """
    Points are ``[ts, lat, lon]``; own demands may be there.
    """
    value = (
        b'{"user":"u1","points":[["2026-11-27T20:59:00Z",37.8064,-122.4149],["2026-11-27T20:59:30Z",37,-122]],'
        b'"k":8,"delta_m":300}'
    )
    record = decoder(Kind.FRAGMENTS, NAMES)(value)
    assert isinstance(record, Fragment)
    assert (len(record.points), (record.points[1].lat, record.points[1].lon), record.k, record.delta_m) == (
        2,
        (37.0, -122.0),
        8,
        300.0,
    )
    assert take_in(value, Kind.FRAGMENTS) == []


def test_unknown_fields_are_ignored() -> None:
    """
    Existing feeds carry more than we need, nested or not.
    """
    decode = decoder(Kind.CHECKINS, NAMES)
    plain = b'{"user":7,"ts":1,"lat":2,"lon":3}'
    assert decode(plain[:-1] + b',"app":{"v":[1,{"b":null}]},"x":"\\u00e9","k":"not ours here"}') == decode(plain)


def test_a_field_map_reads_a_feed_with_other_names() -> None:
    """
    ``fields.user: driver_id`` and so on; our own name is then a field like any other.
    """
    names = NAMES | {"user": "driver_id", "ts": "when", "lat": "latitude", "lon": "y", "points": "trace"}
    checkin = decoder(Kind.CHECKINS, names)(
        b'{"driver_id":"d","when":5,"latitude":1,"y":2,"user":["ignored"],"ts":"ignored"}'
    )
    assert msgspec.structs.asdict(checkin) == msgspec.structs.asdict(CheckIn(user="d", ts=5, lat=1.0, lon=2.0))
    fragment = decoder(Kind.FRAGMENTS, names)(b'{"driver_id":"d","trace":[[5,1,2]]}')
    assert msgspec.structs.asdict(fragment) == msgspec.structs.asdict(Fragment(user="d", points=[Point(5, 1.0, 2.0)]))
    with pytest.raises(UnreadableError, match="driver_id is needed"):
        decoder(Kind.CHECKINS, names)(b'{"user":"d","when":5}')


def test_attributes_of_the_person_are_read_by_their_names() -> None:
    """
    Any scalar of JSON, in the order that was asked for; what is not there is None. Names of ours are free to be used.
    """
    names = NAMES | {"user": "driver_id"}
    decode = decoder(Kind.CHECKINS, names, ("user", "attribute_0", "k", "the plan"))
    record = decode(b'{"driver_id":"d","ts":5,"lat":1,"lon":2,"k":true,"attribute_0":4.5,"user":"x","attribute_2":9}')
    assert isinstance(record, CheckIn)
    assert (record.user, record.ts, record.lat, record.lon) == ("d", 5, 1.0, 2.0)
    assert [getattr(record, attribute_field(i)) for i in range(4)] == ["x", 4.5, True, None]
    assert repr(record) == "CheckIn(...)"
    (plain,) = [decoder(Kind.CHECKINS, names)(b'{"driver_id":"d","ts":5,"lat":1,"lon":2,"k":true}')]
    assert not hasattr(plain, attribute_field(0))


def test_where_no_attributes_are_named_records_are_read_as_ever() -> None:
    """
    The type of records stays our own, and fragments never tell any.
    """
    assert type(decoder(Kind.CHECKINS, NAMES)(b'{"user":"d","ts":5}')) is CheckIn
    fragment = decoder(Kind.FRAGMENTS, NAMES, ("age",))(b'{"user":"d","points":[[5,1,2]],"age":[1]}')
    assert isinstance(fragment, Fragment)
    assert not hasattr(fragment, attribute_field(0))


@pytest.mark.parametrize("value", [b'["Zw9qK"]', b'{"Zw9qK":1}'])
def test_an_attribute_that_is_no_scalar_is_of_the_wrong_type(value: bytes) -> None:
    """
    The sentence names the field, not what stands there.
    """
    with pytest.raises(UnreadableError) as fault:
        decoder(Kind.CHECKINS, NAMES, ("plan",))(b'{"user":"d","ts":5,"plan":%s}' % value)
    reason, detail = fault.value.reason, fault.value.detail
    assert reason is Reason.WRONG_TYPE
    assert detail.startswith("plan must be a text, a number, true or false; a")
    assert "Zw9qK" not in detail


def test_field_names_may_be_swapped() -> None:
    """
    A feed may use our names for other things.
    """
    swapped = NAMES | {"lat": "lon", "lon": "lat"}
    record = decoder(Kind.CHECKINS, swapped)(b'{"user":"d","ts":5,"lat":1,"lon":2}')
    assert isinstance(record, CheckIn)
    assert (record.lat, record.lon) == (2.0, 1.0)


@pytest.mark.parametrize(
    "token", ["NaN", "-NaN", "nan", "-nan", "Infinity", "-Infinity", "inf", "-Inf", "+INF", "1.#INF"]
)
@pytest.mark.parametrize("place", ["first", "last", "nested", "list"])
def test_a_number_that_is_none_does_no_harm_where_it_is_not_read(token: str, place: str) -> None:
    """
    The record is the same as without it, and texts that look like one stay as they are.
    """
    plain = '"user":"nan","ts":1,"lat":2,"lon":3,"venue":"a \\" inf"'
    other = {"first": "", "last": "", "nested": '{"y":', "list": "[1, "}[place] + token
    other = f'"x":{other}' + {"nested": "}", "list": ",2]"}.get(place, "")
    value = f"{{{other},{plain}}}" if place == "first" else f"{{{plain}, {other} }}"
    decode = decoder(Kind.CHECKINS, NAMES)
    assert decode(value.encode()) == decode(f"{{{plain}}}".encode())


@pytest.mark.parametrize("end", ["", "\\", '"', '\\"'], ids=["open", "backslash", "closed", "escaped"])
def test_a_text_without_an_end_costs_its_length_alone(end: str) -> None:
    """
    It reaches to the end of the message: looked for in it again and again, numbers that are none would take hours.
    """
    text = '"' + '\\"' * 1_000_000 + " nan" + end
    assert standard_tokens(f"nan {text}") == f"NaN {text}"


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-inf", "-nan"])
@pytest.mark.parametrize("field", ["lat", "lon", "ts", "user"])
def test_a_number_that_is_none_costs_the_record_where_it_is_read(token: str, field: str) -> None:
    """
    As a position or a time out of range; a user of that name is nobody if it is NaN, and no id if it is infinite.
    """
    record = {"user": '"u1"', "ts": "1", "lat": "2", "lon": "3"} | {field: token}
    value = "{" + ",".join(f'"{name}":{text}' for name, text in record.items()) + "}"
    found = [reason for reason, _ in take_in(value.encode(), Kind.CHECKINS)]
    if field == "user":
        assert found == [Reason.WRONG_TYPE if "inf" in token.lower() else Reason.MISSING_FIELD]
    else:
        assert found == [Reason.TIME_OUT_OF_RANGE if field == "ts" else Reason.POSITION_OUT_OF_RANGE]


def test_a_point_with_nan_is_a_point_without_a_position() -> None:
    """
    It is left out alone, as one with null is.
    """
    value = b'{"user":"u1","points":[[1,2,3],[2,NaN,3],[3,2,nan],[4,2,3,NaN]]}'
    record = decoder(Kind.FRAGMENTS, NAMES)(value)
    taken = INTAKES[Kind.FRAGMENTS].run([(0, record)], source=Source("t", 0), n_partitions=1, now_ms=NINE_MS)
    assert ([len(chunk.rows) for chunk in taken.chunks], taken.rejected) == ([2], [])


@pytest.mark.parametrize("kind", list(INPUT_KINDS))
def test_foreign_json_may_be_all_of_it_at_once(kind: Kind) -> None:
    """
    A byte order mark, NaN, a leap second and integers of any length, under names of the feed's own.
    """
    names = NAMES | {"ts": "when", "points": "trace"}
    leap, digits = b'"2016-12-31T23:59:60Z"', b"9" * 5_000
    where = b'"when":' + leap if kind is Kind.CHECKINS else b'"trace":[[' + leap + b",1,2]]"
    record = decoder(kind, names)(
        b"\xef\xbb\xbf {" + where + b',"x":NaN,"user":"u1","ts":' + leap + b',"y":' + digits + b"}"
    )
    ts = record.ts if isinstance(record, CheckIn) else record.points[0].ts
    assert ts == datetime(2016, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "ts",
    [
        "2016-12-30T23:59:60Z",
        "2016-12-31T23:58:60Z",
        "2016-12-31T22:59:60Z",
        "2016-12-31T23:59:60+01:00",
        "2016-12-31T23:59:61Z",
        "2016-12-31T23:59:60",
        "2016-02-30T23:59:60Z",
        "9999-12-31T23:59:60Z",
        "0001-01-01T00:59:60+23:59",
    ],
)
def test_a_second_60_that_is_no_leap_second_is_rejected(ts: str) -> None:
    """
    Leap seconds end a month of UTC.
    """
    assert fault_of(f'{{"user":"u1","ts":"{ts}"}}'.encode())[0] is Reason.WRONG_TYPE
    assert fault_of(f'{{"user":"u1","points":[["{ts}",1,2]]}}'.encode(), Kind.FRAGMENTS)[0] is Reason.WRONG_TYPE


# Input that is wrong


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        (Kind.CHECKINS, b'{"ts":1}', "user is needed"),
        (Kind.CHECKINS, b'{"user":"u","ts":1,"lat":"x"}', "lat must be a number; a text was found"),
        (Kind.CHECKINS, b'{"user":"u","ts":1,"lat":[1]}', "lat must be a number; a list was found"),
        (Kind.CHECKINS, b'{"user":true,"ts":1}', "user must be a text or a number; true or false was found"),
        (Kind.CHECKINS, b'{"user":"u","ts":null}', "ts is needed"),
        (
            Kind.CHECKINS,
            b'{"user":"u","ts":"noon"}',
            "ts must be RFC 3339 with an offset, or a number; a text of another form was found",
        ),
        (
            Kind.CHECKINS,
            b'{"user":"u","ts":"2026-11-27T21:05:00"}',
            "ts has no offset: it must end in Z or in an offset such as +01:00, or time.zone must be set",
        ),
        (Kind.CHECKINS, b"5", "a record must be an object; a number was found"),
        (Kind.CHECKINS, b"[[]]", "a record must be an object; a list was found"),
        (Kind.FRAGMENTS, b'{"user":"u","points":5}', "points must be a list; a number was found"),
        (Kind.FRAGMENTS, b'{"user":"u","points":[[1,2,3],5]}', "points[1] must be a list; a number was found"),
        (
            Kind.FRAGMENTS,
            b'{"user":"u","points":[[1,2,3],[1,"2",3]]}',
            "points[1] lat must be a number; a text was found",
        ),
        (
            Kind.FRAGMENTS,
            b'{"user":"u","points":[[1,2,3],[1,2,{}]]}',
            "points[1] lon must be a number; an object was found",
        ),
        (
            Kind.FRAGMENTS,
            b'{"user":"u","points":[[]]}',
            "points[0] must be a list of ts, lat and lon; an empty list was found",
        ),
        (
            Kind.FRAGMENTS,
            b'{"user":"u","points":[],"k":8.5}',
            "k must be a whole number; another kind of number was found",
        ),
        (Kind.CHECKINS, b'{"user":"\xff","ts":1}', "the message is not UTF-8: only UTF-8 is read"),
        (Kind.CHECKINS, b'{"user":"u"', "the message is not JSON: it ends too early"),
        (Kind.CHECKINS, b'{"user":"u","ts":1}u', "the message is not JSON: something follows its end"),
        *(
            (
                Kind.CHECKINS,
                b'{"user":"u","ts":1}' + end,
                "the message is not JSON: another follows its end; each needs a line or a message of its own",
            )
            for end in (b'{"user":"v","ts":1}', b"{}", b" {}{}", b'[{"user":"u"}]', b"\n{}", b"{")
        ),
        *(
            (
                Kind.CHECKINS,
                b'{"user":"u","ts":1}' + end,
                "the message is not JSON: a comma follows its end; only a list in [ and ] has commas",
            )
            for end in (b",", b" , ", b',{"user":"v","ts":1}', b",\r")
        ),
        (Kind.CHECKINS, b"user=u", "the message is not JSON: its syntax is wrong"),
    ],
)
def test_a_refusal_says_which_field_what_it_must_be_and_what_was_found(kind: Kind, value: bytes, says: str) -> None:
    """
    In plain words, without the value.
    """
    assert fault_of(value, kind)[1] == says


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", Reason.NOT_JSON),
        (b" ", Reason.NOT_JSON),
        (b"user=u1", Reason.NOT_JSON),
        (b'{"user":"u1","ts":1', Reason.NOT_JSON),
        (b'{"user":"u1","ts":1}{"user":"u2","ts":1}', Reason.NOT_JSON),
        (b'{"user":"\xff\xfe","ts":1}', Reason.NOT_UTF8),
        (b'{"user":"Jos\xe9","ts":1,"x":NaN}', Reason.NOT_UTF8),
        ('{"user":"u1","ts":1}'.encode("utf-16"), Reason.NOT_UTF8),
        ('{"user":"u1","ts":1}'.encode("utf-16-be"), Reason.NOT_UTF8),
        ('{"user":"u1","ts":1}'.encode("utf-32"), Reason.NOT_UTF8),
        (b'{"user":"u1","ts":1,"x":banana}', Reason.NOT_JSON),
        (b'{"user":"u1","ts":1,"x":NaN', Reason.NOT_JSON),
        (b"NaN", Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":1,"lat":"x","y":NaN}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":1,"y":NaN,"lat":"x"}', Reason.WRONG_TYPE),
        (b'{"y":NaN,"x":' + b"[" * 100_000, Reason.WRONG_TYPE),
        (b'{"user":"\\ud800","ts":1}', Reason.NOT_JSON),
        (b"null", Reason.WRONG_TYPE),
        (b'"u1"', Reason.WRONG_TYPE),
        (b"{}", Reason.MISSING_FIELD),
        (b'{"user":"u1"}', Reason.MISSING_FIELD),
        (b'{"ts":1}', Reason.MISSING_FIELD),
        (b'{"user":null,"ts":1}', Reason.MISSING_FIELD),
        (b'{"user":["u1"],"ts":1}', Reason.WRONG_TYPE),
        (b'{"user":true,"ts":1}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":"noon"}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":"2026-11-27T21:05:00"}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":"2026-02-30T21:05:00Z"}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":true}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":1,"lat":"40.7","lon":1}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":1,"lat":[40.7],"lon":1}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":1,"lat":' + b"9" * 400 + b',"lon":1}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":1,"venue":{"id":5}}', Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", Reason.WRONG_TYPE),
        (b'{"user":"u1","ts":1,"x":' + b'{"x":' * 100_000 + b"1" + b"}" * 100_001, Reason.WRONG_TYPE),
        (b'{"user":' + b"[" * 100_000, Reason.WRONG_TYPE),
    ],
)
def test_a_check_in_that_cannot_be_read_has_a_reason(value: bytes, reason: Reason) -> None:
    """
    Every bad input has a reason from the closed set, and a short sentence.
    """
    found, detail = fault_of(value)
    assert found is reason
    assert 10 < len(detail) < 100


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"user":"u1"}', Reason.MISSING_FIELD),
        (b'{"user":"u1","points":null}', Reason.MISSING_FIELD),
        (b'{"user":"u1","points":{"0":[1,2,3]}}', Reason.WRONG_TYPE),
        (b'{"user":"u1","points":[1,2,3]}', Reason.WRONG_TYPE),
        (b'{"user":"u1","points":[[]]}', Reason.WRONG_TYPE),
        (b'{"user":"u1","points":[[1,"2",3]]}', Reason.WRONG_TYPE),
        (b'{"user":"u1","points":[[1,2,3]],"k":NaN}', Reason.WRONG_TYPE),
        (b'{"user":"u1","points":[["noon",2,3]]}', Reason.WRONG_TYPE),
        (b'{"user":"u1","points":[[1,2,3]],"k":"8"}', Reason.WRONG_TYPE),
        (b'{"user":"u1","points":[[1,2,3]],"k":8.5}', Reason.WRONG_TYPE),
        (b'{"user":"u1","points":[[1,2,3]],"delta_m":"300 m"}', Reason.WRONG_TYPE),
        (b'{"user":"u1","points":' + b"[" * 100_000, Reason.WRONG_TYPE),
    ],
)
def test_a_fragment_that_cannot_be_read_has_a_reason(value: bytes, reason: Reason) -> None:
    """
    The same for fragments.
    """
    found, detail = fault_of(value, Kind.FRAGMENTS)
    assert found is reason
    assert 10 < len(detail) < 100


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"user":"u1","ts":1,"lat":1e999,"lon":1}', Reason.POSITION_OUT_OF_RANGE),
        (b'{"user":"u1","ts":' + b"9" * 5000 + b',"lat":1,"lon":1}', Reason.TIME_OUT_OF_RANGE),
        (b'{"user":' + b"9" * 5000 + b',"ts":1,"lat":1,"lon":1}', Reason.MISSING_FIELD),
        (b'{"user":1e999,"ts":1,"lat":1,"lon":1}', Reason.MISSING_FIELD),
    ],
)
def test_a_number_that_nothing_can_hold_is_turned_away_where_it_matters(value: bytes, reason: Reason) -> None:
    """
    It counts as no number: no position, no time, and nobody's id.
    """
    assert [found for found, _ in take_in(value, Kind.CHECKINS)] == [reason]


def test_an_empty_list_has_no_records() -> None:
    """
    It is neither a record nor a fault.
    """
    assert list(MessageReader(Kind.CHECKINS, MappingOptions(names=NAMES)).read(b"[]")) == []


MARK = "Zw9qK"
"""In every user, key and text of the messages below."""

DIGITS = "271828"
"""In every number."""

leaves = st.one_of(
    st.sampled_from([None, True, False]),
    st.text(max_size=3).map(lambda text: f"{MARK}{text}"),
    st.sampled_from([f"{DIGITS}", f"{DIGITS[:4]}-28-28T10:00:00Z", f"2027-01-01T00:00:00.{DIGITS}"]),
    st.sampled_from([271828, -271828, 2.71828e5, 0.271828, 48.271828, -271828.5, 271828 * 10**300]),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner, inner).map(lambda three: [list(three)]),
        st.dictionaries(st.sampled_from([*NAMES, MARK]), inner, max_size=4),
    ),
    max_leaves=8,
)
messages = st.dictionaries(st.sampled_from([*NAMES, MARK]), values)


def is_clean(detail: str) -> bool:
    """Whether a sentence holds nothing of the messages."""
    return MARK not in detail and DIGITS not in detail and DIGITS[1:] not in detail


@given(
    st.sampled_from(INPUT_KINDS), st.one_of(messages, messages.map(lambda m: {"user": MARK, "ts": 271828} | m), values)
)
@example(Kind.CHECKINS, {"user": MARK, "ts": 271828 * 10**300, "lat": 1, "lon": 1})
@example(Kind.CHECKINS, {"user": MARK * 60, "ts": 271828, "lat": 48.271828, "lon": 1})
@example(Kind.CHECKINS, {"user": MARK, "ts": 271828, "lat": 271828, "lon": 1})
@example(Kind.FRAGMENTS, {"user": MARK, "points": [[271828, 48.271828, -271828.5]]})
@example(Kind.FRAGMENTS, {"user": MARK, "points": [[271828 * 10**300, 1, 1]], "delta_m": 1e300})
@example(Kind.FRAGMENTS, {"user": MARK, "points": [[271828, 1, 1]], "k": 271828 * 10**300})
def test_no_bad_message_is_repeated_in_the_reason_for_it(kind: Kind, message: Any) -> None:
    """
    Whatever JSON comes, it is accepted or has reasons from the closed set, and no sentence holds anything of it.
    """
    for reason, detail in take_in(json.dumps(message).encode(), kind):
        assert isinstance(reason, Reason)
        assert is_clean(detail)


@given(st.sampled_from(INPUT_KINDS), messages, st.integers(0, 200), st.binary(max_size=3))
def test_no_broken_message_is_repeated_in_the_reason_for_it(
    kind: Kind, message: dict[str, Any], cut: int, junk: bytes
) -> None:
    """
    The same for JSON that is cut off, with any bytes behind it.
    """
    for reason, detail in take_in(json.dumps(message).encode()[:cut] + junk, kind):
        assert isinstance(reason, Reason)
        assert is_clean(detail)
