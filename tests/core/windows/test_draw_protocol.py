"""Draws under crashes, take-overs, repeated writes and compaction: whatever leaves of a window is of one draw.

Workers and faults are those of the seal protocol. A worker draws whenever it releases a window of which it knows no
draw, as ``stream/windows/partition_task.py`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from core.records.record import Kind
from core.windows.draw import Draw
from core.windows.partition import Partition, ReleaseWindow
from core.windows.seal import SealRecord
from core.windows.window import WindowKey
from stream.formats.seals import seal_from_bytes, seal_key, seal_to_bytes
from tests.budgets import examples
from tests.cluster.simulated_broker import Message, ProtocolError, SimulatedPartition
from tests.core.windows.test_seal_protocol import Protocol, Steps, Worker, two_workers, until

Tables = object


class DrawingWorker(Worker):
    """A worker whose releases depend on a draw."""

    def _release(self, action: ReleaseWindow) -> Steps:
        self._tables = yield from self._settle(action)
        yield from super()._release(action)

    def _settle(self, action: ReleaseWindow) -> Generator[str, None, Tables]:
        if action.draw is not None:
            return action.draw.tables
        self._broker.n_draws += 1
        mine = Draw(key=action.seal.key, tables={"a": {("a", "b"): self._broker.n_draws}}, writer=self.name)
        yield from self._write(mine)
        for record in (yield from self._read_seals()):
            self.machine.apply_seal(record)
        first = self.machine.draw(action.seal.key)
        return mine.tables if first is None else first.tables

    def _emit(self, message: Message) -> Steps:
        yield "emit"
        if self._broker.drawn.setdefault(message.window, self._tables) != self._tables:
            self._broker.broken = True
            raise ProtocolError("a window left by two draws")
        self._broker.emit(message)

    def _attempt(self, record: SealRecord) -> SealRecord:
        if not isinstance(record, Draw):
            return super()._attempt(record)
        self._broker.attempts += 1
        return replace(record, writer=f"{record.writer}/{self._broker.attempts}")


class DrawProtocol(Protocol):
    worker_class: ClassVar[type[Worker]] = DrawingWorker


def test_a_window_leaves_by_one_draw() -> None:
    """
    Under any faults nobody sees two draws of one window, and draws are removed when their window is completed.
    """
    n = examples(300, thorough=10_000)
    run_state_machine_as_test(DrawProtocol, settings=settings(max_examples=n, stateful_step_count=15))


# ----------------------------------------------------------------- mistakes that have to be found


class DrawsAgain(DrawingWorker):
    def _settle(self, action: ReleaseWindow) -> Generator[str, None, Tables]:
        self._broker.n_draws += 1
        yield "go on without a record"
        return self._broker.n_draws


class FollowsItsOwnDraw(DrawingWorker):
    def _settle(self, action: ReleaseWindow) -> Generator[str, None, Tables]:
        if action.draw is not None:
            return action.draw.tables
        before = self._broker.n_draws + 1
        yield from super()._settle(action)
        return {"a": {("a", "b"): before}}


class _KnowsTheLastDraw(Partition):
    def apply_seal(self, record: SealRecord) -> int:
        if isinstance(record, Draw):
            self._feeds[record.kind].shard(record.shard).draws.pop(record.key, None)
        return super().apply_seal(record)


class FollowsTheLastDraw(DrawingWorker):
    machine_class = _KnowsTheLastDraw


class OneKeyForAllDrawsOfAWindow(DrawingWorker):
    def _key(self, record: SealRecord) -> bytes:
        return f"draw {record.key}".encode() if isinstance(record, Draw) else super()._key(record)


def test_a_worker_that_forgets_its_draws_is_found_at_random() -> None:
    """
    The faults that are drawn break a worker that draws again.
    """

    class Mistaken(DrawProtocol):
        worker_class: ClassVar[type[Worker]] = DrawsAgain

    with pytest.raises(ProtocolError):
        run_state_machine_as_test(
            Mistaken,
            settings=settings(
                max_examples=examples(2000, least=2000),
                stateful_step_count=15,
                database=None,
                phases=[Phase.generate],
            ),
        )


def both_are_about_to_draw(worker_class: type[Worker]) -> tuple[SimulatedPartition, Worker, Worker]:
    """The owner follows the zombie's seal, and both release the window; the owner's draw is the first."""
    partition, owner, zombie = two_workers(worker_class, 16)
    zombie.step()
    owner.step()
    until(owner, "write Draw")
    until(zombie, "write Draw")
    owner.step()
    return partition, owner, zombie


def both_go_on(worker_class: type[Worker]) -> None:
    """Each emits something."""
    _, owner, zombie = both_are_about_to_draw(worker_class)
    zombie.step()
    for worker in (owner, zombie):
        until(worker, "emit")
        worker.step()


def both_crash_and_compaction_runs(worker_class: type[Worker]) -> None:
    """The owner has emitted something, the zombie has written its draw; a successor finds both."""
    partition, owner, zombie = both_are_about_to_draw(worker_class)
    until(owner, "emit")
    owner.step()
    zombie.step()
    partition.seals.append(b"the newest record is never compacted", None)
    partition.seals.compact(partition.seals.end, drop_tombstones=False)
    successor = worker_class(partition, "successor", start=0)
    successor.open()
    while not successor.is_caught_up:
        successor.read_message()
    until(successor, "wait")


@pytest.mark.parametrize(
    ("mistake", "scenario"),
    [
        (FollowsItsOwnDraw, both_go_on),
        (FollowsTheLastDraw, both_crash_and_compaction_runs),
        (OneKeyForAllDrawsOfAWindow, both_crash_and_compaction_runs),
    ],
)
def test_of_two_draws_the_first_one_counts(mistake: type[Worker], scenario: Callable[[type[Worker]], None]) -> None:
    """
    Two workers that both drew, and a crash between draw and completion, break a mistaken worker only.
    """
    scenario(DrawingWorker)
    with pytest.raises(ProtocolError):
        scenario(mistake)


def test_a_draw_is_read_as_it_was_written() -> None:
    """
    Any names; draws of different attempts have different keys, and a log cannot show the counts.
    """
    draw = Draw(
        key=WindowKey(20, Kind.CHECKINS, "8a/1", 10),
        tables={"8a/1": {("a", 'b"\x1f'): 7, ("𝔘", ""): 2**40}, "8a/2": {}},
        writer="w/1",
    )
    assert seal_from_bytes(seal_to_bytes(draw)) == draw
    assert seal_key(draw) != seal_key(replace(draw, writer="w/2"))
    assert "7" not in repr(draw)
    assert (draw.kind, draw.shard) == (Kind.CHECKINS, "8a/1")
