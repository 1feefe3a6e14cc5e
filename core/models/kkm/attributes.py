"""Attributes of people, besides their locations: numbers with a range, or values of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.places.taxonomy import Categories, TaxonomyError
from core.records.arrays import FloatArray, IntArray

__all__ = [
    "Attribute",
    "Attributes",
    "CategoricalAttribute",
    "Hierarchy",
    "Interval",
    "NumericAttribute",
    "Schema",
    "Value",
]

_REMEMBERED = 2048  # common ancestors of all pairs of this many nodes take 32 MiB


class Hierarchy:
    """A tree of values, its nodes numbered in the order of their paths: a parent before its children.

    The numbers follow from the names alone. Node 0 is the root, which has no row of its own.

    Args:
        categories: The tree below the root. Any of its nodes may be a value; those without children are leaves.
        root: What the root is released as.

    Raises:
        TaxonomyError: The tree is empty, or a node has the root's name.
    """

    def __init__(self, categories: Categories, *, root: str = "*") -> None:
        if not categories.parent_of:
            raise TaxonomyError("the hierarchy is empty: it needs at least one value")
        if root in categories.parent_of:
            raise TaxonomyError(f"a value is named {root!r} as the root: name the root otherwise")
        paths = sorted(categories.path(name) for name in categories.parent_of)
        self.labels = (root, *(path[-1] for path in paths))
        """What each node is released as, ``V`` of them."""
        self._number = {label: node for node, label in enumerate(self.labels)}
        depth = 1 + max(map(len, paths))
        rows = np.full((len(self.labels), depth), -1, dtype=np.int64)
        rows[:, 0] = 0
        for node, path in enumerate(paths, start=1):
            rows[node, 1 : len(path) + 1] = [self._number[name] for name in path]
        self._rows: IntArray = rows  # (V, depth) nodes from the root down to each node, padded by -1
        self._common_rows: dict[int, IntArray] = {}
        inner = set(categories.parent_of.values())
        is_leaf = np.array([False, *(path[-1] not in inner for path in paths)])
        above = rows[is_leaf]
        self.leaves: IntArray = np.bincount(above[above >= 0], minlength=len(rows)).astype(np.int64)
        """How many leaves each node stands for, itself included, shape ``(V,)``; ``leaves[0]`` is all."""

    def node(self, label: str) -> int:
        """Return the number of a value.

        Raises:
            KeyError: The tree does not hold it.
        """
        return self._number[label]

    def has(self, label: str) -> bool:
        """Return whether the tree holds a value."""
        return label in self._number

    def path(self, label: str) -> tuple[str, ...]:
        """Return the values from the root down to this one.

        Raises:
            KeyError: The tree does not hold it.
        """
        row = self._rows[self._number[label]]
        return tuple(self.labels[node] for node in row[row >= 0].tolist())

    def common_with(self, node: int, others: IntArray) -> IntArray:
        """Return the closest common ancestor of one node and each of others, shape ``(c,)``."""
        if len(self.labels) > _REMEMBERED:
            return self._common(node, others)
        if node not in self._common_rows:
            self._common_rows[node] = self._common(node, np.arange(len(self.labels)))
        return self._common_rows[node][others]

    def _common(self, node: int, others: IntArray) -> IntArray:
        path = self._rows[node]
        same = (self._rows[others] == path) & (path >= 0)
        found: IntArray = path[np.logical_and.accumulate(same, axis=1).sum(axis=1) - 1]  # the root at least is shared
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericAttribute:
    """A number, generalized to the interval of a group's values.

    Raises:
        ValueError: The range is empty or not finite, or the weight is not a finite number above 0.
    """

    name: str
    low: float
    """Smallest value there can be."""

    high: float
    """Largest value there can be; ``high - low`` is ``|R|`` of NCP."""

    weight: float = 1.0
    """How much a loss in it counts beside the other attributes', above 0."""

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"attribute {self.name}: the range {self.low}..{self.high} must be finite and not empty")
        _check_weight(self.name, self.weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalAttribute:
    """A value of a tree, generalized to the closest common ancestor of a group's values.

    Raises:
        ValueError: The weight is not a finite number above 0.
    """

    name: str
    hierarchy: Hierarchy = field(repr=False)
    weight: float = 1.0
    """How much a loss in it counts beside the other attributes', above 0."""

    def __post_init__(self) -> None:
        _check_weight(self.name, self.weight)


Attribute = NumericAttribute | CategoricalAttribute
Schema = tuple[Attribute, ...]


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """A generalized number: any value from ``low`` to ``high``, both included."""

    low: float
    high: float


Value = Interval | str
"""A generalized value as it is released: an interval, or the label of a node."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attributes:
    """The attributes of ``n`` people, as columns."""

    schema: Schema
    columns: FloatArray
    """The number, or the number of the node, of each person, shape ``(v, n)``."""

    @property
    def n_users(self) -> int:
        """Number of people."""
        return int(self.columns.shape[1])

    def values(self, user: int) -> tuple[Value, ...]:
        """Return the values of a person as generalized ones: intervals of length 0, and the labels of nodes."""
        return tuple(
            attribute.hierarchy.labels[int(value)]
            if isinstance(attribute, CategoricalAttribute)
            else Interval(value, value)
            for attribute, value in zip(self.schema, self.columns[:, user].tolist(), strict=True)
        )

    @classmethod
    def of(cls, schema: Schema, rows: Sequence[Sequence[float | str]]) -> Attributes:
        """Read the values of people.

        Args:
            schema: The attributes, ``v >= 1`` of them.
            rows: For each person the values in the schema's order; a row's place is the person's number.

        Raises:
            ValueError: The schema is empty or has a name twice; a row has too many values or too few; a number is
                outside its range; a value is not in its hierarchy.
        """
        names = [attribute.name for attribute in schema]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"the attributes are {names}: there must be one at least, each with a name of its own")
        columns = np.empty((len(schema), len(rows)))
        for person, row in enumerate(rows):
            if len(row) != len(schema):
                raise ValueError(f"a person has {len(row)} values: the schema has {len(schema)} attributes")
            for column, attribute, value in zip(columns, schema, row, strict=True):
                column[person] = _number(attribute, value)
        return cls(schema=schema, columns=columns)


def _number(attribute: Attribute, value: float | str) -> float:
    # Messages do not quote the value: it is personal.
    if isinstance(attribute, CategoricalAttribute):
        try:
            return attribute.hierarchy.node(str(value))
        except KeyError:
            raise ValueError(f"attribute {attribute.name}: a value is not in its hierarchy: add it there") from None
    if isinstance(value, str) or not attribute.low <= value <= attribute.high:
        raise ValueError(f"attribute {attribute.name}: a value is no number in {attribute.low}..{attribute.high}")
    return float(value) + 0.0  # -0.0 is released as 0.0


def _check_weight(name: str, weight: float) -> None:
    if not 0 < weight < float("inf"):
        raise ValueError(f"attribute {name}: the weight is {weight}: it must be a finite number above 0")
