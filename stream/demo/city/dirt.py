"""Faults of records: a closed set of ways in which the city spoils a record."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from core.records.record import Kind

__all__ = ["Dirt", "dirt_of", "spoil"]


class Dirt(StrEnum):
    """How a record was spoiled."""

    NOT_JSON = "not_json"
    """Cut off in the middle."""

    MISSING_FIELD = "missing_field"
    """No user, or no time stamp (in a fragment: no points)."""

    NOT_FINITE = "not_finite"
    """A latitude of ``NaN``, which Python's ``json`` writes although JSON does not allow it."""

    OUT_OF_RANGE = "out_of_range"
    """A latitude beyond the poles."""

    WRONG_TYPE = "wrong_type"
    """A user that is a list, or a latitude that is a word."""

    FAR_YEAR = "far_year"
    """A time stamp of 1864 or 2104."""

    EMPTY_FRAGMENT = "empty_fragment"
    """A fragment without a point."""

    EXTRA_FIELD = "extra_field"
    """Unknown fields. Harmless: such a record must be accepted."""


_DIRT_OF = {
    Kind.CHECKINS: tuple(dirt for dirt in Dirt if dirt is not Dirt.EMPTY_FRAGMENT),
    Kind.FRAGMENTS: tuple(Dirt),
}
_encode = msgspec.json.Encoder().encode
_NAN = "\0NaN"
_NAN_JSON = _encode(_NAN)


def dirt_of(kind: Kind) -> tuple[Dirt, ...]:
    """Return the ways in which records of a kind can be spoiled, always in the same order."""
    return _DIRT_OF[kind]


def spoil(value: bytes, kind: Kind, dirt: Dirt, *, variant: int) -> bytes:
    """Return a clean record's bytes with one thing wrong.

    Args:
        value: A check-in or fragment as JSON.
        kind: The kind of the record.
        dirt: The fault, one of :func:`dirt_of` this kind.
        variant: Selects one of the forms of the fault; at least 0.
    """
    if dirt is Dirt.NOT_JSON:
        return value[: max(1, len(value) * (1 + variant % 3) // 4)]
    record: dict[str, Any] = msgspec.json.decode(value)
    # Time and latitude are in the check-in itself, or in one point of the fragment.
    place: Any
    when: Any
    lat: Any
    if kind is Kind.CHECKINS:
        place, when, lat = record, "ts", "lat"
    else:
        points = record["points"]
        place, when, lat = points[variant % len(points)], 0, 1
    if dirt is Dirt.MISSING_FIELD:
        names = ("user", "ts") if kind is Kind.CHECKINS else ("user", "points")
        del record[names[variant % 2]]
    elif dirt is Dirt.NOT_FINITE:
        place[lat] = _NAN
        return _encode(record).replace(_NAN_JSON, b"NaN")
    elif dirt is Dirt.OUT_OF_RANGE:
        place[lat] = (91.0, -90.5, 4_820.0)[variant % 3]
    elif dirt is Dirt.WRONG_TYPE:
        if variant % 2:
            place[lat] = "north"
        else:
            record["user"] = [record["user"]]
    elif dirt is Dirt.FAR_YEAR:
        # Both are leap years, so that 29 February stays a valid date.
        place[when] = ("1864", "2104")[variant % 2] + place[when][4:]
    elif dirt is Dirt.EMPTY_FRAGMENT:
        record["points"] = []
    else:
        record |= {"app": "4.2.1", "battery": 0.73, "tags": ["a", {"b": None}]}
    return _encode(record)
