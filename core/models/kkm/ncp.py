"""Normalized certainty penalty of generalized attributes: NCP (Poulis et al. 2013, section 5).

``NCP_R(v')`` is 0 for a single value, else the length of an interval over that of the attribute's range, or the leaves
below a node over all leaves of the hierarchy; ``NCP(r) = sum over the attributes of w_i NCP_Ri`` and ``NCP(D)`` its
mean over the records. Weights are taken as shares of their sum, so that NCP lies in ``0..1``.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.models.kkm.attributes import Attribute, CategoricalAttribute, Interval, Schema, Value

__all__ = ["certainty_penalty", "mean_certainty_penalty"]


def certainty_penalty(schema: Schema, values: Sequence[Value]) -> float:
    """Return NCP of one record.

    Args:
        schema: The attributes.
        values: The generalized value of each, in the same order.

    Returns:
        A value in ``0..1``.

    Raises:
        ValueError: A value is not of its attribute's kind.
    """
    total = sum(attribute.weight for attribute in schema)
    parts = (attribute.weight * _share(attribute, value) for attribute, value in zip(schema, values, strict=True))
    return sum(parts) / total


def mean_certainty_penalty(schema: Schema, records: Sequence[Sequence[Value]]) -> float:
    """Return NCP of a release, 0 of an empty one.

    Args:
        schema: The attributes.
        records: Generalized values of each record.
    """
    # Sorted: the order of records, which is not published, must not show in the last bit.
    return sum(sorted(certainty_penalty(schema, values) for values in records)) / len(records) if records else 0.0


def _share(attribute: Attribute, value: Value) -> float:
    if isinstance(attribute, CategoricalAttribute) and isinstance(value, str):
        leaves = attribute.hierarchy.leaves
        below = int(leaves[attribute.hierarchy.node(value)])
        return below / int(leaves[0]) if below > 1 else 0.0
    if not isinstance(attribute, CategoricalAttribute) and isinstance(value, Interval):
        return (value.high - value.low) / (attribute.high - attribute.low)
    raise ValueError(f"attribute {attribute.name}: a generalized value is of the other kind")
