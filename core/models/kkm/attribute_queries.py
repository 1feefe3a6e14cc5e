"""Attributes that a COUNT query asks for: how likely a generalized value is one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.models.kkm.attributes import Attribute, CategoricalAttribute, Interval, Schema, Value
from core.records.arrays import FloatArray

__all__ = ["Wanted", "share_of_values"]

Wanted = str | tuple[float, float]
"""A value of a hierarchy or one below it, or the smallest and the largest number."""


def share_of_values(
    schema: Schema, people: Sequence[Sequence[Value]], wanted: Mapping[str, Wanted]
) -> FloatArray | None:
    """Return the probability that people have what is wanted, all attributes independent.

    A number is equally likely anywhere in its interval; a value of a hierarchy is equally likely each leaf below it.

    Args:
        schema: The attributes.
        people: Generalized values of each of ``n`` people, in the schema's order.
        wanted: What is asked, by the attribute's name.

    Returns:
        Shape ``(n,)``; None if an attribute or a value is not in the schema.
    """
    number = {attribute.name: column for column, attribute in enumerate(schema)}
    share = np.ones(len(people))
    for name, asked in wanted.items():
        if name not in number or not _fits(schema[number[name]], asked):
            return None
        column, attribute = number[name], schema[number[name]]
        of_value = {value: _share(attribute, value, asked) for value in {values[column] for values in people}}
        share *= np.array([of_value[values[column]] for values in people])
    return share


def _fits(attribute: Attribute, asked: Wanted) -> bool:
    if isinstance(attribute, CategoricalAttribute):
        return isinstance(asked, str) and attribute.hierarchy.has(asked)
    return not isinstance(asked, str)


def _share(attribute: Attribute, value: Value, asked: Wanted) -> float:
    if isinstance(value, Interval):
        low, high = (float(asked[0]), float(asked[1])) if not isinstance(asked, str) else (0.0, 0.0)
        if value.low == value.high:
            return float(low <= value.low <= high)
        return max(0.0, min(high, value.high) - max(low, value.low)) / (value.high - value.low)
    if not isinstance(attribute, CategoricalAttribute) or not isinstance(asked, str):
        return 0.0
    hierarchy = attribute.hierarchy
    if asked in hierarchy.path(value):
        return 1.0
    if value in hierarchy.path(asked):
        return float(hierarchy.leaves[hierarchy.node(asked)] / hierarchy.leaves[hierarchy.node(value)])
    return 0.0
