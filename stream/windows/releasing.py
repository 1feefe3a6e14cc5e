"""Releases a sealed window: anonymizes and verifies it, and makes its messages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from core.models.common.plan import Plan
from core.pipeline import count_window, divide_window, release_window, withhold_window
from core.records.record import Rows
from core.release.attacks.linkage import LinkageExtract, linkage_risk
from core.release.outcome import Outcome, ReleaseRefused, WithholdReason
from core.windows.draw import Counts, Draw
from core.windows.seal import Seal
from stream.feeds.noise import with_noise
from stream.formats.release.encoding import ReleaseEncoding
from stream.formats.release.json import JSON
from stream.formats.release.messages import outcome_messages
from stream.formats.release.result import WindowResult

__all__ = ["link", "release", "release_parts", "withhold", "withhold_result"]

_ENVELOPE_BYTES = 512
"""What Kafka adds to key and value, with headers, and counts towards the size limit of a message."""


def release_parts(
    seal: Seal,
    rows: Rows,
    plan: Plan,
    encoding: ReleaseEncoding = JSON,
    *,
    max_bytes: int,
    draw: Draw | None = None,
) -> Iterator[tuple[Rows, WindowResult]]:
    """Release a sealed window, or each of its cells; yield the rows of each with its result.

    The arguments are those of :func:`release`, and what was drawn for the window before: if nothing was, noise is drawn
    now, and the results have it.
    """
    try:
        parts = list(divide_window(seal, rows, plan))
        noisy = {part.shard: _noisy(part, its, plan, draw) for part, its in parts}
    except Exception as fault:  # see release
        reason = WithholdReason.ANONYMIZER_FAILED
        yield rows, withhold(seal, rows, plan, reason, _failure(fault), encoding=encoding)
        return
    for part, its in parts:
        counts = noisy[part.shard]
        result = release(part, its, replace(plan, noisy=counts), encoding, max_bytes=max_bytes)
        yield its, replace(result, noisy=counts)


def _noisy(seal: Seal, rows: Rows, plan: Plan, draw: Draw | None) -> Counts | None:
    """Return the counts of a window with noise: those that were drawn before, or new ones; None without noise."""
    if plan.noise is None:
        return None
    if draw is not None:
        return draw.tables.get(seal.shard, {})
    return with_noise(count_window(seal, rows, plan), plan.noise)


def release(seal: Seal, rows: Rows, plan: Plan, encoding: ReleaseEncoding = JSON, *, max_bytes: int) -> WindowResult:
    """Anonymize, verify and encode a sealed window or cell; one that cannot be released is withheld.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How to release it.
        encoding: How its messages are written.
        max_bytes: Longest message that the topics accept.
    """
    begun, begun_ns = time.perf_counter(), time.time_ns()
    alarm: str | None = None
    try:
        outcome: Outcome = release_window(seal, rows, plan)
    except Exception as fault:  # a window that cannot be anonymized must not stop the feed
        alarm = _failure(fault)
        outcome = _withheld(seal, rows, plan, WithholdReason.ANONYMIZER_FAILED)
    messages = tuple(outcome_messages(outcome, encoding))
    if any(len(message.value) + len(message.key) + _ENVELOPE_BYTES > max_bytes for message in messages):
        alarm = f"a message of the release is longer than limits.message_bytes={max_bytes}"
        outcome = _withheld(seal, rows, plan, WithholdReason.TOO_LARGE)
        messages = tuple(outcome_messages(outcome, encoding))
    if isinstance(outcome, ReleaseRefused):
        alarm = f"release refused: {outcome.finding}"
    seconds = time.perf_counter() - begun
    return WindowResult.of(seal, outcome, messages, seconds=seconds, begun_ns=begun_ns, alarm=alarm)


def link(
    seal: Seal, results: Sequence[WindowResult], plan: Plan, earlier: LinkageExtract | None
) -> tuple[list[WindowResult], LinkageExtract | None]:
    """Attack the release of a window together with the shard's release before it.

    Args:
        seal: The seal of the window.
        results: The results of the window or of each of its cells.
        plan: How it was released.
        earlier: The extract of the release before; None if it is not known.

    Returns:
        The results without their extracts, the first released one with the linkage, and the extract of the whole
        window; None if nothing was released.
    """
    extracts = [one.extract for one in results if one.extract is not None]
    results = [replace(one, extract=None) for one in results]
    if not extracts:
        return results, None
    extract = type(extracts[0]).joined(extracts) if len(extracts) > 1 else extracts[0]
    first = next(i for i, one in enumerate(results) if one.outcome == "released")
    if earlier is not None and len(extract.units) > 1:  # the only unit of a window is known without an attack
        try:
            linkage = linkage_risk(earlier, extract, plan.generator(seal, "linkage"))
            told = {"linkage_highest": round(linkage.highest, 6), "linkage_mean": round(linkage.mean, 6)}
            results[first] = replace(results[first], linkage=linkage, facts={**results[first].facts, **told})
        except Exception as fault:  # a metric that cannot be computed must not stop the feed
            results[first] = replace(results[first], alarm=_failure(fault, "the attack over windows"))
    return results, extract


def _failure(fault: Exception, what: str = "the anonymizer") -> str:
    where = fault.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    # The exception's text could contain data; its type and line cannot.
    line = f"{where.tb_frame.f_code.co_filename}:{where.tb_lineno}" if where is not None else "?"
    return f"{what} failed: {type(fault).__name__} at {line}"


def _withheld(seal: Seal, rows: Rows, plan: Plan, reason: WithholdReason) -> Outcome:
    try:
        return withhold_window(seal, rows, plan, reason)
    except Exception:  # not even the stops that go on can be found: see release
        return plan.withhold(seal, reason, withheld=len(rows))


def withhold(
    seal: Seal, rows: Rows, plan: Plan, reason: WithholdReason, why: str, *, encoding: ReleaseEncoding
) -> WindowResult:
    """Withhold a window, or one of its cells, without anonymizing it.

    Args:
        seal: The seal of what is withheld.
        rows: Its rows.
        plan: How it would have been released.
        reason: The published reason.
        why: A message for the log that says what needs attention; it contains no location and no user id.
        encoding: How its message is written.
    """
    outcome = _withheld(seal, rows, plan, reason)
    return WindowResult.of(seal, outcome, tuple(outcome_messages(outcome, encoding)), seconds=0.0, alarm=why)


def withhold_result(
    result: WindowResult, plan: Plan, reason: WithholdReason, why: str, *, encoding: ReleaseEncoding
) -> WindowResult:
    """Withhold a window, or one of its cells, that is anonymized already; see :func:`withhold`."""
    outcome = replace(plan.withhold(result.seal, reason, withheld=0), account=result.account.withheld_instead)
    return WindowResult.of(result.seal, outcome, tuple(outcome_messages(outcome, encoding)), seconds=0.0, alarm=why)
