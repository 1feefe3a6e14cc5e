"""Avro object container files: their rows, in every codec, and what damage costs."""

from __future__ import annotations

import io
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.formats.files.avro_container import AvroRows
from stream.formats.files.form_error import FormError
from tests.budgets import examples

fastavro = pytest.importorskip("fastavro", reason="fastavro is not installed: pip install 'shoal[avro]'")

SCHEMA = {
    "type": "record",
    "name": "Position",
    "namespace": "org.example",
    "fields": [
        {"name": "user", "type": ["null", "string"]},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "lat", "type": "double"},
        {
            "name": "points",
            "type": {
                "type": "array",
                "items": {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "float"}]},
            },
        },
    ],
}
EARLY = datetime(1970, 1, 1, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"user": f"u{i}", "ts": EARLY + timedelta(milliseconds=i), "lat": i / 8, "points": [{"x": 0.5}] * (i % 3)}
    for i in range(300)
]
CODECS = ["null", "deflate", "snappy", "bzip2", "xz"]


def written(rows: list[dict[str, Any]], codec: str = "null", **options: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.writer(stream, SCHEMA, rows, codec=codec, **options)
    return stream.getvalue()


def read(content: bytes) -> list[Any]:
    found = list(AvroRows(io.BytesIO(content)).read())
    assert [number for number, _ in found] == list(range(1, len(found) + 1))
    return [row for _, row in found]


FILE = written(ROWS)
"""Its mark is drawn, so every file has another."""


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read(codec: str) -> None:
    """
    The rows of all blocks, in order.
    """
    assert read(written(ROWS, codec, sync_interval=500)) == ROWS


def test_zstandard_is_read() -> None:
    """
    Our own library unpacks it, so that no further one has to be installed.
    """
    content = written(ROWS[:50])
    # The one block of the file, packed again: its count, its size, its rows and the mark.
    start = content.index(content[-16:]) + 16
    _, size_at = _long(content, start)
    size, rows_at = _long(content, size_at)
    packed = bytes(cramjam.zstd.compress(content[rows_at : rows_at + size]))
    head = content[:start].replace(b"\x08null", b"\x12zstandard")
    assert read(head + content[start:size_at] + _written_long(len(packed)) + packed + content[-16:]) == ROWS[:50]


def _long(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (content[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if content[at - 1] < 0x80:
            return value >> 1, at


def _written_long(value: int) -> bytes:
    value, found = value * 2, b""
    while value > 0x7F:
        value, found = value >> 7, found + bytes([value & 0x7F | 0x80])
    return found + bytes([value])


@settings(max_examples=examples(200), deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "user": st.none() | st.text(st.characters(codec="utf-8"), max_size=5),
                "ts": st.integers(-(10**13), 10**13).map(lambda ms: EARLY + timedelta(milliseconds=ms)),
                "lat": st.floats(allow_nan=False),
                "points": st.lists(st.fixed_dictionaries({"x": st.floats(width=32, allow_nan=False)}), max_size=3),
            }
        ),
        max_size=20,
    ),
    codec=st.sampled_from(CODECS),
    interval=st.integers(1, 200),
)
def test_what_fastavro_writes_is_read_back(rows: list[dict[str, Any]], codec: str, interval: int) -> None:
    """
    Whatever the size of its blocks.
    """
    assert read(written(rows, codec, sync_interval=interval)) == rows


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"Obj\x02", "is not an Avro"),
        (b"Obj\x01", "ends too early"),
        (FILE[:-1], "ends too early"),
        (FILE[:-16] + b"\0" * 16, "does not end where it says"),
        (FILE.replace(b"null", b"nope", 1), "unknown codec"),
        (FILE.replace(b'"record"', b'"rekord"', 1), "schema cannot be used"),
        (FILE + b"\xff" * 12, "a number has no end"),
        (FILE + b"\x02\xfe\xff\xff\xff\xff\xff\x01", "impossible size"),
        (FILE + b"\xfe\xff\xff\xff\xff\xff\x01\x00" + FILE[-16:], "cannot be decoded"),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(content: bytes, says: str) -> None:
    """
    However many rows or bytes it promises.
    """
    with pytest.raises(FormError) as refused:
        read(content)
    assert says in str(refused.value)


@pytest.mark.parametrize("codec", CODECS)
def test_damage_gives_rows_or_the_one_error(codec: str) -> None:
    """
    Whatever bytes are changed or missing: rows are read, or the file is refused.
    """
    content, numbers = written(ROWS[:30], codec, sync_interval=200), random.Random(7)
    for _ in range(examples(2_000)):
        damaged = bytearray(content)
        for _ in range(numbers.randint(1, 3)):
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        if numbers.random() < 0.1:
            del damaged[numbers.randrange(len(damaged)) :]
        try:
            read(bytes(damaged))
        except FormError:
            continue
