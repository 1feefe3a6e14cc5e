"""The evaluation of one combination: every window is released by the service's own code, attacked and measured."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from core.models.common.plan import Plan
from core.models.frontier import Tally
from core.models.measures import measure_loss
from core.records.record import Rows
from core.release.attacks.risk import worst
from core.windows.history import History, Roster
from core.windows.seal import Seal
from stream.formats.release.result import WindowResult
from stream.replay.comparison.window_files import WindowFile
from stream.windows.latest_extracts import LatestExtracts
from stream.windows.releasing import link, release

__all__ = ["CombinationResult", "evaluate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinationResult:
    """What one combination came to."""

    tally: Tally
    """Sums over the windows. If measuring failed, those before."""

    cpu_s: float
    """Time of the processor to anonymize and verify, seconds; the only figure that differs between runs."""

    fault: str | None = None
    """Why the combination was given up; None if it is complete."""

    alarms: tuple[str, ...] = field(default=())
    """Faults that need attention: each kind once."""


def evaluate(
    plan: Plan,
    windows: Sequence[WindowFile],
    *,
    max_bytes: int,
    progress: Callable[[int], None] = lambda _: None,
) -> CombinationResult:
    """Evaluate a plan on windows. The same arguments give the same result, but for the time.

    Args:
        plan: How the windows are released.
        windows: All windows of a reading, in the order of their seals.
        max_bytes: Longest message of a release.
        progress: Called with the number of windows so far, before each.
    """
    tally, alarms, cpu_s = Tally(), list[str](), 0.0
    extracts = LatestExtracts()
    past: dict[str, tuple[Roster, ...]] = {}
    plan = plan.remembering()
    for number, window in enumerate(windows):
        progress(number)
        rows, key = window.rows(), window.key
        # A window's seal and history depend on the plan; its rows do not.
        history = History.of(key, past.get(key.shard, ()), horizon=plan.horizon)
        after = plan.after(history)
        seal = after.seal(key, window.last_offset, len(rows), writer="replay")
        result, seconds = _released(seal, rows, after, max_bytes)
        cpu_s += seconds
        if result.roster is not None:
            past[key.shard] = (*history.rosters, result.roster)
        if result.alarm is not None and not tally.windows_failed:
            alarms.append(f"{result.alarm}; this window and later ones that fail count as withheld")
        loss = None
        if result.outcome == "released":
            try:
                loss = measure_loss(seal, rows, after)
            except Exception as fault:  # one combination must not stop the others
                # The exception's text could contain data; its type cannot.
                why = f"measuring failed ({type(fault).__name__})"
                alarms.append(
                    f"{why}: this combination is left out; run `shoal replay` with its settings and "
                    "--measure all to see whether the model itself works"
                )
                return CombinationResult(tally=tally, cpu_s=cpu_s, fault=why, alarms=tuple(alarms))
        (linked,), extract = link(seal, [result], after, extracts.before(key))
        extracts.keep(key, extract)
        tally.add(
            result.account,
            window.people,
            loss,
            failed=result.alarm is not None,
            linkage=linked.linkage,
            risk=worst(result.risks) if result.risks else None,
        )
    return CombinationResult(tally=tally, cpu_s=cpu_s, alarms=tuple(alarms))


def _released(seal: Seal, rows: Rows, plan: Plan, max_bytes: int) -> tuple[WindowResult, float]:
    """Release a window; return the result without its messages, and the time of the processor, seconds."""
    # A window makes a million small objects and no reference cycles.
    gc.disable()
    try:
        began_s = time.process_time()
        result = release(seal, rows, plan, max_bytes=max_bytes)
        return replace(result, messages=()), time.process_time() - began_s
    finally:
        gc.enable()
