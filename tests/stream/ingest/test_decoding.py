"""Decoding: the messages of a batch become records, or rejections that say where they are."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.records.record import CheckIn, Kind, Reason, Source
from stream.formats.input.mapping import MappingOptions
from stream.formats.input.messages import MessageReader
from stream.ingest.decoding import Decoded, decoded
from tests.builders.inputs import NAMES

SOURCE = Source("checkins", 3)
GOOD = {"user": "p", "ts": 5, "lat": 1, "lon": 2}


@dataclass
class Message:
    """A message as the Kafka client returns it."""

    value: bytes | None
    offset: int = 0
    key: bytes | None = None
    timestamp: int = -1
    topic: str = "checkins"
    headers: list[tuple[str, bytes]] = field(default_factory=list)


def decode(messages: list[Message], **options: Any) -> Decoded:
    """Decode messages of check-ins."""
    names = NAMES | options.pop("names", {})
    reader = MessageReader(Kind.CHECKINS, MappingOptions(names=names, **options))
    return decoded(messages, reader, SOURCE, max_bytes=10_000)


PARTS = {
    "good": GOOD,
    "bad": {"user": "p"},
    "other": GOOD | {"_type": "lwt"},
}


@given(st.lists(st.one_of(st.none(), st.sampled_from([*PARTS]), st.lists(st.sampled_from([*PARTS]))), max_size=6))
def test_every_record_of_every_message_is_accounted_for(batch: list[Any]) -> None:
    """
    Each is read, filtered, rejected with its number in the list, or a tombstone; offsets ascend.
    """
    messages = [
        Message(
            None
            if one is None
            else json.dumps(PARTS[one] if isinstance(one, str) else [PARTS[name] for name in one]).encode(),
            offset=10 * i,
        )
        for i, one in enumerate(batch)
    ]
    found = decode(messages, only=("_type!=lwt",))
    parts = [
        (10 * i, number, name)
        for i, one in enumerate(batch)
        if one is not None
        for number, name in ([(None, one)] if isinstance(one, str) else enumerate(one, 1))
    ]
    assert [offset for offset, _ in found.records] == [offset for offset, _, name in parts if name == "good"]
    assert found.elements == [number for _, number, name in parts if name == "good"]
    assert [(one.offset, one.element) for one in found.rejected] == [
        (offset, number) for offset, number, name in parts if name == "bad"
    ]
    assert found.n_filtered == sum(name == "other" for _, _, name in parts)
    assert found.n_tombstones == batch.count(None)
    assert found.n_read == len(parts) + batch.count(None)


def test_the_key_the_headers_and_the_time_stamp_are_fields() -> None:
    """
    A time stamp of -1 says that there is none.
    """
    names = {"user": "kafka:key", "ts": "kafka:timestamp", "category": "kafka:header:tenant", "venue": "kafka:topic"}
    value = b'{"lat":1,"lon":2}'
    known = Message(value, key=b"p", timestamp=5_000, headers=[("tenant", b"t")])
    found = decode([known, Message(value, key=b"p"), Message(value, timestamp=5_000)], names=names)
    ((_, record),) = found.records
    assert isinstance(record, CheckIn)
    assert (record.user, record.category, record.venue) == ("p", "t", "checkins")
    assert [(one.reason, one.detail) for one in found.rejected] == [
        (Reason.MISSING_FIELD, "kafka:timestamp is needed"),
        (Reason.MISSING_FIELD, "kafka:key is needed"),
    ]


def test_a_message_that_is_too_large_is_not_decoded() -> None:
    """
    It is one rejection, whatever it holds.
    """
    found = decode([Message(json.dumps([GOOD] * 1000).encode())])
    assert [one.reason for one in found.rejected] == [Reason.MESSAGE_TOO_LARGE]
    assert found.n_read == 1
