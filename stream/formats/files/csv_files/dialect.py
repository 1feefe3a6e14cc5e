"""Dialects of CSV: what separates values, the decimal sign, the header, the encoding of the text."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from stream.formats.files.form_error import FormError

__all__ = ["AUTO", "COMMAS", "DELIMITERS", "Dialect", "Transcoded", "delimiter_of", "text_encoding", "wide_encoding"]

AUTO = "auto"

DELIMITERS = {AUTO: "", "comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
"""The character of each delimiter with a name."""


_NOT_OF_FILES = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Encodings of Python's own, for names of hosts and for source code: no program writes a file of records in them."""

_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Byte order marks; that of UTF-32 begins with that of UTF-16."""

_ZEROS = {"0101": "utf-16-le", "1010": "utf-16-be", "0111": "utf-32-le", "1110": "utf-32-be"}
"""Which of four bytes are 0 in text that is mostly ASCII."""

_LOOKED_AT = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a CSV is written."""

    delimiter: str = ""
    """One character; empty for the one that fits the first line."""

    decimal: str = "."
    columns: Sequence[str] = ()
    """Names of the columns if the file has no header."""

    encoding: str = "utf-8"


COMMAS = Dialect()
"""The dialect of RFC 4180; the header decides what separates values."""


def delimiter_of(name: str) -> str | None:
    """Return the character that a name means, empty for ``auto``; None if the name means none.

    >>> delimiter_of("tab"), delimiter_of(";"), delimiter_of("tabs")
    ('\\t', ';', None)
    """
    if name in DELIMITERS:
        return DELIMITERS[name]
    is_usable = len(name) == 1 and not name.isalnum() and name not in '"\r\n.+-'
    return name if is_usable else None


def text_encoding(name: str) -> str | None:
    """Return the standard name of an encoding of text in files; None if there is none.

    >>> text_encoding("Latin1"), text_encoding("rot13"), text_encoding("punycode")
    ('iso8859-1', None, None)
    """
    try:
        found = codecs.lookup(name)
        found.incrementaldecoder().decode(b"", final=False)
    except (LookupError, TypeError, AttributeError, ValueError):
        return None
    return found.name if getattr(found, "_is_text_encoding", True) and found.name not in _NOT_OF_FILES else None


def wide_encoding(start: bytes) -> str | None:
    """Return which of UTF-16 and UTF-32 a text begins in, by its byte order mark or by which bytes are 0; None if none.

    >>> wide_encoding("user".encode("utf-16-be")), wide_encoding("user".encode("utf-16")), wide_encoding(b"user")
    ('utf-16-be', 'utf-16', None)
    """
    if (marked := next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)) is not None:
        return marked
    four = [start[i:_LOOKED_AT:4] for i in range(4)]
    return _ZEROS.get("".join("01"[2 * column.count(0) > len(column)] for column in four))


class Transcoded:
    """A stream of text in any encoding, read as UTF-8; bytes that are no text stay, so that their line is rejected.

    Args:
        stream: The bytes.
        encoding: Their encoding.
    """

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream, self._encoding, self._rest, self._is_at_end = stream, encoding, b"", False
        self._start: bytes | None = None
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer only at the end.

        Raises:
            FormError: The encoding is another, or the text ends within a character.
        """
        while len(self._rest) < size and not self._is_at_end:
            block = self._stream.read(size)
            self._is_at_end = not block
            self._start = block[:_LOOKED_AT] if self._start is None else self._start
            try:
                text = self._decoder.decode(block, final=not block)
                self._rest += text.encode("utf-8", "surrogateescape")
            except UnicodeError:
                raise FormError(f"is not text in {self._encoding} (input.text_encoding): {self._why()}") from None
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def _why(self) -> str:
        found = wide_encoding(self._start or b"")
        if found is not None and not self._encoding.startswith(found):
            return f"its bytes are those of {found}"
        if self._encoding.startswith(("utf-16", "utf-32")) and _is_utf8(self._start or b""):
            return "its bytes are those of utf-8"
        if self._is_at_end:
            return "it ends within a character: is it cut off?"
        if self._encoding in _MARKS.values():
            return f"it has no byte order mark; {self._encoding}-le and {self._encoding}-be need none"
        return "name the encoding that it has, or save it as UTF-8"


def _is_utf8(start: bytes) -> bool:
    """Whether the first bytes of a text are UTF-8 without a NUL character; the last character may be cut off."""
    try:
        return "\0" not in codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
