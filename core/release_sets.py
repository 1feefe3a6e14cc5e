"""Release the sets of locations of one window's people by disassociation: assemble, divide, verify."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from core.anonymize.disassociation.disassociate import Disassociation, disassociate
from core.assemble import SequenceWindow, assemble_sequences
from core.disassociated import Chunk, Cluster, Disassociated
from core.places import generalized_locations
from core.plan import SetPlan
from core.records import Rows
from core.release import (
    Account,
    ClusterGroup,
    Headcount,
    NamedChunk,
    NamedCluster,
    NamedJoint,
    Outcome,
    WithholdReason,
    keyed_generator,
    publishable,
)
from core.seal import Seal
from core.verify.disassociated import verify_disassociated, verify_origin
from core.visited import visited_sets

__all__ = ["disassociated", "release_sets"]


def disassociated(window: SequenceWindow, seal: Seal, plan: SetPlan) -> Disassociation:
    """Disassociate an assembled window; the only chance is that of orders that mean nothing."""
    generator = keyed_generator(plan.secret, seal.release_id)
    return disassociate(window.sequences, plan.guarantee, generator, plan.options)


def release_sets(seal: Seal, rows: Rows, plan: SetPlan) -> Outcome:
    """Anonymize and verify the visits of a sealed window. The same arguments give the same bytes."""
    k = plan.guarantee.k
    window = assemble_sequences(rows, plan.locator, plan.limits)
    duplicates, n_rows = window.duplicates, len(rows) - window.duplicates
    if window.n_users < k:
        return plan.withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=n_rows, duplicates=duplicates)
    result = disassociated(window, seal, plan)
    candidate = result.release
    if not candidate.clusters:
        return plan.withhold(seal, WithholdReason.NOTHING_LEFT, withheld=n_rows, duplicates=duplicates)
    report = verify_disassociated(candidate, plan.guarantee)
    origin = verify_origin(candidate, _behind(window, result))
    too_rare = not plan.options.rare_locations and (origin.fewest_visitors or k) < k
    if not report.holds or not origin.holds or too_rare:
        broken = sorted({*report.violations, *origin.violations, *(["rare locations"] if too_rare else [])})
        finding = f"the release breaks, with k={k}: {', '.join(broken)}"
        return plan.refuse(seal, finding, withheld=n_rows, duplicates=duplicates)

    n_released = int(result.kept.sum())
    told = _told(candidate)
    smallest = min(size for size in (report.smallest_cluster, report.smallest_support) if size is not None)
    users = [user for its in result.users for user in its]
    count = Headcount.of(users, window.n_users, smallest, k)
    shown = sorted(candidate.locations)
    return plan.release(
        seal,
        count,
        trajectories=tuple(_groups(candidate, window.vocabulary.names)),
        locations=generalized_locations(window.vocabulary, ([location] for location in shown)),
        points_released=told,
        points_suppressed=publishable(n_rows - n_released, k, people=window.people_suppressed(result.kept)),
        information_loss={
            "released_locations": len(shown),
            "clusters": len(candidate.clusters),
            "term_chunk_share": round(_term_chunk_share(candidate), 6),
        },
        account=Account(duplicates=duplicates, released=n_released, suppressed=n_rows - n_released),
    )


def _behind(window: SequenceWindow, result: Disassociation) -> list[list[tuple[int, frozenset[int]]]]:
    """Return of each cluster its people, each with the locations that are released of them."""
    sets = visited_sets(window.sequences.where(result.kept))
    visited = [frozenset(sets.locations[start:end].tolist()) for start, end in pairwise(sets.starts.tolist())]
    return [[(user, visited[user]) for user in its] for its in result.users]


def _told(release: Disassociated) -> int:
    """Count what the release tells: each location of a subrecord, and each of a term chunk."""
    in_chunks = sum(len(subrecord) for chunk in release.chunks for subrecord in chunk.subrecords)
    return in_chunks + sum(len(cluster.term_chunk) for cluster in release.clusters)


def _term_chunk_share(release: Disassociated) -> float:
    """Share of the places in clusters' chunks that stand in term chunks, where nothing tells with what they go."""
    alone = sum(len(cluster.term_chunk) for cluster in release.clusters)
    return alone / (alone + sum(len(chunk.locations) for chunk in release.chunks))


def _groups(release: Disassociated, names: tuple[str, ...]) -> Iterator[ClusterGroup]:
    """Yield what is published together: clusters that share a chunk, directly or not, or one that shares none."""
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


def _chunk(chunk: Chunk, names: tuple[str, ...]) -> NamedChunk:
    return tuple(tuple(names[location] for location in subrecord) for subrecord in chunk.subrecords)
