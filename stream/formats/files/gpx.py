"""GPX: the points of tracks, routes and waypoints, one document for each, read without holding the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from xml.parsers import expat

from stream.formats.files.form_error import FormError
from stream.formats.input.mapping import MappingOptions
from stream.formats.input.numbers import to_number
from stream.formats.input.paths import names_in

__all__ = ["gpx_points", "refuse_other_names"]

_POINTS = frozenset({"trkpt", "rtept", "wpt"})
_LINES = frozenset({"trk", "rte"})
_NUMBERS = frozenset({"lat", "lon", "ele", "speed", "course", "hdop", "vdop", "pdop", "magvar", "geoidheight"})
_LONGEST_TEXT = 1_000
"""Characters of a value that are kept: no time, number or name is longer."""

_DEEPEST = 50


def refuse_other_names(options: MappingOptions) -> None:
    """Refuse settings that look for the time of a point where GPX never has it.

    Raises:
        FormError: Neither the time of a record nor that of a point is ``time``.
    """
    if "time" not in names_in(options.names["ts"]):
        raise FormError(
            "is GPX: set input.preset to gpx, or fields.ts to time and fields.user to track (the track's name) or "
            "file:name (the file's name)"
        )


def gpx_points(
    content: Iterable[bytes], max_bytes: int, encoding: str | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the points of a GPX file of version 1.0 or 1.1, each with its number; the first is 1.

    A document has ``lat`` and ``lon``, and the values of the point by their names in GPX (``time``, ``ele``, ``speed``,
    ``name`` ...), those of its extensions among them. ``track`` is the name of its track or route, ``segment`` the
    number of its segment, and ``type_of_point`` is ``trkpt``, ``rtept`` or ``wpt``. What is missing in the file is
    missing in the document. Points of routes, and waypoints, are left out if they have no time.

    Args:
        content: The bytes of the file, in blocks of any size.
        max_bytes: Longest piece of markup, to bound the memory.
        encoding: The encoding of the bytes; by default what the file itself says.

    Raises:
        FormError: The file is damaged, is not GPX, or has a document type, which could define entities without end.
    """
    reader = _Reader(encoding)
    parser, n_read = reader.parser, 0
    try:
        for block in content:
            parser.Parse(block, False)
            n_read += len(block)
            if n_read - max(parser.CurrentByteIndex, 0) > max_bytes + len(block):
                raise FormError(f"line {parser.CurrentLineNumber}: a piece of markup is longer than {max_bytes} bytes")
            yield from reader.taken()
        parser.Parse(b"", True)
        yield from reader.taken()
    except expat.ExpatError as fault:
        why = expat.ErrorString(fault.code) or "damaged"
        raise FormError(f"line {fault.lineno}: the XML is damaged ({why})") from None
    except (LookupError, ValueError):  # what Python raises for encodings that it does not know, or has no table of
        raise FormError("line 1: the XML is in an unknown encoding: save it as UTF-8") from None


class _Reader:
    """Collects the points from what the parser finds."""

    def __init__(self, encoding: str | None) -> None:
        self.parser = expat.ParserCreate(encoding)
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse_document_type
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self._found: list[dict[str, Any]] = []
        self._n_points = 0
        self._open: list[str] = []  # names of the elements that have begun and not ended, from the root inwards
        self._point: dict[str, Any] | None = None
        self._depth_of_point = 0
        self._line: dict[str, Any] = {}  # name of the track or route, number of the segment
        self._text = ""
        self._is_leaf = False

    def taken(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the points found since the last call."""
        found, self._found = self._found, []
        for point in found:
            self._n_points += 1
            yield self._n_points, point

    def _refuse_document_type(self, *_: object) -> None:
        raise FormError(f"line {self.parser.CurrentLineNumber}: a GPX file must not have a document type (<!DOCTYPE)")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self._open and name != "gpx":
            raise FormError("is XML, but not GPX: convert it to GPX, for example with gpsbabel")
        if len(self._open) == _DEEPEST:
            raise FormError(f"line {self.parser.CurrentLineNumber}: the XML is nested deeper than {_DEEPEST} elements")
        self._open.append(name)
        self._text, self._is_leaf = "", True
        if self._point is not None:
            return
        if name in _POINTS:
            self._point = {"type_of_point": name} | ({} if name == "wpt" else self._line)
            self._point |= {key: _value(key, attributes[key]) for key in ("lat", "lon") if key in attributes}
            self._depth_of_point = len(self._open)
        elif name in _LINES:
            self._line = {}
        elif name == "trkseg":
            self._line = self._line | {"segment": self._line.get("segment", 0) + 1}

    def _end(self, name: str) -> None:
        name = self._open.pop()
        text, is_leaf = self._text.strip(), self._is_leaf
        self._text, self._is_leaf = "", False
        if self._point is None:
            if name == "name" and self._open[-1:] and self._open[-1] in _LINES and text:
                self._line = {"track": text} | self._line
            return
        if len(self._open) < self._depth_of_point:
            # Routes and marked places are often plans: those without a time are no record of anybody.
            if "time" in self._point or self._point["type_of_point"] == "trkpt":
                self._found.append(self._point)
            self._point = None
        elif is_leaf and text:
            # The point's own values stand before those of its extensions, and are not replaced by them.
            self._point.setdefault(name, _value(name, text))

    def _characters(self, text: str) -> None:
        if self._is_leaf and len(self._text) < _LONGEST_TEXT:
            self._text += text[: _LONGEST_TEXT - len(self._text)]


def _value(name: str, text: str) -> Any:
    """Return a number if it must be one; a text that is none stays, and is rejected as such."""
    if name in _NUMBERS:
        try:
            return to_number(text)
        except ValueError:
            pass
    return text
