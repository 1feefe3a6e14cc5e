"""Release the check-ins of one window: assemble, anonymize by the SeqAnon family, verify k^m-anonymity."""

from __future__ import annotations

from itertools import pairwise

from core.anonymize.seqanon import Generalization
from core.assemble import SequenceWindow, assemble_sequences
from core.generalize import SDSeqAnon, USeqAnon
from core.loss import published_loss
from core.places import generalized_locations
from core.plan import SequencePlan
from core.records import Rows
from core.release import (
    Account,
    Headcount,
    Outcome,
    SequenceTrajectory,
    WithholdReason,
    keyed_generator,
    pseudonyms,
    publishable,
)
from core.risk import attack_sequences
from core.seal import Seal
from core.verify.constraints import verify_constraints
from core.verify.km import verify_km

__all__ = ["release_sequences"]

Published = tuple[tuple[str, ...], ...]
"""One sequence as it would leave: the members of each generalized location."""


def release_sequences(seal: Seal, rows: Rows, plan: SequencePlan) -> Outcome:
    """Anonymize and verify the visits of a sealed window. The same arguments give the same bytes."""
    k = plan.guarantee.k
    window = assemble_sequences(rows, plan.locator, plan.limits)
    duplicates, n_rows = window.duplicates, len(rows) - window.duplicates
    if window.n_users < k:
        return plan.withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=n_rows, duplicates=duplicates)

    sequences, vocabulary = window.sequences, window.vocabulary
    result = plan.generalizer.generalize(window, plan.guarantee)
    if result is None:
        reason = WithholdReason.CONSTRAINTS_NOT_SATISFIED
        return plan.withhold(seal, reason, withheld=n_rows, duplicates=duplicates)
    n_released = int(result.kept.sum())
    if not n_released:
        return plan.withhold(seal, WithholdReason.NOTHING_LEFT, withheld=n_rows, duplicates=duplicates)

    members = _members(result)
    users, candidate = _candidate(window, result, members)
    report = verify_km(users, candidate, plan.guarantee)
    if not report.holds or report.smallest_support is None:
        finding = f"{report.violations} subtrajectories of length <= {plan.guarantee.m} have support below k={k}"
        return plan.refuse(seal, finding, withheld=n_rows, duplicates=duplicates)
    if isinstance(plan.generalizer, USeqAnon):
        unsatisfied = _unsatisfied(window, candidate, plan.generalizer)
        if unsatisfied is not None:
            return plan.refuse(seal, unsatisfied, withheld=n_rows, duplicates=duplicates)

    shown = sorted(set(result.group_of[sequences.locations][result.kept].tolist()))
    taxonomy = plan.generalizer.taxonomy if isinstance(plan.generalizer, SDSeqAnon) else None
    count = Headcount.of(users, window.n_users, report.smallest_support, k)
    return plan.release(
        seal,
        count,
        trajectories=tuple(
            SequenceTrajectory(pseudonym=pseudonym, locations=candidate[i])
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(candidate))
        ),
        locations=generalized_locations(vocabulary, (members[group] for group in shown)),
        points_released=n_released,
        points_suppressed=publishable(n_rows - n_released, k, people=window.people_suppressed(result.kept)),
        information_loss=published_loss(sequences, vocabulary, result.group_of, result.kept, taxonomy),
        account=Account(duplicates=duplicates, released=n_released, suppressed=n_rows - n_released),
        risks=attack_sequences(
            sequences,
            vocabulary.names,
            candidate,
            users,
            m=plan.guarantee.m,
            generator=keyed_generator(plan.secret, seal.release_id, "attack"),
        ),
    )


def _members(result: Generalization) -> dict[int, list[int]]:
    """Return the location ids of each generalized location, ascending."""
    members: dict[int, list[int]] = {}
    for location, group in enumerate(result.group_of.tolist()):
        members.setdefault(group, []).append(location)
    return members


def _candidate(
    window: SequenceWindow, result: Generalization, members: dict[int, list[int]]
) -> tuple[list[int], list[Published]]:
    """Return the user and the sequence of every trajectory that is left, as it would be published."""
    names = {group: tuple(window.vocabulary.names[i] for i in ids) for group, ids in members.items()}
    groups = result.group_of[window.sequences.locations]
    bounds = window.sequences.starts.tolist()
    users: list[int] = []
    candidate: list[Published] = []
    for user, (start, end) in zip(window.sequences.users.tolist(), pairwise(bounds), strict=True):
        left = groups[start:end][result.kept[start:end]].tolist()
        if left:
            users.append(user)
            candidate.append(tuple(names[group] for group in left))
    return users, candidate


def _unsatisfied(window: SequenceWindow, candidate: list[Published], generalizer: USeqAnon) -> str | None:
    """Say which utility constraints a candidate breaks, or None."""
    names = window.vocabulary.names
    visited = [names[i] for i in sorted(set(window.sequences.locations.tolist()))]
    constraint_of = dict(zip(names, generalizer.constraints.labels(window.vocabulary), strict=True))
    budget = generalizer.max_suppressed_percent
    report = verify_constraints(candidate, visited, constraint_of, budget_percent=budget)
    if report.holds:
        return None
    return (
        f"{report.straddling} generalized locations straddle utility constraints, "
        f"{report.suppressed_percent:.1f} % of the locations are suppressed where {budget} % may be"
    )
