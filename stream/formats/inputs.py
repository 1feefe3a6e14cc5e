"""Input messages: JSON to records."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from core.records.record import CheckIn, Fragment, Kind, attribute_field, checkin_type
from stream.formats.foreign_json import tolerant

__all__ = ["decoder"]


def decoder(kind: Kind, names: dict[str, str], attributes: Sequence[str] = ()) -> Callable[[bytes], CheckIn | Fragment]:
    """Return a function that decodes JSON messages of one kind of feed.

    Args:
        kind: What the messages hold.
        names: For each of our fields the name that the feed uses.
        attributes: Attributes of a person that check-ins carry, by the names that the feed uses; other than the above.

    Returns:
        A function that raises :class:`msgspec.DecodeError` where a message is not JSON or not of the right form, which
        :func:`~stream.formats.rejection_reasons.rejection_reason` puts into words. What it takes beside JSON says
        :func:`stream.formats.foreign_json.tolerant`.
    """
    base: type[CheckIn] | type[Fragment] = checkin_type(len(attributes)) if kind is Kind.CHECKINS else Fragment
    names = names | {attribute_field(i): name for i, name in enumerate(attributes)}
    renamed = {field: names[field] for field in base.__struct_fields__ if names[field] != field}
    wire: type = base
    if renamed:
        fields: list[tuple[str, type] | tuple[str, type, object]] = [
            (field.name, field.type) if field.required else (field.name, field.type, field.default)
            for field in msgspec.structs.fields(base)
        ]
        wire = msgspec.defstruct(base.__name__, fields, bases=(base,), rename=renamed, frozen=True, gc=False)
    points = names["points"] if kind is Kind.FRAGMENTS else None
    return tolerant(msgspec.json.Decoder(wire).decode, wire, ts=names["ts"], points=points)
