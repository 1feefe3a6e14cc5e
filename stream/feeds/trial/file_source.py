"""A file as the source of a trial."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from core.records.record import Kind
from stream.feeds.decoders import message_decoder
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.feeds.trial.beginning import beginning_of_json
from stream.feeds.trial.sample import Sample
from stream.formats.files.form_error import FormError
from stream.formats.files.forms import Form, binary_form, form_of, may_be_message
from stream.formats.files.opened_file import OpenedFile
from stream.formats.files.record_file import FileFormatError, RecordFile
from stream.formats.files.rejections import within
from stream.formats.input.json_messages import BOM
from stream.formats.input.mapping import Entry, MappingOptions, Observer
from stream.formats.input.paths import Origin
from stream.settings.input import FieldSettings
from stream.settings.model import Settings

__all__ = ["FileSource"]

_LARGE = 4 * 1024**2
"""Bytes of a JSON document of which only the beginning is read."""

_TABLE_BYTES = _LARGE // 16
"""Bytes of a table from which its first lines are taken."""

_MOST_LINES = 200
_TABLES = (Form.CSV, Form.METRES)
_BINARY_FORMS = (None, Form.MESSAGE, Form.PARQUET, Form.AVRO)


class FileSource:
    """The first records of a file. Close it when done.

    Args:
        path: The file.
        most: Number of records.
    """

    def __init__(self, path: Path, most: int) -> None:
        self.name = str(path)
        self._path, self._most = path, most
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._shorten()

    def close(self) -> None:
        """Remove what was written for the trial."""
        if self._folder is not None:
            self._folder.cleanup()

    def entries(self, settings: Settings, feed: Feed, observer: Observer) -> Iterator[tuple[str, Entry]]:
        """See :class:`stream.feeds.trial.findings.RecordSource`."""
        try:
            (file,) = open_files(settings, feed, [self._path], observer)
            with closing(file):
                for (number, element), entry in file.entries():
                    yield f"{file.unit} {number}{within(element)}", entry
        except FileFormatError as fault:
            raise FileFormatError(str(fault).replace(str(self._path), self.name)) from None

    def form(self) -> str:
        """See :class:`stream.feeds.trial.findings.RecordSource`."""
        try:
            form = self._form()
            return "not text" if form is Form.MESSAGE else form.value
        except FormError:  # the findings say why
            return "unknown"

    def sample(self, settings: Settings, kind: Kind) -> Sample:
        """Return its first documents, or the lines of a table.

        Args:
            settings: Say how a file that is no text is encoded.
            kind: What it holds.
        """
        found = Sample()
        try:
            form = self._form()
        except FormError:
            form = None
        found.is_text = form not in _BINARY_FORMS
        if form in _TABLES:
            found.lines = self._lines()
            return found

        def keep(record: Any, origin: Origin) -> None:
            found.documents.append(record)
            found.origins.append(origin)

        # The whole document counts as the record, so that its lists are seen as well. GPX is refused without `time`.
        names = FieldSettings().model_dump() | {"ts": "ts|time"}
        options = MappingOptions(names=names, records="/", observer=keep)
        is_encoded = settings.for_kind(kind).input.schema_file is not None
        with suppress(FileFormatError):
            file = RecordFile(
                self._path,
                kind,
                options,
                max_bytes=_LARGE,
                decoder=message_decoder(settings, kind) if is_encoded else None,
            )
            with closing(file):
                for _ in islice(file.entries(), self._most):
                    pass
        return found

    def _form(self) -> Form:
        file = OpenedFile(self._path)
        try:
            if (binary := binary_form(file.magic)) is not None:
                return binary
            file.read_head("utf-8")
            return form_of(self._path, file.head, is_whole=file.is_whole, is_metres=False, has_list=True)
        except FormError:
            if may_be_message(self._path, file.magic):
                return Form.MESSAGE
            raise
        finally:
            file.close()

    def _start(self, n_bytes: int) -> bytes:
        with suppress(FormError, OSError, EOFError, zlib.error), closing(OpenedFile(self._path)) as file:
            return file.binary.read(n_bytes)
        return b""

    def _lines(self) -> list[bytes]:
        start = self._start(_TABLE_BYTES)
        lines = start.removeprefix(BOM).splitlines()
        if len(start) == _TABLE_BYTES:
            lines = lines[:-1]  # it may be cut off
        return lines[: min(self._most + 1, _MOST_LINES)]

    def _shorten(self) -> None:
        """Let the beginning of a large JSON document stand for the whole, which would take long to read many times."""
        start = self._start(_LARGE)
        text = start.removeprefix(BOM).lstrip()
        if len(start) < _LARGE or text[:1] not in (b"{", b"["):
            return
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            msgspec.json.decode(text.partition(b"\n")[0], type=msgspec.Raw)
            return  # one record a line
        if (beginning := beginning_of_json(text)) is not None:
            self._folder = tempfile.TemporaryDirectory(prefix="shoal-try-")
            self._path = Path(self._folder.name) / self._path.name
            self._path.write_bytes(beginning)
