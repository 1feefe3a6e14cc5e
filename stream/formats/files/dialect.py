"""Dialects of CSV: what separates values, the decimal sign, the header, the encoding of the text."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

__all__ = ["AUTO", "COMMAS", "DELIMITERS", "Dialect", "Transcoded", "delimiter_of", "text_encoding"]

AUTO = "auto"

DELIMITERS = {AUTO: "", "comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
"""The character of each delimiter with a name."""


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
    """Return the standard name of an encoding of text; None if there is none."""
    try:
        found = codecs.lookup(name)
        found.incrementaldecoder().decode(b"", final=False)
    except (LookupError, TypeError, AttributeError):
        return None
    return found.name if getattr(found, "_is_text_encoding", True) else None


class Transcoded:
    """A stream of text in any encoding, read as UTF-8; bytes that are no text stay, so that their line is rejected."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream, self._rest, self._is_at_end = stream, b"", False
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer only at the end."""
        while len(self._rest) < size and not self._is_at_end:
            block = self._stream.read(size)
            self._is_at_end = not block
            self._rest += self._decoder.decode(block, final=not block).encode("utf-8", "surrogateescape")
        found, self._rest = self._rest[:size], self._rest[size:]
        return found
