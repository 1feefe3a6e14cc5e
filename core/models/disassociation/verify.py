"""Check Guarantee 1 (Terrovitis et al. 2012, Section 5) from the release alone, and check the people behind a release.

Shares no code with the anonymizer. The checks imply the guarantee, by this argument:

- Let S be at most m locations that one person may have visited, and let P be the person's cluster. P has at least k
  people.
- Each part of S in one record chunk of P, or in one shared chunk over P, is in at least k subrecords of that chunk.
  Give these to k people of P, the same k for every chunk. Let the same people have visited the locations of S in the
  term chunk.
- The other subrecords of record chunks go to other people of P. By Lemma 2 they suffice for all of them.
- The other subrecords of a shared chunk go to people of the joint cluster who may have them. That is everybody, if none
  of the chunk's locations is in a chunk further down. If one is, the k subrecords are equal and there is room.
- By Lemma 2 in their own clusters, the people of other clusters need no shared subrecord to have visited something.

With an l, S has no sensitive location, and those of term chunks are left out of the argument: at most one in l people
of a cluster visited each, so they do not suffice to give everybody a location.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from core.models.disassociation.disassociated import Cluster, Disassociated, JointCluster, RecordChunk
from core.models.disassociation.guarantee import DisassociatedKm

__all__ = ["DisassociatedReport", "OriginReport", "revealed", "verify_disassociated", "verify_origin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisassociatedReport:
    """What verification found in a candidate for release."""

    smallest_cluster: int | None
    """People of the smallest cluster; None for an empty release."""

    smallest_support: int | None
    """Fewest subrecords of a chunk that hold a combination of at most m locations; None if there is no chunk."""

    violations: Mapping[str, int] = field(default_factory=dict)
    """Number of violations by kind; kinds without violations are left out.

    - ``malformed``: clusters, chunks and joint clusters that differ from
      :mod:`core.models.disassociation.disassociated`;
    - ``too_few_people``: clusters of fewer than k people;
    - ``not_km``: chunks with a combination in fewer than k subrecords;
    - ``too_few_subrecords``: clusters that break Lemma 2;
    - ``not_k``: distinct subrecords that occur fewer than k times where Property 1 requires k-anonymity;
    - ``no_room``: distinct subrecords of such chunks that fewer people can have than the chunk has subrecords;
    - ``exposed``: sensitive locations in record and shared chunks, which link them to people.
    """

    @property
    def holds(self) -> bool:
        """Whether the release keeps its promise."""
        return not self.violations


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginReport:
    """What verification found about the people behind a candidate."""

    fewest_visitors: int | None
    """Fewest people who visited a location of the release; None for an empty one."""

    violations: Mapping[str, int] = field(default_factory=dict)
    """Number of violations by kind; kinds without violations are left out.

    - ``people``: clusters whose size is not the number of their distinct people, or that share a person with another;
    - ``not_told``: people who visited a location that no chunk of their cluster holds, or who visited nothing;
    - ``invented``: chunks and term chunks that do not hold exactly what these people visited.
    """

    @property
    def holds(self) -> bool:
        """Whether these people are one of the possible origins of the release."""
        return not self.violations


def verify_disassociated(
    release: Disassociated, guarantee: DisassociatedKm, sensitive: Collection[int] = ()
) -> DisassociatedReport:
    """Recompute Guarantee 1 from a release, and check that sensitive locations are in term chunks alone.

    Args:
        release: What would be published.
        guarantee: k, m and l.
        sensitive: Sensitive locations.

    >>> pair = Cluster(size=2, record_chunks=(RecordChunk(((1,), (1,))),), term_chunk=())
    >>> verify_disassociated(Disassociated(clusters=(pair,), joint_clusters=()), DisassociatedKm(k=2, m=2)).holds
    True
    """
    k, m = guarantee.k, guarantee.m
    found: Counter[str] = Counter()
    supports: list[int] = []
    for cluster in release.clusters:
        found["malformed"] += not _well_formed(cluster)
        found["too_few_people"] += cluster.size < max(k, guarantee.l or 0)
        for chunk in cluster.record_chunks:
            supports.append(_smallest_support(chunk, m))
            found["not_km"] += supports[-1] < k
        v = len(cluster.record_chunks)
        subrecords = sum(len(chunk.subrecords) for chunk in cluster.record_chunks)
        # Without a record chunk the lemma would require too few subrecords: its h is at least 1 here.
        enough = subrecords >= cluster.size + k * (max(1, min(m, v)) - 1)
        found["too_few_subrecords"] += not (set(cluster.term_chunk).difference(sensitive) or enough)

    found["exposed"] += sum(len(set(sensitive).intersection(chunk.locations)) for chunk in release.chunks)
    found["malformed"] += _misplaced(release)
    # For each cluster, the locations in its record chunks and in shared chunks of the joint clusters seen so far.
    placed = [{t for chunk in cluster.record_chunks for t in chunk.locations} for cluster in release.clusters]
    for joint in _inside_out(release):
        inside = range(joint.first, joint.end)
        below = set().union(*(placed[i] for i in inside))
        for chunk in joint.shared_chunks:
            supports.append(_smallest_support(chunk, m))
            found["not_km"] += supports[-1] < k
            if not below.isdisjoint(chunk.locations):
                alike = Counter(chunk.subrecords)
                found["not_k"] += sum(count < k for count in alike.values())
                for subrecord in alike:
                    room = sum(release.clusters[i].size for i in inside if placed[i].isdisjoint(subrecord))
                    found["no_room"] += room < len(chunk.subrecords)
        shared = {t for chunk in joint.shared_chunks for t in chunk.locations}
        for i in inside:
            found["malformed"] += not shared.isdisjoint(release.clusters[i].term_chunk)
            placed[i] |= shared
    return DisassociatedReport(
        smallest_cluster=min((cluster.size for cluster in release.clusters), default=None),
        smallest_support=min(supports, default=None),
        violations={kind: number for kind, number in sorted(found.items()) if number},
    )


def verify_origin(release: Disassociated, people: Sequence[Sequence[tuple[Hashable, Collection[int]]]]) -> OriginReport:
    """Check that the people behind a release are distinct, as many as it says, and one of its possible origins.

    Args:
        release: What would be published.
        people: The people of each cluster, each with the locations visited and not suppressed.

    Raises:
        ValueError: The number of clusters is not that of the release.
    """
    if len(people) != len(release.clusters):
        raise ValueError(f"{len(people)} clusters of people for {len(release.clusters)}: there must be one for each")
    found: Counter[str] = Counter()
    seen: Counter[Hashable] = Counter(user for cluster in people for user, _ in cluster)
    for cluster, behind in zip(release.clusters, people, strict=True):
        found["people"] += len(behind) != cluster.size or any(seen[user] != 1 for user, _ in behind)

    left = [[set(visited) for _, visited in cluster] for cluster in people]
    found["not_told"] += sum(not visited for cluster in left for visited in cluster)
    for cluster, records in zip(release.clusters, left, strict=True):
        found["invented"] += sum(not _taken(chunk, records) for chunk in cluster.record_chunks)
        # Locations of a term chunk are in no shared chunk of the cluster, so they can be removed now.
        terms = set(cluster.term_chunk)
        found["invented"] += terms != {t for visited in records for t in visited & terms}
        for visited in records:
            visited.difference_update(terms)
    for joint in _inside_out(release):
        records = [visited for cluster in left[joint.first : joint.end] for visited in cluster]
        found["invented"] += sum(not _taken(chunk, records) for chunk in joint.shared_chunks)
    found["not_told"] += sum(bool(visited) for cluster in left for visited in cluster)
    visitors = Counter(t for cluster in people for _, visited in cluster for t in set(visited))
    return OriginReport(
        fewest_visitors=min((visitors[t] for t in release.locations), default=None),
        violations={kind: number for kind, number in sorted(found.items()) if number},
    )


def revealed(
    release: Disassociated,
    people: Sequence[Sequence[Collection[int]]],
    sensitive: Collection[int],
    l: int,  # noqa: E741 - the paper's name
) -> int:
    """Count the sensitive locations that a cluster names although more than one in ``l`` of its people visited them.

    Args:
        release: What would be published.
        people: All locations that each person of each cluster visited, suppressed ones included.
        sensitive: Sensitive locations.
        l: As in the guarantee.
    """
    n_revealed = 0
    for cluster, behind in zip(release.clusters, people, strict=True):
        visitors = Counter(t for visited in behind for t in set(visited))
        n_revealed += sum(visitors[t] * l > cluster.size for t in set(cluster.term_chunk).intersection(sensitive))
    return n_revealed


def _taken(chunk: RecordChunk, left: list[set[int]]) -> bool:
    """Remove the chunk's locations from every person; return whether the removed sets are the chunk's bag."""
    domain = set(chunk.locations)
    bag = Counter(tuple(sorted(visited & domain)) for visited in left)
    del bag[()]
    for visited in left:
        visited.difference_update(domain)
    return bag == Counter(chunk.subrecords)


def _smallest_support(chunk: RecordChunk, m: int) -> int:
    """Return the fewest subrecords that hold a combination of 1 to m locations, among combinations that occur.

    A set of subrecords is an int with one bit a subrecord. Combinations in the same subrecords are examined once. A
    location may be combined with itself, so combinations of fewer locations are examined again with those of more.
    """
    holders: dict[int, int] = {}
    for number, subrecord in enumerate(chunk.subrecords):
        for location in subrecord:
            holders[location] = holders.get(location, 0) | 1 << number
    found, before = set(holders.values()), 0
    for _ in range(m - 1):
        if len(found) == before:
            break
        before = len(found)
        found |= {both for one in found for other in set(holders.values()) if (both := one & other)}
    return min((subrecords.bit_count() for subrecords in found), default=0)


def _well_formed(cluster: Cluster) -> bool:
    """Return whether chunks are sorted, over disjoint locations, and have no more subrecords than there are people."""
    domains = [*(chunk.locations for chunk in cluster.record_chunks), cluster.term_chunk]
    return (
        all(_is_bag(chunk) and len(chunk.subrecords) <= cluster.size for chunk in cluster.record_chunks)
        and _ascending(cluster.term_chunk)
        and len({t for domain in domains for t in domain}) == sum(map(len, domains))
    )


def _misplaced(release: Disassociated) -> int:
    """Count the joint clusters with fewer than two clusters, that cross another, or with malformed chunks or order."""
    wrong = 0
    around: list[JointCluster] = []
    for joint in release.joint_clusters:
        within = 0 <= joint.first <= joint.end - 2 <= len(release.clusters) - 2
        domains = [chunk.locations for chunk in joint.shared_chunks]
        disjoint = bool(domains) and len({t for domain in domains for t in domain}) == sum(map(len, domains))
        size = sum(cluster.size for cluster in release.clusters[max(joint.first, 0) : joint.end])
        bags = all(_is_bag(chunk) and len(chunk.subrecords) <= size for chunk in joint.shared_chunks)
        while around and around[-1].end <= joint.first:
            around.pop()
        inside = not around or (
            around[-1].first <= joint.first
            and joint.end <= around[-1].end
            and (around[-1].first, around[-1].end) != (joint.first, joint.end)
        )
        wrong += not (within and disjoint and bags and inside)
        around.append(joint)
    firsts = [(joint.first, -joint.end) for joint in release.joint_clusters]
    return wrong + sum(one >= other for one, other in pairwise(firsts))


def _inside_out(release: Disassociated) -> list[JointCluster]:
    """Return the joint clusters, each after those inside it, without those that reach beyond the clusters."""
    within = [joint for joint in release.joint_clusters if 0 <= joint.first <= joint.end <= len(release.clusters)]
    return sorted(within, key=lambda joint: joint.end - joint.first)


def _is_bag(chunk: RecordChunk) -> bool:
    return len(chunk.subrecords) > 0 and all(map(_ascending, chunk.subrecords)) and all(chunk.subrecords)


def _ascending(locations: Sequence[int]) -> bool:
    return all(one < other for one, other in pairwise(locations))
