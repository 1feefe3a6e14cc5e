"""Release the check-ins of one window in clusters of similar people: assemble, cluster, verify, publish."""

from __future__ import annotations

import numpy as np

from core.models.common.family import Contents, Verdict
from core.models.common.sequences import SequenceCandidate
from core.models.klm.anonymize.window import Clustered
from core.models.klm.plan import KLmPlan
from core.models.klm.verify import verify_klm
from core.records.record import Rows
from core.release.attacks.risk import attack_sequences
from core.release.counts import Headcount
from core.release.locations import generalized_locations
from core.trajectories.assemble import SequenceWindow, assemble_sequences
from core.trajectories.trajectory import Sequences
from core.utility.published import published_recoding_loss
from core.windows.seal import Seal

__all__ = ["anonymize", "assemble", "candidate", "publish", "verify"]


def assemble(seal: Seal, rows: Rows, plan: KLmPlan) -> SequenceWindow:
    """Assemble a window's visits as sequences."""
    return assemble_sequences(rows, plan.locator, plan.limits)


def anonymize(seal: Seal, window: SequenceWindow, plan: KLmPlan) -> Clustered:
    """Generalize in clusters of people by the plan's algorithm."""
    hidden = window.vocabulary.among(plan.sensitive)
    return plan.algorithm.anonymize(window.sequences, window.vocabulary.xy_m, hidden, plan.guarantee)


def candidate(window: SequenceWindow, result: Clustered, plan: KLmPlan) -> SequenceCandidate | None:
    """Write out the sequences of labels."""
    names = result.recoding.named(window.vocabulary.names)
    return SequenceCandidate.of(result.recoding.apply(window.sequences), names)


def verify(window: SequenceWindow, candidate: SequenceCandidate, plan: KLmPlan) -> Verdict:
    """Check (k,l)^m-anonymity."""
    guarantee = plan.guarantee
    report = verify_klm(candidate.users, candidate.sequences, _hidden(window, plan), guarantee)
    if not report.holds or report.smallest_support is None:
        return Verdict(
            finding=f"{report.rare} subtrajectories of length <= {guarantee.m} have support below k={guarantee.k}, "
            f"{report.revealing} reveal a sensitive location with a share above 1/{guarantee.l}, {report.blurred} "
            f"labels mix one with other locations, {report.overlapping} people have overlapping labels"
        )
    return Verdict(smallest_support=report.smallest_support)


def publish(
    seal: Seal,
    window: SequenceWindow,
    result: Clustered,
    candidate: SequenceCandidate,
    count: Headcount,
    plan: KLmPlan,
) -> Contents:
    """Return what the release publishes: sequences of labels, and their members."""
    recoding = result.recoding
    n_released = int(recoding.kept.sum())
    known, owners = _to_attack(window, candidate.users, _hidden(window, plan))
    return Contents(
        messages=candidate.messages(seal, plan),
        locations=generalized_locations(window.vocabulary, recoding.labels, plan.sensitive),
        points_released=n_released,
        rows_released=n_released,
        people_suppressed=window.people_suppressed(recoding.kept),
        information_loss=published_recoding_loss(window.sequences, window.vocabulary, recoding),
        extract=candidate.extract(window.hashes),
        risks=attack_sequences(
            known,
            window.vocabulary.names,
            candidate.sequences,
            owners,
            m=plan.guarantee.m,
            generator=plan.generator(seal, "attack"),
        ),
    )


def _hidden(window: SequenceWindow, plan: KLmPlan) -> frozenset[str]:
    """Return the names of the sensitive locations that occur in a window."""
    return plan.sensitive.intersection(window.vocabulary.names)


def _to_attack(window: SequenceWindow, users: list[int], hidden: frozenset[str]) -> tuple[Sequences, list[int]]:
    """Return the visits that an attacker may know, of renumbered people, and the new number of each trajectory's user.

    Only nonsensitive locations: the guarantee does not cover an adversary who knows sensitive ones.
    """
    is_hidden = window.vocabulary.among(hidden)
    shown = window.sequences.where(~is_hidden[window.sequences.locations])
    lengths = np.diff(shown.starts)
    present, number = np.unique(shown.users[lengths > 0], return_inverse=True)
    known = Sequences(
        users=number.astype(np.int64),
        starts=np.append(0, np.cumsum(lengths[lengths > 0])).astype(np.int64),
        locations=shown.locations,
    )
    number_of = {user: i for i, user in enumerate(present.tolist())}
    # Other users get numbers of their own: they are not attacked, nor mistaken for an attacked person.
    return known, [number_of.get(user, len(present) + user) for user in users]
