"""Release the sets of locations of one window's people: assemble, generalize, verify, publish."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from core.models.common.family import Contents, Verdict
from core.models.common.sequences import published_sequences
from core.models.common.verify_constraints import verify_constraints
from core.models.km_sets.algorithms import ConstrainedSets
from core.models.km_sets.plan import KmSetPlan
from core.models.km_sets.released import LocationSet
from core.models.km_sets.verify import verify_km_sets
from core.records.keys import pseudonyms
from core.records.record import Rows
from core.release.attacks.linked_places import VisitedPlaces
from core.release.counts import Headcount
from core.release.locations import generalized_locations
from core.trajectories.assemble import SequenceWindow, assemble_sequences
from core.trajectories.location_sets import location_sets
from core.trajectories.recoding import Recoding
from core.trajectories.trajectory import Sequences
from core.utility.published import published_recoding_loss
from core.windows.seal import Seal

__all__ = ["KmSetCandidate", "anonymize", "assemble", "candidate", "publish", "shown_sets", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KmSetCandidate:
    """The sets of a window as they would be published."""

    users: list[int] = field(repr=False)
    """User of each set; not published."""

    sets: list[tuple[tuple[str, ...], ...]] = field(repr=False)
    """Names of the members of each generalized location, sorted: their order must not reveal the order of visits."""


def assemble(seal: Seal, rows: Rows, plan: KmSetPlan) -> SequenceWindow:
    """Assemble a window's visits as sequences."""
    return assemble_sequences(rows, plan.locator, plan.limits)


def anonymize(seal: Seal, window: SequenceWindow, plan: KmSetPlan) -> Recoding | None:
    """Generalize by the plan's algorithm; None if its constraints cannot be kept."""
    return plan.algorithm.anonymize(window, plan.guarantee)


def candidate(window: SequenceWindow, result: Recoding, plan: KmSetPlan) -> KmSetCandidate | None:
    """Write out the sets; None if all of them are empty."""
    users, sets = published_sequences(shown_sets(window, result), result.named(window.vocabulary.names))
    return KmSetCandidate(users=users, sets=[tuple(sorted(own)) for own in sets]) if sets else None


def verify(window: SequenceWindow, candidate: KmSetCandidate, plan: KmSetPlan) -> Verdict:
    """Check k^m-anonymity and truth, and the utility constraints if the model has any."""
    names, guarantee = window.vocabulary.names, plan.guarantee
    visited: defaultdict[int, set[str]] = defaultdict(set)
    for user, location in zip(window.sequences.owners.tolist(), window.sequences.locations.tolist(), strict=True):
        visited[user].add(names[location])
    report = verify_km_sets(candidate.users, candidate.sets, visited, guarantee)
    if not report.holds or report.smallest_support is None:
        return Verdict(
            finding=f"{report.rare} sets of <= {guarantee.m} generalized locations have support below k={guarantee.k}, "
            f"{report.repeated} people have several messages, {report.overlapping} messages name a location twice, "
            f"{report.untrue} have a location that was not visited, {report.untold} lack one that was"
        )
    finding = None
    if isinstance(plan.algorithm, ConstrainedSets):
        finding = _unsatisfied(window, candidate, plan.algorithm, set().union(*visited.values()))
    return Verdict(finding=finding, smallest_support=report.smallest_support)


def publish(
    seal: Seal,
    window: SequenceWindow,
    result: Recoding,
    candidate: KmSetCandidate,
    count: Headcount,
    plan: KmSetPlan,
) -> Contents:
    """Return what the release publishes: sets of generalized locations, and their members."""
    shown = shown_sets(window, result)
    return Contents(
        messages=tuple(
            LocationSet(pseudonym=pseudonym, locations=candidate.sets[i])
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(candidate.sets))
        ),
        locations=generalized_locations(window.vocabulary, result.labels),
        # Generalized locations, not visits: how often somebody was at one is not published.
        points_released=sum(map(len, candidate.sets)),
        rows_released=int(result.kept.sum()),
        people_suppressed=window.people_suppressed(result.kept),
        # Of the sets, too: with how often somebody was at a location the figures would reveal it.
        information_loss=published_recoding_loss(
            shown, window.vocabulary, Recoding(labels=result.labels, label_of=shown.locations)
        ),
        extract=VisitedPlaces.of([(user,) for user in candidate.users], candidate.sets, window.hashes),
    )


def shown_sets(window: SequenceWindow, result: Recoding) -> Sequences:
    """Return the labels of each person, ascending, each once."""
    return location_sets(result.apply(window.sequences))


def _unsatisfied(
    window: SequenceWindow, candidate: KmSetCandidate, algorithm: ConstrainedSets, visited: set[str]
) -> str | None:
    """Describe how a candidate breaks the utility constraints; None if it keeps them."""
    constraint_of = dict(zip(window.vocabulary.names, algorithm.constraints.labels(window.vocabulary), strict=True))
    budget = algorithm.max_suppressed_percent
    report = verify_constraints(candidate.sets, visited, constraint_of, budget_percent=budget)
    if report.holds:
        return None
    return (
        f"{report.straddling} generalized locations straddle utility constraints, "
        f"{report.suppressed_percent:.1f} % of the locations are suppressed: at most {budget} % may be"
    )
