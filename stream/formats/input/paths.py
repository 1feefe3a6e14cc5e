"""Paths: where in a message a value is.

A path is written as people write it in a settings file:

======================  ==============================================================================================
``lat``                 the field ``lat`` of the record
``position.lat``        the field ``lat`` of the object ``position``; or the field whose own name is ``position.lat``
``coordinates[1]``      the second value of a list; ``[-1]`` is the last
``points[].lat``        the field ``lat`` of every element of a list
``start & end``         the values at several paths, as a list: a record with two times and two places
``/header.timestamp``   a field of the whole message, for a record that is only a part of it; ``/`` is the message
``date + time``         the texts at several paths, joined with a space: a time in two columns
``a|b``                 the first of several paths at which there is a value
``kafka:key``           the key of the message as text; ``kafka:key.id`` is a field of a key in JSON
``kafka:key:integer``   the key as a number of 2, 4 or 8 bytes, the highest first, as Kafka's serializers write it
``kafka:header:NAME``   a header of the message
``kafka:timestamp``     the time stamp of the message
``kafka:topic``         the name of the topic
``file:name``           the name of the file without its suffixes
``=text``               the text itself
======================  ==============================================================================================

``|`` divides before ``&``, and ``&`` before ``+``. What is joined must be text: a number, such as the time 85320, may
have lost zeros at its beginning. Where one text is missing, there is no value.

A backslash before a character takes away its meaning: ``a\\.b`` is the field ``a.b``. An index also takes a number out
of a position that is one text: ``latLng[0]`` is the first number of ``48.2°, 16.4°``, ``48.2,16.4``, ``geo:48.2,16.4``,
or ``POINT(16.4 48.2)``, whose first number is the longitude. An altitude may follow.

A path goes on inside a text that is an object or a list in JSON, as inside an object or a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from itertools import product
from typing import Any, Final, Literal

import msgspec

from stream.formats.input.framing import payload_of
from stream.formats.input.json_messages import unfolded
from stream.formats.input.positions.texts import NO_POSITION, position_in

__all__ = [
    "NOWHERE",
    "NO_TEXT",
    "FieldPath",
    "NoText",
    "Origin",
    "PathError",
    "alternatives_in",
    "field_names",
    "holders_in",
    "is_elsewhere",
    "is_of_lists",
    "names_in",
    "needed_names",
    "path_from",
    "steps_in",
]


class PathError(ValueError):
    """A text is not a path; the message says what is allowed."""


@dataclass(slots=True)
class Origin:
    """What surrounds a record: its message or its file."""

    document: Any = None
    """The whole message."""

    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int | None = None
    topic: str | None = None
    file: str | None = None
    """Name of the file, without its suffixes."""


NOWHERE = Origin()
"""The origin of a record that needs none."""


class NoText(Enum):
    """The only value that says that the bytes of a key or a header are no text."""

    NO_TEXT = "bytes that are no text"


NO_TEXT: Final[Literal[NoText.NO_TEXT]] = NoText.NO_TEXT
"""What a path to a key or a header leads to if its bytes are a number or a message of their own, such as Avro.

Read as text, their control characters would not count, so that several people would have one id, or one several.
"""

FieldPath = Callable[[Any, Origin], Any]
"""Returns the value at a path of a record; None if there is none, or if it is null; :data:`NO_POSITION` if an index
stands behind a text that is no position; :data:`NO_TEXT` if a key or a header is no text."""

_Step = str | int | None
"""The name of a field, the index in a list, or every element of a list."""

_STEP = re.compile(r"(?P<name>(?:[^\\.\[\]|]|\\.)+)|\[(?P<index>-?[0-9]{1,6})?\]|(?P<dot>\.)", re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Control characters that no text has, unlike tabs and ends of lines."""

_INTEGER_BYTES = (2, 4, 8)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BAR, _AND, _PLUS = (re.compile(rf"(?<!\\)((?:\\\\)*)\{sign}") for sign in "|&+")


def path_from(text: str) -> FieldPath:
    """Compile a path.

    Raises:
        PathError: The text is not a path.

    >>> path_from("position.lat|lat")({"position": {"lat": 48.2}}, NOWHERE)
    48.2
    >>> path_from("points[][0]")({"points": [[1, 2], [3, 4]]}, NOWHERE)
    [1, 3]
    """
    alternatives = [_listed(part) for part in alternatives_in(text)]
    if len(alternatives) == 1:
        return alternatives[0]

    def first(record: Any, origin: Origin) -> Any:
        unusable = None
        for path in alternatives:
            if (found := path(record, origin)) is NO_POSITION or found is NO_TEXT:
                unusable = found
            elif found is not None:
                return found
        return unusable

    return first


def names_in(text: str) -> list[str]:
    """Return the alternatives of a path that are names of fields of the record itself, as columns of a table are.

    >>> names_in("lat|position.lat|kafka:key")
    ['lat', 'position.lat']
    """
    parts = (part for alternative in alternatives_in(text) for part in _parts(alternative))
    return [name for part in parts for name in _own_names(part)]


def needed_names(text: str) -> list[list[str]]:
    """Return the names of columns that a table must have for a path: one of each list.

    >>> needed_names("lat|latitude"), needed_names("date + time"), needed_names("ts|date + time")
    ([['lat', 'latitude']], [['date'], ['time']], [['ts', 'date'], ['ts', 'time']])
    >>> needed_names("latLng[0]")
    [['latLng[0]', 'latLng']]
    """
    parts = [part for alternative in alternatives_in(text) for part in _parts(alternative)]
    either = [[[name, *_holder(name)] for name in _joined_parts(part) if not _leads_out(name)] for part in parts]
    return [
        list(dict.fromkeys(_ESCAPED.sub(r"\1", name) for names in found for name in names))
        for found in product(*either)
    ]


def holders_in(text: str) -> list[str]:
    """Return the names of the fields of the record itself inside whose values a path leads.

    >>> holders_in("latLng[0]|geometry.coordinates[1]|lat")
    ['latLng', 'geometry']
    """
    parts = (part for alternative in alternatives_in(text) for part in _parts(alternative))
    names = [name for part in parts for name in _joined_parts(part) if not _leads_out(name)]
    return [_ESCAPED.sub(r"\1", holder) for name in names for holder in _holder(name)]


def field_names(text: str) -> tuple[str, ...] | None:
    """Return the names of the fields through which a path leads; None if it is more than that.

    >>> field_names("position.lat"), field_names("lat|latitude"), field_names("points[0]")
    (('position', 'lat'), None, None)
    """
    alternatives = alternatives_in(text)
    if len(alternatives) > 1 or _leads_out(text) or len(_parts(text)) > 1 or len(_joined_parts(text)) > 1:
        return None
    steps = _steps(text)
    names = tuple(step for step in steps if isinstance(step, str))
    return names if len(names) == len(steps) else None


def steps_in(text: str) -> list[tuple[bool, list[str | int | None]]]:
    """Return the steps of all paths inside a record or a message, and whether they begin at the message.

    A step is the name of a field, an index, or None for every element of a list.

    >>> steps_in("a.b[0]|/c[]|=x")
    [(False, ['a', 'b', 0]), (True, ['c', None])]
    """
    parts = [
        one for alternative in alternatives_in(text) for part in _parts(alternative) for one in _joined_parts(part)
    ]
    inside = [one for one in parts if one.startswith("/") or not _leads_out(one)]
    return [(one.startswith("/"), _steps(one.removeprefix("/")) if one != "/" else []) for one in inside]


def is_elsewhere(text: str) -> bool:
    """Whether a path may lead out of the record, so that a table need not have a column for it."""
    return any(_leads_out(part) for part in alternatives_in(text))


def is_of_lists(text: str) -> bool:
    """Whether the value at a path may be a list of values side by side, as in ``points[].lat`` or ``start & end``."""
    return any("[]" in part or len(_parts(part)) > 1 for part in alternatives_in(text))


def alternatives_in(text: str) -> list[str]:
    """Return the paths of which the first with a value counts.

    Raises:
        PathError: One of them is empty.
    """
    if text.startswith("="):
        return [text]
    parts = [part.strip() for part in _BAR.sub("\\1\0", text).split("\0")]
    if not all(parts):
        raise PathError(
            "it must be the name of a field, such as lat, or a path such as position.lat; an empty one names nothing"
        )
    return parts


def _parts(alternative: str, sign: re.Pattern[str] = _AND) -> list[str]:
    if alternative.startswith("="):
        return [alternative]
    return [part.strip() for part in sign.sub("\\1\0", alternative).split("\0")]


def _joined_parts(part: str) -> list[str]:
    return _parts(part, _PLUS)


def _own_names(part: str) -> list[str]:
    return [_ESCAPED.sub(r"\1", one) for one in _joined_parts(part) if not _leads_out(one)]


def _holder(name: str) -> list[str]:
    """Return the first name of a path with several steps, as it is written there; none if it has but one."""
    first = _STEP.match(name)
    return [first["name"]] if first is not None and first["name"] and first.end() < len(name) else []


def _joined(part: str) -> FieldPath:
    paths = [_one(one) for one in _joined_parts(part)]
    if len(paths) == 1:
        return paths[0]
    if "[]" in part:
        raise PathError("lists cannot be joined: + stands between texts, such as date + time")

    def text(record: Any, origin: Origin) -> str | None:
        found = [path(record, origin) for path in paths]
        return " ".join(found) if all(isinstance(one, str) for one in found) else None

    return text


def _listed(alternative: str) -> FieldPath:
    paths = [_joined(part) for part in _parts(alternative)]
    if len(paths) == 1:
        return paths[0]

    def together(record: Any, origin: Origin) -> Any:
        found = [path(record, origin) for path in paths]
        return found if any(value is not None for value in found) else None

    return together


def _leads_out(part: str) -> bool:
    return part.startswith(("kafka:", "file:", "=", "/"))


def _one(text: str) -> FieldPath:
    if text.startswith("="):
        constant = text[1:]
        return lambda _record, _origin: constant
    if text.startswith("kafka:"):
        return _of_message(text.removeprefix("kafka:"))
    if text.startswith("file:"):
        if text != "file:name":
            raise PathError("it must be file:name, the only part of a file's own that a path can name")
        return lambda _record, origin: origin.file
    if text == "/":
        return lambda _record, origin: origin.document
    if text.startswith("/"):
        inner = _inside(text[1:])
        return lambda _record, origin: inner(origin.document)
    return _of_record(text)


def _of_record(text: str) -> FieldPath:
    if (name := _only_name(text)) is not None:  # most paths: one call instead of two
        return lambda record, _origin: record.get(name) if isinstance(record, dict) else None
    inside = _inside(text)
    return lambda record, _origin: inside(record)


def _only_name(text: str) -> str | None:
    """Return the name of the field that a path is, without its escapes; None if the path has several steps."""
    steps = _steps(text)
    return _ESCAPED.sub(r"\1", text) if len(steps) == 1 and isinstance(steps[0], str) else None


def _of_message(what: str) -> FieldPath:
    if what == "timestamp":
        return lambda _record, origin: (
            None if origin.timestamp_ms is None else datetime.fromtimestamp(origin.timestamp_ms / 1000, tz=UTC)
        )
    if what == "topic":
        return lambda _record, origin: origin.topic
    if what == "key":
        return lambda _record, origin: _text(origin.key)
    if what == "key:integer":
        return lambda _record, origin: _integer(origin.key)
    if what.startswith("key."):
        inside = _inside(what.removeprefix("key."))
        return lambda _record, origin: inside(_json(origin.key))
    if what.startswith("header:") and (name := what.removeprefix("header:")):
        name = _ESCAPED.sub(r"\1", name)
        return lambda _record, origin: _text(next((value for key, value in origin.headers if key == name), None))
    raise PathError(
        "it must be kafka:key, kafka:key.FIELD, kafka:key:integer, kafka:header:NAME, kafka:timestamp or kafka:topic"
    )


def _text(value: bytes | None) -> str | NoText | None:
    """Return bytes as text; :data:`NO_TEXT` if they are not UTF-8, or have control characters, as numbers do."""
    try:
        return value if value is None else NO_TEXT if _CONTROL.search(value) is not None else value.decode()
    except UnicodeDecodeError:
        return NO_TEXT


def _integer(value: bytes | None) -> int | NoText | None:
    if value is None:
        return None
    return int.from_bytes(value, "big", signed=True) if len(value) in _INTEGER_BYTES else NO_TEXT


def _json(value: bytes | None) -> Any:
    try:
        return None if value is None else msgspec.json.decode(payload_of(value))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _inside(text: str) -> Callable[[Any], Any]:
    """Return a function from a record to the value at a path inside it."""
    if (name := _only_name(text)) is not None:
        return lambda record: record.get(name) if isinstance(record, dict) else None
    steps = _steps(text)
    literal = _ESCAPED.sub(r"\1", text)
    if len(steps) == 2 and isinstance(steps[0], str) and isinstance(steps[1], str):
        return _two_deep(literal, steps[0], steps[1])

    def value(record: Any) -> Any:
        # A field whose own name has dots comes first: it is there only if somebody means it.
        if isinstance(record, dict) and (found := record.get(literal)) is not None:
            return found
        return _walked(record, steps, 0)

    return value


def _two_deep(literal: str, outer: str, inner: str) -> Callable[[Any], Any]:
    """Return what :func:`_inside` returns for a field of an object, the most frequent path, in half the time."""

    def value(record: Any) -> Any:
        if not isinstance(record, dict):
            return None
        if (found := record.get(literal)) is not None:
            return found
        holder = record.get(outer)
        if isinstance(holder, str):
            holder = unfolded(holder)
        return holder.get(inner) if isinstance(holder, dict) else None

    return value


def _walked(value: Any, steps: Sequence[_Step], at: int) -> Any:
    for i in range(at, len(steps)):
        step = steps[i]
        if isinstance(value, str):
            value = unfolded(value)
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            if isinstance(value, str):
                value = position_in(value) or (NO_POSITION if step is not None and i == len(steps) - 1 else None)
            if not isinstance(value, list):
                return value if value is NO_POSITION else None
            if step is None:
                found = [_walked(element, steps, i + 1) for element in value]
                # A list without any value at the path is of another form, for which there may be another path.
                return found if not found or any(one not in (None, NO_POSITION) for one in found) else None
            value = value[step] if -len(value) <= step < len(value) else None
        if value is None:
            return None
    return value


def _steps(text: str) -> list[_Step]:
    steps: list[_Step] = []
    at = 0
    may_be_name = True
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or (match["name"] and not may_be_name) or (match["dot"] and (may_be_name or not steps)):
            raise PathError(
                "it must be a path such as lat, position.lat, points[0] or points[].lat; write \\ before a character "
                "of a name that has a meaning in paths"
            )
        if match["name"]:
            steps.append(_ESCAPED.sub(r"\1", match["name"]))
        elif not match["dot"]:
            steps.append(None if match["index"] is None else int(match["index"]))
        may_be_name = bool(match["dot"])
        at = match.end()
    if not steps or may_be_name:
        raise PathError("it must end with the name of a field or with an index: lat, position.lat, points[0]")
    return steps
