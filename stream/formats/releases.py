"""The messages of a release, as JSON, and the result of its window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from core.models.common.plan import ALGORITHMS
from core.records.instants import rfc3339
from core.release.outcome import SCHEMA, Account, Outcome, Release, ReleaseRefused
from core.release.risk import Attack, Risk, worst

__all__ = ["OutMessage", "WindowResult", "outcome_messages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowResult:
    """The result of one window: its messages, and figures that may be logged."""

    messages: tuple[OutMessage, ...]
    """Trajectories, then the windows message."""

    account: Account
    seconds: float
    """Time to anonymize and verify."""

    outcome: str
    """``released``, ``withheld`` or ``refused``."""

    facts: Mapping[str, float | int | str | None]
    """Figures of the window for logs and operators: the published ones, and the highest risk of the attacks."""

    risks: Mapping[Attack, Risk] = field(default_factory=dict)
    """Risks that simulated attacks on the release found."""

    alarm: str | None = None
    """A problem that an operator must look at; contains no location and no user."""

    @classmethod
    def of(
        cls, outcome: Outcome, messages: tuple[OutMessage, ...], *, seconds: float, alarm: str | None
    ) -> WindowResult:
        """Return the result of an outcome.

        Args:
            outcome: The outcome of the window.
            messages: Its :func:`outcome_messages`.
            seconds: Time to anonymize and verify.
            alarm: A problem that an operator must look at; contains no location and no user.
        """
        return cls(
            messages=messages,
            account=outcome.account,
            seconds=seconds,
            outcome=_outcome_name(outcome),
            facts=_facts(outcome),
            risks=outcome.risks if isinstance(outcome, Release) else {},
            alarm=alarm,
        )


class OutMessage(NamedTuple):
    """One message of a release."""

    topic: str
    """``anonymized`` or ``windows``: the setting that names the topic."""

    key: bytes
    value: bytes
    timestamp_ms: int


def outcome_messages(outcome: Outcome) -> Iterator[OutMessage]:
    """Encode the messages of a window: its trajectories, then the windows message, which commits them.

    The bytes depend on the outcome and the algorithms' versions alone, so a window emitted again is identical.
    """
    key = outcome.key
    head = {
        "schema": SCHEMA,
        "release": outcome.release_id,
        "window": [rfc3339(key.start_ms), rfc3339(key.end_ms)],
        "shard": key.shard,
    }
    if isinstance(outcome, Release):
        for i, trajectory in enumerate(outcome.trajectories):
            value = msgspec.json.encode(head | trajectory.content())
            yield OutMessage("anonymized", f"{outcome.release_id}:{i}".encode(), value, key.end_ms)
    value = msgspec.json.encode(head | _window_content(outcome) | {"versions": ALGORITHMS})
    yield OutMessage("windows", outcome.release_id.encode(), value, key.end_ms)


def _window_content(outcome: Outcome) -> dict[str, object]:
    common = {"kind": outcome.key.kind, "model": outcome.model, "parameters": outcome.parameters}
    if not isinstance(outcome, Release):
        return common | {"outcome": "withheld", "reason": outcome.reason, "verified": False}
    content: dict[str, object] = common | {
        "outcome": "released",
        "verified": True,
        **outcome.counts,
        "information_loss": outcome.information_loss,
    }
    if outcome.locations is not None:
        content["locations"] = [
            {"members": place.members, "lat": place.lat_deg, "lon": place.lon_deg}
            | ({"sensitive": True} if place.sensitive else {})
            for place in outcome.locations
        ]
    return content


def _outcome_name(outcome: Outcome) -> str:
    if isinstance(outcome, Release):
        return "released"
    return "refused" if isinstance(outcome, ReleaseRefused) else "withheld"


def _facts(outcome: Outcome) -> dict[str, float | int | str | None]:
    if not isinstance(outcome, Release):
        return {"reason": outcome.reason.value}
    return {
        **outcome.counts,
        **outcome.information_loss,
        **{f"loss_m.{model}": round(loss_m, 1) for model, loss_m in outcome.compared.items()},
        **({"risk_highest": round(worst(outcome.risks), 6)} if outcome.risks else {}),
    }
