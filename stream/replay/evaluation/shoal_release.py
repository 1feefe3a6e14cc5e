"""A release of Shoal as journeys."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np

from core.models.registry import family_of
from core.records.arrays import numbered, starts_of
from core.trajectories.journeys import Journeys, NamedLabel
from stream.formats.files.record_file import FileFormatError
from stream.formats.release.encoding import Content, PlacePositions, positions_of
from stream.formats.release.json import JSON
from stream.formats.release.places import places_of
from stream.replay.reconstruction import reconstructed
from stream.replay.stored.stored_release import StoredRelease
from stream.replay.summary import Means
from stream.settings.values import instant_ms

__all__ = ["ShoalRelease", "read_shoal_release"]

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


def read_shoal_release(stored: StoredRelease, progress: Callable[[str], None] = lambda _: None) -> ShoalRelease:
    """Read the files of a release. Disassociated ones are reconstructed once; each trip of a flow is a journey.

    Raises:
        FileFormatError: A file holds something else than messages of a release, or no window is released.
        MissingExtraError: The library of its format is not installed.
    """
    folder = stored.anonymized.parent
    windows = {content["release"]: content for content in stored.windows()}
    released = [content for content in windows.values() if content["outcome"] == "released"]
    if not released:
        raise FileFormatError(f"{folder}: no window is released, so there is nothing to compare")
    positions = {content["release"]: positions_of(content) for content in released}
    visits, model = _Visits(), str(released[0]["model"])
    n_of_release: defaultdict[str, int] = defaultdict(int)
    messages = stored.trajectories()
    for number, content in enumerate(_rebuilt(messages) if model == "disassociation" else messages, start=1):
        try:
            before = len(visits.sizes)
            _take(visits, content, positions[content["release"]])
        except (KeyError, TypeError, ValueError):
            raise FileFormatError(
                f"{stored.anonymized}: message {number} is not of a release in {stored.windows_file.name}"
            ) from None
        n_of_release[content["release"]] += len(visits.sizes) - before
        if number % 5_000 == 0:
            progress(f"reading {folder.name}: {number:,} messages")
    start, end = released[0]["window"]
    return ShoalRelease(
        journeys=_journeys(visits, is_ordered=model != "disassociation" and family_of(model).released.is_ordered),
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


def _rebuilt(messages: Iterator[Content]) -> Iterator[Content]:
    """Yield the people of possible original windows, with their locations as generalized locations of one member."""
    for line in reconstructed(map(msgspec.json.encode, messages), seed=_SEED):
        content = JSON.read_trajectory(line)
        yield content | {"locations": [[name] for name in content["locations"]]}


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
