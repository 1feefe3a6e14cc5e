"""Workers that start, run, leave and die agree on one settings at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core.windows.agreement import Agreement, Duty, SettingsStep, StepKind
from tests.budgets import examples

OLD, NEW = "old", "new"


def agreement(*steps: SettingsStep) -> Agreement:
    """What a log of these records means."""
    found = Agreement()
    for step in steps:
        found.add(step)
    return found


def in_force(digest: str, writer: str = "first") -> SettingsStep:
    return SettingsStep(step=StepKind.IN_FORCE, digest=digest, writer=writer)


def approved(digest: str) -> SettingsStep:
    return SettingsStep(step=StepKind.APPROVED, digest=digest, writer="somebody")


def proposed(digest: str, writer: str = "starter") -> SettingsStep:
    return SettingsStep(step=StepKind.PROPOSED, digest=digest, writer=writer)


def answer(step: StepKind, writer: str = "runner", proposal: str = "starter") -> SettingsStep:
    return SettingsStep(step=step, digest=OLD, writer=writer, proposal=proposal)


class TestAProposal:
    def test_without_approval_is_refused_by_whoever_runs(self) -> None:
        """
        The runner answers once, and stays.
        """
        found = agreement(in_force(OLD), proposed(NEW))
        assert found.duty(OLD, "runner") is Duty.ANSWER
        assert found.is_changing
        found.add(answer(StepKind.HERE))
        assert found.is_refused
        assert not found.is_changing
        assert found.duty(OLD, "runner") is Duty.STAY
        assert found.duty(OLD, "another") is Duty.ANSWER

    def test_with_approval_lets_everybody_leave(self) -> None:
        """
        It waits for those that have answered, and comes into force after them.
        """
        found = agreement(in_force(OLD), approved(NEW), proposed(NEW))
        assert found.duty(OLD, "runner") is Duty.LEAVE
        found.add(answer(StepKind.HERE))
        assert (found.staying, found.is_refused) == (1, False)
        found.add(answer(StepKind.LEFT))
        assert found.staying == 0
        found.add(in_force(NEW, "starter"))
        assert found.in_force == in_force(NEW, "starter")
        assert found.duty(OLD, "runner") is Duty.LEAVE
        assert found.duty(NEW, "starter") is Duty.STAY

    def test_approval_counts_for_one_change_and_not_for_a_proposal_made_before(self) -> None:
        """
        Otherwise workers would leave for a starter that was refused long ago, or an old worker could always return.
        """
        found = agreement(in_force(OLD), proposed(NEW), answer(StepKind.HERE), approved(NEW))
        assert found.duty(OLD, "runner") is Duty.STAY
        found.add(proposed(NEW, "again"))
        assert found.duty(OLD, "runner") is Duty.LEAVE
        found.add(in_force(NEW, "again"))
        found.add(proposed(OLD, "returns"))
        assert found.duty(NEW, "again") is Duty.ANSWER

    @pytest.mark.parametrize("writer", ["another", "starter"])
    def test_only_the_newest_comes_into_force(self, writer: str) -> None:
        """
        A starter that was overtaken changes nothing.
        """
        found = agreement(in_force(OLD), proposed(NEW, "starter"), proposed("third", "another"), in_force(NEW, writer))
        assert found.in_force is not None
        assert found.in_force.digest == (NEW if writer == "another" else OLD)


@dataclass(eq=False)
class Worker:
    """A worker, and how far it has read the log."""

    name: str
    digest: str
    log: Agreement = field(default_factory=Agreement)
    n_read: int = 0
    proposed_at: int | None = None
    """Where in the log its proposal is."""


class Workers(RuleBasedStateMachine):
    """Workers in any order of steps; each reads the log whenever it likes, and any may die."""

    def __init__(self) -> None:
        super().__init__()
        self.topic: list[SettingsStep] = []
        self.starting: list[Worker] = []
        self.running: list[Worker] = []
        self.n = 0

    def read(self, one: Worker) -> Agreement:
        """Let a worker read what is new."""
        for step in self.topic[one.n_read :]:
            one.log.add(step)
        one.n_read = len(self.topic)
        return one.log

    def write(self, step: StepKind, one: Worker, proposal: str = "") -> None:
        """Let a worker write."""
        self.topic.append(SettingsStep(step=step, digest=one.digest, writer=one.name, proposal=proposal))

    @rule(digest=st.sampled_from([OLD, NEW, "third"]))
    def approve(self, digest: str) -> None:
        """Somebody approves settings."""
        self.topic.append(approved(digest))

    @rule(digest=st.sampled_from([OLD, NEW, "third"]))
    def start(self, digest: str) -> None:
        """A worker starts."""
        self.n += 1
        self.starting.append(Worker(f"worker {self.n}", digest))

    @rule(i=st.integers(0, 9))
    def go_on(self, i: int) -> None:
        """A starter takes its next step."""
        if not self.starting:
            return
        one = self.starting[i % len(self.starting)]
        log, proposed_at = self.read(one), one.proposed_at
        if log.in_force is None:
            self.write(StepKind.IN_FORCE, one)
        elif log.in_force.digest == one.digest and not log.is_changing:
            self.starting.remove(one)
            self.running.append(one)
        elif proposed_at is None:
            one.proposed_at = len(self.topic)
            self.write(StepKind.PROPOSED, one)
        elif log.is_refused or log.proposal is None or log.proposal.writer != one.name:
            self.starting.remove(one)  # refused or overtaken
        elif all(other.n_read > proposed_at for other in self.running) and not self.alive_here(one.name):
            self.write(StepKind.IN_FORCE, one)

    def alive_here(self, proposal: str) -> bool:
        """Whether a worker that has answered a proposal still runs; the dead fall silent."""
        answered = {one.writer for one in self.topic if one.step is StepKind.HERE and one.proposal == proposal}
        return any(one.name in answered for one in self.running)

    @rule(i=st.integers(0, 9))
    def look(self, i: int) -> None:
        """A worker that runs does its duty."""
        if not self.running:
            return
        one = self.running[i % len(self.running)]
        log = self.read(one)
        duty = log.duty(one.digest, one.name)
        if duty is not Duty.STAY and log.proposal is not None:
            self.write(StepKind.HERE, one, log.proposal.writer)
        if duty is Duty.LEAVE:
            self.running.remove(one)
            if log.proposal is not None:
                self.write(StepKind.LEFT, one, log.proposal.writer)

    @rule(i=st.integers(0, 9), starting=st.booleans())
    def die(self, i: int, *, starting: bool) -> None:
        """A worker is killed."""
        workers = self.starting if starting else self.running
        if workers:
            workers.pop(i % len(workers))

    @invariant()
    def all_that_run_have_the_settings_in_force(self) -> None:
        """There are never two settings at work."""
        log = agreement(*self.topic)
        for one in self.running:
            assert log.in_force is not None
            assert one.digest == log.in_force.digest

    @invariant()
    def what_is_obsolete_can_be_removed(self) -> None:
        """Whoever reads the log without it, or without some of it in the order of removal, knows the same."""
        log = agreement(*self.topic)
        obsolete = log.obsolete()
        for n in range(len(obsolete) + 1):
            removed = [id(one) for one in obsolete[:n]]
            assert agreement(*(one for one in self.topic if id(one) not in removed)).in_force == log.in_force


Workers.TestCase.settings = settings(max_examples=examples(200), stateful_step_count=40)
TestWorkers = Workers.TestCase
