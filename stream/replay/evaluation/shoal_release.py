"""A release of Shoal as journeys: the messages in a folder of ``shoal replay --output``, or kept from the topics."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from core.records.arrays import numbered, starts_of
from core.trajectories.journeys import Journeys, NamedLabel
from stream.formats.files.record_file import FileFormatError
from stream.formats.release.encoding import Content, PlacePositions, positions_of
from stream.formats.release.json import JSON
from stream.formats.release.places import places_of
from stream.replay.reconstruction import reconstructed
from stream.replay.summary import Means
from stream.settings.values import instant_ms

__all__ = ["ShoalRelease", "is_shoal_release", "read_shoal_release"]

_NAMES = ("anonymized.ndjson", "windows.ndjson")
_SEED = 1
"""Of the reconstruction of a disassociated release: the same in every run."""


@dataclass(frozen=True, kw_only=True)
class ShoalRelease:
    """The journeys of a release, and what its windows messages state."""

    journeys: Journeys
    model: str
    window_ms: int
    is_of_people: bool
    """Whether each journey is a released person: not in flows, nor in a reconstruction."""

    stated: dict[str, float]


@dataclass
class _Visits:
    """Columns of the journeys read so far."""

    windows_ms: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    t_ms: list[int] = field(default_factory=list)
    xy: list[tuple[float, float]] = field(default_factory=list)
    labels: list[NamedLabel] = field(default_factory=list)

    def add_places(self, window_ms: int, places: list[NamedLabel], positions: PlacePositions) -> None:
        """Add a journey through generalized locations."""
        self.windows_ms.append(window_ms)
        self.sizes.append(len(places))
        self.labels += [tuple(sorted(members)) for members in places]
        for members in places:
            lat, lon = positions.get(members, (float("nan"), float("nan")))
            self.xy.append((lon, lat))

    def add_points(self, window_ms: int, points: list[tuple[str, float, float]]) -> None:
        """Add a journey of points."""
        self.windows_ms.append(window_ms)
        self.sizes.append(len(points))
        self.t_ms += [instant_ms(time) for time, _, _ in points]
        self.xy += [(lon, lat) for _, lat, lon in points]


def is_shoal_release(path: Path) -> bool:
    """Return whether a path is a folder with the messages of both topics, or the first file of one."""
    folder = path if path.is_dir() else path.parent
    return (path.is_dir() or path.name == _NAMES[0]) and all((folder / name).is_file() for name in _NAMES)


def read_shoal_release(path: Path, progress: Callable[[str], None] = lambda _: None) -> ShoalRelease:
    """Read such a folder. Disassociated releases are reconstructed once; each trip of a flow is a journey.

    Raises:
        FileFormatError: A line is no message of a release, or no window is released.
    """
    folder = path if path.is_dir() else path.parent
    windows = {content["release"]: content for content in _messages(folder / _NAMES[1])}
    released = [content for content in windows.values() if content["outcome"] == "released"]
    if not released:
        raise FileFormatError(f"{folder}: no window is released, so there is nothing to compare")
    positions = {content["release"]: positions_of(content) for content in released}
    visits, model = _Visits(), str(released[0]["model"])
    n_of_release: defaultdict[str, int] = defaultdict(int)
    anonymized = folder / _NAMES[0]
    journeys = _rebuilt(anonymized) if model == "disassociation" else _messages(anonymized)
    for number, content in enumerate(journeys, start=1):
        try:
            before = len(visits.sizes)
            _take(visits, content, positions[content["release"]])
        except (KeyError, TypeError, ValueError):
            raise FileFormatError(f"{anonymized}: message {number} is not of a release in {_NAMES[1]}") from None
        n_of_release[content["release"]] += len(visits.sizes) - before
        if number % 5_000 == 0:
            progress(f"reading {folder.name}: {number:,} messages")
    start, end = released[0]["window"]
    return ShoalRelease(
        journeys=_journeys(visits, is_ordered=model not in ("disassociation", "rum-bound", "tum-bound")),
        model=model,
        is_of_people=model not in ("disassociation", "flows"),
        window_ms=instant_ms(end) - instant_ms(start),
        stated=_stated(released, n_of_release),
    )


def _take(visits: _Visits, content: Content, positions: PlacePositions) -> None:
    window_ms = instant_ms(content["window"][0])
    if "points" in content:
        visits.add_points(window_ms, content["points"])
    elif "origin" in content:
        ends = places_of(content)
        for _ in range(max(0, round(content["trips"] if content.get("trips") is not None else content["people"]))):
            visits.add_places(window_ms, ends, positions)
    else:
        visits.add_places(window_ms, places_of(content), positions)


def _rebuilt(path: Path) -> Iterator[Content]:
    """Yield the people of possible original windows, with their locations as generalized locations of one member."""
    with path.open("rb") as lines:
        for line in reconstructed(lines, seed=_SEED):
            content = JSON.read_trajectory(line)
            yield content | {"locations": [[name] for name in content["locations"]]}


def _messages(path: Path) -> Iterator[Content]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                content = JSON.read_trajectory(line)
                release, window = content["release"], content["window"]
            except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
                release = window = None
            if not isinstance(release, str) or not isinstance(window, list):
                raise FileFormatError(f"{path}, line {number}: is no message of a release")
            yield content


def _journeys(visits: _Visits, *, is_ordered: bool) -> Journeys:
    label_of, labels = numbered(visits.labels)
    n = len(visits.sizes)
    return Journeys(
        users=np.arange(n),
        windows_ms=np.array(visits.windows_ms, np.int64),
        starts=starts_of(np.array(visits.sizes, np.int64)),
        t_ms=np.array(visits.t_ms, np.int64) if visits.t_ms else None,
        xy=np.array(visits.xy, np.float64).reshape(-1, 2),
        labels=tuple(labels),
        label_of=label_of if visits.labels else None,
        is_ordered=is_ordered,
    )


def _stated(released: list[Content], n_of_release: dict[str, int]) -> dict[str, float]:
    means = Means()
    for content in released:
        stated = content.get("information_loss", {})
        figures = {name: value for name, value in stated.items() if isinstance(value, int | float)}
        means.add(figures, n_of_release[content["release"]])
    return {name: mean for name, mean in means.values.items() if not math.isnan(mean)}
