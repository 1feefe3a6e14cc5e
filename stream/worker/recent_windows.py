"""The last emitted windows, for the live page and ``shoal status``.

Its only input is the messages of a release, so it cannot show anything that was not published. Memory is bounded: it
keeps figures of :data:`KEPT_WINDOWS` windows, and for the map the messages of :data:`MAPPED_WINDOWS` windows, of each
at most :data:`MAPPED_TRAJECTORIES` trajectories and :data:`MAPPED_BYTES`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec
import structlog

from core.models.common.plan import Plan
from core.models.common.values import show_duration
from core.records.instants import rfc3339
from core.records.record import Kind
from core.release.outcome import WithholdReason
from stream.feeds.feed import Feed
from stream.settings.model import Settings
from stream.windows.report import EmittedWindow
from stream.worker.api import FeedStatus, WindowFigures, WithheldStatus, WorkerStatus
from stream.worker.shapes import Shapes, shapes

__all__ = ["KEPT_WINDOWS", "MAPPED_BYTES", "MAPPED_TRAJECTORIES", "MAPPED_WINDOWS", "MEANINGS", "RecentWindows"]

log = structlog.get_logger("shoal.live")

KEPT_WINDOWS = 60
"""Number of windows whose figures are kept."""

MAPPED_WINDOWS = 12
"""Number of released windows that the map can show."""

MAPPED_TRAJECTORIES = 200
"""Most trajectories of one window on the map: the first by pseudonym. Pseudonyms are random, so the choice is, too."""

MAPPED_BYTES = 1024**2
"""Most bytes of messages kept of one window for the map."""

MEANINGS = {
    WithholdReason.TOO_FEW_PEOPLE: "fewer than k people were in the window",
    WithholdReason.NOTHING_LEFT: "everything was suppressed",
    WithholdReason.CONSTRAINTS_NOT_SATISFIED: "no release satisfies the utility constraints or the bound on losses",
    WithholdReason.SETTINGS_CHANGED: "settings or secret changed after the window was sealed",
    WithholdReason.RECORDS_MISSING: "records of the sealed window are no longer on the shards topic",
    WithholdReason.HISTORY_MISSING: "what earlier windows released is no longer on the seals topic",
    WithholdReason.TOO_LARGE: "a message of the release is longer than its topic accepts",
    WithholdReason.VERIFICATION_FAILED: "the verifier found a violation: read the worker's log",
    WithholdReason.ANONYMIZER_FAILED: "the anonymizer failed: read the worker's log",
}
"""What each reason for withholding a window means."""

_V = TypeVar("_V")
_figures = msgspec.json.Decoder(WindowFigures)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Messages of one release for the map."""

    window: bytes
    trajectories: tuple[bytes, ...]


class RecentWindows:
    """The last windows that this worker emitted.

    Args:
        settings: All settings; geometry is kept only with ``web.page``.
        feeds: The feeds that the worker reads, by kind.
        started_ms: When the worker started, Unix milliseconds.
    """

    def __init__(self, settings: Settings, feeds: Mapping[Kind, Feed], *, started_ms: int) -> None:
        self.page, self.tile_url = settings.web.page, settings.web.tile_url
        self._started = rfc3339(started_ms)
        self._feeds = [_feed(settings, kind, feed.plan) for kind, feed in feeds.items()]
        self._is_public = {kind: feed.is_public for kind, feed in feeds.items()}
        self._locators = {kind.value: feed.plan.locator for kind, feed in feeds.items()}
        self._windows: OrderedDict[str, WindowFigures] = OrderedDict()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()

    def show(self, *, page: bool, tile_url: str | None) -> None:
        """Turn the page on or off, and choose its background; without the page no geometry is kept."""
        self.page, self.tile_url = page, tile_url
        if not page:
            self._kept.clear()

    def add(self, window: EmittedWindow) -> None:
        """Keep a window that was emitted, in place of the oldest; one of which consumers see nothing is left out."""
        try:
            if self._is_public[window.key.kind](window.outcome):
                self._add(window)
        except Exception as fault:  # a fault of the live page must not stop releases
            log.error("window_not_shown", fault=type(fault).__name__)

    def _add(self, window: EmittedWindow) -> None:
        *trajectories, committed = window.messages
        mark = window.encoding.window_as_json(committed.value)
        published = _figures.decode(mark)
        figures = msgspec.structs.replace(
            published,
            outcome=window.outcome,
            close_to_release_s=window.close_to_release_s,
            emitted=rfc3339(round(window.emitted_at_s * 1000)),
        )
        self._counts[figures.outcome] += 1
        if figures.reason is not None:
            self._reasons[figures.reason] += 1
        _put(self._windows, figures.release, figures, most=KEPT_WINDOWS)
        room = MAPPED_BYTES - len(mark)
        if self.page and figures.outcome == "released" and room >= 0:
            chosen: list[bytes] = []
            for message in trajectories[:MAPPED_TRAJECTORIES]:
                value = window.encoding.trajectory_as_json(message.value)
                room -= len(value)
                if room < 0:
                    break
                chosen.append(value)
            _put(self._kept, figures.release, _Kept(mark, tuple(chosen)), most=MAPPED_WINDOWS)

    def windows(self) -> list[WindowFigures]:
        """Return the figures of the last windows, the newest first."""
        newest_first = reversed(self._windows.values())
        return [msgspec.structs.replace(one, on_map=one.release in self._kept) for one in newest_first]

    def shapes(self, release: str) -> Shapes | None:
        """Return the geometry of one release, or None if it is not kept (any more)."""
        kept, figures = self._kept.get(release), self._windows.get(release)
        if kept is None or figures is None:
            return None
        return shapes(kept.window, kept.trajectories, self._locators.get(figures.kind))

    def status(self, failing: list[str]) -> WorkerStatus:
        """Return the state of the worker.

        Args:
            failing: What the worker waits for before it is ready.
        """
        return WorkerStatus(
            ready=not failing,
            waiting_for=failing,
            started=self._started,
            counts={
                outcome: self._counts[outcome]
                for outcome in ("released", "withheld", "refused")
                if any(is_public(outcome) for is_public in self._is_public.values())
            },
            withheld=[
                WithheldStatus(reason=reason, windows=n, meaning=MEANINGS[WithholdReason(reason)])
                for reason, n in sorted(self._reasons.items())
            ],
            feeds=self._feeds,
            page=self.page,
            tile_url=self.tile_url,
        )


def _put(kept: OrderedDict[str, _V], name: str, value: _V, *, most: int) -> None:
    kept.pop(name, None)  # a window that is emitted again counts once
    kept[name] = value
    while len(kept) > most:
        kept.popitem(last=False)


def _feed(settings: Settings, kind: Kind, plan: Plan) -> FeedStatus:
    own = settings.for_kind(kind)
    return FeedStatus(
        kind=kind.value,
        model=plan.model,
        parameters=plan.parameters,
        promise=plan.guarantee.promise,
        shard=own.shard.kind,
        window=show_duration(own.window.size),
    )
