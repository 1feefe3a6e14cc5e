"""The frame of a schema registry around messages."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from core.records.record import Reason
from stream.formats.input.errors import UnreadableError
from stream.formats.input.framing import FRAME_BYTES, frame_of, framed, message_indexes, payload_of
from stream.formats.input.json_messages import json_document


def zigzag(number: int) -> bytes:
    """Write a varint as Avro and Protobuf do, bit by bit."""
    number = 2 * number if number >= 0 else -2 * number - 1
    groups = []
    while True:
        groups.append(number % 128)
        number //= 128
        if not number:
            return bytes([*(one + 128 for one in groups[:-1]), groups[-1]])


@given(st.integers(0, 2**32 - 1), st.binary())
def test_a_frame_holds_id_and_payload(schema_id: int, payload: bytes) -> None:
    """
    What was framed comes out again.
    """
    value = frame_of(schema_id) + payload
    assert framed(value) == (schema_id, payload)
    assert payload_of(value) == payload


@given(st.binary())
def test_only_a_byte_0_and_an_id_are_a_frame(value: bytes) -> None:
    """
    A message that begins otherwise, or is too short for an id, has no frame.
    """
    assert (framed(value) is not None) == (value[:1] == b"\0" and len(value) >= FRAME_BYTES)


@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=10), st.binary())
def test_message_indexes_are_read_as_they_are_written(indexes: list[int], rest: bytes) -> None:
    """
    Their number and each of them is a zigzag varint, and what follows is the payload.
    """
    written = b"".join(map(zigzag, [len(indexes), *indexes]))
    assert message_indexes(written + rest) == (tuple(indexes), rest)


@given(st.binary(max_size=20))
def test_any_bytes_are_indexes_or_none(payload: bytes) -> None:
    """
    Bytes that are no indexes are none, and never an error.
    """
    found = message_indexes(payload)
    assert found is None or payload.endswith(found[1])


@pytest.mark.parametrize("payload", [b"", zigzag(-1), zigzag(1), zigzag(1) + zigzag(-2), b"\xff" * 9, zigzag(10**6)])
def test_broken_indexes_are_none(payload: bytes) -> None:
    """
    Numbers below zero, too few of them, or endless ones are refused.
    """
    assert message_indexes(payload) is None


@pytest.mark.parametrize("payload", [b"\x06p01abcdefgh", b"", b'{"user": "p01"}'])
def test_a_framed_message_is_recognized_without_a_registry(payload: bytes) -> None:
    """
    A feed of JSON without a registry rejects it with a sentence that says what the bytes look like.
    """
    with pytest.raises(UnreadableError, match="begins as messages with a schema registry's id do") as raised:
        json_document(frame_of(7) + payload)
    assert raised.value.reason is Reason.NOT_JSON


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-32-be", "utf-16", "utf-32"])
def test_other_encodings_of_text_are_not_taken_for_a_frame(encoding: str) -> None:
    """
    Text in UTF-16 or UTF-32 begins with zeros too, and is rejected as what it is.
    """
    with pytest.raises(UnreadableError) as raised:
        json_document(json.dumps({"user": "p01", "lat": 1.5}).encode(encoding))
    assert raised.value.reason is Reason.NOT_UTF8
