"""JSON files: the elements of a list, the documents of a file, and the texts of a sequence, without decoding them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from stream.formats.files.csv_files.lines import NumberedLines
from stream.formats.files.form_error import FormError
from stream.formats.input.json_messages import BOM

__all__ = ["RECORD_SEPARATOR", "documents", "elements", "list_in", "texts_of_sequence", "top_members"]

RECORD_SEPARATOR = b"\x1e"
"""What every text of a JSON text sequence begins with (RFC 7464, 2)."""

_MARKS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},"]', re.DOTALL)
_COLON = re.compile(rb"\s*:\s*")
_BETWEEN = re.compile(rb"[\s,\x1e]*")
"""What may stand between documents: some programs write a comma."""


def elements(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the elements of a JSON array, each with its number; the first is 1.

    An element that is not JSON is yielded unchanged, so that it alone is rejected.

    Raises:
        FormError: The array has no end, or something follows it.
    """
    content = content.removeprefix(BOM)
    try:
        found: Iterable[bytes] = map(bytes, msgspec.json.decode(content, type=list[msgspec.Raw]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found, end = _split(content, content.index(b"["))
        if rest := content[end:].lstrip():
            raise FormError(
                f"line {_line(content, len(content) - len(rest))}: something follows the end of the JSON array: "
                "a file is one JSON array, or NDJSON with one record a line"
            ) from None
    yield from enumerate(found, 1)


def list_in(content: bytes, *path: str) -> tuple[list[bytes], bytes]:
    """Return the elements of a list inside of one JSON object, and the object with this list empty.

    An element that is not JSON is returned unchanged if the list is at the top of the object.

    Args:
        content: The object, which may be all of a file.
        path: The names under which the list is.

    Raises:
        FormError: The object has no such list, or no end, or is not JSON.

    >>> list_in(b'{"type": "FeatureCollection", "features": [{}, NaN]}', "features")
    ([b'{}', b'NaN'], b'{"type": "FeatureCollection", "features": []}')
    """
    content = content.removeprefix(BOM)
    try:
        return _list_of_json(content, path)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if len(path) > 1:
            raise FormError(
                f"has no list {'.'.join(path)}, or is not JSON: set input.records to the path of its list of records"
            ) from None
    begin = _list_named(content, path[0])
    found, end = _split(content, begin)
    rest = content[: begin + 1] + content[end - 1 :]
    if rest[_ends(rest, 0) :].strip():
        raise FormError(
            "something follows the end of the JSON document: write one document in a file, or one record a line"
        )
    return found, rest


def _list_of_json(content: bytes, path: Sequence[str]) -> tuple[list[bytes], bytes]:
    name, *others = path
    members = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    value = bytes(members.get(name, b""))
    if others:
        found, rest = _list_of_json(value, others)
    else:
        found, rest = [bytes(one) for one in msgspec.json.decode(value, type=list[msgspec.Raw])], b"[]"
    members[name] = msgspec.Raw(rest)
    return found, msgspec.json.encode(members)


def documents(content: bytes) -> Iterator[bytes]:
    """Yield the JSON objects and lists of a file, one after the other over any lines.

    Raises:
        FormError: One of them has no end, or something else stands between them.
    """
    content = content.removeprefix(BOM)
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    else:
        yield content
        return
    at = 0
    while (at := _after_gap(content, at)) < len(content):
        if content[at : at + 1] not in {b"{", b"["}:
            raise FormError(f"line {_line(content, at)}: neither a JSON object nor a list begins here")
        end = _ends(content, at)
        yield content[at:end]
        at = end


def texts_of_sequence(content: Iterable[bytes], max_bytes: int) -> NumberedLines:
    """Yield the texts of a JSON text sequence (RFC 7464), such as GeoJSON's (RFC 8142), each with its number.

    Args:
        content: The bytes, in blocks of any size.
        max_bytes: A longer text is cut, to ``max_bytes + 1`` or a little more, to bound the memory.

    >>> list(texts_of_sequence([b'\\x1e{}\\n\\x1e{"a"', b': 1}\\n'], 100))
    [(1, b'{}'), (2, b'{"a": 1}')]
    """
    number, rest = 0, b""
    for block in content:
        texts = (rest + block).split(RECORD_SEPARATOR)
        rest = texts.pop()[: max_bytes + 1]
        for text in filter(bytes.strip, texts):
            number += 1
            yield number, text.strip()
    if rest.strip():
        yield number + 1, rest.strip()


def _split(content: bytes, begin: int) -> tuple[list[bytes], int]:
    """Split the list that begins at an index at its own commas, and return its elements and the index of its end."""
    found: list[bytes] = []
    depth, after = 0, begin + 1
    for match in _MARKS.finditer(content, begin):
        mark = match[0]
        _refuse_open_text(mark, content, match.start())
        depth += _step(mark)
        if depth == 0 or (depth == 1 and mark == b","):
            found.append(content[after : match.start()].strip())
            after = match.end()
        if depth == 0:
            return (found if found[-1] else found[:-1]), after
    raise FormError(f"the JSON array that begins in line {_line(content, begin)} has no end: is the file cut off?")


def top_members(content: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the names of the members of one object, as they are written, each with the index behind its colon.

    The object may be cut off; then the names before its cut are yielded.
    """
    depth = 0
    for match in _MARKS.finditer(content):
        depth += _step(match[0])
        if depth == 1 and (value := _COLON.match(content, match.end())) is not None:
            yield match[0], value.end()


def _list_named(content: bytes, name: str) -> int:
    """Return where a list begins that is a member of the object at the top."""
    key = msgspec.json.encode(name)
    for written, at in top_members(content):
        if written == key and content[at : at + 1] == b"[":
            return at
    raise FormError(f"has no list {name} at the top of its JSON document, or no end: is the file cut off?")


def _ends(content: bytes, begin: int) -> int:
    """Return the index behind the object or list that begins at an index."""
    depth = 0
    for match in _MARKS.finditer(content, begin):
        _refuse_open_text(match[0], content, match.start())
        depth += (step := _step(match[0]))
        if step < 0 and depth == 0:
            return match.end()
    raise FormError(f"the JSON document that begins in line {_line(content, begin)} has no end: is the file cut off?")


def _step(mark: bytes) -> int:
    """Return by how much a mark changes the depth."""
    return (mark in {b"[", b"{"}) - (mark in {b"]", b"}"})


def _refuse_open_text(mark: bytes, content: bytes, at: int) -> None:
    if mark == b'"':
        raise FormError(f"line {_line(content, at)}: a text is not closed, so the JSON has no end")


def _after_gap(content: bytes, at: int) -> int:
    match = _BETWEEN.match(content, at)
    return at if match is None else match.end()


def _line(content: bytes, at: int) -> int:
    return len(content[: at + 1].splitlines())
