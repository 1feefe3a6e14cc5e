"""MongoDB's extended JSON: objects such as ``{"$numberLong": "7"}`` stand for values that JSON has no type for."""

from __future__ import annotations

import binascii
from typing import Any

from stream.formats.input.times.calendar import moment_at

__all__ = ["from_extended_json"]

_LONGEST = 40
"""Characters of a number."""


def from_extended_json(value: Any) -> Any:
    """Return what an object of extended JSON stands for; any other value as it is.

    Both forms are read, the canonical and the relaxed one, and milliseconds as the number that older versions wrote.

    >>> from_extended_json({"$oid": "68e77a40"}), from_extended_json({"$numberDouble": "48.2"})
    ('68e77a40', 48.2)
    >>> str(from_extended_json({"$date": {"$numberLong": "1760000000000"}}))
    '2025-10-09 08:53:20+00:00'
    """
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((name, inner),) = value.items()
    try:
        found = _meant(name, inner)
    except (ValueError, OverflowError):
        found = None
    return value if found is None else found


def _meant(name: str, inner: Any) -> Any:
    """Return what a value below a name stands for; None if it is none of that name.

    Raises:
        ValueError: It is none of that name either.
    """
    found: Any
    match name, inner:
        case "$oid" | "$uuid" | "$symbol", str():
            found = inner
        case "$numberInt" | "$numberLong", str() if len(inner) <= _LONGEST:
            found = int(inner)
        case "$numberDouble" | "$numberDecimal", str() if len(inner) <= _LONGEST:
            found = float(inner)
        case "$date", str():
            found = inner
        case "$date", {"$numberLong": str(text)} if len(text) <= _LONGEST:
            found = moment_at(int(text) * 1000)
        case "$date", int() if not isinstance(inner, bool):
            found = moment_at(inner * 1000)
        case "$timestamp", {"t": int(seconds)}:
            found = moment_at(seconds * 1_000_000)
        case "$binary", {"base64": str(text)}:
            found = binascii.a2b_base64(text, strict_mode=True).hex()
        case _:
            found = None
    return found
