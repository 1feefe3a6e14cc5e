"""The types of the answers of a worker's web server, for the server and its clients."""

from __future__ import annotations

import msgspec

__all__ = ["FeedStatus", "WindowFigures", "WithheldStatus", "WorkerStatus"]

_Figure = bool | float | int | str


class WindowFigures(msgspec.Struct, kw_only=True, frozen=True):
    """The content of one windows message, with outcome and duration; an element of ``/api/windows``."""

    release: str
    kind: str
    shard: str
    window: tuple[str, str]
    outcome: str
    """``released``, ``withheld`` or ``refused`` (withheld because the verifier found a violation)."""

    model: str
    parameters: dict[str, _Figure]
    reason: str | None = None
    population: int | None = None
    people: int | None = None
    trajectories: int | None = None
    points_released: int | None = None
    points_suppressed: int | None = None
    smallest_support: int | None = None
    information_loss: dict[str, float | int | None] = {}
    close_to_release_s: float = 0.0
    emitted: str = ""
    on_map: bool = False
    """Whether ``/api/windows?release=`` still serves its geometry."""

    @property
    def loss_m(self) -> float | None:
        """Mean distance between raw and released positions, metres; None if it is not published."""
        return self.information_loss.get("distance_m", self.information_loss.get("mean_space_translation_m"))


class FeedStatus(msgspec.Struct, kw_only=True, frozen=True):
    """The model in force for one kind of feed."""

    kind: str
    model: str
    parameters: dict[str, _Figure]
    promise: str
    shard: str
    window: str


class WithheldStatus(msgspec.Struct, kw_only=True, frozen=True):
    """How many windows were withheld for one reason, and what the reason means."""

    reason: str
    windows: int
    meaning: str


class WorkerStatus(msgspec.Struct, kw_only=True, frozen=True):
    """The answer of ``/api/status``."""

    ready: bool
    waiting_for: list[str]
    started: str
    """When the worker started (RFC 3339). It changes with a restart, and earlier windows are forgotten."""

    counts: dict[str, int]
    """Windows since the start, by outcome."""

    withheld: list[WithheldStatus]
    feeds: list[FeedStatus]
    page: bool
    """Whether the worker serves the page and the geometry of releases."""

    tile_url: str | None = None
    replay: str | None = None
    """Name of the folder of a replay that is shown, if it is not a worker."""
