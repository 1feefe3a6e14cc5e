"""What counting supports as records arrive costs, and what it saves when the window closes.

    python -m tests.benchmarks.bench_support

Both ways run in the same process, one after the other, on the same records; the results are compared. Seconds are of
processor time. About a minute.
"""

from __future__ import annotations

import gc
import pickle
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np

from core.models.km.anonymize.seqanon import Generalization, seqanon
from core.models.km.guarantee import KmAnonymity
from core.records.arrays import IntArray
from core.records.record import VISIT
from core.support.incremental import WindowSupports
from core.support.start import Recounted, Supports
from core.trajectories.assemble import Limits
from tests.benchmarks.inputs import Input, grid_walks, zipf_visits

LIMITS = Limits(points_per_user=1000, trajectory_length=100)
WINDOW_MS = 900_000
LATE_SHARE = 0.10
LATE_MS = 120_000
"""Most by which one of the late records comes after its time."""

T = TypeVar("T")
Record = tuple[int, int, int]


def main() -> None:
    """Measure and print."""
    walks, visits = grid_walks(), zipf_visits(20_000)
    for window, guarantee in (
        (walks, KmAnonymity(k=5, m=2)),
        (walks, KmAnonymity(k=5, m=3)),
        (visits, KmAnonymity(k=5, m=2)),
    ):
        for text in measure(window, guarantee):
            print(text)  # noqa: T201 - what a benchmark is for


def measure(window: Input, guarantee: KmAnonymity) -> Iterator[str]:
    """Compare the two ways on one window."""
    in_order, delayed = records(window)
    n = len(in_order)
    ids = np.arange(len(window.xy_m))
    yield f"\n{window.name}: {n} records of {window.sequences.n_users} people, k={guarantee.k}, m={guarantee.m}"

    recount = Recounted(window.sequences)
    counting_s, _ = timed(lambda: begin(recount, guarantee, ids))
    scratch_s, from_scratch = timed(lambda: seqanon(window.sequences, window.xy_m, guarantee))

    arriving_s, supports = timed(lambda: fed(in_order, guarantee))
    delayed_s, delayed_supports = timed(lambda: fed(delayed, guarantee))
    closing_s, closed = timed(partial(supports.close, ids))
    starting_s, _ = timed(partial(begin, closed, guarantee, ids))
    started_s, started = timed(partial(seqanon, window.sequences, window.xy_m, guarantee, supports=closed))
    compare(from_scratch, started)
    compare(from_scratch, seqanon(window.sequences, window.xy_m, guarantee, supports=delayed_supports.close(ids)))

    rows = np.zeros(n, dtype=VISIT)
    rows_s, sent = timed(lambda: pickle.loads(pickle.dumps(rows)).nbytes)  # noqa: S301 - our own bytes
    pickling_s, pickled = timed(partial(pickle.dumps, closed))
    unpickling_s, _ = timed(lambda: pickle.loads(pickled))  # noqa: S301 - our own bytes

    yield f"{'':44}{'from scratch':>14}{'incremental':>14}{'ratio':>8}"
    yield line("a record as it arrives, in order, us", None, arriving_s / n * 1e6)
    yield line(f"a record as it arrives, {LATE_SHARE:.0%} out of order, us", None, delayed_s / n * 1e6)
    yield line("closing: every index, nothing merged, s", counting_s, closing_s + starting_s)
    yield line("closing: the whole of SeqAnon, s", scratch_s, closing_s + started_s)
    yield line("the window, from first record to result, s", scratch_s, arriving_s + closing_s + started_s)
    yield line("to another process: bytes a record", sent / n, (sent + len(pickled)) / n)
    yield line("to another process: s", rows_s, rows_s + pickling_s + unpickling_s)
    yield line(
        "memory while the window is open, B a record", rows.itemsize, rows.itemsize + held(in_order, guarantee) / n
    )
    yield f"{from_scratch.merges} merges both ways"


def line(what: str, from_scratch: float | None, incremental: float) -> str:
    """Write one comparison; a ratio above 1 is in favour of counting as records arrive."""
    if from_scratch is None:
        return f"{what:44}{'-':>14}{incremental:14.4f}{'-':>8}"
    return f"{what:44}{from_scratch:14.4f}{incremental:14.4f}{from_scratch / incremental:8.2f}"


def records(window: Input) -> tuple[list[Record], list[Record]]:
    """Spread a window's visits over its time.

    Returns:
        Records (user, event time, location), in the order of their times, and with some of them late.
    """
    rng = np.random.default_rng(3)
    sequences = window.sequences
    lengths = np.diff(sequences.starts)
    users = np.repeat(sequences.users, lengths)
    at = np.arange(len(users)) - np.repeat(sequences.starts[:-1], lengths)  # number of each visit in its trajectory
    ts_ms = (rng.random(len(lengths)) * WINDOW_MS / 2).astype(np.int64)[users] + at * (WINDOW_MS // 2) // lengths[users]
    late_ms = np.where(rng.random(len(users)) < LATE_SHARE, rng.random(len(users)) * LATE_MS, 0)

    def arriving(arrival_ms: IntArray) -> list[Record]:
        order = np.argsort(arrival_ms, kind="stable")
        columns = (users[order], ts_ms[order], sequences.locations[order])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    return arriving(ts_ms), arriving(ts_ms + late_ms.astype(np.int64))


def fed(arriving: list[Record], guarantee: KmAnonymity) -> WindowSupports:
    """Count records as they arrive."""
    supports = WindowSupports(guarantee.k, guarantee.m, LIMITS, "{:04d}".format)
    for user, ts_ms, location in arriving:
        supports.add(user, ts_ms, location)
    return supports


def begin(supports: Supports, guarantee: KmAnonymity, ids: IntArray) -> None:
    """Make what SeqAnon needs of the supports, before anything is merged."""
    supports.visitors()
    for size in range(1, guarantee.m + 1):
        supports.index(size, k=guarantee.k, group_of=ids).infrequent()


def compare(a: Generalization, b: Generalization) -> None:
    """Stop where the two ways differ."""
    if (a.group_of.tobytes(), a.kept.tobytes(), a.merges) != (b.group_of.tobytes(), b.kept.tobytes(), b.merges):
        raise SystemExit("from scratch and incremental differ")


def held(arriving: list[Record], guarantee: KmAnonymity) -> int:
    """Bytes that the supports of an open window hold."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    supports = fed(arriving, guarantee)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del supports
    return after - before


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of processor time that something takes, and its result."""
    gc.collect()
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


if __name__ == "__main__":
    main()
