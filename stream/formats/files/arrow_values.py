"""Values of Arrow columns as plain data: what Parquet files hold, without the types that only they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stream.formats.input.times.calendar import day_text, local_text, moment_at

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["plain_values", "stored"]

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

_Converter = Callable[[Any], Any]


def plain_values(column: pa.Array) -> list[Any]:
    """Return the values of a column as plain data.

    A time stamp with a zone becomes an aware datetime, one without a zone a text without an offset. Dates, times of
    day, UUIDs and bytes become texts, and decimals numbers.
    """
    plain, convert = _plain(column.type)
    if plain is not None:
        column = stored(column).cast(plain, safe=False)
    values: list[Any] = column.to_pylist()
    return values if convert is None else [_converted(convert, value) for value in values]


def stored(column: pa.Array) -> pa.Array:
    """Return the array below an extension type."""
    return getattr(column, "storage", column)


def _plain(kind: pa.DataType) -> tuple[pa.DataType | None, _Converter | None]:  # noqa: PLR0911 - one for each type
    """Return the type as which a column is read, and what then makes plain data of a value.

    Each is None if nothing has to be done. Time stamps are read as numbers: Python has no years beyond 9999 and no
    nanoseconds.
    """
    import pyarrow as pa  # noqa: PLC0415 - an extra, needed here alone

    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        stored, convert = _plain(kind.storage_type)
        is_uuid = kind.extension_name == "arrow.uuid"
        return stored or kind.storage_type, _uuid if is_uuid else convert
    if types.is_dictionary(kind):
        plain, convert = _plain(kind.value_type)
        return plain or kind.value_type, convert
    if types.is_timestamp(kind):
        return pa.int64(), _time_stamp(_PER_SECOND[kind.unit], has_zone=kind.tz is not None)
    if types.is_date(kind):
        return (pa.int32(), day_text) if types.is_date32(kind) else (pa.int64(), lambda ms: day_text(ms // 86_400_000))
    if types.is_decimal(kind) or types.is_float16(kind):
        return pa.float64(), None
    if types.is_time(kind):
        return pa.string(), None
    if types.is_duration(kind):
        return pa.int64(), None
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return None, _text
    if types.is_struct(kind):
        return _structure(kind)
    if types.is_map(kind):
        return _map(kind)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        plain, convert = _plain(kind.value_type)
        if plain is None and convert is None:
            return None, None
        return pa.list_(plain or kind.value_type), lambda values: [_converted(convert, value) for value in values]
    return None, None


def _structure(kind: Any) -> tuple[pa.DataType | None, _Converter | None]:
    import pyarrow as pa  # noqa: PLC0415

    fields = {field.name: (field.type, *_plain(field.type)) for field in kind}
    if all(plain is None and convert is None for _, plain, convert in fields.values()):
        return None, None
    converters = {name: convert for name, (_, _, convert) in fields.items()}
    return (
        pa.struct([(name, plain or own) for name, (own, plain, _) in fields.items()]),
        lambda value: {name: _converted(converters[name], one) for name, one in value.items()},
    )


def _map(kind: Any) -> tuple[pa.DataType | None, _Converter | None]:
    import pyarrow as pa  # noqa: PLC0415

    key, make_key = _plain(kind.key_type)
    item, make_item = _plain(kind.item_type)
    return (
        None if key is None and item is None else pa.map_(key or kind.key_type, item or kind.item_type),
        lambda pairs: {str(_converted(make_key, one)): _converted(make_item, other) for one, other in pairs},
    )


def _converted(convert: _Converter | None, value: Any) -> Any:
    return value if value is None or convert is None else convert(value)


def _time_stamp(per_second: int, *, has_zone: bool) -> _Converter:
    """Return what makes a time of a number of units since 1970."""
    time_at = moment_at if has_zone else local_text
    return lambda value: time_at(value * 10**6 // per_second)


def _text(value: bytes) -> str:
    """Return bytes as text, as programs mean them that do not mark texts; others in hexadecimal digits."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def _uuid(value: bytes) -> str:
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
