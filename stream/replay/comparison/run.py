"""Runs a comparison: each reading of the files once, then its combinations side by side in several processes."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from core.records.record import Kind
from stream.formats.files.record_file import RecordFile
from stream.replay.comparison.combinations import Combination, Combinations, Reading
from stream.replay.comparison.finished import Finished, ReadingCounts
from stream.replay.comparison.one_combination import CombinationResult, evaluate
from stream.replay.comparison.window_files import WindowFile, keep_windows
from stream.replay.file_windows import FileWindows
from stream.replay.summary import Summary
from stream.windows.kernel_cache import choose_kernel_cache
from stream.windows.kernels import prepare_kernels
from stream.windows.pool import die_with

__all__ = ["ComparisonError", "ComparisonResults", "run_comparison"]


class ComparisonError(Exception):
    """A comparison cannot go on; the message says why, and what to do."""


@dataclass(slots=True, kw_only=True)
class ComparisonResults:
    """What a comparison came to, so far."""

    evaluations: dict[str, CombinationResult] = field(default_factory=dict)
    """By the digest of the combination; those that are missing are not finished."""

    readings: dict[str, ReadingCounts] = field(default_factory=dict)
    """By the digest of the reading."""

    ended_early: bool = False
    """Whether Ctrl-C ended the run before the last combination."""


StepProgress = Callable[[str, float], None]
"""Called with the step, and the share of the run that is done, 0 to 1."""


def run_comparison(
    combinations: Combinations,
    open_files: Callable[[Reading], Sequence[RecordFile]],
    finished: Finished,
    *,
    now_ms: int,
    processes: int,
    progress: StepProgress = lambda *_: None,
    alarm: Callable[[str], None] = lambda _: None,
) -> ComparisonResults:
    """Evaluate all combinations that are not finished. Ctrl-C ends the run and keeps what is finished.

    The results do not depend on the number of processes, nor on how often the run was interrupted.

    Args:
        combinations: What is compared.
        open_files: Opens the files of records as a reading needs them.
        finished: What earlier runs have finished; what this one finishes is added.
        now_ms: The present, Unix milliseconds.
        processes: How many combinations are evaluated at the same time; 1 to evaluate them in this process.
        progress: See :data:`StepProgress`.
        alarm: Called with every fault that needs attention.

    Raises:
        FileFormatError: A file is damaged or of another form.
        ComparisonError: A process died.
    """
    results = ComparisonResults()
    pending: dict[Reading, dict[str, Combination]] = {}
    for one in combinations.all:
        kept, counts = finished.evaluation(one.digest), finished.reading(one.reading.digest)
        if kept is None or counts is None:
            pending.setdefault(one.reading, {}).setdefault(one.digest, one)
        else:
            results.evaluations[one.digest], results.readings[one.reading.digest] = kept, counts
    # A file that cannot be read is found before the first window is released.
    opened = {reading: open_files(reading) for reading in pending}
    run = _Run(results, finished, len({one.digest for one in combinations.all}), progress, alarm)
    try:
        with _executor(combinations.kind, min(processes, sum(map(len, pending.values())))) as executor:
            for reading, by_digest in pending.items():
                its = list(by_digest.values())
                with _private_folder() as folder:
                    windows = run.read(reading, opened[reading], folder, now_ms=now_ms)
                    if executor is None:
                        run.evaluate_here(its, windows)
                    else:
                        run.evaluate_in(executor, its, windows)
    except KeyboardInterrupt:
        results.ended_early = len(results.evaluations) < run.n_all
    except BrokenProcessPool:
        raise ComparisonError(
            "a process died, usually because memory ran out; what is finished is kept: run the same command again, "
            "with --processes 1"
        ) from None
    finally:
        for files in opened.values():
            for file in files:
                file.close()
    return results


@dataclass(slots=True)
class _Run:
    results: ComparisonResults
    finished: Finished
    n_all: int
    progress: StepProgress
    alarm: Callable[[str], None]

    def read(self, reading: Reading, files: Sequence[RecordFile], folder: Path, *, now_ms: int) -> Sequence[WindowFile]:
        """Read the files once, and keep the windows and the counts."""
        summary = Summary()
        found = FileWindows(reading.feed, files, now_ms=now_ms, summary=summary, policy=reading.policy)
        size = sum(file.size for file in files) or 1

        def read_so_far(number: int) -> None:
            self.progress(f"reading, window {number}, {100 * found.position // size} %", self._share)

        windows, people = keep_windows(found, folder, read_so_far)
        counts = ReadingCounts.of(summary, windows=len(windows), people=people)
        self.results.readings[reading.digest] = counts
        self.finished.keep_reading(reading.digest, counts)
        return windows

    def evaluate_here(self, combinations: Sequence[Combination], windows: Sequence[WindowFile]) -> None:
        """Evaluate combinations in this process, one after the other."""
        for one in combinations:
            self._take(one, _task(one, windows)(progress=partial(self._at_window, one, len(windows))))

    def evaluate_in(
        self, executor: ProcessPoolExecutor, combinations: Sequence[Combination], windows: Sequence[WindowFile]
    ) -> None:
        """Evaluate combinations in other processes, several at the same time."""
        running: dict[Future[CombinationResult], Combination] = {
            executor.submit(_task(one, windows)): one for one in combinations
        }
        while running:
            self.progress(f"{len(running)} of {self.n_all} combinations to go", self._share)
            for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
                self._take(running.pop(future), future.result())

    @property
    def _share(self) -> float:
        return len(self.results.evaluations) / self.n_all

    def _at_window(self, one: Combination, n_windows: int, number: int) -> None:
        done = len(self.results.evaluations)
        step = f"{done + 1} of {self.n_all}: {one.label}, window {number + 1} of {n_windows}"
        self.progress(step, (done + number / n_windows) / self.n_all)

    def _take(self, one: Combination, evaluation: CombinationResult) -> None:
        for fault in evaluation.alarms:
            self.alarm(f"{one.label}: {fault}")
        self.finished.keep_evaluation(one.digest, evaluation)
        self.results.evaluations[one.digest] = evaluation


def _task(one: Combination, windows: Sequence[WindowFile]) -> partial[CombinationResult]:
    return partial(evaluate, one.plan, windows, max_bytes=one.reading.settings.limits.message_bytes)


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Make a folder for this user alone, and remove it at the end, however often Ctrl-C is pressed."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-windows-"))
    try:
        yield folder
    finally:
        interrupted = False
        while folder.exists():
            try:
                shutil.rmtree(folder)
            except KeyboardInterrupt:
                interrupted = True
        if interrupted:
            raise KeyboardInterrupt


@contextmanager
def _executor(kind: Kind, processes: int) -> Iterator[ProcessPoolExecutor | None]:
    """Start processes; None for fewer than two. At the end, what they have begun is abandoned."""
    if processes < 2:
        yield None
        return
    executor = ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),  # a fork would inherit the thread that draws the progress bar
        initializer=_initialize,
        initargs=(kind, os.getpid()),
    )
    try:
        yield executor
    finally:
        running = list((getattr(executor, "_processes", None) or {}).values())
        executor.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()


def _initialize(kind: Kind, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of the terminal; the parent ends these
    threading.Thread(target=die_with, args=(parent,), daemon=True).start()
    choose_kernel_cache()
    prepare_kernels([kind])
