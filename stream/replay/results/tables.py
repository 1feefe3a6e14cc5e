"""Results as tables of flat rows: CSV, and Parquet with geometries."""

from __future__ import annotations

import csv
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from typing import Any

import msgspec

from stream.formats.release.encoding import Content
from stream.formats.release.encodings import has_points
from stream.formats.release.rows import ReleaseRow, location_rows, trajectory_rows, window_row
from stream.formats.release.tables import TableColumn, anonymized_columns, location_columns, window_columns
from stream.replay.results.part_files import PartFiles
from stream.replay.results.results import Results, WindowMessages

__all__ = ["CsvFiles", "TableFiles"]


class TableFiles(Results):
    """The tables ``anonymized`` and ``windows``, and ``locations`` if the releases have generalized locations.

    Args:
        model: The model of the releases.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self.begin("windows", window_columns(model))
        self._has_places = not has_points(model)
        if self._has_places:
            self.begin("locations", location_columns())
        self._has_begun = False

    def add(self, window: WindowMessages) -> None:
        """See :meth:`Results.add`."""
        self.write("windows", [window_row(window.window)])
        if self._has_places:
            self.write("locations", location_rows(window.window))
        trajectories = window.trajectories
        if trajectories:
            self._begin_trajectories(trajectories[0])
        for number, content in enumerate(trajectories):
            self.write("anonymized", trajectory_rows(content, window.positions, number))

    def finish(self) -> None:
        """See :meth:`Results.finish`."""
        self._begin_trajectories(None)
        self.end()

    def _begin_trajectories(self, example: Content | None) -> None:
        if not self._has_begun:
            self.begin("anonymized", anonymized_columns(self._model, example))
            self._has_begun = True

    @abstractmethod
    def begin(self, table: str, columns: Sequence[TableColumn]) -> None:
        """Begin a table."""

    @abstractmethod
    def write(self, table: str, rows: Iterable[ReleaseRow]) -> None:
        """Write rows of a table."""

    @abstractmethod
    def end(self) -> None:
        """End all tables."""


class CsvFiles(TableFiles):
    """Tables as CSV in UTF-8. Lists and objects are JSON; what is missing is empty.

    Args:
        files: Where to write.
        model: The model of the releases.
    """

    def __init__(self, files: PartFiles, model: str) -> None:
        self._files = files
        self._texts: dict[str, TextIOWrapper] = {}
        self._writers: dict[str, Any] = {}
        self._columns_of: dict[str, Sequence[TableColumn]] = {}
        super().__init__(model)

    def begin(self, table: str, columns: Sequence[TableColumn]) -> None:
        """See :meth:`TableFiles.begin`."""
        text = TextIOWrapper(self._files.open(f"{table}.csv"), encoding="utf-8", newline="")
        self._texts[table], self._columns_of[table] = text, columns
        self._writers[table] = csv.writer(text, lineterminator="\n")
        self._writers[table].writerow(column.name for column in columns)

    def write(self, table: str, rows: Iterable[ReleaseRow]) -> None:
        """See :meth:`TableFiles.write`."""
        columns = self._columns_of[table]
        self._writers[table].writerows([_cell(row.get(column.name), column) for column in columns] for row in rows)

    def end(self) -> None:
        """See :meth:`TableFiles.end`."""
        for text in self._texts.values():
            text.detach()  # flushes; the file itself is closed by its owner


def _cell(value: Any, column: TableColumn) -> Any:
    if value is None:
        return ""
    if column.type == "flag":
        return "true" if value else "false"
    if column.type == "instant":  # readers take the form of the first for that of all
        return value if "." in value else value.removesuffix("Z") + ".000Z"
    return msgspec.json.encode(value).decode() if column.type in ("texts", "json") else value
