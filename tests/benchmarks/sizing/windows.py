"""What one window costs, by its people and records: each is anonymized twice, in a process of its own.

The second time counts: it is attacked together with the window before it, as in a worker.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from core.records.record import Rows
from core.windows.window import WindowKey
from stream.cli.sizing.figures import ModelFigures, WindowCost, WindowSample
from stream.feeds.feed import Feed
from stream.settings.load import load_settings
from stream.windows.kernels import prepare_kernels
from stream.windows.releasing import link, release_parts
from tests.benchmarks.replays import SECRET
from tests.benchmarks.sizing.inputs import Measurement, WindowSize, read_window
from tests.benchmarks.stream_inputs import SIZE_S, memory_mb

__all__ = ["SIZES", "fit", "measure_models"]

SIZES = (
    WindowSize(people=1_000, records_each=8),
    WindowSize(people=4_000, records_each=2),
    WindowSize(people=4_000, records_each=8),
    WindowSize(people=4_000, records_each=24),
    WindowSize(people=16_000, records_each=8),
    WindowSize(people=32_000, records_each=8),
)
"""From small to large."""

MOST_S = 2.0
"""A model that needs longer for a window is not measured with larger ones."""

_MAX_BYTES = 2**20


def measure_models(models: Sequence[Measurement], family: str, folder: Path) -> Iterator[tuple[str, ModelFigures]]:
    """Measure the windows of the models of one family, one after the other."""
    for one in models:
        reader, writer = multiprocessing.get_context("spawn").Pipe(duplex=False)
        child = multiprocessing.get_context("spawn").Process(target=_measure_model, args=(one, folder, writer))
        child.start()
        writer.close()
        windows: list[WindowSample] = reader.recv()
        child.join()
        largest = max(windows, key=lambda window: window.rows)
        row_bytes = max(one.memory_mb * 2**20 / one.rows for one in windows if one.rows >= largest.rows / 4)
        yield one.model, ModelFigures(family=family, cost=fit(windows), windows=windows, row_bytes=round(row_bytes))


def fit(windows: Sequence[WindowSample]) -> WindowCost:
    """Fit seconds = factor * people^a * rows^b by least squares of the logarithms, with a and b at least 0."""
    seconds = np.log([one.seconds for one in windows])
    columns = {"people": np.log([one.people for one in windows]), "rows": np.log([one.rows for one in windows])}
    while True:
        matrix = np.column_stack([np.ones(len(windows)), *columns.values()])
        factor, *exponents = np.linalg.lstsq(matrix, seconds, rcond=None)[0].tolist()
        found = dict(zip(columns, exponents, strict=True))
        if not found or min(found.values()) >= 0:
            break
        del columns[min(found, key=lambda name: found[name])]
    cost = WindowCost(factor=math.exp(factor), people=found.get("people", 0.0), rows=found.get("rows", 0.0), error=1.0)
    ratios = [cost.seconds(one.people, one.rows) / one.seconds for one in windows]
    error = max(max(ratio, 1 / ratio) for ratio in ratios)
    return WindowCost(factor=cost.factor, people=cost.people, rows=cost.rows, error=round(error, 2))


def _measure_model(one: Measurement, folder: Path, answer: Connection) -> None:
    feed = Feed(load_settings(given={"privacy.secret": SECRET, **one.given}), one.kind, secret=SECRET)
    prepare_kernels({feed.kind: feed.plan})
    windows: list[WindowSample] = []
    for size in SIZES:
        rows = read_window(one, size, folder)
        windows.append(_in_a_fork(feed, rows, size.people))
        if windows[-1].seconds > MOST_S:
            break
    answer.send(windows)


def _in_a_fork(feed: Feed, rows: Rows, people: int) -> WindowSample:
    """Measure in a fork, so that memory which an earlier window has left behind does not hide what this one needs."""
    forking = multiprocessing.get_context("fork")
    reader, writer = forking.Pipe(duplex=False)
    child = forking.Process(target=_measure_window, args=(feed, rows, people, writer))
    child.start()
    writer.close()
    found: WindowSample = reader.recv()
    child.join()
    return found


def _measure_window(feed: Feed, rows: Rows, people: int, answer: Connection) -> None:
    start_ms = int(rows["ts_ms"].min()) // (SIZE_S * 1000) * SIZE_S * 1000
    key = WindowKey(start_ms + SIZE_S * 1000, feed.kind, "all", start_ms)
    seal = feed.plan.seal(key, last_offset=0, n_rows=len(rows), writer="bench")
    gc.disable()  # as in the processes of the pool
    seconds, extract = [], None
    before_mb = memory_mb(os.getpid())
    Path("/proc/self/clear_refs").write_text("5")  # the highest memory from here on
    for _ in range(2):
        begun = time.process_time()
        results = [result for _, result in release_parts(seal, rows, feed.plan, max_bytes=_MAX_BYTES)]
        _, extract = link(seal, results, feed.plan, extract)  # in the second round the window before is the same again
        seconds.append(time.process_time() - begun)
        if any(result.outcome != "released" for result in results):
            raise RuntimeError(f"{feed.plan.model}, {len(rows)} rows: not released; {results[0].alarm}")
    answer.send(
        WindowSample(
            people=people,
            rows=len(rows),
            seconds=round(seconds[-1], 4),
            memory_mb=round(memory_mb(os.getpid(), "VmHWM") - before_mb, 1),
        )
    )
