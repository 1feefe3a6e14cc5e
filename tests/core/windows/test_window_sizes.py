"""The size of windows changes, at any moment of the seal protocol: no record is released twice, and none is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.records.record import VISIT, Chunk, Kind, Rows, Source
from core.windows.partition import Partition, ReleaseWindow, WriteCompletion, WriteSeal
from core.windows.seal import Seal, SealRecord
from core.windows.window import WindowKey, WindowPolicy
from tests.budgets import examples

INPUT = Source("checkins", 0)
IDLE_MS = 100


class Worker(NamedTuple):
    """One worker after the other: its size of windows, how many chunks come while it runs, and when it dies."""

    size_ms: int
    chunks: list[list[int]]
    n_steps: int


@dataclass
class Cluster:
    """What outlives workers."""

    shards: list[Rows] = field(default_factory=list)
    seals: list[SealRecord] = field(default_factory=list)
    committed: int = 0
    n_rows: int = 0
    released: dict[WindowKey, list[int]] = field(default_factory=dict)

    def forward(self, times: list[int]) -> None:
        """Write a chunk of records at these times, numbered in the order of the input."""
        self.shards.append(np.array([(self.n_rows + i, 1, ts, 0, 0) for i, ts in enumerate(times)], dtype=VISIT))
        self.n_rows += len(times)

    def emit(self, key: WindowKey, rows: Rows) -> None:
        """Release a window; the same key always has the same records."""
        numbers = sorted(rows["offset"].tolist())
        assert self.released.setdefault(key, numbers) == numbers


def a_seal(key: WindowKey, last_offset: int, n_rows: int) -> Seal:
    return Seal(key=key, last_offset=last_offset, n_rows=n_rows, release_id="r", digest="d", writer="w")


def run(cluster: Cluster, worker: Worker, *, to_the_end: bool = False) -> int:
    """Let a worker start, read and act until it dies; return how many rows it found late for the first time."""
    policy = WindowPolicy(size_ms=worker.size_ms, allowed_lateness_ms=0, idle_timeout_ms=IDLE_MS, max_open=1_000)
    machine = Partition({Kind.CHECKINS: policy}, lambda key, last, n, _: a_seal(key, last, n))
    for record in cluster.seals:
        machine.apply_seal(record)
    late = read = n_steps = 0
    for offset in range(cluster.committed, len(cluster.shards)):
        late += accept(machine, cluster, offset)
    read = len(cluster.shards)
    for times in [*worker.chunks, []]:
        if times:
            cluster.forward(times)
        for offset in range(read, len(cluster.shards)):
            late += accept(machine, cluster, offset)
        read = len(cluster.shards)
        clock_ms = 0 if times else 10 * IDLE_MS
        while (action := machine.next_action(clock_ms=clock_ms)) is not None and (
            to_the_end or n_steps < worker.n_steps
        ):
            n_steps += 1
            if isinstance(action, WriteSeal):
                cluster.seals.append(action.seal)
                late += machine.apply_seal(action.seal)
            elif isinstance(action, ReleaseWindow):
                assert len(action.rows) == action.seal.n_rows
                cluster.emit(action.seal.key, action.rows)
                machine.released(action.seal)
            elif isinstance(action, WriteCompletion):
                cluster.seals.append(action.until)
                cluster.seals = [one for one in cluster.seals if one not in action.obsolete]
                machine.completed(action)
        cluster.committed = machine.committable_offset() or cluster.committed
    return late


def accept(machine: Partition, cluster: Cluster, offset: int) -> int:
    rows = cluster.shards[offset]
    chunk = Chunk(kind=Kind.CHECKINS, shard="a", source=INPUT, n_partitions=1, vocabulary="v", rows=rows)
    return machine.accept(chunk, offset, clock_ms=0).late


times = st.integers(0, 40)
workers = st.builds(
    Worker,
    size_ms=st.sampled_from([2, 5, 10, 15, 40]),
    chunks=st.lists(st.lists(times, min_size=1, max_size=4), max_size=4),
    n_steps=st.integers(0, 12),
)


@given(st.lists(workers, min_size=2, max_size=4))
@example([Worker(10, [[1], [12], [15]], 3), Worker(40, [], 0)])
@example([Worker(40, [[1], [12], [41]], 1), Worker(10, [], 0)])
@settings(max_examples=examples(500, least=60))
def test_every_record_is_released_once_or_late(one_after_the_other: list[Worker]) -> None:
    """
    Workers with any sizes of windows die at any step. In the end each record is in one window that was released, or it
    came after that was sealed; records of one window are never those of another.
    """
    cluster = Cluster()
    for worker in one_after_the_other:
        run(cluster, worker)
    last = one_after_the_other[-1]
    run(cluster, last._replace(chunks=[]), to_the_end=True)

    found = [number for numbers in cluster.released.values() for number in numbers]
    assert len(found) == len(set(found))
    reached_ms = max((key.end_ms for key in cluster.released), default=0)
    missing = set(range(cluster.n_rows)) - set(found)
    ts_ms = np.concatenate([rows["ts_ms"] for rows in cluster.shards] or [np.empty(0, np.int64)])
    assert all(ts_ms[number] < reached_ms for number in missing)


@given(st.lists(workers, min_size=1, max_size=1), st.sampled_from([2, 5, 10, 15, 40]))
@settings(max_examples=examples(300, least=30))
def test_what_is_not_sealed_goes_to_windows_of_the_new_size(first: list[Worker], size_ms: int) -> None:
    """
    Nothing of what waits is late because the size changes.
    """
    cluster = Cluster()
    late = sum(run(cluster, worker) for worker in first)
    late += run(cluster, Worker(size_ms, [], 0), to_the_end=True)
    found = sum(len(numbers) for numbers in cluster.released.values())
    assert found + late >= cluster.n_rows


def test_a_worker_that_has_not_noticed_seals_a_window_of_the_old_size() -> None:
    """
    rows 12 [0], 16 [1], 13 [2] wait in the window of 10 to 20; a seal of 10 to 15 up to [1]: 12 is in it, 13 is late,
    and 16 stays.
    """
    cluster, key = Cluster(), WindowKey(15, Kind.CHECKINS, "a", 10)
    policy = WindowPolicy(size_ms=10, allowed_lateness_ms=0, idle_timeout_ms=IDLE_MS, max_open=1_000)
    machine = Partition({Kind.CHECKINS: policy}, lambda key, last, n, _: a_seal(key, last, n))
    for offset, ts_ms in enumerate([12, 16, 13]):
        cluster.forward([ts_ms])
        accept(machine, cluster, offset)
    assert machine.apply_seal(a_seal(key, 1, 1)) == 1
    action = machine.next_action(clock_ms=0)
    assert isinstance(action, ReleaseWindow)
    assert (action.seal.key, action.rows["ts_ms"].tolist()) == (key, [12])
    machine.released(action.seal)
    completion = machine.next_action(clock_ms=0)
    assert isinstance(completion, WriteCompletion)
    machine.completed(completion)
    following = machine.next_action(clock_ms=10 * IDLE_MS)
    assert isinstance(following, WriteSeal)
    assert (following.seal.key.window, following.rows["ts_ms"].tolist()) == ((10, 20), [16])
