"""A release of Shoal as journeys."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
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

__all__ = ["ShoalRelease"]

_SEED = 1
"""Of the reconstruction of a disassociated release: the same in every run."""


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


class ShoalRelease:
    """The files of a release, its messages read as journeys; disassociated ones are reconstructed once.

    Args:
        stored: The files.
        progress: Called with what is being read.

    Raises:
        FileFormatError: The file of windows holds something else, or no window is released.
        MissingExtraError: The library of its format is not installed.
    """

    def __init__(self, stored: StoredRelease, progress: Callable[[str], None] = lambda _: None) -> None:
        self._stored, self._progress = stored, progress
        self._folder = stored.anonymized.parent
        windows = {content["release"]: content for content in stored.windows()}
        self._released = [content for content in windows.values() if content["outcome"] == "released"]
        if not self._released:
            raise FileFormatError(f"{self._folder}: no window is released, so there is nothing to compare")
        self._positions = {content["release"]: positions_of(content) for content in self._released}
        self._n_of_release: dict[str, int] = {}
        self.model = str(self._released[0]["model"])
        start, end = self._released[0]["window"]
        self.window_ms = instant_ms(end) - instant_ms(start)

    @property
    def is_of_people(self) -> bool:
        """Whether each journey is a released person: not in flows, nor in a reconstruction."""
        return self.model not in ("disassociation", "flows")

    @property
    def stated(self) -> dict[str, float]:
        """Information loss that the windows state, means over those read so far, weighted by journeys."""
        means = Means()
        for content in self._released:
            stated = content.get("information_loss", {})
            figures = {name: value for name, value in stated.items() if isinstance(value, int | float)}
            means.add(figures, self._n_of_release.get(content["release"], 0))
        return {name: mean for name, mean in means.values.items() if not math.isnan(mean)}

    def messages(self) -> Iterator[Content]:
        """Yield the messages of its trajectories; errors as for :meth:`StoredRelease.trajectories`."""
        for number, content in enumerate(self._stored.trajectories(), start=1):
            if number % 5_000 == 0:
                self._progress(f"reading {self._folder.name}: {number:,} messages")
            yield content

    def journeys(self, messages: Iterable[Content]) -> Journeys:
        """Return the journeys of some messages: each trip of a flow is one.

        Args:
            messages: All of each of their releases, in their order.

        Raises:
            FileFormatError: A message is not of a release of the windows.
        """
        visits, n_of_release = _Visits(), Counter[str]()
        rebuilt = _rebuilt(messages) if self.model == "disassociation" else messages
        for number, content in enumerate(rebuilt, start=1):
            try:
                before = len(visits.sizes)
                _take(visits, content, self._positions[content["release"]])
            except (KeyError, TypeError, ValueError):
                raise FileFormatError(
                    f"{self._stored.anonymized}: message {number} is not of a release in "
                    f"{self._stored.windows_file.name}"
                ) from None
            n_of_release[content["release"]] += len(visits.sizes) - before
        self._n_of_release |= n_of_release
        has_order = self.model != "disassociation" and family_of(self.model).released.is_ordered
        return _journeys(visits, is_ordered=has_order)


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


def _rebuilt(messages: Iterable[Content]) -> Iterator[Content]:
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
