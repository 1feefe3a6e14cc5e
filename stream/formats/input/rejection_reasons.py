"""Why a message cannot be read: the reason of its rejection, and a sentence without any of its values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from core.records.record import Reason

__all__ = ["NOT_UTF8", "NO_OFFSET", "TIME", "rejection_reason", "syntax_fault"]

NO_NAMES: Mapping[str, str] = MappingProxyType({})

NOT_UTF8 = "is not UTF-8: only UTF-8 is read"

TIME = "RFC 3339 with an offset, or a number"
"""What a time must be."""

NO_OFFSET = "has no offset: it must end in Z or in an offset such as +01:00, or time.zone must be set"

_EXPECTED = {
    frozenset({"float"}): "a number",
    frozenset({"int"}): "a whole number",
    frozenset({"str", "int", "float"}): "a text or a number",
    frozenset({"str", "int", "float", "bool"}): "a text, a number, true or false",
    frozenset({"datetime", "int", "float"}): TIME,
    frozenset({"array"}): "a list",
    frozenset({"object"}): "an object",
}
_FOUND = {
    "str": "a text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
    "NoPosition": "a text that is no position",
    "NoText": "a key or header that is no text",
}
_POINT = ("ts", "lat", "lon")

_AT = re.compile(r"(.*) - at `\$\.?(.+)`", re.DOTALL)
_WRONG_TYPE = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_MISSING = re.compile(r"Object missing required field `([^`]*)`")
_FIRST = re.compile(r"\w+")
_INDEX = re.compile(r"(\[\d+\])\[(\d+)\]$")


def rejection_reason(fault: msgspec.ValidationError, names: Mapping[str, str] = NO_NAMES) -> tuple[Reason, str]:
    """Turn a decoder's exception into a reason and a sentence without any of the message's values.

    The sentence says which field, what it must be, and what kind of value was found.

    Args:
        fault: The exception.
        names: For our fields their names in the feed; a field that is missing here has the same name.

    >>> rejection_reason(msgspec.ValidationError("Expected `float | null`, got `str` - at `$.points[3][1]`"))
    (<Reason.WRONG_TYPE: 'wrong_type'>, 'points[3] lat must be a number; a text was found')
    """
    text = str(fault)
    match = _AT.fullmatch(text)
    what, field = (match[1], _field(match[2], names)) if match else (text, "the message")
    if (missing := _MISSING.fullmatch(what)) is not None:
        return Reason.MISSING_FIELD, f"{names.get(missing[1], missing[1])} is needed"
    return Reason.WRONG_TYPE, f"{field} {_wrong(what)}"


def syntax_fault(fault: str) -> str:
    """Return a sentence for what msgspec says of text that is not JSON."""
    return f"the message is not JSON: {_broken(fault)}"


def _field(path: str, names: Mapping[str, str]) -> str:
    """Return the path of a field in the feed's names, with ``ts``, ``lat`` or ``lon`` for an index into a point."""

    def part(match: re.Match[str]) -> str:
        index = int(match[2])
        return f"{match[1]} {_POINT[index]}" if index < len(_POINT) else match[0]

    ours = _FIRST.match(path)
    if ours is not None and ours[0] in names:
        path = names[ours[0]] + path[ours.end() :]
    return _INDEX.sub(part, path)


def _wrong(what: str) -> str:
    if (match := _WRONG_TYPE.fullmatch(what)) is not None:
        types = frozenset(match[1].split(" | ")) - {"null"}
        expected = _EXPECTED.get(types, " or ".join(sorted(types)))
        found = _FOUND.get(match[2], "something else")
        if types == {"int"} and match[2] == "float":
            found = "another kind of number"
        what_to_do = " (kafka:key:integer reads a key that is a number in bytes)" if match[2] == "NoText" else ""
        return f"must be {expected}; {found} was found{what_to_do}"
    if "timezone" in what:
        return NO_OFFSET
    if "RFC3339" in what:
        return f"must be {TIME}; a text of another form was found"
    if "out of range" in what:
        return "is a number too large to be read"
    if "length" in what:
        return "must be a list of ts, lat and lon; an empty list was found"
    return "is nested too deep" if "nested" in what else "is of the wrong form"


def _broken(text: str) -> str:
    if "truncated" in text:
        return "it ends too early"
    if "trailing characters" in text:
        return "something follows its end"
    return "its syntax is wrong"
