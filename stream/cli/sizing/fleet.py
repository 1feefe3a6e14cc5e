"""The arithmetic of ``shoal size``: from a feed's load and measured figures to workers, memory and topics."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stream.cli.sizing.figures import FamilyFigures, FeedFigures, Figures, MeasuredRun, ModelFigures

__all__ = [
    "BUSY",
    "LARGEST_WINDOW",
    "LATEST",
    "MOST_OPEN_ROWS",
    "PARTITIONS_A_WORKER",
    "Fleet",
    "Load",
    "Measured",
    "TopicBytes",
    "expected_s",
    "size_fleet",
]

BUSY = 0.5
"""Share of a process that is planned to be in use. The rest is for the busiest partition, a backlog, and the work of a
worker that is away."""

LATEST = 0.25
"""Largest share of a window's length that anonymizing the window of one shard may take."""

LARGEST_WINDOW = 2_000_000
"""Most rows of the window of one shard, if the number of shards is chosen here: a process that anonymizes it needs more
than a gigabyte."""

MOST_OPEN_ROWS = 20_000_000
"""Most rows of open windows of a worker: whoever takes over its partitions reads them again, for minutes."""

PARTITIONS_A_WORKER = 4
"""The number of partitions cannot be raised later without a new shards topic: room for four times as many workers."""

SHARDS_A_WORKER = 4
"""A shard's partition follows from its name, so few shards would lie unevenly on workers."""

_ROUNDS = 100
"""Where windows cost nearly as much however small they are, ever more shards would need ever more workers."""

SPARE_MEMORY = 1.25
MEMORY_STEP_MB = 64
EXTRACTS_MB = 64
"""A worker keeps up to this much of the last releases, for the attacks over windows."""

_DAY_S = 86_400
_CORE_STEP = 0.05
_LEAST_CORES = 0.1
_LEAST_BUFFERED_ROWS = 5_000_000
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a feed brings."""

    records_per_s: float
    """Check-ins or points a second, more than 0."""

    people: int
    """Different people in one window, at least 1."""

    window_s: float
    lateness_s: float = 60.0
    rejected: float = 0.01
    """Share of the records that become dead letters, 0 to 1."""

    shards: int | None = None
    """How many shards share the people; None for as few as the load allows."""

    processes: int = 1
    """Processes of a worker that anonymize."""

    @property
    def rows(self) -> float:
        """Records in one window, of all shards."""
        return self.records_per_s * self.window_s

    @property
    def people_in_a_window(self) -> float:
        """Never more than the records."""
        return min(float(self.people), self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The figures of one model."""

    model: ModelFigures
    family: FamilyFigures
    feed: FeedFigures

    @classmethod
    def of(cls, model: str, figures: Figures) -> Measured:
        """Return the figures of a model by its name."""
        own = figures.models[model]
        family = figures.families[own.family]
        return cls(model=own, family=family, feed=figures.feeds[family.kind])


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicBytes:
    """Bytes a day of each topic, as one replica of a broker stores them."""

    input: float
    shards: float
    seals: float
    anonymized: float
    windows: float
    dead_letters: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What a feed needs."""

    shards: int
    workers: int
    partitions: int
    worker_cores: float
    """CPU in use of the workers' own processes, all together."""

    pool_cores: float
    """CPU in use of the processes that anonymize, all together."""

    cores_a_worker: float
    """CPU to request for each worker."""

    memory_mb: int
    """Memory to request for each worker, MB of 2^20 bytes."""

    window_seconds: float
    """CPU time of the window of one shard."""

    open_rows: float
    """Rows of open windows, of all shards."""

    rows_a_worker: float
    """Those of the worker with the most shards."""

    buffered_rows: int
    """A limit for ``limits.buffered_rows``."""

    is_in_time: bool
    """Whether the window of one shard is anonymized within its share of the window's length, and one worker can follow
    the records of one shard."""

    topics: TopicBytes

    @property
    def cores(self) -> float:
        """CPU in use, of all workers."""
        return self.worker_cores + self.pool_cores


def size_fleet(load: Load, measured: Measured) -> Fleet:
    """Compute what a feed needs.

    Args:
        load: What the feed brings.
        measured: The figures of its model.

    Returns:
        The fleet. With ``load.shards`` given, cores, workers and open rows do not fall when records or people rise. If
        the number of shards is chosen here, more of them can be cheaper than few large ones.
    """
    worker_cores = load.records_per_s * measured.family.worker_us / 1e6
    shards = load.shards or _shards_needed(load, measured, worker_cores)
    workers = _workers(load, measured, worker_cores, shards)
    for _ in range(_ROUNDS if load.shards is None else 0):  # more shards may need more workers
        if workers == 1 or shards >= SHARDS_A_WORKER * workers:
            break
        shards = SHARDS_A_WORKER * workers
        workers = _workers(load, measured, worker_cores, shards)
    seconds = _window_seconds(load, measured, shards)
    pool_cores = shards * seconds / load.window_s
    share = math.ceil(shards / workers) / shards  # of the worker with the most shards
    open_rows = _open_rows(load, measured, shards)
    rows_a_worker = open_rows * share
    requested = (worker_cores + pool_cores) / workers / BUSY
    return Fleet(
        shards=shards,
        workers=workers,
        partitions=_power_of_two(PARTITIONS_A_WORKER * workers),
        worker_cores=worker_cores,
        pool_cores=pool_cores,
        cores_a_worker=max(_LEAST_CORES, round(math.ceil(requested / _CORE_STEP) * _CORE_STEP, 2)),
        memory_mb=_memory_mb(measured, rows_a_worker, load.rows / shards, load.processes),
        window_seconds=seconds,
        open_rows=open_rows,
        rows_a_worker=rows_a_worker,
        buffered_rows=max(_LEAST_BUFFERED_ROWS, _two_digits(2 * rows_a_worker)),
        is_in_time=seconds <= LATEST * load.window_s * (1 + _ROUNDING) and (shards > 1 or worker_cores <= BUSY),
        topics=_topic_bytes(load, measured, shards),
    )


def expected_s(run: MeasuredRun, measured: Measured) -> tuple[float, float]:
    """Return the CPU time that :func:`size_fleet` expects for a feed that was measured: of the worker, and of its pool.

    Args:
        run: The feed, in one shard.
        measured: The figures of its model.
    """
    window_s = 900.0  # of any length: only the records in it count
    rate = run.records / run.windows / window_s
    load = Load(records_per_s=rate, people=run.people, window_s=window_s, shards=1, rejected=0)
    fleet = size_fleet(load, measured)
    return fleet.worker_cores * window_s * run.windows, fleet.pool_cores * window_s * run.windows


def _window_seconds(load: Load, measured: Measured, shards: float) -> float:
    return measured.model.cost.seconds(load.people_in_a_window / shards, load.rows / shards)


def _open_rows(load: Load, measured: Measured, shards: int) -> float:
    return load.records_per_s * (load.window_s + load.lateness_s + _window_seconds(load, measured, shards))


def _shards_needed(load: Load, measured: Measured, worker_cores: float) -> int:
    """Return the least number of shards whose windows are anonymized in time and are not too large."""
    whole, allowed, cost = _window_seconds(load, measured, 1), LATEST * load.window_s, measured.model.cost
    exponent = cost.people + cost.rows
    in_time = math.ceil((whole / allowed) ** (1 / exponent)) if whole > allowed and exponent > 0 else 1
    followed = 1 if worker_cores <= BUSY else 2  # one shard is on one worker, which must follow its records
    return max(in_time, followed, math.ceil(load.rows / LARGEST_WINDOW))


def _workers(load: Load, measured: Measured, worker_cores: float, shards: int) -> int:
    pool_cores = shards * _window_seconds(load, measured, shards) / load.window_s
    by_rows = _open_rows(load, measured, shards) / MOST_OPEN_ROWS
    return max(1, math.ceil(max(worker_cores / BUSY, pool_cores / (BUSY * load.processes), by_rows)))


def _memory_mb(measured: Measured, open_rows: float, largest_window: float, processes: int) -> int:
    """Return the memory of a worker, rounded up."""
    own = measured.feed.worker_mb + EXTRACTS_MB + open_rows * measured.feed.row_bytes / 2**20
    anonymizing = measured.family.process_mb + largest_window * measured.model.row_bytes / 2**20
    return math.ceil((own + processes * anonymizing) * SPARE_MEMORY / MEMORY_STEP_MB) * MEMORY_STEP_MB


def _topic_bytes(load: Load, measured: Measured, shards: int) -> TopicBytes:
    family, feed = measured.family, measured.feed
    records, windows = load.records_per_s * _DAY_S, _DAY_S / load.window_s * shards
    people = load.people_in_a_window / shards
    return TopicBytes(
        input=records * feed.input_bytes,
        shards=records * (1 - load.rejected) * feed.shard_bytes,
        seals=windows * (family.seal_bytes + people * family.roster_bytes),
        anonymized=records * (1 - load.rejected) * family.release_bytes,
        windows=windows * family.window_bytes,
        dead_letters=records * load.rejected * feed.dead_letter_bytes,
    )


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _two_digits(rows: float) -> int:
    """Round up to two significant digits."""
    step = 10.0 ** max(0, math.floor(math.log10(rows)) - 1)
    return int(math.ceil(rows / step) * step)
