"""The shape of documents: the paths at which values stand, and the lists that may hold records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from stream.feeds.trial.guessing.names import normal
from stream.formats.input.extended_json import from_extended_json
from stream.formats.input.json_messages import unfolded

__all__ = ["Shape", "ShapeLeaf", "escaped", "shape_of"]

_DEEPEST = 5
_LONGEST = 6
"""Numbers in a list that may be a position."""

_OF_RECEIVERS = frozenset({"rxinfo", "rxmetadata", "gateway", "gateways"})
"""Names of what networks of sensors say of the gateways that heard a device: their positions are nobody's."""

_NAME = re.compile(r"[@#$_]{0,2} ?[^\W\d]\w{0,39}(?:[ \-.:/]\w{1,20}){0,4}")
_DIGITS = re.compile(r"\d{3}|\d\D+\d")
_SIGNS = re.compile(r"([\\.\[\]|&+])")

Parts = tuple[str, ...]


@dataclass(slots=True)
class ShapeLeaf:
    """A path at which some records have a value."""

    parts: Parts
    index: int | None = None
    """The index in the list at the path, if the value stands in one."""

    values: list[Any] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The path as settings have it."""
        inside = "" if self.index is None else f"[{self.index}]"
        return ".".join(map(escaped, self.parts)) + inside


@dataclass(slots=True)
class Shape:
    """The paths of some records."""

    n: int
    """Number of records."""

    leaves: list[ShapeLeaf]
    lists: dict[Parts, list[list[Any]]]
    """Lists of objects or of lists, by their paths: those of every record that has one."""

    def often(self) -> list[ShapeLeaf]:
        """Return the paths that at least half of the records have."""
        return [leaf for leaf in self.leaves if 2 * len(leaf.values) >= self.n]


def escaped(name: str) -> str:
    """Return the name of a field as a path has it.

    >>> escaped("Shop & Service"), escaped("/x")
    ('Shop \\\\& Service', '\\\\/x')
    """
    text = _SIGNS.sub(r"\\\1", name)
    return f"\\{text}" if text.startswith(("/", "=", "kafka:", "file:")) else text


def shape_of(records: Sequence[Any]) -> Shape:
    """Return the shape of some records; names that may be ids of somebody are left out."""
    leaves: dict[tuple[Parts, int | None], ShapeLeaf] = {}
    lists: dict[Parts, list[list[Any]]] = {}
    found = [record for record in records if isinstance(record, dict)]
    for record in found:
        for parts, value in _below(record, ()):
            if isinstance(value, list):
                if value and all(isinstance(one, dict | list) for one in value):
                    lists.setdefault(parts, []).append(value)
                elif 1 < len(value) <= _LONGEST:
                    for i, one in enumerate(value):
                        leaves.setdefault((parts, i), ShapeLeaf(parts, i)).values.append(one)
            elif value is not None and value != "":
                leaves.setdefault((parts, None), ShapeLeaf(parts)).values.append(value)
    return Shape(len(found), list(leaves.values()), lists)


def _below(value: dict[str, Any], parts: Parts) -> Iterator[tuple[Parts, Any]]:
    for name, below in value.items():
        if not _is_name(name) or normal(name) in _OF_RECEIVERS:
            continue
        below = from_extended_json(unfolded(below))  # noqa: PLW2901 - as messages are read
        if isinstance(below, dict) and len(parts) < _DEEPEST:
            yield from _below(below, (*parts, name))
        elif not isinstance(below, dict):
            yield (*parts, name), below


def _is_name(name: str) -> bool:
    """Whether a key is the name of a field, and not an id or another value."""
    return _NAME.fullmatch(name) is not None and _DIGITS.search(name) is None
