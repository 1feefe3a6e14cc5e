"""The files that are evaluated and attacked: raw feeds, and releases of Shoal and of other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from core.records.arrays import FloatArray
from core.records.record import Kind
from core.trajectories.journeys import Journeys
from stream.formats.files.record_file import FileFormatError
from stream.replay.evaluation.itemsets import ItemRows, read_items
from stream.replay.evaluation.metres import is_in_metres, read_metres
from stream.replay.evaluation.placed import sphere_sum
from stream.replay.evaluation.records import RecordBatches, table_settings
from stream.replay.evaluation.shoal_release import ShoalRelease
from stream.replay.stored.stored_release import StoredRelease
from stream.settings.model import Settings

__all__ = [
    "ComparedData",
    "DataSource",
    "EvaluationError",
    "cut_into_windows",
    "read_source",
    "records_of",
    "shown_name",
]


class EvaluationError(Exception):
    """A comparison is not possible; the message says why and what to do."""


class ComparedData(Protocol):
    """A raw feed or a release that can be compared with another, read at once or in parts.

    Both that are compared have as many parts, and the same people or windows in those of the same number.
    """

    @property
    def name(self) -> str:
        """How tables call it."""

    @property
    def form(self) -> str:
        """What was read, in words."""

    @property
    def window_ms(self) -> int | None:
        """Length of the windows of a release of Shoal."""

    @property
    def is_of_people(self) -> bool:
        """Whether each journey is a person; who is not cannot be attacked."""

    @property
    def left_out(self) -> int:
        """Rows that could not be read so far."""

    @property
    def stated(self) -> Mapping[str, float]:
        """Information loss that a release of Shoal states, means over its windows, weighted by journeys."""

    @property
    def is_in_memory(self) -> bool:
        """Whether it is one part: all people and windows at once."""

    def parts(self, size_ms: int | None) -> Iterator[Journeys]:
        """Yield parts with everybody in their windows, or, without windows, with some people each.

        Args:
            size_ms: Length of the windows into which it is cut; None leaves it as it is.

        Raises:
            EvaluationError: It cannot be cut into such windows.
        """

    def parts_of_people(self, size_ms: int | None) -> Iterator[Journeys]:
        """Yield parts with some people each, and with all of their windows; the same arguments and errors."""

    def position_sum(self) -> FloatArray | None:
        """Return :func:`stream.replay.evaluation.placed.sphere_sum` of all positions; None if they are metres."""


def cut_into_windows(source: DataSource, size_ms: int | None) -> Journeys:
    """Return the journeys of a source in windows of a size; None leaves them as they are.

    Raises:
        EvaluationError: The file has no times, so that it cannot be cut.
    """
    if size_ms is None or source.window_ms == size_ms:  # already in these windows, which need not have times
        return source.journeys
    if source.journeys.t_ms is None:
        raise EvaluationError(f"{source.name}: has no times, so that it cannot be cut into windows: leave --window out")
    return source.journeys.in_windows(size_ms)


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

    is_in_memory: bool = field(default=True, init=False)
    """See :class:`ComparedData`."""

    def parts(self, size_ms: int | None) -> Iterator[Journeys]:
        """See :class:`ComparedData`."""
        yield cut_into_windows(self, size_ms)

    parts_of_people = parts

    def position_sum(self) -> FloatArray | None:
        """See :class:`ComparedData`."""
        return None if self.journeys.is_metres or self.journeys.xy is None else sphere_sum(self.journeys.xy)


def shown_name(path: Path) -> str:
    """Return how tables call a file: a release of Shoal has the name of its folder."""
    is_file_of_release = not path.is_dir() and StoredRelease.find(path) is not None
    return path.parent.name if is_file_of_release and path.parent.name else path.name


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
        path: A folder of ``shoal replay --output`` in any format, or its file of trajectories; ``id, seconds, x, y``
            in metres, separated by tabs; or a table of points (CSV, Parquet and every other form that a replay reads).
        items: How the file is read if it has one row of items for each person.
        kind: What the records of a raw feed are, if they are read with the settings of a feed.
        settings: These settings.
        progress: Called with what is being read, after every part of it.

    Raises:
        FileFormatError: The file has none of these forms, or nothing in it can be read.
    """
    stored = StoredRelease.find(path)
    if stored is not None:
        release = ShoalRelease(stored, progress)
        journeys = release.journeys(release.messages())
        return DataSource(
            name=shown_name(path),
            journeys=journeys,
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
    records = records_of(path, kind, settings, progress)
    journeys = records.journeys(list(records))
    form = kind.value if kind else "points in degrees"
    return DataSource(name=path.name, journeys=journeys, form=form, left_out=records.left_out)


def records_of(
    path: Path, kind: Kind | None, settings: Settings | None, progress: Callable[[str], None]
) -> RecordBatches:
    """Return the records of a feed, or of a table of points; arguments as for :func:`read_source`."""
    own = settings if kind is not None and settings is not None else table_settings(path)
    return RecordBatches(own, kind or Kind.CHECKINS, path, progress, is_table=kind is None)
