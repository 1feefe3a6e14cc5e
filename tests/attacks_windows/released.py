"""The released windows of a real feed, with the people behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.models.common.plan import Plan
from core.models.registry import family_of
from core.records.record import Kind, Rows
from core.release.attacks.linkage import LinkageExtract
from core.release.counts import Headcount
from core.windows.history import NO_RUNS, Roster
from core.windows.window import WindowKey
from stream.feeds.feed import Feed
from stream.feeds.record_files import metric_projection
from stream.replay.file_windows import FileWindows
from stream.replay.summary import Summary
from stream.settings.load import load_settings
from tests.builders.inputs import record_file

__all__ = ["ReleasedWindow", "released_windows"]

_SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
_NOW_MS = 1_900_000_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedWindow:
    """A window that was released."""

    key: WindowKey
    rows: Rows
    plan: Plan
    window: Any
    """The assembled window of the family."""

    candidate: Any
    """What is published, with the people behind it; the type is that of the family."""

    extract: LinkageExtract


def released_windows(
    file: Path, kind: Kind, given: dict[str, object], *, most: int | None = None, secret: str = _SECRET
) -> Iterator[ReleasedWindow]:
    """Release a file as a replay does, and yield its released windows in order.

    Args:
        file: The records.
        kind: Their kind.
        given: Settings by dotted name.
        most: Most windows that are released; None for all.
        secret: Key of the deployment.
    """
    settings = load_settings(given={"privacy.secret": secret, **given})
    feed = Feed(settings, kind, secret=secret)
    family, n_released = family_of(feed.plan.model), 0
    names, max_bytes = settings.fields.model_dump(), settings.limits.message_bytes
    projection = metric_projection(settings, kind) if kind.input_kind is Kind.FRAGMENTS else None
    opened = record_file(
        file, kind.input_kind, names, max_bytes=max_bytes, projection=projection, attributes=feed.attributes
    )
    windows = FileWindows(feed, [opened], now_ms=_NOW_MS, summary=Summary())
    try:
        for action in windows:
            plan, seal = feed.plan.after(action.history), action.seal
            rows, carried = action.rows, NO_RUNS
            if plan.stop_rule is not None:
                found = plan.find_stops(seal, rows)
                rows, carried = found.visits, found.runs
            # What goes on at the end of a window is handed on even if nothing is released.
            windows.remember(seal.key, [replace(Roster.of_nobody(seal.key), carried=carried)] if len(carried) else [])
            if not len(rows):
                continue
            window = family.assemble(seal, rows, plan)
            if window.n_users < plan.guarantee.k or seal.history != plan.history.digest:
                continue
            result = family.anonymize(seal, window, plan)
            candidate = None if result is None else family.candidate(window, result, plan)
            verdict = None if candidate is None else family.verify(window, candidate, plan)
            if candidate is None or verdict is None or verdict.finding is not None:
                continue
            count = Headcount.of(candidate.users, window.n_users, verdict.smallest_support, plan.guarantee.k)
            contents = family.publish(seal, window, result, candidate, count, plan)
            if contents.roster is not None:
                windows.remember(seal.key, [replace(contents.roster, carried=carried)])
            assert contents.extract is not None  # every family returns one
            yield ReleasedWindow(
                key=seal.key,
                rows=rows,
                plan=plan,
                window=window,
                candidate=candidate,
                extract=contents.extract,
            )
            n_released += 1
            if n_released == most:
                return
    finally:
        opened.close()


def people_of(extract: LinkageExtract) -> list[frozenset[int]]:
    """Return the keyed hashes of the people of each unit."""
    parts = np.split(extract.units.hashes, extract.units.starts[1:-1])
    return [frozenset(one.tolist()) for one in parts]
