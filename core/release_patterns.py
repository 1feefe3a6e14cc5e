"""Release the check-ins of one window by their patterns: assemble, anonymize by BF-P2kA, verify."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.anonymize.p2ka import PatternRelease, p2ka
from core.assemble import SequenceWindow, assemble_sequences
from core.places import generalized_locations, published_sequences
from core.plan import PatternPlan
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
from core.verify.patterns import verify_patterns

__all__ = ["release_patterns"]


def release_patterns(seal: Seal, rows: Rows, plan: PatternPlan) -> Outcome:
    """Anonymize and verify the visits of a sealed window. The same arguments give the same bytes."""
    k = plan.guarantee.k
    window = assemble_sequences(rows, plan.locator, plan.limits)
    duplicates, n_rows = window.duplicates, len(rows) - window.duplicates
    if window.n_users < k:
        return plan.withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=n_rows, duplicates=duplicates)
    result = p2ka(window.sequences, plan.guarantee)
    names = window.vocabulary.names
    alone = [(name,) for name in names]  # each location is a generalized one of its own
    users, candidate = published_sequences(result.sequences, alone)
    if not candidate:
        return plan.withhold(seal, WithholdReason.NOTHING_LEFT, withheld=n_rows, duplicates=duplicates)
    report = verify_patterns(*published_sequences(window.sequences, alone), users, candidate, plan.guarantee)
    if not report.holds:
        finding = (
            f"{report.violations} released sequences are supported by fewer than k={k} people of the window, "
            f"{report.lone} are released of fewer, {report.surplus} are more than a person has trajectories"
        )
        return plan.refuse(seal, finding, withheld=n_rows, duplicates=duplicates)

    n_kept = int(result.kept.sum())
    # The support in the raw window is no figure of the release; how many are alike in the release is.
    crowd = report.smallest_crowd if plan.guarantee.alike and report.smallest_crowd is not None else k
    count = Headcount.of(users, window.n_users, crowd, k)
    shown = np.unique(result.sequences.locations).tolist()
    return plan.release(
        seal,
        count,
        trajectories=tuple(
            SequenceTrajectory(pseudonym=pseudonym, locations=candidate[i])
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(candidate))
        ),
        locations=generalized_locations(window.vocabulary, ([location] for location in shown)),
        points_released=len(result.sequences.locations),
        points_suppressed=publishable(n_rows - n_kept, k, people=_people_without_a_visit(window, result)),
        information_loss={
            "released_locations": len(shown),
            "points_added": publishable(
                int(result.added.sum()), k, people=_people_where(window.sequences, result.added > 0)
            ),
        },
        account=Account(duplicates=duplicates, released=n_kept, suppressed=n_rows - n_kept),
        risks=attack_sequences(
            window.sequences,
            names,
            candidate,
            users,
            m=plan.known_places,
            generator=keyed_generator(plan.secret, seal.release_id, "attack"),
        ),
    )


def _people_where(sequences: Sequences, of_trajectory: npt.NDArray[np.bool_]) -> int:
    return len(np.unique(sequences.users[of_trajectory]))


def _people_without_a_visit(window: SequenceWindow, result: PatternRelease) -> int:
    """Count the people of whom a visit is not released."""
    affected = window.curbed.copy()
    affected[window.sequences.users[result.suppressed > 0]] = True
    return int(affected.sum())
