"""Release the check-ins of one window: assemble, anonymize by the SeqAnon family, verify k^m-anonymity, publish."""

from __future__ import annotations

from dataclasses import replace

from core.models.common.family import Contents, Verdict
from core.models.common.sequences import PublishedSequence, SequenceCandidate
from core.models.common.verify_constraints import verify_constraints
from core.models.km.algorithms import SDSeqAnon, USeqAnon
from core.models.km.anonymize.horizon import hold_over_horizon
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.labels import label_of
from core.models.km.plan import KmPlan
from core.models.km.verify import verify_km
from core.models.km.verify_horizon import verify_horizon
from core.records.arrays import numbered
from core.records.record import Rows
from core.release.attacks.risk import attack_sequences
from core.release.counts import Headcount
from core.release.locations import generalized_locations
from core.trajectories.assemble import SequenceWindow, assemble_sequences
from core.utility.published import published_loss
from core.windows.history import Roster
from core.windows.seal import Seal

__all__ = ["anonymize", "assemble", "candidate", "publish", "verify"]


def assemble(seal: Seal, rows: Rows, plan: KmPlan) -> SequenceWindow:
    """Assemble a window's visits as sequences."""
    return assemble_sequences(rows, plan.locator, plan.limits)


def anonymize(seal: Seal, window: SequenceWindow, plan: KmPlan) -> Generalization | None:
    """Generalize by the plan's algorithm, and over the horizon; None if its constraints cannot be kept."""
    result = plan.algorithm.anonymize(window, plan.guarantee)
    if result is None or plan.horizon == 1:
        return result
    return hold_over_horizon(
        window.sequences,
        window.hashes,
        window.vocabulary.xy_m,
        plan.guarantee,
        result,
        plan.history,
        suppression_price=plan.suppression_price,
        constrained=plan.algorithm.allowed(window) if isinstance(plan.algorithm, USeqAnon) else None,
    )


def candidate(window: SequenceWindow, result: Generalization, plan: KmPlan) -> SequenceCandidate | None:
    """Write out the sequences over generalized locations."""
    names = {group: tuple(window.vocabulary.names[i] for i in ids) for group, ids in _members(result).items()}
    return SequenceCandidate.of(result.released(window.sequences), names)


def verify(window: SequenceWindow, candidate: SequenceCandidate, plan: KmPlan) -> Verdict:
    """Check k^m-anonymity, in the window and over the horizon, and the utility constraints if the model has any."""
    guarantee = plan.guarantee
    report = verify_km(candidate.users, candidate.sequences, guarantee)
    if not report.holds or report.smallest_support is None:
        return Verdict(
            finding=f"{report.violations} subtrajectories of length <= {guarantee.m} have support below k={guarantee.k}"
        )
    finding = _broken_over_horizon(window, candidate, plan) if plan.horizon > 1 else None
    if finding is None and isinstance(plan.algorithm, USeqAnon):
        finding = _unsatisfied(window, candidate.sequences, plan.algorithm)
    return Verdict(finding=finding, smallest_support=report.smallest_support)


def publish(
    seal: Seal,
    window: SequenceWindow,
    result: Generalization,
    candidate: SequenceCandidate,
    count: Headcount,
    plan: KmPlan,
) -> Contents:
    """Return what the release publishes: sequences of generalized locations, and their members."""
    sequences, vocabulary = window.sequences, window.vocabulary
    n_released = int(result.kept.sum())
    members = _members(result)
    shown = sorted(set(result.group_of[sequences.locations][result.kept].tolist()))
    taxonomy = plan.algorithm.taxonomy if isinstance(plan.algorithm, SDSeqAnon) else None
    return Contents(
        messages=candidate.messages(seal, plan),
        locations=generalized_locations(vocabulary, (members[group] for group in shown)),
        points_released=n_released,
        rows_released=n_released,
        people_suppressed=window.people_suppressed(result.kept),
        # Computed from the released pieces: which pieces of a split belong together is not published.
        information_loss=published_loss(
            sequences.split(result.splits), vocabulary, result.group_of, result.kept, taxonomy
        ),
        compared=result.comparison,
        extract=candidate.extract(window.hashes),
        risks=attack_sequences(
            sequences,
            vocabulary.names,
            candidate.sequences,
            candidate.users,
            m=plan.guarantee.m,
            generator=plan.generator(seal, "attack"),
        ),
        roster=_roster(seal, window, result) if plan.horizon > 1 else None,
    )


def _roster(seal: Seal, window: SequenceWindow, result: Generalization) -> Roster:
    """Return the released sequences and their people, for later windows."""
    released = result.released(window.sequences)
    pieces = replace(released, locations=window.vocabulary.ids[released.locations]).lists()
    some = [number for number, piece in enumerate(pieces) if piece]
    groups, labels = numbered([label_of(pieces[number]) for number in some])
    return Roster(key=seal.key, users=window.hashes[released.users[some]], groups=groups, labels=tuple(labels))


def _members(result: Generalization) -> dict[int, list[int]]:
    """Return the location ids of each generalized location, ascending."""
    members: dict[int, list[int]] = {}
    for location, group in enumerate(result.group_of.tolist()):
        members.setdefault(group, []).append(location)
    return members


def _broken_over_horizon(window: SequenceWindow, candidate: SequenceCandidate, plan: KmPlan) -> str | None:
    """Describe how a candidate breaks the promise over the horizon; None if it keeps it."""
    guarantee = plan.guarantee
    report = verify_horizon(window.hashes[candidate.users].tolist(), candidate.sequences, guarantee, plan.history)
    if report.holds:
        return None
    return (
        f"over a horizon of {guarantee.horizon} windows, {report.violations} joined subtrajectories of length <= "
        f"{guarantee.m} have support below k={guarantee.k}, {report.unread} people have an earlier release that cannot "
        "be read"
    )


def _unsatisfied(window: SequenceWindow, sequences: list[PublishedSequence], algorithm: USeqAnon) -> str | None:
    """Describe how a candidate breaks the utility constraints; None if it keeps them."""
    names = window.vocabulary.names
    visited = [names[i] for i in sorted(set(window.sequences.locations.tolist()))]
    constraint_of = dict(zip(names, algorithm.constraints.labels(window.vocabulary), strict=True))
    budget = algorithm.max_suppressed_percent
    report = verify_constraints(sequences, visited, constraint_of, budget_percent=budget)
    if report.holds:
        return None
    return (
        f"{report.straddling} generalized locations straddle utility constraints, "
        f"{report.suppressed_percent:.1f} % of the locations are suppressed: at most {budget} % may be"
    )
