"""The models that are measured, and the feeds that they read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from core.models.registry import FAMILIES, family_of
from core.records.record import Kind, Rows
from stream.replay.file_windows import FileWindows
from stream.replay.summary import Summary
from tests.benchmarks.replays import NOW_MS, opened
from tests.benchmarks.stream_inputs import Message, checkins, fragments

__all__ = ["Measurement", "WindowSize", "measurements", "messages_of", "read_window"]

_NEEDS = {
    "u-seqanon": {"privacy.constraints": "level:1"},
    "coat": {"privacy.constraints": "level:1"},
    "pcta": {"privacy.constraints": "level:1"},
    "rum-bound": {"privacy.attributes.age": "18..90"},
    "tum-bound": {"privacy.attributes.age": "18..90"},
}
"""What a model needs beside its name; all else is as it is by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A model with its settings, by dotted name."""

    model: str
    kind: Kind
    given: dict[str, str] = field(default_factory=dict)

    @property
    def has_age(self) -> bool:
        """Whether its people have an age."""
        return "privacy.attributes.age" in self.given


def measurements(family_only: bool = False) -> list[Measurement]:
    """Return every model, family by family; or only those that stand for their family."""
    models = [one for family in FAMILIES for one in family.models[: 1 if family_only else None]]
    return [
        Measurement(
            model=model,
            kind=family_of(model).kind,
            given={"privacy.model": model, "location.cell_m": "800", **_NEEDS.get(model, {})},
        )
        for model in models
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSize:
    """A window of so many people with so many records each."""

    people: int
    records_each: int

    @property
    def rows(self) -> int:
        """How many records it has."""
        return self.people * self.records_each


def messages_of(one: Measurement, n: int, *, n_windows: int, people: int) -> Iterator[Message]:
    """Draw the feed of a model: people with so many records in each window, all windows alike."""
    if one.kind is Kind.FRAGMENTS:  # as many points a window as steps of 30 seconds: the others are left out
        each = n // (n_windows * people)
        drawn = fragments(people * 30 * n_windows, n_windows=n_windows)
        yield from (message for i, message in enumerate(drawn) if (i // people) % 30 < each)
        return
    for key, value in checkins(n, n_windows=n_windows, people=people):
        if one.has_age:
            yield key, value[:-1] + b', "age": %d}' % (18 + int(key[1:]) % 73)
        else:
            yield key, value


def read_window(one: Measurement, size: WindowSize, folder: Path) -> Rows:
    """Read one window as a worker would, or take the rows that another model of such a feed has read."""
    cached = folder / f"{one.kind}-{one.has_age}-{size.people}-{size.records_each}.npy"
    if not cached.exists():
        with tempfile.NamedTemporaryFile(suffix=".ndjson", dir=folder) as written:
            messages = messages_of(one, size.rows, n_windows=1, people=size.people)
            written.writelines(value + b"\n" for _, value in messages)
            written.flush()
            _, feed, file = opened(Path(written.name), one.kind, dict(one.given))
            try:
                (window,) = FileWindows(feed, [file], now_ms=NOW_MS, summary=Summary())
            finally:
                file.close()
        np.save(cached, window.rows)
    rows: Rows = np.load(cached)
    return rows
