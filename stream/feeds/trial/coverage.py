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
from stream.formats.input.paths import FieldPath, Origin, path_from
from stream.formats.input.positions.texts import NoPosition
from stream.formats.input.times.texts import moment

__all__ = ["Coverage", "FieldCoverage", "FieldValues", "type_of"]

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


class FieldValues:
    """Finds the values at the paths of the fields of a record; those of all its points together.

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
        self.names = {name: names[name] for name in of_kind}
        """The path of each field of the kind."""
        self._paths: dict[str, FieldPath] = {name: path_from(path) for name, path in self.names.items()}

    def __call__(self, record: Any, origin: Origin) -> dict[str, list[Any]]:
        """Return the values of each field, None among them where there is none."""
        found = {name: [path(record, origin)] for name, path in self._paths.items() if name not in _POINT}
        points = found.get("points", [None])[0]
        for name in _POINT:
            if isinstance(points, list):
                found[name] = [self._of_point(name, point, origin) for point in points]
            else:
                value = self._paths[name](record, origin)
                found[name] = value if isinstance(value, list) else [value]
        return found

    def _of_point(self, name: str, point: Any, origin: Origin) -> Any:
        if isinstance(point, list) and not self.names[name].startswith("["):
            index = _POINT.index(name)
            return point[index] if index < len(point) else None
        return self._paths[name](point, origin)


class Coverage:
    """Watches records before they are read.

    Args:
        kind: What the feed holds.
        options: Where the fields are.
    """

    def __init__(self, kind: Kind, options: MappingOptions) -> None:
        self._values_of = FieldValues(kind, options)
        self.records = 0
        self.fields = {name: FieldCoverage(name, path) for name, path in self._values_of.names.items()}

    def observe(self, record: Any, origin: Origin) -> None:
        """See one record."""
        self.records += 1
        for name, found in self._values_of(record, origin).items():
            if types := {type_of(value) for value in found if value is not None}:
                self.fields[name].records += 1
                self.fields[name].types.update(types)

    def shown(self) -> Iterable[FieldCoverage]:
        """Return the fields of which anything can be said: those that are needed, and others with values."""
        return [one for one in self.fields.values() if one.records or one.field in ("user", *_POINT)]


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
    NoPosition: "text",
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
