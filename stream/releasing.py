"""Releasing: a sealed window becomes the messages that leave, in whatever process that happens."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from core.pipeline import release_window
from core.plan import Plan
from core.records import Rows
from core.release import Account, Outcome, Release, ReleaseRefused, WithholdReason
from core.risk import Attack, Risk, worst
from core.seal import Seal
from stream.codec import OutMessage, outcome_messages

__all__ = ["WindowResult", "release", "withhold"]

_ENVELOPE_BYTES = 512
"""What Kafka adds to key and value, headers included, and counts against the longest message it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowResult:
    """What became of one window: the messages that leave, and what may be said about it."""

    messages: tuple[OutMessage, ...]
    """Trajectories, then the windows message."""

    account: Account
    seconds: float
    """Time to anonymize and verify."""

    outcome: str
    """``released``, ``withheld`` or ``refused``."""

    facts: Mapping[str, float | int | str | None]
    """Figures of the window for logs and people: the published ones, and the highest risk of the attacks."""

    risks: Mapping[Attack, Risk] = field(default_factory=dict)
    """What simulated attacks on it came to."""

    alarm: str | None = None
    """What somebody must look at; no location and no user."""


def release(seal: Seal, rows: Rows, plan: Plan, *, max_bytes: int) -> WindowResult:
    """Anonymize, verify and encode a sealed window; a window that cannot be released is withheld.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How to release it.
        max_bytes: Longest message that the topics take.
    """
    begun = time.perf_counter()
    alarm: str | None = None
    try:
        outcome: Outcome = release_window(seal, rows, plan)
    except Exception as fault:  # a window that cannot be anonymized must not stop the feed
        where = fault.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        # The exception's text could hold data, its type and line cannot.
        line = f"{where.tb_frame.f_code.co_filename}:{where.tb_lineno}" if where is not None else "?"
        alarm = f"the anonymizer failed: {type(fault).__name__} at {line}"
        outcome = plan.withhold(seal, WithholdReason.ANONYMIZER_FAILED, withheld=len(rows))
    messages = tuple(outcome_messages(outcome))
    if any(len(message.value) + len(message.key) + _ENVELOPE_BYTES > max_bytes for message in messages):
        alarm = f"a message of the release is longer than limits.message_bytes={max_bytes}"
        outcome = plan.withhold(seal, WithholdReason.TOO_LARGE, withheld=len(rows))
        messages = tuple(outcome_messages(outcome))
    if isinstance(outcome, ReleaseRefused):
        alarm = f"release refused: {outcome.finding}"
    return _result(outcome, messages, seconds=time.perf_counter() - begun, alarm=alarm)


def withhold(seal: Seal, rows: Rows, plan: Plan, reason: WithholdReason, why: str) -> WindowResult:
    """Withhold a window whatever it holds.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How it would have been released.
        reason: What is published of the reason.
        why: What somebody must look at; no location and no user.
    """
    outcome = plan.withhold(seal, reason, withheld=len(rows))
    return _result(outcome, tuple(outcome_messages(outcome)), seconds=0.0, alarm=why)


def _result(outcome: Outcome, messages: tuple[OutMessage, ...], *, seconds: float, alarm: str | None) -> WindowResult:
    return WindowResult(
        messages=messages,
        account=outcome.account,
        seconds=seconds,
        outcome=_name(outcome),
        facts=_facts(outcome),
        risks=outcome.risks if isinstance(outcome, Release) else {},
        alarm=alarm,
    )


def _name(outcome: Outcome) -> str:
    if isinstance(outcome, Release):
        return "released"
    return "refused" if isinstance(outcome, ReleaseRefused) else "withheld"


def _facts(outcome: Outcome) -> dict[str, float | int | str | None]:
    if not isinstance(outcome, Release):
        return {"reason": outcome.reason.value}
    return {
        "population": outcome.population,
        "people": outcome.people,
        "trajectories": len(outcome.trajectories),
        "points_released": outcome.points_released,
        "points_suppressed": outcome.points_suppressed,
        "smallest_support": outcome.smallest_support,
        **outcome.information_loss,
        **{f"loss_m.{model}": round(loss_m, 1) for model, loss_m in outcome.compared.items()},
        **({"risk_highest": round(worst(outcome.risks), 6)} if outcome.risks else {}),
    }
