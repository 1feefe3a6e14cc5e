"""The windows that a replay wrote to a folder, for the live page.

Only figures are kept in memory: the messages of a release are read from the files when the map shows it.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from core.models.common.values import show_duration
from core.models.registry import FAMILIES, family_of
from core.places.locate import H3Cells, Locator
from core.records.instants import rfc3339
from core.release.outcome import WithholdReason
from stream.worker.api import FeedStatus, WindowFigures, WithheldStatus, WorkerStatus
from stream.worker.fitting_vocabulary import fitting_vocabulary
from stream.worker.recent_windows import MAPPED_BYTES, MAPPED_TRAJECTORIES, MEANINGS
from stream.worker.shapes import NamedPlace, Shapes, shapes

__all__ = ["SHOWN_WINDOWS", "ReplayedWindows", "ViewError"]

SHOWN_WINDOWS = 1000
"""Most windows on the page: the last of the file."""

_MODELS = frozenset(model for family in FAMILIES for model in family.models)
_MEANINGS = {reason.value: meaning for reason, meaning in MEANINGS.items()}
_H3 = H3Cells(8)


class ViewError(Exception):
    """A folder cannot be shown; the message says what to do."""


class _Located(msgspec.Struct):
    locations: list[NamedPlace] = []


class _Line(msgspec.Struct):
    release: str


class _At(NamedTuple):
    """Where lines are in a file, bytes."""

    start: int
    end: int


_figures = msgspec.json.Decoder(WindowFigures)
_located = msgspec.json.Decoder(_Located)
_line = msgspec.json.Decoder(_Line)


class ReplayedWindows:
    """What the page shows of a folder.

    Args:
        folder: Holds ``windows.ndjson`` and ``anonymized.ndjson``.
        locators: The vocabularies of locations that the settings name. The first that fits the folder's locations is
            used.
        tile_url: Background map tiles.
        progress: Called with the number of bytes read so far.

    Raises:
        ViewError: The folder has no windows, or a line is not a message of a release.
    """

    page = True

    def __init__(
        self,
        folder: Path,
        *,
        locators: Sequence[Locator] = (),
        tile_url: str | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.tile_url = tile_url
        self._name = folder.resolve().name
        self._marks, self._trajectories = (folder / f"{topic}.ndjson" for topic in ("windows", "anonymized"))
        if not self._marks.is_file():
            raise ViewError(
                f"{folder} has no windows.ndjson: name the folder that `shoal replay --output` wrote, with the format "
                "ndjson"
            )
        self._windows: OrderedDict[str, WindowFigures] = OrderedDict()
        self._mark_at: dict[str, _At] = {}
        self._counts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._shards: Counter[tuple[str, str]] = Counter()
        self._read_windows(progress)
        self._trajectories_at: dict[str, _At] = {}
        if self._trajectories.is_file():
            self._index_trajectories(progress, self._marks.stat().st_size)
        candidates = [*locators, _H3]
        places = self._last_places()
        self.n_locations = len(places)
        """Generalized locations of the last release that has some."""
        self.locator = fitting_vocabulary(candidates, places)

    @staticmethod
    def size(folder: Path) -> int:
        """Return how many bytes there are to read."""
        files = (folder / f"{topic}.ndjson" for topic in ("windows", "anonymized"))
        return sum(file.stat().st_size for file in files if file.is_file())

    @property
    def n_windows(self) -> int:
        """Windows in the folder; the page shows the last :data:`SHOWN_WINDOWS` of them."""
        return self._counts.total()

    def _read_windows(self, progress: Callable[[int], None]) -> None:
        at = 0
        with self._marks.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    figures = _figures.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    raise self._not_a_message(self._marks, number) from None
                if figures.reason == WithholdReason.VERIFICATION_FAILED:
                    figures = msgspec.structs.replace(figures, outcome="refused")
                self._counts[figures.outcome] += 1
                self._shards[figures.kind, figures.shard] += 1
                if figures.reason is not None:
                    self._reasons[figures.reason] += 1
                self._windows[figures.release] = figures
                self._mark_at[figures.release] = _At(at, at + len(line))
                if len(self._windows) > SHOWN_WINDOWS:
                    oldest, _ = self._windows.popitem(last=False)
                    del self._mark_at[oldest]
                at += len(line)
                progress(at)

    def _index_trajectories(self, progress: Callable[[int], None], before: int) -> None:
        """Find the lines of each release; they stand together."""
        at, release, start = 0, "", 0
        with self._trajectories.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    found = _line.decode(line).release
                except (msgspec.DecodeError, UnicodeDecodeError):
                    raise self._not_a_message(self._trajectories, number) from None
                if found != release:
                    self._note(release, start, at)
                    release, start = found, at
                    progress(before + at)
                at += len(line)
        self._note(release, start, at)
        progress(before + at)

    def _note(self, release: str, start: int, end: int) -> None:
        if release in self._windows and release not in self._trajectories_at:
            self._trajectories_at[release] = _At(start, end)

    def _not_a_message(self, file: Path, number: int) -> ViewError:
        return ViewError(
            f"{file}, line {number}, is not a message of a release: name a folder that `shoal replay --output` wrote"
        )

    def windows(self) -> list[WindowFigures]:
        """Return the figures of the last windows, the newest first."""
        last_first = reversed(self._windows.values())
        return [msgspec.structs.replace(one, on_map=self._is_on_map(one)) for one in last_first]

    def _is_on_map(self, one: WindowFigures) -> bool:
        return one.outcome == "released" and one.release in self._trajectories_at

    def shapes(self, release: str) -> Shapes | None:
        """Return the geometry of one release, or None if the folder has none."""
        figures = self._windows.get(release)
        if figures is None or not self._is_on_map(figures):
            return None
        at = self._trajectories_at[release]
        with self._trajectories.open("rb") as file:
            file.seek(at.start)
            # A line that is cut is left out.
            kept = file.read(min(at.end - at.start, MAPPED_BYTES)).split(b"\n")[:MAPPED_TRAJECTORIES]
            if at.end - at.start > MAPPED_BYTES and len(kept) < MAPPED_TRAJECTORIES:
                kept = kept[:-1]
        return shapes(self._mark(release), [line for line in kept if line], self.locator)

    def _mark(self, release: str) -> bytes:
        """Return the windows message of a release."""
        at = self._mark_at[release]
        with self._marks.open("rb") as file:
            file.seek(at.start)
            return file.read(at.end - at.start)

    def _last_places(self) -> Sequence[NamedPlace]:
        """Return the generalized locations of the last release that has some."""
        for release in reversed(self._windows):
            if places := _located.decode(self._mark(release)).locations:
                return places
        return []

    def status(self, failing: list[str]) -> WorkerStatus:
        """Return the state of the folder, as that of a worker.

        Args:
            failing: What is waited for.
        """
        return WorkerStatus(
            ready=not failing,
            waiting_for=failing,
            started=rfc3339(round(self._marks.stat().st_mtime) * 1000),
            counts={"released": 0} | {outcome: self._counts[outcome] for outcome in sorted(self._counts)},
            withheld=[
                WithheldStatus(reason=reason, windows=n, meaning=_MEANINGS.get(reason, ""))
                for reason, n in sorted(self._reasons.items())
            ],
            feeds=[self._feed(one) for one in {one.kind: one for one in self._windows.values()}.values()],
            page=self.page,
            tile_url=self.tile_url,
            replay=self._name,
        )

    def _feed(self, last: WindowFigures) -> FeedStatus:
        n_shards = sum(kind == last.kind for kind, _ in self._shards)
        start, end = (datetime.fromisoformat(moment) for moment in last.window)
        return FeedStatus(
            kind=last.kind,
            model=last.model,
            parameters=last.parameters,
            promise=_promise(last),
            shard="1 shard" if n_shards == 1 else f"{n_shards} shards",
            window=show_duration(round((end - start).total_seconds() * 1000)),
        )


def _promise(window: WindowFigures) -> str:
    """Return the promise of a window's model, with the numbers of its parameters in place of their names."""
    if window.model not in _MODELS:
        return ""
    promise = family_of(window.model).promise
    return re.sub(r"`(\w+)`", lambda found: str(window.parameters.get(found[1], found[1])), promise)
