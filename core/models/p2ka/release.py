"""Release the check-ins of one window by their patterns: assemble, anonymize by BF-P2kA, verify, publish."""

from __future__ import annotations

import numpy as np

from core.models.common.family import Contents, Verdict
from core.models.common.sequences import SequenceCandidate, published_sequences
from core.models.p2ka.anonymize.p2ka import PatternRelease, p2ka
from core.models.p2ka.plan import P2kAPlan
from core.models.p2ka.verify import verify_patterns
from core.records.arrays import BoolArray
from core.records.record import Rows
from core.release.attacks.risk import attack_sequences
from core.release.counts import Headcount, publishable
from core.release.locations import generalized_locations
from core.trajectories.assemble import SequenceWindow, assemble_sequences
from core.trajectories.trajectory import Sequences
from core.windows.seal import Seal

__all__ = ["anonymize", "assemble", "candidate", "publish", "verify"]


def assemble(seal: Seal, rows: Rows, plan: P2kAPlan) -> SequenceWindow:
    """Assemble a window's visits as sequences."""
    return assemble_sequences(rows, plan.locator, plan.limits)


def anonymize(seal: Seal, window: SequenceWindow, plan: P2kAPlan) -> PatternRelease:
    """Anonymize by BF-P2kA."""
    return p2ka(window.sequences, plan.guarantee)


def candidate(window: SequenceWindow, result: PatternRelease, plan: P2kAPlan) -> SequenceCandidate | None:
    """Write out the sequences of locations."""
    return SequenceCandidate.of(result.sequences, _alone(window))


def verify(window: SequenceWindow, candidate: SequenceCandidate, plan: P2kAPlan) -> Verdict:
    """Check pattern-preserving k-anonymity, for which the window itself is needed."""
    guarantee = plan.guarantee
    original = published_sequences(window.sequences, _alone(window))
    report = verify_patterns(*original, candidate.users, candidate.sequences, guarantee)
    if not report.holds:
        return Verdict(
            finding=f"{report.violations} released sequences have support below k={guarantee.k} in the window, "
            f"{report.lone} are released for fewer than k people, {report.surplus} exceed a person's trajectories"
        )
    # The support in the raw window is not part of the release; the number of people with one sequence is.
    crowd = report.smallest_crowd if guarantee.alike and report.smallest_crowd is not None else guarantee.k
    return Verdict(smallest_support=crowd)


def publish(
    seal: Seal,
    window: SequenceWindow,
    result: PatternRelease,
    candidate: SequenceCandidate,
    count: Headcount,
    plan: P2kAPlan,
) -> Contents:
    """Return what the release publishes: sequences of locations, each location on its own."""
    shown = np.unique(result.sequences.locations).tolist()
    n_added = int(result.added.sum())
    return Contents(
        messages=candidate.messages(seal, plan),
        locations=generalized_locations(window.vocabulary, ([location] for location in shown)),
        points_released=len(result.sequences.locations),
        rows_released=int(result.kept.sum()),
        people_suppressed=_people_without_a_visit(window, result),
        information_loss={
            "released_locations": len(shown),
            "points_added": publishable(
                n_added, plan.guarantee.k, people=_people_where(window.sequences, result.added > 0)
            ),
        },
        extract=candidate.extract(window.hashes),
        risks=attack_sequences(
            window.sequences,
            window.vocabulary.names,
            candidate.sequences,
            candidate.users,
            m=plan.known_places,
            generator=plan.generator(seal, "attack"),
        ),
    )


def _alone(window: SequenceWindow) -> list[tuple[str, ...]]:
    """Return the names of the locations, each as a generalized location with one member."""
    return [(name,) for name in window.vocabulary.names]


def _people_where(sequences: Sequences, of_trajectory: BoolArray) -> int:
    return len(np.unique(sequences.users[of_trajectory]))


def _people_without_a_visit(window: SequenceWindow, result: PatternRelease) -> int:
    """Count the people with a visit that is not released."""
    affected = window.curbed.copy()
    affected[window.sequences.users[result.suppressed > 0]] = True
    return int(affected.sum())
