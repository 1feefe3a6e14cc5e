"""The result of a window: its messages, and figures that may be logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.release.attacks.linkage import LinkageExtract, LinkageRisk
from core.release.attacks.risk import Attack, Risk, worst
from core.release.outcome import Account, Outcome, Release, ReleaseRefused
from core.windows.draw import Counts
from core.windows.history import Roster
from core.windows.seal import Seal
from stream.formats.release.messages import OutMessage

__all__ = ["WindowResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowResult:
    """The result of one window: its messages, and figures that may be logged."""

    seal: Seal
    """The seal of what was released: of the window, or of one of its shard cells."""

    messages: tuple[OutMessage, ...]
    """Trajectories, then the windows message."""

    account: Account
    seconds: float
    """Time to anonymize and verify."""

    begun_ns: int = 0
    """When that began, Unix nanoseconds; 0 if the window was withheld without being anonymized."""

    outcome: str
    """``released``, ``withheld`` or ``refused``."""

    facts: Mapping[str, float | int | str | None]
    """Figures of the window for logs and operators: the published ones, and what the attacks came to."""

    risks: Mapping[Attack, Risk] = field(default_factory=dict)
    """Risks that simulated attacks on the release found."""

    linkage: LinkageRisk | None = None
    """How well an attack follows people from the shard's release before this one, if that one is known. Of a window
    that is divided in cells, the first released cell has it, for the whole window."""

    alarm: str | None = None
    """A problem that an operator must look at; contains no location and no user."""

    extract: LinkageExtract | None = field(default=None, repr=False)
    """What an attack needs that links this release to the next one of the shard."""

    roster: Roster | None = field(default=None, repr=False)
    """What later windows have to know of this one, if the promise spans windows."""

    noisy: Counts | None = field(default=None, repr=False)
    """The noisy counts that the release was made from, also if it was withheld; None without noise."""

    @classmethod
    def of(
        cls,
        seal: Seal,
        outcome: Outcome,
        messages: tuple[OutMessage, ...],
        *,
        seconds: float,
        begun_ns: int = 0,
        alarm: str | None,
    ) -> WindowResult:
        """Return the result of an outcome.

        Args:
            seal: The seal of what was released.
            outcome: The outcome of the window.
            messages: Its :func:`outcome_messages`.
            seconds: Time to anonymize and verify.
            begun_ns: When that began, Unix nanoseconds.
            alarm: A problem that an operator must look at; contains no location and no user.
        """
        return cls(
            seal=seal,
            messages=messages,
            account=outcome.account,
            seconds=seconds,
            begun_ns=begun_ns,
            outcome=_outcome_name(outcome),
            facts=_facts(outcome),
            risks=outcome.risks if isinstance(outcome, Release) else {},
            alarm=alarm,
            extract=outcome.extract if isinstance(outcome, Release) else None,
            roster=outcome.roster,
        )


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
