"""Digests of settings and of the files that they name: workers with equal digests behave alike."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from stream.settings.errors import SettingsError, cannot_be_read

__all__ = ["digest", "file_digest", "file_label"]


def digest(*parts: object) -> str:
    """Return a short digest of plain data, the same on every machine."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_digest(file: Path | None, setting: str) -> str:
    """Return a digest of the content of the file that a setting names; the empty text if it names none.

    Raises:
        SettingsError: The file cannot be read.
    """
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() if file is not None else ""
    except OSError as fault:
        raise SettingsError(f"{setting} {file}: {cannot_be_read(fault)}") from None


def file_label(file: Path) -> str:
    """Return a label of a file, its name and a digest of its content, for the parameters that a release publishes."""
    return f"{file.stem}:{hashlib.sha256(file.read_bytes()).hexdigest()[:8]}"
