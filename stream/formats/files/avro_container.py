"""Avro object container files: the rows of each block as documents."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import cramjam

from stream.formats.files.form_error import FormError
from stream.formats.input.encodings.avro import AvroSchemaError, avro_reader
from stream.formats.input.encodings.extras import MissingExtraError
from stream.formats.input.errors import UnreadableError

__all__ = ["AvroRows"]

_MAGIC = b"Obj\x01"
_SYNC = 16
"""Bytes of the mark behind every block."""

_LARGEST = 2**28
"""Bytes of the largest block that is read; writers make blocks of some kilobytes to a few megabytes."""

_MOST_METADATA = 2**20


class AvroRows:
    """The rows of an Avro object container file (Avro 1.12, "Object Container Files") as documents.

    Values are as :func:`~stream.formats.input.encodings.avro.avro_reader` returns them.

    Args:
        stream: The file, at its beginning.

    Raises:
        FormError: fastavro is not installed, the file is damaged, or its schema or codec is not known.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        if self._exactly(len(_MAGIC)) != _MAGIC:
            raise FormError("is not an Avro object container file")
        metadata = self._metadata()
        self._sync = self._exactly(_SYNC)
        codec = metadata.get("avro.codec", b"null").decode("ascii", "replace")
        if codec not in _CODECS:
            raise FormError(f"is Avro with an unknown codec: it must be one of {', '.join(sorted(_CODECS))}")
        self._unpack = _CODECS[codec]
        schema = metadata.get("avro.schema", b"").decode("utf-8", "replace")
        try:
            # A block is what an array of rows is in a message, apart from its count and the zero at its end.
            self._rows = avro_reader(f'{{"type": "array", "items": {schema}}}')
        except MissingExtraError:
            raise FormError("is Avro, which needs fastavro: pip install 'shoal[avro]'") from None
        except AvroSchemaError as fault:
            raise FormError(f"is Avro whose schema cannot be used: {fault}") from None

    def read(self) -> Iterator[tuple[int, Any]]:
        """Yield each row with its number; the first is 1.

        Raises:
            FormError: The file is damaged.
        """
        number = 0
        while (first := self._stream.read(1)) != b"":
            for row in self._block(first, number):
                number += 1
                yield number, row

    def _block(self, first: bytes, n_before: int) -> list[Any]:
        count, size = self._long(first), self._long()
        if count < 0 or not 0 <= size <= _LARGEST:
            raise FormError(f"is damaged after row {n_before}: a block has an impossible size")
        content = self._exactly(size)
        if self._exactly(_SYNC) != self._sync:
            raise FormError(f"is damaged after row {n_before}: a block does not end where it says")
        try:
            rows: list[Any] = self._rows(_zigzag(count) + self._unpack(content) + b"\0")
        except (UnreadableError, ValueError, OSError, EOFError, zlib.error, lzma.LZMAError, cramjam.DecompressionError):
            raise FormError(f"is damaged after row {n_before}: a block cannot be decoded") from None
        return rows

    def _metadata(self) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        while count := self._long():
            if count < 0:  # the number of bytes follows, for readers that skip
                count = -count
                self._long()
            for _ in range(count):
                key = self._bytes().decode("utf-8", "replace")
                found[key] = self._bytes()
        return found

    def _bytes(self) -> bytes:
        size = self._long()
        if not 0 <= size <= _MOST_METADATA:
            raise FormError("is Avro whose header is damaged")
        return self._exactly(size)

    def _long(self, first: bytes | None = None) -> int:
        """Read a whole number (Avro 1.12, "Primitive Types"), of which the first byte may have been read."""
        value, shift = 0, 0
        byte = self._exactly(1) if first is None else first
        while byte[0] & 0x80:
            value |= (byte[0] & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise FormError("is Avro that is damaged: a number has no end")
            byte = self._exactly(1)
        value |= byte[0] << shift
        return (value >> 1) ^ -(value & 1)

    def _exactly(self, size: int) -> bytes:
        content = self._stream.read(size)
        if len(content) != size:
            raise FormError("is Avro that ends too early: is the file cut off?")
        return content


def _zigzag(count: int) -> bytes:
    """Write a whole number that is not negative as Avro does."""
    value, found = count << 1, bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _inflated(content: bytes) -> bytes:
    unpacker = zlib.decompressobj(-15)
    return _bounded(unpacker.decompress(content, _LARGEST + 1))


def _from_snappy(content: bytes) -> bytes:
    return bytes(cramjam.snappy.decompress_raw(content[:-4]))  # its checksum follows


def _from_zstd(content: bytes) -> bytes:
    return bytes(cramjam.zstd.decompress(content))


def _bounded(content: bytes) -> bytes:
    if len(content) > _LARGEST:
        raise ValueError("too large")
    return content


_CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": _inflated,
    "snappy": _from_snappy,
    "zstandard": _from_zstd,
    "bzip2": lambda content: _bounded(bz2.BZ2Decompressor().decompress(content, _LARGEST + 1)),
    "xz": lambda content: _bounded(lzma.LZMADecompressor().decompress(content, _LARGEST + 1)),
}
