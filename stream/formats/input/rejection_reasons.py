"""Why a message cannot be read: the reason of its rejection, and a sentence without any of its values."""

from __future__ import annotations

import re

import msgspec

from core.records.record import Reason

__all__ = ["NOT_UTF8", "TIME", "NotUTF8Error", "rejection_reason"]

NOT_UTF8 = "is not UTF-8: only UTF-8 is read"

TIME = "RFC 3339 with an offset, or a number"
"""What a time must be."""

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
}
_POINT = ("ts", "lat", "lon")

_AT = re.compile(r"(.*) - at `\$\.?(.+)`", re.DOTALL)
_WRONG_TYPE = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_MISSING = re.compile(r"Object missing required field `([^`]*)`")
_INDEX = re.compile(r"(\[\d+\])\[(\d+)\]$")


class NotUTF8Error(msgspec.DecodeError):
    """A message is not text in UTF-8."""


def rejection_reason(fault: Exception) -> tuple[Reason, str]:
    """Turn a decoder's exception into a reason and a sentence without any of the message's values.

    The sentence says which field, what it must be, and what kind of value was found.

    >>> rejection_reason(msgspec.ValidationError("Expected `float | null`, got `str` - at `$.points[3][1]`"))
    (<Reason.WRONG_TYPE: 'wrong_type'>, 'points[3] lat must be a number; a text was found')
    """
    text = str(fault)
    if isinstance(fault, NotUTF8Error):
        return Reason.NOT_UTF8, f"the message {NOT_UTF8}"
    if not isinstance(fault, msgspec.ValidationError):
        return Reason.NOT_JSON, f"the message is not JSON: {_broken(text)}"
    match = _AT.fullmatch(text)
    what, field = (match[1], _field(match[2])) if match else (text, "the message")
    if (missing := _MISSING.fullmatch(what)) is not None:
        return Reason.MISSING_FIELD, f"{missing[1]} is needed"
    return Reason.WRONG_TYPE, f"{field} {_wrong(what)}"


def _field(path: str) -> str:
    """Return the path of a field, with ``ts``, ``lat`` or ``lon`` for an index into a point."""

    def part(match: re.Match[str]) -> str:
        index = int(match[2])
        return f"{match[1]} {_POINT[index]}" if index < len(_POINT) else match[0]

    return _INDEX.sub(part, path)


def _wrong(what: str) -> str:
    if (match := _WRONG_TYPE.fullmatch(what)) is not None:
        types = frozenset(match[1].split(" | ")) - {"null"}
        expected = _EXPECTED.get(types, " or ".join(sorted(types)))
        found = _FOUND.get(match[2], "something else")
        if types == {"int"} and match[2] == "float":
            found = "another kind of number"
        return f"must be {expected}; {found} was found"
    if "timezone" in what:
        return "has no offset: it must end in Z or in an offset such as +01:00"
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
