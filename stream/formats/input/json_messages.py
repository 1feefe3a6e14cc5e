"""Messages in JSON, and in what many programs take for JSON."""

from __future__ import annotations

import binascii
import json
import math
import re
from typing import Any

import msgspec

from core.records.record import Reason
from stream.formats.input.errors import UnreadableError
from stream.formats.input.framing import looks_framed
from stream.formats.input.rejection_reasons import NOT_UTF8, syntax_fault

__all__ = ["BOM", "is_utf16", "json_document", "standard_tokens", "text_of", "unfolded"]

BOM = b"\xef\xbb\xbf"
"""A byte order mark, which some programs write before UTF-8."""

_FRAMED = (
    "the message is not JSON: it begins as messages with a schema registry's id do; set registry.url and input.encoding"
)

_NUMBER = re.compile(
    r"[-+]?(?:nan(?:\([a-z0-9_]*\))?|inf(?:inity)?|1\.#(?:inf|[qs]nan|ind)0*)(?![a-z0-9_])", re.IGNORECASE
)
_STRING_OR_NUMBER = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|' + _NUMBER.pattern, re.IGNORECASE | re.DOTALL)
"""A text that is not closed matches up to the end. Otherwise the search for numbers in it would take quadratic time."""

_JSON_IN_BASE64 = re.compile(r"[eW][w-z0-9+/][A-Za-z0-9+/]*={0,2}")
"""Base64 whose first byte is that of an object or a list."""

_JSON_BYTES = re.compile(rb"\s*(?:\{.*\}|\[.*\])\s*", re.DOTALL)

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONGEST_INTEGER = 4_000
"""Digits; Python does not read integers that are much longer."""


def json_document(value: bytes) -> Any:
    """Decode a message in JSON, or in what many programs take for JSON: after a byte order mark, with NaN and infinity.

    Raises:
        UnreadableError: The message is not JSON in UTF-8.
    """
    value = value.removeprefix(BOM)
    found = _decoded(value)
    if isinstance(found, UnreadableError) and looks_framed(value):
        found = UnreadableError(Reason.NOT_JSON, _FRAMED)
    # Raised outside of an except clause: otherwise its context would be an exception that holds the message.
    if isinstance(found, UnreadableError):
        raise found
    return found


def unfolded(value: Any) -> Any:
    """Return the object or the list that a text holds as JSON, as it is or in Base64; any other value as it is.

    Databases, queues and gateways write a document inside another one as text.

    >>> unfolded('{"lat": 48.2}'), unfolded("[48.2"), unfolded("48.2")
    ({'lat': 48.2}, '[48.2', '48.2')
    >>> unfolded("eyJsYXQiOiA0OC4yfQ==")
    {'lat': 48.2}
    """
    if not isinstance(value, str):
        return value
    try:
        if value.lstrip().startswith(("{", "[")):
            return json_document(value.encode())
        if _JSON_IN_BASE64.fullmatch(value) is not None:
            return json_document(binascii.a2b_base64(value, strict_mode=True))
    except (UnreadableError, UnicodeEncodeError, binascii.Error):
        pass
    return value


def text_of(value: bytes) -> str:
    """Return bytes as a text: an object or a list in JSON as it is, anything else in hexadecimal digits.

    >>> text_of(b'{"lat": 48.2}'), text_of(b"p01")
    ('{"lat": 48.2}', '703031')
    """
    if _JSON_BYTES.fullmatch(value) is not None:
        try:
            json_document(value)
            return value.decode()
        except (UnreadableError, UnicodeDecodeError):
            pass
    return value.hex()


def _decoded(value: bytes) -> Any:
    """Return what a message decodes to, or an error without its content."""
    try:
        return msgspec.json.decode(value)
    except RecursionError:
        return UnreadableError(Reason.WRONG_TYPE, "the message is nested too deep")
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        syntax = syntax_fault(str(fault))
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return _not_utf8()
    try:
        # Also numbers that no float can hold: they may be in a field that nobody reads.
        found = json.loads(standard_tokens(text), parse_int=_integer, parse_float=_float)
    except RecursionError:
        return UnreadableError(Reason.WRONG_TYPE, "the message is nested too deep")
    except json.JSONDecodeError as fault:
        return _not_utf8() if is_utf16(value) else UnreadableError(Reason.NOT_JSON, _what_follows(fault) or syntax)
    return UnreadableError(Reason.NOT_JSON, syntax) if _has_half_a_pair(text, found) else found


def _what_follows(fault: json.JSONDecodeError) -> str | None:
    """Return what is to be done about what follows the end of a document, if that is known."""
    if fault.msg != "Extra data":
        return None
    sign = fault.doc[fault.pos : fault.pos + 1]
    if sign == ",":
        return "the message is not JSON: a comma follows its end; only a list in [ and ] has commas"
    if sign in ("{", "["):
        return "the message is not JSON: another follows its end; each needs a line or a message of its own"
    return None


def _not_utf8() -> UnreadableError:
    return UnreadableError(Reason.NOT_UTF8, f"the message {NOT_UTF8}")


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
    return int(digits) if len(digits) <= _LONGEST_INTEGER else math.nan


def _float(digits: str) -> float:
    """Read a number; one that no float can hold is not a number, so that it is no person's id either."""
    number = float(digits)
    return number if math.isfinite(number) else math.nan


def _has_half_a_pair(text: str, document: Any) -> bool:
    """Whether a text of a document has half of a surrogate pair, which nothing can write."""
    if _SURROGATE.search(text) is None:
        return False
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def is_utf16(value: bytes) -> bool:
    """Whether bytes look like text in UTF-16 or UTF-32: by their byte order mark, or as every second byte is 0."""
    if value.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return True
    start = value[:512]
    even, odd = start[0::2], start[1::2]
    zeros = even.count(0), odd.count(0)
    return len(start) > 3 and (2 * zeros[0] > len(even) or 2 * zeros[1] > len(odd)) and min(zeros) < max(zeros)
