"""Release the sets of locations of one window's people by disassociation: assemble, divide, verify, publish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from core.models.common.family import Contents, Verdict
from core.models.disassociation.anonymize.disassociate import Disassociation, disassociate
from core.models.disassociation.disassociated import Cluster, Disassociated, RecordChunk
from core.models.disassociation.plan import DisassociationPlan
from core.models.disassociation.released import ClusterGroup, NamedChunk, NamedCluster, NamedJoint
from core.models.disassociation.verify import revealed, verify_disassociated, verify_origin
from core.records.record import Rows
from core.release.attacks.linked_places import VisitedPlaces
from core.release.counts import Headcount
from core.release.locations import generalized_locations
from core.trajectories.assemble import SequenceWindow, assemble_sequences
from core.trajectories.location_sets import location_sets
from core.trajectories.trajectory import Sequences
from core.windows.seal import Seal

__all__ = ["SetCandidate", "anonymize", "assemble", "candidate", "publish", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetCandidate:
    """A disassociated window as it would be published."""

    release: Disassociated = field(repr=False)
    users: list[int] = field(repr=False)
    """All users in its clusters; not published."""

    behind: list[list[tuple[int, frozenset[int]]]] = field(repr=False)
    """The users of each cluster, each with the user's released locations; not published."""


def assemble(seal: Seal, rows: Rows, plan: DisassociationPlan) -> SequenceWindow:
    """Assemble a window's visits as sequences."""
    return assemble_sequences(rows, plan.locator, plan.limits)


def anonymize(seal: Seal, window: SequenceWindow, plan: DisassociationPlan) -> Disassociation:
    """Disassociate the window; only orders that mean nothing are random."""
    sensitive = window.vocabulary.among(plan.sensitive)
    return disassociate(window.sequences, plan.guarantee, plan.generator(seal), plan.options, sensitive)


def candidate(window: SequenceWindow, result: Disassociation, plan: DisassociationPlan) -> SetCandidate | None:
    """Return the clusters with the users behind them; None if there is no cluster."""
    if not result.release.clusters:
        return None
    users = [user for cluster in result.users for user in cluster]
    behind = _behind(result.users, window.sequences.where(result.kept))
    return SetCandidate(release=result.release, users=users, behind=behind)


def verify(window: SequenceWindow, candidate: SetCandidate, plan: DisassociationPlan) -> Verdict:
    """Check the guarantee, and that the release is exactly that of the people behind it."""
    k = plan.guarantee.k
    sensitive = frozenset(np.flatnonzero(window.vocabulary.among(plan.sensitive)).tolist())
    report = verify_disassociated(candidate.release, plan.guarantee, sensitive)
    origin = verify_origin(candidate.release, candidate.behind)
    too_rare = not plan.options.rare_locations and (origin.fewest_visitors or k) < k
    too_sure = plan.guarantee.l is not None and revealed(
        candidate.release, _everything(window, candidate), sensitive, plan.guarantee.l
    )
    if not report.holds or not origin.holds or too_rare or too_sure:
        further = [*(["rare locations"] if too_rare else []), *(["sensitive locations"] if too_sure else [])]
        broken = sorted({*report.violations, *origin.violations, *further})
        return Verdict(finding=f"the release breaks, with k={k}: {', '.join(broken)}")
    smallest = min(size for size in (report.smallest_cluster, report.smallest_support) if size is not None)
    return Verdict(smallest_support=smallest)


def publish(
    seal: Seal,
    window: SequenceWindow,
    result: Disassociation,
    candidate: SetCandidate,
    count: Headcount,
    plan: DisassociationPlan,
) -> Contents:
    """Return what the release publishes: groups of clusters that share chunks."""
    release = candidate.release
    shown = sorted(release.locations)
    return Contents(
        messages=tuple(_groups(release, window.vocabulary.names)),
        locations=generalized_locations(window.vocabulary, ([location] for location in shown), plan.sensitive),
        points_released=_n_released(release),
        rows_released=int(result.kept.sum()),
        people_suppressed=window.people_suppressed(result.kept),
        extract=VisitedPlaces.of(result.users, _shown(release, window.vocabulary.names), window.hashes),
        information_loss={
            "released_locations": len(shown),
            "clusters": len(release.clusters),
            "term_chunk_share": round(_term_chunk_share(release), 6),
        },
    )


def _shown(release: Disassociated, names: tuple[str, ...]) -> list[list[tuple[str, ...]]]:
    """Return the locations that each cluster shows; a shared chunk is shown by each of its clusters."""
    shown = [
        {*one.term_chunk, *(x for chunk in one.record_chunks for x in chunk.locations)} for one in release.clusters
    ]
    for joint in release.joint_clusters:
        for cluster in shown[joint.first : joint.end]:
            cluster.update(x for chunk in joint.shared_chunks for x in chunk.locations)
    return [[(names[x],) for x in sorted(cluster)] for cluster in shown]


def _behind(users: Iterable[Iterable[int]], visits: Sequences) -> list[list[tuple[int, frozenset[int]]]]:
    """Return the users of each cluster, each with the locations visited."""
    visited = [frozenset(own) for own in location_sets(visits).lists()]
    return [[(user, visited[user]) for user in cluster] for cluster in users]


def _everything(window: SequenceWindow, candidate: SetCandidate) -> list[list[frozenset[int]]]:
    """Return all locations that each person of each cluster visited, suppressed ones included."""
    users = ([user for user, _ in cluster] for cluster in candidate.behind)
    return [[visited for _, visited in cluster] for cluster in _behind(users, window.sequences)]


def _n_released(release: Disassociated) -> int:
    """Count the locations that the release publishes, over all subrecords and term chunks."""
    in_chunks = sum(len(subrecord) for chunk in release.chunks for subrecord in chunk.subrecords)
    return in_chunks + sum(len(cluster.term_chunk) for cluster in release.clusters)


def _term_chunk_share(release: Disassociated) -> float:
    """Return the share of the chunks' locations in term chunks, where nothing shows which were visited together."""
    alone = sum(len(cluster.term_chunk) for cluster in release.clusters)
    return alone / (alone + sum(len(chunk.locations) for chunk in release.chunks))


def _groups(release: Disassociated, names: tuple[str, ...]) -> Iterator[ClusterGroup]:
    """Yield the groups published together: clusters that share a chunk, directly or not, or one that shares none."""
    start = 0
    while start < len(release.clusters):
        around = [joint for joint in release.joint_clusters if joint.first <= start < joint.end]
        end = max((joint.end for joint in around), default=start + 1)
        yield ClusterGroup(
            clusters=tuple(_named(cluster, names) for cluster in release.clusters[start:end]),
            joint_clusters=tuple(
                NamedJoint(
                    first=joint.first - start,
                    end=joint.end - start,
                    shared_chunks=tuple(_chunk(chunk, names) for chunk in joint.shared_chunks),
                )
                for joint in release.joint_clusters
                if start <= joint.first < end
            ),
        )
        start = end


def _named(cluster: Cluster, names: tuple[str, ...]) -> NamedCluster:
    return NamedCluster(
        size=cluster.size,
        record_chunks=tuple(_chunk(chunk, names) for chunk in cluster.record_chunks),
        term_chunk=tuple(names[location] for location in cluster.term_chunk),
    )


def _chunk(chunk: RecordChunk, names: tuple[str, ...]) -> NamedChunk:
    return tuple(tuple(names[location] for location in subrecord) for subrecord in chunk.subrecords)
