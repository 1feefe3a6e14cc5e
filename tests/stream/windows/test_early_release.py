"""A window is anonymized while its seal is written; only the seal that counts decides what is released."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from core.records.record import VISIT, Kind, Rows
from core.windows.draw import Draw
from core.windows.history import NO_HISTORY, History
from core.windows.partition import ReleaseWindow, WriteSeal
from core.windows.seal import Seal
from core.windows.window import WindowKey
from stream.windows.early_release import EarlyRelease


def seal(last_offset: int, *, start_ms: int = 0, history: str = "", writer: str = "me") -> Seal:
    key = WindowKey(start_ms + 10, Kind.CHECKINS, "all", start_ms)
    return Seal(
        key=key,
        last_offset=last_offset,
        n_rows=last_offset,
        release_id="r",
        digest="d",
        writer=writer,
        history=history,
    )


class Pool:
    """Counts its runs, and tells what it was given in place of a result."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.runs, self._fault = 0, fault

    async def run(self, kind: Kind, seal: Seal, rows: Rows, history: History, draw: Draw | None) -> list[Any]:
        self.runs += 1
        await asyncio.sleep(0)
        if self._fault is not None:
            raise self._fault
        return [(seal, len(rows)) if draw is None else (seal, draw)]


def rows(n: int) -> Rows:
    return np.zeros(n, dtype=VISIT)


@pytest.mark.parametrize(
    ("first", "runs"),
    [
        (seal(5, writer="another"), 1),
        (seal(5), 1),
        (seal(3, writer="another"), 2),
        (seal(5, start_ms=10), 2),
        (seal(5, history="other"), 2),
    ],
)
async def test_the_seal_that_counts_decides(first: Seal, runs: int) -> None:
    pool = Pool()
    early = EarlyRelease(pool)
    early.begin(WriteSeal(seal(5), rows(5), NO_HISTORY))
    await asyncio.sleep(0)
    found: list[Any] = await early.results(ReleaseWindow(first, rows(first.n_rows), NO_HISTORY))
    ((given, n),) = found
    assert (given.last_offset, n, pool.runs) == (first.last_offset, first.n_rows, runs)


async def test_what_was_drawn_before_is_not_drawn_again() -> None:
    """
    The window that was begun has another draw: it is dropped, and released by the draw that counts.
    """
    pool, first = Pool(), seal(5)
    draw = Draw(key=first.key, tables={"all": {}}, writer="another")
    early = EarlyRelease(pool)
    early.begin(WriteSeal(first, rows(5), NO_HISTORY))
    await asyncio.sleep(0)
    found: list[Any] = await early.results(ReleaseWindow(first, rows(5), NO_HISTORY, draw))
    assert found == [(first, draw)]
    assert pool.runs == 2


async def test_a_window_that_was_not_begun_is_anonymized() -> None:
    pool = Pool()
    assert len(await EarlyRelease(pool).results(ReleaseWindow(seal(2), rows(2), NO_HISTORY))) == 1


async def test_a_process_that_died_is_told_when_the_result_is_wanted() -> None:
    early = EarlyRelease(Pool(MemoryError()))
    early.begin(WriteSeal(seal(5), rows(5), NO_HISTORY))
    for _ in range(3):
        await asyncio.sleep(0)
    with pytest.raises(MemoryError):
        await early.results(ReleaseWindow(seal(5), rows(5), NO_HISTORY))


async def test_what_is_dropped_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    early = EarlyRelease(Pool(MemoryError()))
    early.begin(WriteSeal(seal(5), rows(5), NO_HISTORY))
    for _ in range(3):
        await asyncio.sleep(0)
    early.drop()
    await asyncio.sleep(0)
    assert not caplog.records
