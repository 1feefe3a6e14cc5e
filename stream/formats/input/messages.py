"""Input messages: JSON to records."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from core.records.record import CheckIn, Fragment, Kind, attribute_field, checkin_type
from stream.formats.input.json_messages import tolerant

__all__ = ["decoder"]


def decoder(kind: Kind, names: dict[str, str], attributes: Sequence[str] = ()) -> Callable[[bytes], CheckIn | Fragment]:
    """Return a function that decodes JSON messages of one kind of feed.

    Args:
        kind: What the messages hold.
        names: For each of our fields its name in the feed.
        attributes: Attributes of a person that check-ins carry, by their names in the feed; not part of ``names``.

    Returns:
        A function that raises :class:`msgspec.DecodeError` if a message is not JSON or not of the right form;
        :func:`~stream.formats.input.rejection_reasons.rejection_reason` turns the error into a sentence. The function
        also
        accepts the deviations from JSON that :func:`stream.formats.input.json_messages.tolerant` lists.
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
