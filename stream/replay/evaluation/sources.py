"""The files that are compared and attacked: raw feeds, and releases of Shoal and of other tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from core.records.record import Kind
from core.trajectories.journeys import Journeys
from stream.formats.files.record_file import FileFormatError
from stream.replay.evaluation.itemsets import ItemRows, read_items
from stream.replay.evaluation.metres import is_in_metres, read_metres
from stream.replay.evaluation.records import read_records, table_settings
from stream.replay.evaluation.shoal_release import read_shoal_release
from stream.replay.stored.stored_release import StoredRelease
from stream.settings.model import Settings

__all__ = ["DataSource", "read_source"]


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Journeys that were read, and what the file says of them."""

    name: str
    """How tables call it."""

    journeys: Journeys
    form: str
    """What was read, in words."""

    window_ms: int | None = None
    """Length of the windows of a release of Shoal."""

    model: str | None = None
    """Model of a release of Shoal."""

    is_of_people: bool = True
    """Whether each journey is a released person; who is not cannot be attacked."""

    left_out: int = 0
    """Rows that could not be read."""

    stated: dict[str, float] = field(default_factory=dict)
    """Information loss that a release of Shoal states, means over its windows, weighted by journeys."""


def read_source(
    path: Path,
    *,
    items: ItemRows | None = None,
    kind: Kind | None = None,
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> DataSource:
    """Read a raw feed or a release; its form is found by its content.

    Args:
        path: A folder of ``shoal replay --output`` in any format, or its file ``anonymized``; ``id, seconds, x, y`` in metres,
            separated by tabs; or a table of points (CSV, Parquet and every other form that a replay reads).
        items: How the file is read if it has one row of items for each person.
        kind: What the records of a raw feed are, if they are read with the settings of a feed.
        settings: These settings.
        progress: Called with what is being read, after every part of it.

    Raises:
        FileFormatError: The file has none of these forms, or nothing in it can be read.
    """
    stored = StoredRelease.find(path)
    if stored is not None:
        release = read_shoal_release(stored, progress)
        return DataSource(
            name=path.name if path.is_dir() else path.parent.name or path.name,
            journeys=release.journeys,
            form=f"release of Shoal, {release.model}",
            window_ms=release.window_ms,
            model=release.model,
            is_of_people=release.is_of_people,
            stated=release.stated,
        )
    if path.is_dir():
        raise FileFormatError(
            f"{path}: has no anonymized and windows files of one format: name a folder of shoal replay --output"
        )
    if items is not None:
        return DataSource(name=path.name, journeys=read_items(path, items), form=f"rows of {items.form}")
    if kind is None and is_in_metres(path):
        return DataSource(name=path.name, journeys=read_metres(path), form="points in metres")
    own = settings if kind is not None and settings is not None else table_settings(path)
    read = read_records(own, kind or Kind.CHECKINS, [path], progress, is_table=kind is None)
    return DataSource(
        name=path.name, journeys=read.journeys, form=kind.value if kind else "points in degrees", left_out=read.left_out
    )
