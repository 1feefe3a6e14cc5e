"""Foreign JSON: messages that are not valid JSON, but have a clear meaning.

Only messages that a strict decoder has refused are read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from stream.formats.input.rejection_reasons import NotUTF8Error
from stream.formats.input.times import leap_second

__all__ = ["BOM", "is_utf16", "standard_tokens", "tolerant"]

BOM = b"\xef\xbb\xbf"
"""A byte order mark, which some programs write before UTF-8."""

_NUMBER = re.compile(
    r"[-+]?(?:nan(?:\([a-z0-9_]*\))?|inf(?:inity)?|1\.#(?:inf|[qs]nan|ind)0*)(?![a-z0-9_])", re.IGNORECASE
)
_STRING_OR_NUMBER = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|' + _NUMBER.pattern, re.IGNORECASE | re.DOTALL)
"""A text that is not closed matches up to the end. Otherwise the search for numbers in it would take quadratic time."""

_LONGEST_INTEGER = 4_000
"""Digits; Python does not read integers that are much longer."""


def tolerant(decode: Callable[[bytes], Any], wire: type, *, ts: str, points: str | None) -> Callable[[bytes], Any]:
    """Wrap a strict decoder so that it also reads common deviations from JSON and RFC 3339.

    These are a byte order mark before the message, NaN and infinity as any language prints them, and leap seconds.

    Args:
        decode: The strict decoder.
        wire: The type that it decodes to, with the field names of the feed.
        ts: The feed's name for the time.
        points: The feed's name for the points, each of which begins with its time; None if there are none.

    Returns:
        A function that raises only :class:`msgspec.DecodeError`, with nothing of the message in text and traceback.
    """

    def decode_or_refuse(value: bytes) -> Any:
        try:
            return decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        value = value.removeprefix(BOM)
        found = _tried(decode, value)
        if _may_be_foreign(value, found):
            again = _tried(lambda text: _decode(text, wire, ts, points), value)
            found = found if isinstance(again, json.JSONDecodeError) else again
        # Raised outside of an except clause: otherwise its context would be an exception that holds the message.
        if isinstance(found, Exception):
            raise found
        return found

    return decode_or_refuse


def _tried(decode: Callable[[bytes], Any], value: bytes) -> Any:
    """Return what a message decodes to, or an exception without its content."""
    try:
        return decode(value)
    except UnicodeDecodeError:
        return NotUTF8Error("the message is not UTF-8")
    except RecursionError:
        return msgspec.ValidationError("the message is nested too deep")
    except msgspec.ValidationError as fault:
        return msgspec.ValidationError(str(fault))
    except msgspec.DecodeError as fault:
        return NotUTF8Error("the message is not UTF-8") if _is_not_utf8(value) else msgspec.DecodeError(str(fault))
    except json.JSONDecodeError:
        return json.JSONDecodeError("", "", 0)


def _is_not_utf8(value: bytes) -> bool:
    """Whether a message that is not JSON is text of another encoding; not every msgspec says so by its error."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return True
    return is_utf16(value)


def _may_be_foreign(value: bytes, found: Any) -> bool:
    """Whether the tolerant decoder may be able to read a message that the strict one refused."""
    if not isinstance(found, Exception) or isinstance(found, NotUTF8Error):
        return False
    if isinstance(found, msgspec.ValidationError):
        return b":60" in value and "RFC3339" in str(found)
    return _NUMBER.search(value.decode("utf-8", "replace")) is not None


def _decode(value: bytes, wire: type, ts: str, points: str | None) -> Any:
    found = json.loads(standard_tokens(value.decode()), parse_int=_integer)
    if isinstance(found, dict):
        _take_leap_seconds(found, ts)
        trace = found.get(points) if points is not None else None
        for point in trace if isinstance(trace, list) else ():
            if isinstance(point, list) and point:
                _take_leap_seconds(point, 0)
    try:
        return msgspec.convert(found, wire)
    except UnicodeEncodeError:  # escapes such as \ud800, which msgspec also refuses when it decodes them itself
        raise msgspec.DecodeError("a text has half of a surrogate pair") from None


def standard_tokens(text: str) -> str:
    """Write NaN and infinity as JavaScript and Python do, wherever they stand outside strings.

    >>> standard_tokens('{"a nan": -nan, "b": [inf, -1.#INF]}')
    '{"a nan": NaN, "b": [Infinity, -Infinity]}'
    """

    def written(match: re.Match[str]) -> str:
        found = match[0]
        if found.startswith('"'):
            return found
        if "inf" not in found.lower():
            return "NaN"
        return "-Infinity" if found.startswith("-") else "Infinity"

    return _STRING_OR_NUMBER.sub(written, text)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


def _take_leap_seconds(values: Any, key: str | int) -> None:
    """Replace a leap second by the millisecond that it counts as."""
    value = values.get(key) if isinstance(values, Mapping) else values[key]
    if isinstance(value, str) and (found := leap_second(value)) is not None:
        values[key] = found


def is_utf16(value: bytes) -> bool:
    """Whether bytes look like text in UTF-16 or UTF-32: by their byte order mark, or as every second byte is 0."""
    if value.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return True
    start = value[:512]
    even, odd = start[0::2], start[1::2]
    zeros = even.count(0), odd.count(0)
    return len(start) > 3 and (2 * zeros[0] > len(even) or 2 * zeros[1] > len(odd)) and min(zeros) < max(zeros)
