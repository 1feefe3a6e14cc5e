"""The processes that anonymize windows, apart from the event loop, so that heartbeats never wait for a window."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import multiprocessing
import multiprocessing.process
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import Any

import msgspec
import structlog

from core.kernels.catalogue import kernels_of
from core.models.common.plan import Plan
from core.records.record import Kind, Rows
from core.release.attacks.linkage import LinkageExtract
from core.windows.draw import Draw
from core.windows.history import NO_HISTORY, History
from core.windows.seal import Seal
from stream.formats.release.encoding import ReleaseEncoding
from stream.formats.release.messages import OutMessage
from stream.formats.release.result import WindowResult
from stream.windows.kernel_cache import NO_CACHE, choose_kernel_cache
from stream.windows.kernels import INTERPRETED, PreparedKernels, prepare_kernels
from stream.windows.latest_extracts import LatestExtracts
from stream.windows.releasing import link, release_parts

__all__ = ["PoolError", "ReleasePool", "die_with"]

log = structlog.get_logger("shoal.pool")

_messages = msgspec.msgpack.Decoder(tuple[tuple[OutMessage, ...], ...])
_plans: dict[Kind, Plan] = {}
_encodings: dict[Kind, ReleaseEncoding] = {}
_max_bytes = 0
_prepared = PreparedKernels()

_LOOK_EVERY_S = 0.5


class PoolError(Exception):
    """The processes that anonymize cannot be started; the message says what to do."""


class ReleasePool:
    """Runs :func:`stream.windows.releasing.release_parts` in processes of its own.

    Args:
        plans: How each kind of feed is released.
        encodings: How the releases of each kind are written.
        max_bytes: Longest message of a release.
        processes: How many windows are anonymized at the same time.

    Raises:
        PoolError: This machine does not let processes share memory.
    """

    def __init__(
        self,
        plans: Mapping[Kind, Plan],
        encodings: Mapping[Kind, ReleaseEncoding],
        *,
        max_bytes: int,
        processes: int,
    ) -> None:
        self.encodings = encodings
        self._n_kernels = len(kernels_of(plans))
        # Written without a lock: a number that is a little old does no harm, and a lock of a dead process would.
        try:
            self._n_ready: Any = RawValue(ctypes.c_int32, 0)
            self._initial = (dict(plans), dict(encodings), max_bytes, os.getpid(), self._n_ready)
            self._executor = self._new_executor(processes)
        except OSError as fault:
            raise PoolError(
                f"processes cannot share memory ({fault.strerror}): /dev/shm must be a folder that this user may write "
                "to, even if all other folders are read-only; mount a tmpfs there (on Kubernetes an emptyDir with "
                "medium: Memory)"
            ) from None
        self._processes = processes
        self._alone: ProcessPoolExecutor | None = None
        self._one_alone = asyncio.Lock()
        self._extracts = LatestExtracts()

    def _new_executor(self, processes: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            processes,
            mp_context=multiprocessing.get_context("spawn"),  # a fork would inherit the threads of Faust's consumer
            initializer=_initialize,
            initargs=self._initial,
        )

    async def start(self, progress: Callable[[int, int], None] = lambda _, __: None) -> None:
        """Start the processes, and return when their kernels are ready: no window should wait for a compiler.

        The first process compiles the kernels, or loads them from the cache; the others load what it has compiled.

        Args:
            progress: Called twice a second with the number of kernels that are ready, and of all.

        Raises:
            PoolError: A process died.
        """
        try:
            await self._start(progress)
        except BrokenProcessPool:
            raise PoolError(
                "a process that anonymizes windows died at its start, usually because memory ran out: give the worker "
                "more memory, or set worker.processes to fewer"
            ) from None

    async def _start(self, progress: Callable[[int, int], None]) -> None:
        begun_s, are_kept = time.monotonic(), choose_kernel_cache() is not None
        if self._n_kernels and not are_kept:
            log.warning("kernels_not_kept", action=NO_CACHE)
        first = self._look()
        while not first.done():
            progress(self._n_ready.value, self._n_kernels)
            await asyncio.wait([first], timeout=_LOOK_EVERY_S)
        found = await first
        if not found.are_compiled:
            log.warning("kernels_interpreted", action=INTERPRETED)
        if found.n_new and are_kept:
            # A process that has compiled keeps the compiler's memory, as much again as its own.
            self._executor.shutdown(wait=False)
            self._executor = self._new_executor(self._processes)
        await asyncio.gather(*(self._look() for _ in range(self._processes)))  # as many at once start as many processes
        log.info(
            "pool_started",
            processes=self._processes,
            kernels=self._n_kernels,
            compiled=found.n_new,
            seconds=round(time.monotonic() - begun_s, 1),
        )

    def _look(self) -> asyncio.Future[PreparedKernels]:
        return asyncio.get_running_loop().run_in_executor(self._executor, _prepared_kernels)

    async def run(
        self, kind: Kind, seal: Seal, rows: Rows, history: History = NO_HISTORY, draw: Draw | None = None
    ) -> list[WindowResult]:
        """Release a window, or each of its cells; if its process dies, try once more in a separate process.

        If one process of a pool dies, all do. The second attempt, alone, shows whether this window is the cause.

        Raises:
            BrokenProcessPool: The process died again, usually because memory ran out.
        """
        loop, shared = asyncio.get_running_loop(), self._executor
        job = partial(_job, kind, seal, rows, history, draw)
        try:
            packed, results = await loop.run_in_executor(shared, job)
        except BrokenProcessPool:
            log.error("anonymizer_process_died", action="trying the window once more in a new process")
            shared.shutdown(wait=False)
            if self._executor is shared:  # no other window of this pool has replaced it yet
                self._executor = self._new_executor(self._processes)
            async with self._one_alone:
                self._alone = self._new_executor(1)
                try:
                    packed, results = await loop.run_in_executor(self._alone, job)
                finally:
                    self._alone.shutdown(wait=False)
        messages = _messages.decode(packed)
        return [replace(result, messages=its) for result, its in zip(results, messages, strict=True)]

    async def link(self, kind: Kind, seal: Seal, results: Sequence[WindowResult]) -> list[WindowResult]:
        """Attack the release of a window together with the shard's release before it, if that is known.

        Call this after the release has left: it takes as long as anonymizing a window of check-ins.

        Returns:
            The results without extracts, the first released one with the linkage; without it if a process died.
        """
        light = [replace(result, messages=()) for result in results]
        job = partial(_link_job, kind, seal, light, self._extracts.before(seal.key))
        try:
            linked, extract = await asyncio.get_running_loop().run_in_executor(self._executor, job)
        except RuntimeError:  # a process died, or the pool is being closed: a metric must not stop the feed
            return [replace(result, extract=None) for result in results]
        self._extracts.keep(seal.key, extract)
        return [replace(one, messages=result.messages) for one, result in zip(linked, results, strict=True)]

    def resident_bytes(self) -> int:
        """Return the resident memory of the processes; 0 on systems without ``/proc``."""
        total = 0
        for process in self._running():
            with contextlib.suppress(OSError):
                pages = Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1]
                total += int(pages) * os.sysconf("SC_PAGE_SIZE")
        return total

    def _executors(self) -> list[ProcessPoolExecutor]:
        return [executor for executor in (self._executor, self._alone) if executor is not None]

    def _running(self) -> list[multiprocessing.process.BaseProcess]:
        return [process for one in self._executors() for process in (getattr(one, "_processes", None) or {}).values()]

    def close(self) -> None:
        """End the processes. Windows in progress are abandoned; because they are sealed, they are released later."""
        processes = self._running()
        for executor in self._executors():
            executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


def _initialize(
    plans: dict[Kind, Plan], encodings: dict[Kind, ReleaseEncoding], max_bytes: int, parent: int, n_ready: Any
) -> None:
    global _max_bytes, _prepared  # noqa: PLW0603 - one process, one set of plans
    _plans.update(plans)
    _encodings.update(encodings)
    _max_bytes = max_bytes
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of the terminal; the worker ends these
    threading.Thread(target=die_with, args=(parent,), daemon=True).start()

    def count(ready: int) -> None:
        n_ready.value = ready

    _prepared = prepare_kernels(plans, count)


def _prepared_kernels() -> PreparedKernels:
    return _prepared


def die_with(parent: int) -> None:
    """End this process when its parent is gone, for instance after kill -9."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _job(kind: Kind, seal: Seal, rows: Rows, history: History, draw: Draw | None) -> tuple[bytes, list[WindowResult]]:
    # A window makes a million small objects and no reference cycles; garbage collection would take 40 % of the time.
    gc.disable()
    try:
        plan, encoding = _plans[kind].after(history), _encodings[kind]
        parts = release_parts(seal, rows, plan, encoding, max_bytes=_max_bytes, draw=draw)
        results = [result for _, result in parts]
        # One byte string: unpickling the messages one by one would block the event loop for a tenth of a second.
        packed = msgspec.msgpack.encode([result.messages for result in results])
        return packed, [replace(result, messages=()) for result in results]
    finally:
        gc.enable()


def _link_job(
    kind: Kind, seal: Seal, results: Sequence[WindowResult], earlier: LinkageExtract | None
) -> tuple[list[WindowResult], LinkageExtract | None]:
    return link(seal, results, _plans[kind], earlier)
