"""The types of the answers of a worker's web server, for the server and its clients."""

from __future__ import annotations

import msgspec

__all__ = ["FeedStatus", "WindowFigures", "WithheldStatus", "WorkerStatus"]

_Figure = bool | float | int | str


class WindowFigures(msgspec.Struct, kw_only=True, frozen=True):
    """What the windows message of one window holds, and how it went; an element of ``/api/windows``."""

    release: str
    kind: str
    shard: str
    window: tuple[str, str]
    outcome: str
    """``released``, ``withheld`` or ``refused`` (withheld since the verifier found a violation)."""

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
    """Whether ``/api/windows?release=`` still has its geometry."""

    @property
    def loss_m(self) -> float | None:
        """Metres between what happened and what was released, as far as that is published."""
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
    """How many windows were withheld for one reason, and what it means."""

    reason: str
    windows: int
    meaning: str


class WorkerStatus(msgspec.Struct, kw_only=True, frozen=True):
    """The answer of ``/api/status``."""

    ready: bool
    waiting_for: list[str]
    started: str
    """Differs when the worker was started anew: what it remembered is gone."""

    counts: dict[str, int]
    """Windows since the start, by outcome."""

    withheld: list[WithheldStatus]
    feeds: list[FeedStatus]
    page: bool
    """Whether the page and the geometry of releases are served."""

    tile_url: str | None = None
