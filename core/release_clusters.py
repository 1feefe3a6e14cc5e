"""Release the check-ins of one window in clusters of similar people: assemble, organize, verify (k,l)^m-anonymity."""

from __future__ import annotations

import numpy as np

from core.anonymize.klm.window import Clustered
from core.assemble import SequenceWindow, assemble_sequences
from core.loss import published_recoding_loss
from core.places import generalized_locations, published_sequences
from core.plan import ClusterPlan
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
from core.trajectory import Sequences
from core.verify.klm import verify_klm

__all__ = ["organize", "release_clusters"]


def organize(window: SequenceWindow, plan: ClusterPlan) -> Clustered:
    """Anonymize an assembled window by the plan's model."""
    hidden = window.vocabulary.among(plan.sensitive)
    return plan.organizer.organize(window.sequences, window.vocabulary.xy_m, hidden, plan.guarantee)


def release_clusters(seal: Seal, rows: Rows, plan: ClusterPlan) -> Outcome:
    """Anonymize and verify the visits of a sealed window. The same arguments give the same bytes."""
    k = plan.guarantee.k
    window = assemble_sequences(rows, plan.locator, plan.limits)
    duplicates, n_rows = window.duplicates, len(rows) - window.duplicates
    if window.n_users < k:
        return plan.withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=n_rows, duplicates=duplicates)
    recoding = organize(window, plan).recoding
    n_released = int(recoding.kept.sum())
    if not n_released:
        return plan.withhold(seal, WithholdReason.NOTHING_LEFT, withheld=n_rows, duplicates=duplicates)
    names = recoding.named(window.vocabulary.names)
    users, candidate = published_sequences(recoding.apply(window.sequences), names)
    hidden = plan.sensitive.intersection(window.vocabulary.names)
    report = verify_klm(users, candidate, hidden, plan.guarantee)
    if not report.holds or report.smallest_support is None:
        finding = (
            f"{report.rare} subtrajectories of length <= {plan.guarantee.m} have support below k={k}, "
            f"{report.revealing} tell a sensitive location with more than 1/{plan.guarantee.l}, {report.blurred} "
            f"labels hold one beside others, {report.overlapping} people have labels that overlap"
        )
        return plan.refuse(seal, finding, withheld=n_rows, duplicates=duplicates)

    count = Headcount.of(users, window.n_users, report.smallest_support, k)
    known, owners = _to_attack(window, users, hidden)
    return plan.release(
        seal,
        count,
        trajectories=tuple(
            SequenceTrajectory(pseudonym=pseudonym, locations=candidate[i])
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(candidate))
        ),
        locations=generalized_locations(window.vocabulary, recoding.labels, plan.sensitive),
        points_released=n_released,
        points_suppressed=publishable(n_rows - n_released, k, people=window.people_suppressed(recoding.kept)),
        information_loss=published_recoding_loss(window.sequences, window.vocabulary, recoding),
        account=Account(duplicates=duplicates, released=n_released, suppressed=n_rows - n_released),
        risks=attack_sequences(
            known,
            window.vocabulary.names,
            candidate,
            owners,
            m=plan.guarantee.m,
            generator=keyed_generator(plan.secret, seal.release_id, "attack"),
        ),
    )


def _to_attack(window: SequenceWindow, users: list[int], hidden: frozenset[str]) -> tuple[Sequences, list[int]]:
    """Return what may be known of people, who are numbered anew, and whose each of the users' trajectories is then.

    Only nonsensitive locations: that somebody knows a sensitive one is not what the guarantee is about.
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
    # Nobody else is attacked, or mistaken for one of these.
    return known, [number_of.get(user, len(present) + user) for user in users]
