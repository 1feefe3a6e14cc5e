"""A file that is open: unpacked, its text in UTF-8, and its start at hand."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, cast

from stream.formats.files.csv_files.dialect import Transcoded
from stream.formats.files.csv_files.lines import NumberedLines, blocks, numbered
from stream.formats.files.form_error import FormError
from stream.formats.input.json_messages import BOM

__all__ = ["HEAD", "OpenedFile", "why_unreadable"]

HEAD = 2**16
"""Number of bytes at the start from which the form of a file is detected."""

_LONGEST_LINE = 2**29
"""Bytes of the longest line that is read to its end to see whether it is a JSON document, all of the file."""


class OpenedFile:
    """A file, gzipped or not.

    Args:
        path: The file.

    Raises:
        FormError: It cannot be opened, or is damaged gzip.
    """

    def __init__(self, path: Path) -> None:
        self.head = b""
        """The first bytes of a text, after :meth:`read_head`."""
        self.is_whole = False
        """Whether ``head`` is all of the file."""
        self._text: IO[bytes] | None = None
        self._spool: IO[bytes] | None = None
        try:
            self._raw = path.open("rb")
            self.size = path.stat().st_size
            self._is_packed = self._raw.peek(2)[:2] == b"\x1f\x8b"
            self._unpacked = gzip.GzipFile(fileobj=self._raw) if self._is_packed else self._raw
            self.magic: bytes = self._unpacked.peek(8)[:8]
            """The first bytes, whatever they are."""
        except (OSError, EOFError, zlib.error) as fault:
            raise FormError(f"cannot be read ({why_unreadable(fault)})") from None

    @property
    def position(self) -> int:
        """Bytes of the file read so far."""
        return self.size if self._raw.closed else self._raw.tell()

    @property
    def binary(self) -> IO[bytes]:
        """The file unpacked; nothing else may read from it."""
        return cast("IO[bytes]", self._unpacked)

    def seekable(self) -> IO[bytes]:
        """Return the file unpacked as a stream that can also be read from its end."""
        if not self._is_packed and self._raw.seekable():
            return self._raw
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the file
        shutil.copyfileobj(self._unpacked, self._spool)
        return self._spool

    def read_head(self, encoding: str) -> None:
        """Read the start of a text, which is longer where the first line of JSON is: it may be all of the file.

        Args:
            encoding: The encoding of the text.
        """
        text = self.binary if encoding == "utf-8" else cast("IO[bytes]", Transcoded(self.binary, encoding))
        self._text = text
        head = text.read(HEAD)
        is_whole, is_object = len(head) < HEAD, head.removeprefix(BOM).lstrip().startswith(b"{")
        while is_object and not is_whole and len(head) < _LONGEST_LINE and b"\n" not in head and b"\r" not in head:
            more = text.read(len(head))
            head, is_whole = head + more, not more
        self.head, self.is_whole = head, is_whole

    def content(self) -> Iterator[bytes]:
        """Return all of the text, in blocks."""
        return chain([self.head], blocks(self._text or self.binary))

    def lines(self, max_bytes: int) -> NumberedLines:
        """Return the lines of the text; see :func:`~stream.formats.files.csv_files.lines.numbered`."""
        return numbered(chain([self.head.removeprefix(BOM)], blocks(self._text or self.binary)), max_bytes)

    def close(self) -> None:
        """Close the file."""
        for stream in (self._unpacked, self._raw, self._spool):
            if stream is not None:
                stream.close()


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading, unpacked if it is gzipped.

    Raises:
        OSError: It cannot be opened.
    """
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path, "rb")) if is_packed else path.open("rb")


def why_unreadable(fault: Exception) -> str:
    """Return in a few words why a file cannot be read."""
    return getattr(fault, "strerror", None) or "damaged gzip"
