"""Which settings are in force: workers agree in a log, so that windows are never released under two settings at once.

A worker that starts with other settings than those in force proposes its own. Workers that run answer that they are
here. If somebody has approved the new settings, they release what is due and leave, and the new settings come into
force when all of them have left. If nobody has, the proposal is refused. If nobody runs, it needs no approval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Agreement", "Duty", "SettingsStep", "StepKind"]


class StepKind(StrEnum):
    """What a record of the log says."""

    APPROVED = "approved"
    """Workers with these settings may replace those that run."""

    PROPOSED = "proposed"
    """A worker that starts wants its settings to be in force."""

    HERE = "here"
    """A worker with other settings runs; an answer to a proposal."""

    LEFT = "left"
    """That worker has finished what was sealed, and writes nothing more."""

    IN_FORCE = "in_force"
    """From here on these settings are in force."""


class Duty(StrEnum):
    """What a worker that runs has to do."""

    STAY = "stay"
    ANSWER = "answer"
    """Answer that it is here, and stay."""

    LEAVE = "leave"
    """Answer that it is here if there is a proposal, release what is due, and leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsStep:
    """One record of the log."""

    step: StepKind
    digest: str
    """Digest of the settings that it is about; of an answer, those of the worker that answers."""

    writer: str
    """Id of the writer, different for each proposal; part of the record's key."""

    proposal: str = ""
    """Of an answer, the writer of the proposal."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Of a proposal and of settings in force, their values by dotted name, to show how two differ."""

    passed: Mapping[int, int] = field(default_factory=dict)
    """Of settings in force, by partition of the shards topic the first offset at which records count that were located
    under other settings: those before it were located again."""


class Agreement:
    """What the records of the log mean, in their order."""

    def __init__(self) -> None:
        self.in_force: SettingsStep | None = None
        self.proposal: SettingsStep | None = None
        """The newest proposal since the settings came into force."""

        self._approved: set[str] = set()
        self._may_replace = False
        """Whether the proposal was approved before it was made."""

        self._here: set[str] = set()
        self._left: set[str] = set()
        self._steps: list[SettingsStep] = []

    def add(self, step: SettingsStep) -> None:
        """Take in the next record."""
        self._steps.append(step)
        if step.step is StepKind.APPROVED:
            self._approved.add(step.digest)
        elif step.step is StepKind.PROPOSED:
            if self.proposal is None or self.proposal.writer != step.writer:
                self.proposal, self._here, self._left = step, set(), set()
                self._may_replace = step.digest in self._approved
        elif step.step is StepKind.IN_FORCE:
            if self.in_force is None or (self.proposal is not None and self.proposal.writer == step.writer):
                if self.in_force is not None and self.in_force.digest != step.digest:
                    self._approved = set()  # an approval counts for the next change only
                self.in_force, self.proposal = step, None
        elif self.proposal is not None and step.proposal == self.proposal.writer:
            (self._here if step.step is StepKind.HERE else self._left).add(step.writer)

    @property
    def staying(self) -> int:
        """Number of workers that have answered the proposal, and have not left."""
        return len(self._here - self._left)

    @property
    def is_refused(self) -> bool:
        """Whether workers run that will not leave for the proposal."""
        return self.proposal is not None and not self._may_replace and bool(self._here)

    @property
    def is_changing(self) -> bool:
        """Whether a proposal may still come into force."""
        return self.proposal is not None and not self.is_refused

    def duty(self, digest: str, writer: str) -> Duty:
        """Return what a worker has to do that runs with settings of this digest."""
        if self.in_force is not None and self.in_force.digest != digest:
            return Duty.LEAVE
        if self.proposal is None or self.proposal.digest == digest:
            return Duty.STAY
        if self._may_replace:
            return Duty.LEAVE
        return Duty.STAY if writer in self._here else Duty.ANSWER

    def obsolete(self) -> list[SettingsStep]:
        """Return the records that the settings in force replace, in the order in which they are to be removed.

        Earlier settings in force come first: without them, those in force now are the first, and need no proposal.
        """
        now = next((i for i, one in enumerate(self._steps) if one is self.in_force), 0)
        before = self._steps[:now]
        return sorted(before, key=lambda one: one.step is not StepKind.IN_FORCE)
