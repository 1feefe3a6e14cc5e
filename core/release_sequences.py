"""Release the check-ins of one window: assemble, anonymize by the SeqAnon family, verify k^m-anonymity."""

from __future__ import annotations

from core.anonymize.seqanon import Generalization
from core.assemble import SequenceWindow, assemble_sequences
from core.generalize import SDSeqAnon, USeqAnon
from core.loss import published_loss
from core.places import Published, generalized_locations, published_sequences
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
    names = {group: tuple(vocabulary.names[i] for i in ids) for group, ids in members.items()}
    users, candidate = published_sequences(result.released(sequences), names)
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
        # By the trajectories that leave: whose pieces belong together is not told.
        information_loss=published_loss(
            sequences.split(result.splits), vocabulary, result.group_of, result.kept, taxonomy
        ),
        account=Account(duplicates=duplicates, released=n_released, suppressed=n_rows - n_released),
        compared=result.comparison,
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
