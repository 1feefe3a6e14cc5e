"""Files that are one JSON document, or several over many lines: their records, one after the other."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from core.records.record import Kind, Reason
from stream.formats.files.form_error import FormError
from stream.formats.files.geojson import features, is_collection
from stream.formats.files.json_values import documents, list_in
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import json_document
from stream.formats.input.mapping import DocumentMapping, Entry, MappingOptions, Unreadable
from stream.formats.input.messages import MessageReader
from stream.formats.input.paths import Origin, names_in

__all__ = ["document_entries", "whole", "without_limits"]

_SIMPLE = re.compile(r"\w+(?:\.\w+)*")
"""A path that only names members, the last of which may be a list."""

Numbered = tuple[int, Entry]

_Parts = tuple[list[bytes], dict[str, Any] | None, Sequence[str]]
"""Elements of a list; the document without them, None if each element is a document itself; and the
names under which the list is in the document."""


def document_entries(
    content: bytes, kind: Kind, options: MappingOptions, origin: Origin, *, max_bytes: int
) -> Iterator[Numbered]:
    """Yield the records of a file of JSON documents, each with its number; the first is 1.

    A list of records that the document has as a member is not decoded as a whole: one element is at a time, so that
    one that is too long is rejected alone. So is one that is not JSON, if the list is at the top of the document, as
    the features of a GeoJSON collection are.

    Args:
        content: The file.
        kind: What it holds.
        options: Where its records and their fields are.
        origin: What surrounds the records.
        max_bytes: Longest element of a list of records.

    Raises:
        FormError: The document has no end, or no setting says where its records are.
    """
    options = without_limits(options)
    listed, reader = _Listed(kind, options, origin, max_bytes), MessageReader(kind, options)
    found = list(documents(content))
    before = last = 0
    for document in found:
        parts = _parts(document, options)
        records = whole(document, reader, origin) if parts is None else listed.read(*parts)
        for number, entry in records:
            if len(found) == 1 and parts is None and not options.records:
                _refuse_other_document(entry)
            last = before + number
            yield last, entry
        before = last


def _parts(document: bytes, options: MappingOptions) -> _Parts | None:
    """Return the elements of the list of records in a document; None if it has no list that can be taken apart."""
    paths = _simple_paths(options)
    if is_collection(document.lstrip()):
        if not options.records:
            _refuse_flat_names(options)
            return features(document)[0], None, []
        if ["features"] in paths:
            return *features(document), ["features"]
    for path in paths:
        if (found := _list_at(document, path)) is not None:
            return *found, path
    return None


class _Listed:
    """Reads the elements of a list one by one, each as if it were the only one of its document."""

    def __init__(self, kind: Kind, options: MappingOptions, origin: Origin, max_bytes: int) -> None:
        self._mapping, self._origin, self._max_bytes = DocumentMapping(kind, options), origin, max_bytes

    def read(self, elements: Sequence[bytes], rest: dict[str, Any] | None, path: Sequence[str]) -> Iterator[Numbered]:
        """Yield the records of the parts of a document."""
        for number, element in enumerate(elements, 1):
            if len(element) > self._max_bytes:
                detail = f"the element is longer than {self._max_bytes} bytes"
                yield number, Unreadable(Reason.MESSAGE_TOO_LARGE, detail)
                continue
            try:
                document = json_document(element)
            except UnreadableError as fault:
                yield number, Unreadable(fault.reason, fault.detail)
                continue
            if rest is not None:
                document = _with(rest, path, [document])
            for _, entry in self._mapping.entries(document, self._origin):
                yield number, entry


def without_limits(options: MappingOptions) -> MappingOptions:
    """Return options for a file: it is read to its end, however many records it has; only messages have a limit."""
    return replace(options, max_records=sys.maxsize, max_points=sys.maxsize)


def whole(document: bytes, reader: MessageReader, origin: Origin) -> Iterator[Numbered]:
    """Yield the records of a document, decoded as a whole, by their numbers in its list; 1 if it has none."""
    for number, entry in reader.read(document, origin):
        yield number or 1, entry


def _refuse_other_document(entry: Entry) -> None:
    if isinstance(entry, Unreadable) and entry.reason is Reason.MISSING_FIELD:
        raise FormError(
            "is one JSON document over several lines, and not a record: name the list of records that it holds in "
            f"input.records, or choose an input.preset, or write one record a line ({entry.detail})"
        )


def _simple_paths(options: MappingOptions) -> list[list[str]]:
    if not options.records:
        return []
    return [name.split(".") for name in names_in(options.records) if _SIMPLE.fullmatch(name)]


def _list_at(content: bytes, path: Sequence[str]) -> tuple[list[bytes], dict[str, Any]] | None:
    """Return the elements of a list and the document without them; None if there is no such list, or not so simply."""
    try:
        found, rest = list_in(content, *path)
        decoded = json_document(rest)
    except (FormError, UnreadableError):
        return None
    return (found, decoded) if isinstance(decoded, dict) else None


def _with(document: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """Return a document with a value under the names of a path."""
    name, *others = path
    return {**document, name: _with(document.get(name) or {}, others, value) if others else value}


def _refuse_flat_names(options: MappingOptions) -> None:
    """Refuse GeoJSON whose positions no path can find: a feature has its position two levels below its top."""
    if not any(sign in options.names[name] for name in ("lat", "lon", "points") for sign in ".[/"):
        raise FormError(
            "is GeoJSON: set input.preset to geojson, or fields.* to paths such as properties.user, "
            "geometry.coordinates[1] (latitude) and geometry.coordinates[0] (longitude)"
        )
