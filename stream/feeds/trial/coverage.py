"""Coverage: at how many records the path of each field leads to a value, and to values of which types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as attribute
from datetime import datetime
from typing import Any

import msgspec

from core.records.record import Kind, attribute_field
from stream.formats.input.mapping import MappingOptions
from stream.formats.input.numbers import to_number
from stream.formats.input.paths import Origin, Path, path_from
from stream.formats.input.times import moment

__all__ = ["Coverage", "FieldCoverage", "type_of"]

_POINT = ("ts", "lat", "lon")


@dataclass(slots=True)
class FieldCoverage:
    """What was found at the path of one field; no values."""

    field: str
    path: str
    records: int = 0
    """Number of records with a value."""

    types: Counter[str] = attribute(default_factory=Counter)
    """Number of records by the type of their value."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"field": self.field, "path": self.path, "records": self.records, "types": dict(self.types)}


class Coverage:
    """Watches records before they are read.

    Args:
        kind: What the feed holds.
        options: Where the fields are.
    """

    def __init__(self, kind: Kind, options: MappingOptions) -> None:
        names = dict(options.names)
        of_kind = ["user", *_POINT, "venue", "category"] if kind is Kind.CHECKINS else ["user", "points", *_POINT]
        of_kind += ["k", "delta_m"] if kind is Kind.FRAGMENTS else []
        for i, path in enumerate(options.attributes):
            names[attribute_field(i)] = path
            of_kind.append(attribute_field(i))
        self.records = 0
        self.fields = {name: FieldCoverage(name, names[name]) for name in of_kind}
        self._paths: dict[str, Path] = {name: path_from(names[name]) for name in of_kind}

    def observe(self, record: Any, origin: Origin) -> None:
        """See one record."""
        self.records += 1
        points = self._paths["points"](record, origin) if "points" in self._paths else None
        for name, path in self._paths.items():
            if name in _POINT and isinstance(points, list):
                found = [self._of_point(name, point, origin) for point in points]
            else:
                value = path(record, origin)
                found = value if isinstance(value, list) and name in _POINT else [value]
            if types := {type_of(value) for value in found if value is not None}:
                self.fields[name].records += 1
                self.fields[name].types.update(types)

    def shown(self) -> Iterable[FieldCoverage]:
        """Return the fields of which anything can be said: those that are needed, and others with values."""
        return [one for one in self.fields.values() if one.records or one.field in ("user", *_POINT)]

    def _of_point(self, name: str, point: Any, origin: Origin) -> Any:
        if isinstance(point, list) and not self.fields[name].path.startswith("["):
            index = _POINT.index(name)
            return point[index] if index < len(point) else None
        return self._paths[name](point, origin)


def type_of(value: Any) -> str:
    """Return the type of a value in words.

    >>> [type_of(value) for value in (1, "1.5", "2025-10-09T08:53:20Z", "x", None)]
    ['whole number', 'number as text', 'time as text', 'text', 'null']
    """
    if value is None:
        return "null"
    for kind, word in _WORDS.items():
        if isinstance(value, kind):
            return word
    return _type_of_text(str(value))


_WORDS: dict[type, str] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    datetime: "time",
    list: "list",
    dict: "object",
}


def _type_of_text(text: str) -> str:
    for decimal, word in ((".", "number as text"), (",", "number as text, with a decimal comma")):
        try:
            to_number(text, decimal)
        except ValueError:
            continue
        return word
    try:
        moment(text.strip())
    except msgspec.ValidationError:
        return "text"
    return "time as text"
