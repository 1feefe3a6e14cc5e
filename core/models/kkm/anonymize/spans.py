"""Generalized attributes of clusters, as columns, and their loss: NCP (Poulis et al. 2013, section 5).

``NCP_R(v')`` is 0 for a single value, else the length of the interval over the attribute's range, or the leaves below
the node over all leaves. ``NCP(r)`` is the weighted sum over the attributes; weights are shares of 1 here, so that NCP
and its bound lie in ``0..1``. Losses are compared and summed as whole billionths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.models.kkm.attributes import (
    Attributes,
    CategoricalAttribute,
    Hierarchy,
    Interval,
    NumericAttribute,
    Schema,
    Value,
)
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.records.by_user import same_as_before

__all__ = ["BILLION", "Spans"]

BILLION = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Intervals:
    """The intervals of ``c`` sets of people."""

    low: FloatArray
    high: FloatArray
    scale: float
    """Billionths per unit of length."""

    def part(self, numbers: IntArray) -> _Intervals:
        return _Intervals(self.low[numbers], self.high[numbers], self.scale)

    def joined(self, others: Column, at: int) -> _Intervals:
        assert isinstance(others, _Intervals)  # noqa: S101 - columns are joined with those of the same attribute
        return _Intervals(np.minimum(self.low, others.low[at]), np.maximum(self.high, others.high[at]), self.scale)

    def whole(self) -> _Intervals:
        return _Intervals(self.low.min(keepdims=True), self.high.max(keepdims=True), self.scale)

    def losses(self) -> IntArray:
        found: IntArray = np.rint((self.high - self.low) * self.scale).astype(np.int64)
        return found

    def replace(self, number: int, others: Column, at: int) -> None:
        assert isinstance(others, _Intervals)  # noqa: S101
        self.low[number], self.high[number] = others.low[at], others.high[at]

    def is_as(self, number: int) -> BoolArray:
        same: BoolArray = (self.low == self.low[number]) & (self.high == self.high[number])
        return same

    def within(self, others: Column, at: int) -> BoolArray:
        assert isinstance(others, _Intervals)  # noqa: S101
        inside: BoolArray = (self.low >= others.low[at]) & (self.high <= others.high[at])
        return inside

    def around(self, others: Column, at: int) -> BoolArray:
        assert isinstance(others, _Intervals)  # noqa: S101
        outside: BoolArray = (self.low <= others.low[at]) & (self.high >= others.high[at])
        return outside

    def value(self, number: int) -> Value:
        return Interval(float(self.low[number]), float(self.high[number]))


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The closest common ancestors of ``c`` sets of people."""

    nodes: IntArray
    hierarchy: Hierarchy
    costs: IntArray
    """Billionths of each node, shape ``(V,)``."""

    def part(self, numbers: IntArray) -> _Nodes:
        return _Nodes(self.nodes[numbers], self.hierarchy, self.costs)

    def joined(self, others: Column, at: int) -> _Nodes:
        assert isinstance(others, _Nodes)  # noqa: S101
        return _Nodes(self.hierarchy.common_with(int(others.nodes[at]), self.nodes), self.hierarchy, self.costs)

    def whole(self) -> _Nodes:
        # Nodes are numbered in the order of their paths: ancestors of both the first and the last are ancestors of all.
        common = self.hierarchy.common_with(int(self.nodes.min()), self.nodes.max(keepdims=True))
        return _Nodes(common, self.hierarchy, self.costs)

    def losses(self) -> IntArray:
        return self.costs[self.nodes]

    def replace(self, number: int, others: Column, at: int) -> None:
        assert isinstance(others, _Nodes)  # noqa: S101
        self.nodes[number] = others.nodes[at]

    def is_as(self, number: int) -> BoolArray:
        same: BoolArray = self.nodes == self.nodes[number]
        return same

    def within(self, others: Column, at: int) -> BoolArray:
        assert isinstance(others, _Nodes)  # noqa: S101
        node = int(others.nodes[at])
        inside: BoolArray = self.hierarchy.common_with(node, self.nodes) == node
        return inside

    def around(self, others: Column, at: int) -> BoolArray:
        assert isinstance(others, _Nodes)  # noqa: S101
        outside: BoolArray = self.hierarchy.common_with(int(others.nodes[at]), self.nodes) == self.nodes
        return outside

    def value(self, number: int) -> Value:
        return self.hierarchy.labels[int(self.nodes[number])]


Column = _Intervals | _Nodes


class Spans:
    """The generalized attributes of ``c`` sets of people, which may be joined.

    Args:
        columns: One for each attribute.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self.losses: IntArray = np.sum([column.losses() for column in columns], axis=0)
        """NCP of each, whole billionths, shape ``(c,)``."""

    @classmethod
    def of_people(cls, attributes: Attributes) -> Spans:
        """Make a set of each person alone."""
        return cls._between(attributes.schema, attributes.columns, attributes.columns)

    @classmethod
    def of_values(cls, schema: Schema, rows: Sequence[Sequence[Value]]) -> Spans:
        """Make sets of which the generalized values are known, one for each row, in the schema's order."""
        low, high = np.empty((len(schema), len(rows))), np.empty((len(schema), len(rows)))
        for at, row in enumerate(rows):
            for number, (attribute, value) in enumerate(zip(schema, row, strict=True)):
                if isinstance(value, Interval):
                    low[number, at], high[number, at] = value.low, value.high
                elif isinstance(attribute, CategoricalAttribute):
                    low[number, at] = high[number, at] = attribute.hierarchy.node(value)
        return cls._between(schema, low, high)

    @classmethod
    def _between(cls, schema: Schema, low: FloatArray, high: FloatArray) -> Spans:
        """Make sets from the ends of their intervals, shape ``(v, c)``; of a node both ends are its number."""
        total = sum(attribute.weight for attribute in schema)
        rows = zip(schema, low, high, strict=True)
        return cls([_column(attribute, attribute.weight / total, *ends) for attribute, *ends in rows])

    @classmethod
    def united(cls, parts: Sequence[Spans]) -> Spans:
        """Concatenate the sets of several."""
        joined: list[Column] = []
        for columns in zip(*(part._columns for part in parts), strict=True):
            first = columns[0]
            if isinstance(first, _Intervals):
                intervals = [column for column in columns if isinstance(column, _Intervals)]
                low, high = (np.concatenate(ends) for ends in zip(*((c.low, c.high) for c in intervals), strict=True))
                joined.append(_Intervals(low, high, first.scale))
            else:
                nodes = np.concatenate([column.nodes for column in columns if isinstance(column, _Nodes)])
                joined.append(_Nodes(nodes, first.hierarchy, first.costs))
        return cls(joined)

    def part(self, numbers: IntArray) -> Spans:
        """Return some of the sets."""
        return Spans([column.part(numbers) for column in self._columns])

    def joined(self, others: Spans, at: int) -> Spans:
        """Return each set joined with one set of ``others``."""
        pairs = zip(self._columns, others._columns, strict=True)
        return Spans([column.joined(other, at) for column, other in pairs])

    def whole(self) -> Spans:
        """Return all sets, one at least, joined to a single one."""
        return Spans([column.whole() for column in self._columns])

    def replace(self, number: int, others: Spans, at: int) -> None:
        """Replace a set by one of ``others``."""
        for column, other in zip(self._columns, others._columns, strict=True):
            column.replace(number, other, at)
        self.losses[number] = others.losses[at]

    def is_as(self, number: int) -> BoolArray:
        """Return which sets have the same generalized values as one, itself included, shape ``(c,)``."""
        same: BoolArray = np.logical_and.reduce([column.is_as(number) for column in self._columns])
        return same

    def within(self, others: Spans, at: int) -> BoolArray:
        """Return which sets have values that one set of ``others`` contains, shape ``(c,)``."""
        pairs = zip(self._columns, others._columns, strict=True)
        inside: BoolArray = np.logical_and.reduce([column.within(other, at) for column, other in pairs])
        return inside

    def around(self, others: Spans, at: int) -> BoolArray:
        """Return which sets have values that contain those of one set of ``others``, shape ``(c,)``."""
        pairs = zip(self._columns, others._columns, strict=True)
        outside: BoolArray = np.logical_and.reduce([column.around(other, at) for column, other in pairs])
        return outside

    def changes(self) -> BoolArray:
        """Return which sets have other values than the one before; the first counts as such, shape ``(c,)``."""
        return ~same_as_before(*self.ends())

    def ends(self) -> FloatArray:
        """Return rows that order sets by their values: both ends of each interval, and nodes; ``c`` columns."""
        ends = [
            (column.low, column.high) if isinstance(column, _Intervals) else (column.nodes,) for column in self._columns
        ]
        return np.array([values for arrays in ends for values in arrays], dtype=np.float64)

    def values(self, number: int) -> tuple[Value, ...]:
        """Return the generalized values of a set as they are released."""
        return tuple(column.value(number) for column in self._columns)


def _column(
    attribute: NumericAttribute | CategoricalAttribute, share: float, low: FloatArray, high: FloatArray
) -> Column:
    if isinstance(attribute, NumericAttribute):
        return _Intervals(low.copy(), high.copy(), share * BILLION / (attribute.high - attribute.low))
    leaves = attribute.hierarchy.leaves
    costs = np.where(leaves > 1, np.rint(leaves / leaves[0] * share * BILLION), 0).astype(np.int64)
    return _Nodes(low.astype(np.int64), attribute.hierarchy, costs)
