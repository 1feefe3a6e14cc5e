"""Mutations: what happens to lines and messages on their way, by accident or by somebody's hand."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

__all__ = ["mutated", "spoiled_file"]

TOKENS = (
    *(b"null", b"NaN", b"-Infinity", b"nan", b"1e999", b"-0", b"1" * 400, b"true", b"{}", b"[]", b'""', b'"', b"\\"),
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\r", b"\n", b"\t", b",", b";", b" ", b"'"),
    *(b"2016-12-31T23:59:60Z", b"9999-12-31T23:59:59Z", b"0001-01-01T00:00:00Z", b"2026-13-01T00:00:00Z", b"1e3"),
    *(
        b"[" * 2000,
        b'{"a":' * 500,
        b"\\ud800",
        b"\\u0000",
        b"48,2082",
        b"0",
        b"0.0",
        b"-180",
        b"1e-320",
        b"\xe2\x80\x8b",
    ),
)
"""What readers of text and numbers stumble over."""

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_VALUE = re.compile(rb'"[^"]*"|-?\d+(?:\.\d+)?')

Change = Callable[[bytes, random.Random], bytes]


def _insert(line: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(line))
    return line[:at] + rng.choice(TOKENS) + line[at:]


def _cut(line: bytes, rng: random.Random) -> bytes:
    first, last = sorted((rng.randint(0, len(line)), rng.randint(0, len(line))))
    return line[:first] + line[last:]


def _truncate(line: bytes, rng: random.Random) -> bytes:
    return line[: rng.randint(0, len(line))]


def _flip(line: bytes, rng: random.Random) -> bytes:
    if not line:
        return line
    changed = bytearray(line)
    changed[rng.randrange(len(line))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _replace(pattern: re.Pattern[bytes]) -> Change:
    def replace(line: bytes, rng: random.Random) -> bytes:
        if not (found := list(pattern.finditer(line))):
            return line
        at = rng.choice(found)
        return line[: at.start()] + rng.choice(TOKENS) + line[at.end() :]

    return replace


def _repeat(line: bytes, rng: random.Random) -> bytes:
    first, last = sorted((rng.randint(0, len(line)), rng.randint(0, len(line))))
    return line[:last] + line[first:last] * rng.randint(1, 3) + line[last:]


def _other_encoding(line: bytes, rng: random.Random) -> bytes:
    return line.decode("utf-8", "replace").encode(rng.choice(["utf-16", "latin-1", "utf-32", "utf-8-sig"]), "replace")


def _other_json(line: bytes, rng: random.Random) -> bytes:
    """Write the same JSON as another program might, or with a value of another type."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if isinstance(record, dict) and record:
        name = rng.choice(list(record))
        record[name] = rng.choice(
            [None, [], {}, True, "", "x", 1e308, -1, record[name], [record[name]], str(record[name])]
        )
        record[rng.choice(["extra", "k", "delta_m", "venue", "points"])] = rng.choice(
            [float("nan"), 10**30, None, [[]]]
        )
    return json.dumps(record, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, None, 1])).encode(
        errors="surrogatepass"
    )


_CHANGES: tuple[Change, ...] = (
    *(_insert, _insert, _cut, _truncate, _flip, _flip, _repeat, _other_encoding, _other_json, _other_json),
    *(_replace(_NUMBER), _replace(_NUMBER), _replace(_VALUE)),
)


def mutated(line: bytes, rng: random.Random) -> bytes:
    """Return a line or message with one to three changes."""
    for _ in range(rng.randint(1, 3)):
        line = rng.choice(_CHANGES)(line, rng)
    return line


def spoiled_file(lines: list[bytes], rng: random.Random, *, share: float) -> bytes:
    """Return a file of which some lines are changed, and now and then the whole of it."""
    ends = rng.choice([b"\n", b"\n", b"\n", b"\r\n", b"\r"])
    kept = [mutated(line, rng) if rng.random() < share else line for line in lines]
    if rng.random() < 0.2:  # a header that is missing, doubled, or a record
        kept = rng.choice([kept[1:], [*kept[:1], *kept], kept[::-1]])
    content = ends.join(kept) + rng.choice([ends, b"", ends * 3])
    if rng.random() < 0.1:
        content = rng.choice([_other_encoding, _truncate, _insert, _cut])(content, rng)
    return rng.choice([b"", b"", b"", b"\xef\xbb\xbf"]) + content
