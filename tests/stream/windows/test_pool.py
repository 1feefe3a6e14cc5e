from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import Any

import pytest

from core.kernels import catalogue
from core.kernels.kernel import Kernel
from core.records.record import Kind
from core.windows.window import WindowKey
from stream.formats.release.json import JSON
from stream.windows import kernels
from stream.windows.kernels import PreparedKernels, prepare_kernels
from stream.windows.pool import PoolError, ReleasePool
from tests.builders.windows import START_MS, WINDOW_MS, sequence_plan, visits


@contextlib.contextmanager
def _pool(processes: int) -> Iterator[ReleasePool]:
    pool = ReleasePool({}, {}, max_bytes=1_000_000, processes=processes)
    try:
        yield pool
    finally:
        pool.close()


async def test_a_pool_that_has_started_has_its_processes() -> None:
    """
    They start before the first window, which so waits for none.
    """
    seen: list[tuple[int, int]] = []
    with _pool(2) as pool:
        assert pool.resident_bytes() == 0
        await pool.start(lambda ready, total: seen.append((ready, total)))
        assert pool.resident_bytes() > 0
    assert set(seen) == {(0, 0)}


def _twice(x: float) -> float:
    return 2 * x


@pytest.fixture
def two_kernels(monkeypatch: pytest.MonkeyPatch) -> tuple[Kernel[[float], float], ...]:
    """Two kernels, the only ones in the catalogue."""
    found = Kernel(_twice, "float64(float64)"), Kernel(_twice, "float32(float32)")
    monkeypatch.setattr(kernels, "kernels_of", lambda kinds: found if Kind.FRAGMENTS in kinds else ())
    return found


def test_only_what_is_needed_is_prepared(two_kernels: tuple[Kernel[[float], float], ...]) -> None:
    """
    A feed of check-ins compiles no kernel of trajectories, and progress counts the kernels of a feed.
    """
    seen: list[int] = []
    assert prepare_kernels([Kind.CHECKINS], seen.append) == PreparedKernels()
    assert not seen
    assert all(one._compiled is None for one in two_kernels)
    assert prepare_kernels([Kind.FRAGMENTS], seen.append).are_compiled
    assert seen == [1, 2]
    assert all(one._compiled is not None for one in two_kernels)


def test_without_numba_it_says_so(
    two_kernels: tuple[Kernel[[float], float], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Kernels run interpreted, and whoever starts them can warn; without kernels there is nothing to warn of.
    """
    monkeypatch.setattr(kernels, "is_compiled", lambda: False)
    assert not prepare_kernels([Kind.FRAGMENTS]).are_compiled
    assert prepare_kernels([Kind.CHECKINS]).are_compiled
    assert catalogue.kernels_of([]) == ()


async def test_without_its_processes_a_window_is_not_linked() -> None:
    """
    A worker that stops reports what it has released all the same.
    """
    plan, rows = sequence_plan(k=3), visits(*((user, START_MS + user, 0) for user in range(9)))
    pool = ReleasePool({Kind.CHECKINS: plan}, {Kind.CHECKINS: JSON}, max_bytes=2**20, processes=1)
    key = WindowKey(START_MS + WINDOW_MS, Kind.CHECKINS, "all", START_MS)
    seal = plan.seal(key, 0, len(rows), "test")
    results = await pool.run(Kind.CHECKINS, seal, rows)
    pool.close()
    (linked,) = await pool.link(Kind.CHECKINS, seal, results)
    assert (linked.outcome, linked.linkage, linked.extract) == ("released", None, None)


async def test_a_window_is_linked_to_the_one_before_in_the_pool() -> None:
    """
    The pool keeps the extract of each shard's last release, and compares it with the next one when that has left.
    """
    plan = sequence_plan(k=3)
    pool = ReleasePool({Kind.CHECKINS: plan}, {Kind.CHECKINS: JSON}, max_bytes=2**20, processes=1)
    try:
        linkages = []
        for number in range(3):
            start_ms = START_MS + number * WINDOW_MS
            rows = visits(*((user, start_ms + user, 0) for user in range(9)))
            key = WindowKey(start_ms + WINDOW_MS, Kind.CHECKINS, "all", start_ms)
            seal = plan.seal(key, 0, len(rows), "test")
            (result,) = await pool.run(Kind.CHECKINS, seal, rows)
            (linked,) = await pool.link(Kind.CHECKINS, seal, [result])
            assert (result.linkage, linked.extract, linked.messages) == (None, None, result.messages)
            linkages.append(linked.linkage)
    finally:
        pool.close()
    assert linkages[0] is None
    assert [one is not None and one.mean for one in linkages[1:]] == [pytest.approx(1 / 9)] * 2


class _Deadly:
    """Ends the process that it is sent to."""

    def __reduce__(self) -> Any:
        return os._exit, (1,)


async def test_a_process_that_dies_at_its_start_is_a_sentence() -> None:
    """
    As where memory is too small for one: the start ends with what to do.
    """
    pool = ReleasePool({}, {Kind.CHECKINS: _Deadly()}, max_bytes=2**20, processes=1)  # type: ignore[dict-item]
    try:
        with pytest.raises(PoolError, match=r"usually because memory ran out: give the worker more memory, or set"):
            await pool.start()
    finally:
        pool.close()


def test_a_machine_without_shared_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Semaphores need /dev/shm, and there is no way without them.
    """

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", refuse)
    with pytest.raises(PoolError, match=r"cannot share memory \(Read-only file system\): /dev/shm must be a folder"):
        ReleasePool({}, {}, max_bytes=2**20, processes=1)
