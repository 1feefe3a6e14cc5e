"""A worker with one planted fault: ``python -m tests.cluster.faulty_worker FAULT WINDOW``.

The fault strikes at the n-th window of a crowd (``tests/builders/feeds.py``), from 0; everything else is as in ``shoal
worker``. The processes that anonymize import this module again, with the same arguments, so that a fault holds in them
too.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from aiokafka import AIOKafkaProducer

import stream.windows.releasing
from core.models.common.plan import Plan
from core.models.km.algorithms import SeqAnon
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.guarantee import KmAnonymity
from core.models.km.plan import KmPlan
from core.records.record import Rows
from core.trajectories.assemble import SequenceWindow
from core.windows.seal import Seal, SealedUntil, SealRecord
from core.windows.window import Window
from stream.cli.main import main
from stream.formats.release.encoding import ReleaseEncoding
from stream.formats.release.json import JSON
from stream.formats.release.messages import OutMessage
from stream.formats.release.result import WindowResult
from stream.windows.emit import Emitter
from stream.windows.releasing import release
from stream.windows.seals_log import SealsLog
from tests.builders.feeds import window

__all__ = ["BURN_S", "LEAK", "faulty"]

BURN_S = {"anonymizer-burns": 20.0, "anonymizer-is-slow": 6.0}
"""For how long some anonymizers keep a processor busy before they begin."""

LEAK = "somebody-very-special at 48.234567"
"""What the exception of an anonymizer that fails says."""


def faulty(fault: str, window: int) -> tuple[str, ...]:
    """Return module and arguments of a worker with a fault."""
    return (__name__, fault, str(window))


# ---------------------------------------------------------------------- the worker dies


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _dies(owner: type, name: str, when: Callable[..., bool], *, after: bool) -> None:
    """Let a method end the worker before or after it has done what ``when`` tells by its arguments."""
    method = getattr(owner, name)

    async def patched(*given: Any, **named: Any) -> Any:
        if when(*given, **named) and not after:
            _die()
        result = await method(*given, **named)
        if when(*given, **named):
            _die()
        return result

    setattr(owner, name, patched)


def _dies_at_the_seal(at: Window, *, after: bool) -> None:
    def is_it(_: SealsLog, record: SealRecord) -> bool:
        return isinstance(record, Seal) and record.key.window == at

    _dies(SealsLog, "write", is_it, after=after)


def _dies_amid_the_trajectories(at: Window) -> None:
    send_batches = Emitter._send_batches

    async def send_half(
        self: Emitter, trajectories: Sequence[OutMessage], release: bytes, timestamp_ms: int | None, headers: Any
    ) -> AsyncIterator[Any]:
        dies = timestamp_ms == at.end_ms
        some = trajectories[: len(trajectories) // 2] if dies else trajectories
        async for sent in send_batches(self, some, release, timestamp_ms, headers):
            if dies:
                await sent
            yield sent
        if dies:
            _die()

    Emitter._send_batches = send_half  # type: ignore[method-assign]


def _dies_at_the_windows_message(at: Window, *, after: bool) -> None:
    def is_it(*_: Any, timestamp_ms: int | None = None, **__: Any) -> bool:
        return timestamp_ms == at.end_ms  # seals and chunks have the time of their writing

    _dies(AIOKafkaProducer, "send_and_wait", is_it, after=after)


def _dies_after_the_completion(at: Window) -> None:
    def is_it(_: SealsLog, record: SealRecord) -> bool:
        return isinstance(record, SealedUntil) and record.until_ms == at.end_ms

    _dies(SealsLog, "write", is_it, after=True)


# ---------------------------------------------------------------------- the anonymizer fails


def _anonymizes(at: Window, how: Callable[..., WindowResult]) -> None:
    """Let the processes that anonymize do otherwise with one window."""

    def patched(
        seal: Seal, rows: Rows, plan: Plan, encoding: ReleaseEncoding = JSON, *, max_bytes: int
    ) -> WindowResult:
        return (how if seal.key.window == at else release)(seal, rows, plan, encoding, max_bytes=max_bytes)

    stream.windows.releasing.release = patched


@dataclass(frozen=True, slots=True)
class _Raw(SeqAnon):
    """Generalizes nothing, and says that it did."""

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization:
        visits = window.sequences.locations
        n = len(window.vocabulary.names)
        return Generalization(group_of=np.arange(n), kept=np.ones(len(visits), dtype=np.bool_), merges=0)


@dataclass(frozen=True, slots=True)
class _Failing(SeqAnon):
    """Raises, and its exception tells what nobody may know."""

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization:
        raise ValueError(LEAK)


def _with(algorithm: SeqAnon) -> Callable[..., WindowResult]:
    def how(seal: Seal, rows: Rows, plan: Plan, encoding: ReleaseEncoding, *, max_bytes: int) -> WindowResult:
        assert isinstance(plan, KmPlan)
        return release(seal, rows, replace(plan, algorithm=algorithm), encoding, max_bytes=max_bytes)

    return how


def _exits(*_: Any, **__: Any) -> WindowResult:
    os._exit(9)


def _burns(seal: Seal, rows: Rows, plan: Plan, encoding: ReleaseEncoding, *, max_bytes: int) -> WindowResult:
    end_s = time.monotonic() + BURN_S[sys.argv[1]]
    while time.monotonic() < end_s:
        pass
    return release(seal, rows, plan, encoding, max_bytes=max_bytes)


FAULTS: dict[str, Callable[[Window], None]] = {
    "dies-before-the-seal": lambda at: _dies_at_the_seal(at, after=False),
    "dies-after-the-seal": lambda at: _dies_at_the_seal(at, after=True),
    "dies-amid-the-trajectories": _dies_amid_the_trajectories,
    "dies-before-the-windows-message": lambda at: _dies_at_the_windows_message(at, after=False),
    "dies-after-the-windows-message": lambda at: _dies_at_the_windows_message(at, after=True),
    "dies-after-the-completion": _dies_after_the_completion,
    "anonymizer-lets-all-through": lambda at: _anonymizes(at, _with(_Raw())),
    "anonymizer-raises": lambda at: _anonymizes(at, _with(_Failing())),
    "anonymizer-exits": lambda at: _anonymizes(at, _exits),
    **dict.fromkeys(BURN_S, lambda at: _anonymizes(at, _burns)),
}

if __name__ in {"__main__", "__mp_main__"}:
    FAULTS[sys.argv[1]](window(int(sys.argv[2])))

if __name__ == "__main__":
    main(["worker"])
