"""Forms of files of records, detected by the name and the first bytes."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

import msgspec

from stream.formats.files.csv_files.dialect import wide_encoding
from stream.formats.files.form_error import FormError
from stream.formats.files.geojson import is_collection
from stream.formats.files.json_values import RECORD_SEPARATOR
from stream.formats.input.json_messages import BOM, is_utf16, standard_tokens

__all__ = ["Form", "binary_form", "form_of", "may_be_message"]

_NAMES = frozenset({".ndjson", ".jsonl", ".json"})
_TEXTS = _NAMES | {".csv", ".tsv", ".txt", ".gpx", ".geojson", ".geojsonl"}

_BINARY = {
    re.compile(start, re.DOTALL): name
    for start, name in {
        rb"PK\x03\x04": "a ZIP archive or a spreadsheet",
        rb"\x1f\x8b": "gzip inside gzip",
        rb"BZh[1-9]1AY&SY": "bzip2",
        rb"\xfd7zXZ\x00": "xz",
        rb"\x28\xb5\x2f\xfd": "zstd",
        rb"\x04\x22\x4d\x18": "lz4",
        rb"7z\xbc\xaf": "a 7z archive",
        rb"SQLite format 3\x00": "an SQLite database",
        rb"%PDF-": "a PDF",
    }.items()
}
"""How files of other formats begin."""

_PARQUET, _AVRO = b"PAR1", b"Obj\x01"

_FEED_MESSAGE = re.compile(rb"\n.\n\x03[12]\.0", re.DOTALL)
"""A header that begins with its version, as every FeedMessage does."""

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_LOOKED_AT = 256
"""Number of bytes at the start that decide whether a file is text."""


class Form(Enum):
    """The form of a file of records."""

    CSV = "CSV"
    NDJSON = "NDJSON"
    JSON_ARRAY = "JSON array"
    DOCUMENT = "JSON document"
    SEQUENCE = "JSON text sequence"
    METRES = "table of metres"
    GPX = "GPX"
    PARQUET = "Parquet"
    AVRO = "Avro"
    MESSAGE = "message"
    """One message as it would be on a topic, in the encoding that the settings name."""

    @property
    def unit(self) -> str:
        """What the numbers of its records count."""
        return _UNITS.get(self, "element")


_UNITS = {
    Form.CSV: "line",
    Form.NDJSON: "line",
    Form.METRES: "line",
    Form.GPX: "point",
    Form.PARQUET: "row",
    Form.AVRO: "row",
}


def binary_form(start: bytes) -> Form | None:
    """Return the form of a file that is not text, by its first bytes; None if it is another."""
    if start.startswith(_PARQUET):
        return Form.PARQUET
    return Form.AVRO if start.startswith(_AVRO) else None


def may_be_message(path: Path, start: bytes) -> bool:
    """Whether a file may be a message in another encoding than JSON, by its name and its first bytes.

    No Protobuf message begins as JSON and XML do. Settings for a topic also serve to replay its records as text.
    """
    return start[:1] not in {b"{", b"[", b"<"} and not _suffixes(path) & _TEXTS


def form_of(path: Path, head: bytes, *, is_whole: bool, is_metres: bool, has_list: bool = False) -> Form:
    """Return the form of a file of text.

    Args:
        path: The file; only its suffixes matter.
        head: Its first bytes, decompressed.
        is_whole: Whether ``head`` is the whole file.
        is_metres: Whether the suffix ``.tsv`` means metres.
        has_list: Whether the settings name a list of records, so that a single line may be a whole document.

    Raises:
        FormError: The file is not text in UTF-8, or is XML that is not GPX.
    """
    if head.startswith(RECORD_SEPARATOR):
        return Form.SEQUENCE
    if _is_gpx(head):
        return Form.GPX
    _refuse_binary(head)
    suffixes = _suffixes(path)
    if is_metres and ".tsv" in suffixes:
        return Form.METRES
    text = head.removeprefix(BOM).lstrip()
    is_named = bool(suffixes & _NAMES)
    if re.match(rb"\[\s*[{\]]", text) or (is_named and text.startswith(b"[")):
        return Form.NDJSON if _is_first_of_lines(text) else Form.JSON_ARRAY
    if text.startswith(b"{"):
        return Form.DOCUMENT if _is_document(text, is_whole=is_whole, has_list=has_list) else Form.NDJSON
    return Form.NDJSON if is_named else Form.CSV


def _suffixes(path: Path) -> set[str]:
    return {suffix.lower() for suffix in path.suffixes}


def _is_gpx(head: bytes) -> bool:
    """Whether a file is XML, in UTF-8 or not, whose first element is that of GPX.

    Raises:
        FormError: It is other XML.
    """
    text = head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xfe\xff \t\r\n")
    if not text.startswith(b"<"):
        return False
    if re.search(rb"<(?:\w+:)?gpx[\s>]", text):
        return True
    raise FormError("is XML or HTML, but not GPX: convert it to GPX, for example with gpsbabel, or to GeoJSON or CSV")


def _refuse_binary(head: bytes) -> None:
    if _FEED_MESSAGE.match(head):
        raise FormError("is GTFS-realtime in Protobuf: set input.preset to gtfs-realtime")
    for start_of, name in _BINARY.items():
        if start_of.match(head):
            raise FormError(f"is {name}: unpack or export it to CSV, NDJSON or Parquet, gzipped or not")
    if is_utf16(head):
        encoding = wide_encoding(head) or "the one that it has"
        raise FormError(f"is UTF-16 or UTF-32: save it as UTF-8, or set input.text_encoding to {encoding}")
    start = head[:_LOOKED_AT]
    if 10 * len(_CONTROL.findall(start)) > len(start):
        raise FormError(
            "is not text, nor Parquet or Avro: export it to CSV or NDJSON in UTF-8, gzipped or not; "
            "a message in Avro or Protobuf needs input.encoding and input.schema_file"
        )


def _is_first_of_lines(text: bytes) -> bool:
    """Whether the first line is an array of its own and other lines follow, so that the file is not one array."""
    first, *others = text.splitlines()
    return _fault(first) == "" and any(line.strip() for line in others)


def _is_document(text: bytes, *, is_whole: bool, has_list: bool) -> bool:
    """Whether a text that begins with an object is one over several lines, or several of them, and not NDJSON."""
    lines = text.splitlines(keepends=True)
    if is_whole and not any(line.strip() for line in lines[1:]):
        return has_list or is_collection(text)
    if len(lines) == 1 or "truncated" not in _fault(lines[0]):
        return False
    fault = _fault(text)
    # What follows the first value does not matter: some programs write one such document after the other.
    if not fault or "trailing" in fault or ("truncated" in fault and not is_whole):
        return True
    # It is damaged. A first record that is cut off is followed by a whole one, a list of records is not.
    second = next(line for line in lines[1:] if line.strip())
    return (has_list or is_collection(text)) and _fault(second) != ""


def _fault(text: bytes) -> str:
    """Return what is wrong with the JSON syntax of a text; empty if nothing is."""
    plain = re.sub("NaN|-?Infinity", "null", standard_tokens(text.decode("utf-8", "replace")))
    try:
        msgspec.json.decode(plain, type=msgspec.Raw)
    except msgspec.DecodeError as fault:
        return str(fault)
    except RecursionError:
        return "nested too deep"
    return ""
