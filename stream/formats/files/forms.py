"""Forms of files of records, detected by the name and the first bytes."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

import msgspec

from stream.formats.files.form_error import FormError
from stream.formats.files.json_values import elements
from stream.formats.input.json_messages import BOM, is_utf16, standard_tokens

__all__ = ["Form", "FormError", "elements", "form_of"]

_NAMES = frozenset({".ndjson", ".jsonl", ".json"})

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
        rb"PAR1\x15": "Parquet",
        rb"Obj\x01": "Avro",
        rb"SQLite format 3\x00": "an SQLite database",
        rb"%PDF-": "a PDF",
    }.items()
}
"""How files of other formats begin."""

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_LOOKED_AT = 256
"""Number of bytes at the start that decide whether a file is text."""


class Form(Enum):
    """The form of a file of records."""

    CSV = "CSV"
    NDJSON = "NDJSON"
    JSON_ARRAY = "JSON array"
    METRES = "table of metres"


def form_of(path: Path, head: bytes, *, is_whole: bool, is_metres: bool) -> Form:
    """Return the form of a file.

    Args:
        path: The file; only its suffixes matter.
        head: Its first bytes, decompressed.
        is_whole: Whether ``head`` is the whole file.
        is_metres: Whether the suffix ``.tsv`` means metres.

    Raises:
        FormError: The file is not text in UTF-8, or is one JSON object over several lines.
    """
    _refuse_binary(head)
    suffixes = {suffix.lower() for suffix in path.suffixes}
    if is_metres and ".tsv" in suffixes:
        return Form.METRES
    text = head.removeprefix(BOM).lstrip()
    is_named = bool(suffixes & _NAMES)
    if re.match(rb"\[\s*[{\]]", text) or (is_named and text.startswith(b"[")):
        return Form.NDJSON if _is_first_of_lines(text) else Form.JSON_ARRAY
    if text.startswith(b"{"):
        _refuse_document(text, is_whole=is_whole)
        return Form.NDJSON
    return Form.NDJSON if is_named else Form.CSV


def _refuse_binary(head: bytes) -> None:
    for start_of, name in _BINARY.items():
        if start_of.match(head):
            raise FormError(f"is {name}: unpack or export it to CSV or NDJSON in UTF-8, gzipped or not")
    if is_utf16(head):
        raise FormError("is UTF-16 or UTF-32: save it as UTF-8")
    start = head[:_LOOKED_AT]
    if 10 * len(_CONTROL.findall(start)) > len(start):
        raise FormError("is not text: it must be CSV or NDJSON in UTF-8, gzipped or not")


def _is_first_of_lines(text: bytes) -> bool:
    """Whether the first line is an array of its own and other lines follow, so that the file is not one array."""
    first, *others = text.splitlines()
    return _fault(first) == "" and any(line.strip() for line in others)


def _refuse_document(text: bytes, *, is_whole: bool) -> None:
    """Refuse one JSON object over several lines: each of its lines would be rejected."""
    lines = text.splitlines(keepends=True)
    if "truncated" not in _fault(lines[0]) or len(lines) == 1:
        return
    fault = _fault(text)
    # What follows the first value does not matter: some programs write one such document after the other.
    if not fault or "trailing" in fault or ("truncated" in fault and not is_whole):
        raise FormError(
            "is one JSON document over several lines and not NDJSON: write one record a line, or all as one JSON array"
        )


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
