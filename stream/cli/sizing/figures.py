"""What ``make bench-size`` measured, in ``figures.json`` beside this module. One run writes the whole file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

__all__ = [
    "FILE_NAME",
    "FamilyFigures",
    "FeedFigures",
    "Figures",
    "FiguresOrigin",
    "MeasuredRun",
    "ModelFigures",
    "WindowCost",
    "WindowSample",
]

FILE_NAME = "figures.json"


class FiguresOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Where figures come from."""

    date: str
    command: str
    machine: str
    versions: dict[str, str]
    seconds: float
    """How long the run took."""

    load: float
    """Load average of the minute before it began: other programs that ran then make figures larger."""


class WindowCost(msgspec.Struct, frozen=True, kw_only=True):
    """CPU time of a process that anonymizes, verifies and encodes a window: a power law, by least squares."""

    factor: float
    people: float
    """Exponent of the number of people, at least 0."""

    rows: float
    """Exponent of the number of rows, at least 0."""

    error: float
    """Largest ratio between a measured window and the law, or the law and the window; at least 1."""

    def seconds(self, people: float, rows: float) -> float:
        """Return the CPU time of a window, s."""
        return float(self.factor * people**self.people * rows**self.rows)


class WindowSample(msgspec.Struct, frozen=True, kw_only=True):
    """One window that was anonymized by itself, in a process of the pool's kind."""

    people: int
    rows: int
    seconds: float
    """CPU time."""

    memory_mb: float
    """Memory that the process needed for it, beyond what it needs without a window."""


class MeasuredRun(msgspec.Struct, frozen=True, kw_only=True):
    """One worker that took a feed to its last window, on a real Kafka."""

    records: int
    people: int
    """In each window."""

    windows: int
    worker_s: float
    """CPU time of the worker's own process."""

    pool_s: float
    """CPU time of its processes that anonymize."""

    broker_s: float
    """CPU time of the broker."""

    @property
    def records_a_core(self) -> float:
        """Records a second that one core takes from the input topic to the release."""
        return self.records / (self.worker_s + self.pool_s)


class ModelFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a model needs."""

    family: str
    """The model of its family that ran end to end; what is not the model's own window is that model's."""

    cost: WindowCost
    windows: list[WindowSample]
    row_bytes: float
    """Memory of a process for each row of the window that it anonymizes, bytes: the largest of the windows."""


class FamilyFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the models of a family share, by one of them that ran end to end."""

    kind: str
    run: MeasuredRun
    worker_us: float
    """CPU time of the worker's own process for each record, µs: reading, locating, buffering, emitting."""

    process_mb: float
    """Memory of a process that anonymizes, before its first window."""

    release_bytes: float
    """Bytes in ``topics.anonymized`` for each record read."""

    window_bytes: float
    """Bytes in ``topics.windows`` for each window of a shard."""

    seal_bytes: float
    """Bytes in ``topics.seals`` for each window of a shard, rosters apart, before compaction."""

    roster_bytes: float
    """Bytes of rosters in ``topics.seals`` for each person in a window; 0 for models that keep none."""


class FeedFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind of feed needs, whatever its model."""

    records: int
    """Records of the one window that stayed open meanwhile."""

    worker_mb: float
    """Memory of the worker's own process when it is ready."""

    row_bytes: float
    """Memory of it for each row of an open window, bytes."""

    input_bytes: float
    """Bytes in the input topic for each record: JSON, one record a message."""

    shard_bytes: float
    """Bytes in ``topics.shards`` for each row."""

    dead_letter_bytes: float
    """Bytes in ``topics.dead_letters`` for each rejected record."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one run."""

    origin: FiguresOrigin
    feeds: dict[str, FeedFigures]
    """By kind of feed."""

    families: dict[str, FamilyFigures]
    """By the model that ran end to end."""

    models: dict[str, ModelFigures]

    checks: dict[str, MeasuredRun]
    """Runs of another size than those that the figures are from, by model: how far off a prediction is."""

    @staticmethod
    @cache
    def packaged() -> Figures:
        """Read the figures that come with Shoal."""
        return msgspec.json.decode((files(__package__) / FILE_NAME).read_bytes(), type=Figures)
