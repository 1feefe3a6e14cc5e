"""The types of the answers of a worker's web server, for the server, its clients and the reference of the HTTP API."""

from __future__ import annotations

import msgspec

__all__ = ["FeedStatus", "Refusal", "WindowFigures", "WindowList", "WithheldStatus", "WorkerStatus"]

_Figure = bool | float | int | str


class WindowFigures(msgspec.Struct, kw_only=True, frozen=True):
    """The content of one windows message, with outcome and duration; an element of ``/api/windows``."""

    release: str
    """Id of the release."""

    kind: str
    """Kind of the feed: ``checkins``, ``fragments`` or ``stops``."""

    shard: str
    """What was anonymized on its own, as in the windows message."""

    window: tuple[str, str]
    """Start, inclusive, and end, exclusive, of the window (RFC 3339, UTC)."""

    outcome: str
    """``released``, ``withheld`` or ``refused`` (withheld because the verifier found a violation)."""

    model: str
    """``privacy.model``."""

    parameters: dict[str, _Figure]
    """The promise in numbers, and what else decides about a release, as in the windows message."""

    reason: str | None = None
    """Why the window was withheld, as in the windows message; null if it was released."""

    population: int | None = None
    """People in the window; null if that is not published."""

    people: int | None = None
    """People in the release; null if that is not published."""

    trajectories: int | None = None
    """Messages of the release; null if the window was withheld."""

    points_released: int | None = None
    """Visits or points in the release; null if the window was withheld."""

    points_suppressed: int | None = None
    """Accepted visits or points that the release leaves out; null if that is not published."""

    smallest_support: int | None = None
    """The fewest people behind anything released; null if the window was withheld."""

    information_loss: dict[str, float | int | None] = {}
    """What the release lost, as in the windows message; empty if the window was withheld."""

    close_to_release_s: float = 0.0
    """Seconds from the decision to seal the window until all that is public of it is acknowledged; 0 in a replay."""

    emitted: str = ""
    """When the worker reported the window, after it was sent (RFC 3339, UTC); empty in a replay."""

    on_map: bool = False
    """Whether ``/api/windows?release=`` still serves its geometry."""

    @property
    def loss_m(self) -> float | None:
        """Mean distance between raw and released positions, metres; None if it is not published."""
        return self.information_loss.get("distance_m", self.information_loss.get("mean_space_translation_m"))


class WindowList(msgspec.Struct, kw_only=True, frozen=True):
    """The answer of ``/api/windows``."""

    windows: list[WindowFigures]
    """The last windows, the newest first."""


class FeedStatus(msgspec.Struct, kw_only=True, frozen=True):
    """The model in force for one kind of feed."""

    kind: str
    """``checkins``, ``fragments`` or ``stops``."""

    model: str
    """``privacy.model``."""

    parameters: dict[str, _Figure]
    """The promise in numbers, as the windows messages state it."""

    promise: str
    """The guarantee in words, with these numbers."""

    shard: str
    """``shard.kind``; in a replay the number of shards."""

    window: str
    """``window.size``, such as ``15m``; in a replay the length of the last window."""


class WithheldStatus(msgspec.Struct, kw_only=True, frozen=True):
    """How many windows were withheld for one reason, and what the reason means."""

    reason: str
    """The reason, as in the windows message."""

    windows: int
    """Number of windows since the start."""

    meaning: str
    """The reason in words."""


class WorkerStatus(msgspec.Struct, kw_only=True, frozen=True):
    """The answer of ``/api/status``."""

    ready: bool
    """Whether the worker is ready, as at ``/readyz``."""

    waiting_for: list[str]
    """What the worker waits for, as at ``/readyz``; empty if it is ready."""

    started: str
    """When the worker started (RFC 3339). It changes with a restart, and earlier windows are forgotten."""

    counts: dict[str, int]
    """Windows since the start, by outcome; only outcomes that consumers may see (``release.withheld``)."""

    withheld: list[WithheldStatus]
    """Withheld windows by reason; empty if consumers do not see them."""

    feeds: list[FeedStatus]
    """The feeds, each with the model in force."""

    page: bool
    """Whether the worker serves the page and the geometry of releases."""

    tile_url: str | None = None
    """``web.tile_url``; null if it is not set."""

    replay: str | None = None
    """Name of the folder of a replay that is shown, if it is not a worker."""


class Refusal(msgspec.Struct, kw_only=True, frozen=True):
    """The answer to a request that is refused."""

    error: str
    """Why, in a sentence."""
