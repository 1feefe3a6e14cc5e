"""Documents from Protobuf messages, by their descriptors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from stream.formats.input.json_messages import text_of
from stream.formats.input.times.calendar import moment_at

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["Descriptor", "document_maker"]

_PREFIX = "google.protobuf."
_WRAPPERS = frozenset(
    f"{_PREFIX}{kind}Value" for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String")
)
# The numbers of descriptor.proto, for which the library has constants.
_TYPE_GROUP, _TYPE_MESSAGE, _TYPE_BYTES, _TYPE_ENUM = 10, 11, 12, 14

# Descriptors are typed differently by each version of the library's stubs.
Descriptor = Any
FieldDescriptor = Any
Maker = Callable[[Any], Any]


def document_maker(descriptor: Descriptor) -> Callable[[Message], Any]:
    """Return a function that makes a document of a message.

    Fields have the names of the schema. A field that is not set has its default if the schema does not distinguish the
    two; otherwise it is left out. Enumerations become names, ``Timestamp`` a datetime, ``Duration`` seconds, wrappers
    their values, maps dicts, ``Struct`` plain data. Bytes become their hexadecimal digits. ``Any``, extensions and
    unknown fields are not read.

    Args:
        descriptor: The descriptor of the message.
    """
    return _Makers().of(descriptor)


class _Makers:
    """Makers by the full name of their message, so that messages may contain themselves."""

    def __init__(self) -> None:
        self._known: dict[str, Maker] = {
            f"{_PREFIX}Timestamp": _moment,
            f"{_PREFIX}Duration": _seconds,
            f"{_PREFIX}Struct": _struct,
            f"{_PREFIX}Value": _value,
            f"{_PREFIX}ListValue": _list,
            f"{_PREFIX}BytesValue": lambda message: text_of(message.value),
            f"{_PREFIX}Any": _nothing,
        }

    def of(self, descriptor: Descriptor) -> Maker:
        name = descriptor.full_name
        if name in _WRAPPERS:
            return _wrapped
        if name not in self._known:
            fields: dict[int, tuple[str, Maker | None]] = {}
            defaults: dict[str, Any] = {}
            # Known before its fields are looked at, among which it may be again.
            self._known[name] = _of_fields(fields, defaults)
            for field in descriptor.fields:
                fields[field.number] = field.name, self._of_field(field)
                if not _has_presence(field):
                    defaults[field.name] = _default(field)
        return self._known[name]

    def _of_field(self, field: FieldDescriptor) -> Maker | None:
        """Return what makes a value of a field, or None if the value is as it must be."""
        if _is_map(field):
            values = self._of_one(field.message_type.fields_by_name["value"])
            if values is None:
                return lambda found: {str(key): value for key, value in found.items()}
            return lambda found: {str(key): values(value) for key, value in found.items()}
        one = self._of_one(field)
        if not _is_repeated(field):
            return one
        return list if one is None else lambda found: [one(value) for value in found]

    def _of_one(self, field: FieldDescriptor) -> Maker | None:
        if field.type in (_TYPE_MESSAGE, _TYPE_GROUP):
            return self.of(field.message_type)
        if field.type == _TYPE_BYTES:
            return text_of
        if field.type == _TYPE_ENUM:
            names = {value.number: value.name for value in reversed(field.enum_type.values)}
            return lambda number: names.get(number, number)
        return None


def _of_fields(fields: dict[int, tuple[str, Maker | None]], defaults: dict[str, Any]) -> Maker:
    def document(message: Message) -> dict[str, Any]:
        found = defaults.copy()
        for field, value in message.ListFields():
            if (known := fields.get(field.number)) is not None and not field.is_extension:
                name, make = known
                found[name] = value if make is None else make(value)
        return found

    return document


def _is_repeated(field: FieldDescriptor) -> bool:
    repeated = getattr(field, "is_repeated", None)  # the library's older versions have only the label
    return bool(field.label == field.LABEL_REPEATED if repeated is None else repeated)


def _is_map(field: FieldDescriptor) -> bool:
    message = field.message_type
    return message is not None and bool(message.GetOptions().map_entry)


def _has_presence(field: FieldDescriptor) -> bool:
    return bool(field.has_presence) and not _is_repeated(field)


def _default(field: FieldDescriptor) -> Any:
    if _is_repeated(field):
        return {} if _is_map(field) else []
    if field.type == _TYPE_BYTES:
        return None
    if field.type == _TYPE_ENUM:
        return field.enum_type.values_by_number[field.default_value].name
    return field.default_value


# ---------------------------------------------------------------------- well-known types


def _nothing(_: Any) -> None:
    return None


def _wrapped(message: Any) -> Any:
    return message.value


def _moment(message: Any) -> datetime:
    return moment_at(message.seconds * 10**6 + message.nanos // 1000)


def _seconds(message: Any) -> float:
    return float(message.seconds) + float(message.nanos) / 1e9


def _struct(message: Any) -> dict[str, Any]:
    return {key: _value(value) for key, value in message.fields.items()}


def _list(message: Any) -> list[Any]:
    return [_value(value) for value in message.values]


def _value(message: Any) -> Any:
    kind = message.WhichOneof("kind")
    if kind == "struct_value":
        return _struct(message.struct_value)
    if kind == "list_value":
        return _list(message.list_value)
    return getattr(message, kind) if kind in ("number_value", "string_value", "bool_value") else None
