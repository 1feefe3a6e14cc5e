"""Signatures: generalized attributes that a person's releases contain as long as a promise spans windows.

The idea is that of persistent signatures (m-invariance, Xiao and Tao 2007), for attributes that are generalized instead
of listed.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from core.models.kkm.attributes import Attribute, CategoricalAttribute, Interval, Schema, Value

__all__ = ["AttributeSignature", "label_of", "signature_of_label"]

AttributeSignature = tuple[Value, ...]
"""A generalized value of each attribute, in the schema's order."""

_Written = tuple[int, Mapping[str, str | tuple[float, float]]]


def label_of(signature: AttributeSignature, schema: Schema, *, k: int) -> str:
    """Write a signature for a roster, by names: the attributes may be others after a change of the settings.

    Args:
        signature: What to write.
        schema: Its attributes.
        k: How many people shared it at least when it was new.
    """
    named = {
        attribute.name: (value.low, value.high) if isinstance(value, Interval) else value
        for attribute, value in zip(schema, signature, strict=True)
    }
    return msgspec.json.encode((k, named)).decode()


def signature_of_label(label: str, schema: Schema, *, k: int) -> AttributeSignature | None:
    """Read a signature from a roster; None if it is none under these attributes, or was shared by fewer than k people.

    >>> from core.models.kkm.attributes import NumericAttribute
    >>> signature_of_label('[3,{"age":[20,30]}]', (NumericAttribute(name="age", low=0, high=99),), k=2)
    (Interval(low=20.0, high=30.0),)
    """
    try:
        shared, named = msgspec.json.decode(label, type=_Written)
    except msgspec.DecodeError:
        return None
    if shared < k or named.keys() != {attribute.name for attribute in schema}:
        return None
    found = tuple(_read(attribute, named[attribute.name]) for attribute in schema)
    return None if None in found else tuple(value for value in found if value is not None)


def _read(attribute: Attribute, written: str | tuple[float, float]) -> Value | None:
    if isinstance(attribute, CategoricalAttribute):
        return written if isinstance(written, str) and attribute.hierarchy.has(written) else None
    if isinstance(written, str) or not attribute.low <= written[0] <= written[1] <= attribute.high:
        return None
    return Interval(*written)
