"""A replay of one real feed by the service's own code, or its windows by the steps of their model, for tables."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.models.common.family import Contents
from core.models.common.plan import Plan
from core.models.km.plan import KmPlan
from core.models.registry import family_of
from core.records.arrays import FloatArray
from core.records.record import Kind, Rows
from core.release.counts import Headcount
from core.trajectories.assemble import assemble_sequences
from core.trajectories.trajectory import Sequences
from core.utility.window_measures import MeasureOptions
from core.windows.seal import Seal
from stream.feeds.feed import Feed
from stream.feeds.record_files import metric_projection
from stream.formats.files.record_file import RecordFile
from stream.replay.file_windows import FileWindows
from stream.replay.replay import Replay
from stream.replay.summary import Summary
from stream.settings.load import load_settings
from stream.settings.model import Settings
from tests.builders.inputs import record_file

__all__ = [
    "Replayed",
    "checkin_windows",
    "contents_of",
    "measured_replay",
    "opened",
    "release_in_turn",
    "replay_file",
]

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
NOW_MS = 1_900_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What came of it."""

    summary: Summary
    released: list[dict[str, Any]]
    """The windows messages of what was released."""

    cpu_s: float
    """CPU time, reading and writing included."""

    def mean_loss(self, name: str) -> float | None:
        """Return the mean of a figure of the windows messages, weighted by their trajectories; None without any."""
        told = [window for window in self.released if window["information_loss"][name] is not None]
        if not told:
            return None
        weights = [window["trajectories"] for window in told]
        return float(np.average([window["information_loss"][name] for window in told], weights=weights))


def replay_file(path: Path, kind: Kind, given: dict[str, object], *, measure: MeasureOptions | None = None) -> Replayed:
    """Replay a file under some settings, by dotted name; measuring counts as CPU time as well."""
    settings, feed, file = opened(path, kind, given)
    max_bytes = settings.limits.message_bytes
    begun = time.process_time()
    try:
        with tempfile.TemporaryDirectory() as folder:
            replay = Replay(feed, [file], now_ms=NOW_MS, max_bytes=max_bytes, measure=measure)
            summary = replay.run(Path(folder))
            cpu_s = time.process_time() - begun
            lines = (Path(folder) / "windows.ndjson").read_bytes().splitlines()
    finally:
        file.close()
    released = [window for window in map(json.loads, lines) if window["outcome"] == "released"]
    return Replayed(summary=summary, released=released, cpu_s=cpu_s)


def measured_replay(path: Path, given: dict[str, object]) -> tuple[Replayed, dict[str, float | None]]:
    """Replay check-ins twice: for the CPU time without measuring, and for the measures against the raw windows.

    Returns:
        The replay without measuring, and the measures by name; none of a file without a released window.
    """
    plain = replay_file(path, Kind.CHECKINS, given)
    measures = replay_file(path, Kind.CHECKINS, given, measure=_FEW_QUERIES).summary.measures
    return plain, {} if measures is None else measures.as_dict()


_FEW_QUERIES = MeasureOptions(queries=1, projections=1)  # no table shows the figures that they are for


def opened(path: Path, kind: Kind, given: dict[str, object]) -> tuple[Settings, Feed, RecordFile]:
    """Open a file under some settings, by dotted name."""
    settings = load_settings(given={"privacy.secret": SECRET, **given})
    feed = Feed(settings, kind, secret=SECRET)
    names, max_bytes = settings.fields.model_dump(), settings.limits.message_bytes
    projection = metric_projection(settings)
    return (
        settings,
        feed,
        record_file(path, kind, names, max_bytes=max_bytes, projection=projection, attributes=feed.attributes),
    )


def checkin_windows(path: Path, given: dict[str, object]) -> list[tuple[Sequences, FloatArray]]:
    """Return the windows of a file of check-ins as anonymizers get them: trajectories, and positions in metres."""
    _, feed, file = opened(path, Kind.CHECKINS, given)
    plan = feed.plan
    assert isinstance(plan, KmPlan)
    try:
        sealed = FileWindows(feed, [file], now_ms=NOW_MS, summary=Summary())
        windows = [assemble_sequences(window.rows, plan.locator, plan.limits) for window in sealed]
    finally:
        file.close()
    return [(window.sequences, window.vocabulary.xy_m) for window in windows]


def release_in_turn(
    path: Path, given: Mapping[str, object], release: Callable[[Seal, Rows, Plan], Contents | None]
) -> None:
    """Release the windows of a file of check-ins one after the other; each depends on what the earlier ones released.

    Args:
        path: The file.
        given: Settings, by dotted name.
        release: Releases a window under the plan with its history; returns None if nothing of it is released.
    """
    _, feed, records = opened(path, Kind.CHECKINS, dict(given))
    try:
        sealed = FileWindows(feed, [records], now_ms=NOW_MS, summary=Summary())
        for window in sealed:
            contents = release(window.seal, window.rows, feed.plan.after(window.history))
            if contents is not None and contents.roster is not None:
                sealed.remember(window.seal.key, [contents.roster])
    finally:
        records.close()


def contents_of(seal: Seal, window: Any, result: Any, candidate: Any, plan: Plan) -> Contents | None:
    """Verify an anonymized window, and return what it publishes; None if the verifier refuses it."""
    family = family_of(plan.model)
    verdict = family.verify(window, candidate, plan)
    if verdict.finding is not None:
        return None
    count = Headcount.of(candidate.users, window.n_users, verdict.smallest_support, plan.guarantee.k)
    contents: Contents = family.publish(seal, window, result, candidate, count, plan)
    return contents
