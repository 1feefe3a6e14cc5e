"""Functions for analysts of a disassociated release (Terrovitis et al. 2012, Sections 3 and 6).

An analyst can draw any number of windows of which the release may be made, and work on them as on any other window. An
analyst can also compute how many people certainly, and at most, visited some locations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from core.models.disassociation.disassociated import Cluster, Disassociated, JointCluster, RecordChunk, Subrecord
from core.trajectories.trajectory import Sequences

__all__ = ["certain_subrecords", "reconstruct", "support_bounds"]


def reconstruct(release: Disassociated, rng: np.random.Generator) -> Sequences:
    """Draw one window of which a release may be made.

    Subrecords are given to people at random. Each location of a term chunk is given to one person, and also to people
    left without a subrecord, so that everybody visited something. Not all windows are equally likely.

    Args:
        release: The release.
        rng: Source of all random choices.

    Returns:
        The locations of each person, ascending; the people of one cluster after those of another.

    Raises:
        ValueError: There is no such window, or nobody can have a subrecord: the release does not keep its guarantee.
    """
    bounds = np.cumsum([0, *(cluster.size for cluster in release.clusters)])
    people: list[set[int]] = [set() for _ in range(int(bounds[-1]))]
    cluster_of = np.repeat(np.arange(len(release.clusters)), np.diff(bounds))
    placed = [{t for chunk in cluster.record_chunks for t in chunk.locations} for cluster in release.clusters]
    for joint in _inside_out(release):
        everybody = np.arange(bounds[joint.first], bounds[joint.end])
        for chunk in joint.shared_chunks:
            for person, subrecord in _given(chunk, everybody, cluster_of, placed, rng):
                people[person].update(subrecord)
        shared = {t for chunk in joint.shared_chunks for t in chunk.locations}
        for number in range(joint.first, joint.end):
            placed[number] |= shared

    for number, cluster in enumerate(release.clusters):
        members = people[bounds[number] : bounds[number + 1]]
        rows: list[list[Subrecord]] = [_dealt(chunk, len(members), rng) for chunk in cluster.record_chunks]
        own = [{t for row in rows for t in row[i]} for i in range(len(members))]
        _let_all_have(rows, own, members, cluster.term_chunk, rng)
        for visited, more in zip(members, own, strict=True):
            visited.update(more)
    lengths = [len(visited) for visited in people]
    return Sequences(
        users=np.arange(len(people)),
        starts=np.cumsum([0, *lengths], dtype=np.int64),
        locations=np.array([t for visited in people for t in sorted(visited)], np.int64),
    )


def _inside_out(release: Disassociated) -> list[JointCluster]:
    return sorted(release.joint_clusters, key=lambda joint: joint.end - joint.first)


def _given(
    chunk: RecordChunk,
    everybody: npt.NDArray[np.int64],
    cluster_of: npt.NDArray[np.int64],
    placed: Sequence[set[int]],
    rng: np.random.Generator,
) -> list[tuple[int, Subrecord]]:
    """Give each subrecord of a shared chunk to a different person who may have it."""
    free = np.ones(len(everybody), np.bool_)
    clusters = cluster_of[everybody]
    given: list[tuple[int, Subrecord]] = []
    for subrecord, n in sorted(Counter(chunk.subrecords).items()):
        apart = {number for number in np.unique(clusters).tolist() if placed[number].isdisjoint(subrecord)}
        open_to = np.flatnonzero(free & np.isin(clusters, list(apart)))
        if len(open_to) < n:
            raise ValueError(f"a shared chunk has {n} equal subrecords for {len(open_to)} people: verify the release")
        chosen = rng.choice(open_to, n, replace=False)
        free[chosen] = False
        given += [(int(everybody[i]), subrecord) for i in chosen.tolist()]
    return given


def _dealt(chunk: RecordChunk, n_people: int, rng: np.random.Generator) -> list[Subrecord]:
    """Deal a chunk's subrecords out to the people of a cluster; some may have none."""
    if len(chunk.subrecords) > n_people:
        raise ValueError(f"a chunk has {len(chunk.subrecords)} subrecords for {n_people} people: verify the release")
    row: list[Subrecord] = [()] * n_people
    for person, subrecord in zip(rng.permutation(n_people).tolist(), chunk.subrecords, strict=False):
        row[person] = subrecord
    return row


def _let_all_have(
    rows: list[list[Subrecord]],
    own: list[set[int]],
    shared: Sequence[set[int]],
    terms: Sequence[int],
    rng: np.random.Generator,
) -> None:
    """Give out the locations of the term chunk, and leave nobody of a cluster without a location.

    Args:
        rows: For each chunk, the subrecord of each person.
        own: Locations of each person in these subrecords; changed in place.
        shared: Locations of each person in shared chunks.
        terms: The term chunk.
        rng: Source of all random choices.
    """
    nothing = [i for i in range(len(own)) if not own[i] and not shared[i]]
    nothing = [nothing[i] for i in rng.permutation(len(nothing)).tolist()]
    for location in (terms[i] for i in rng.permutation(len(terms)).tolist()):
        own[nothing.pop() if nothing else int(rng.integers(len(own)))].add(location)
    for person in nothing:
        if terms:
            own[person].add(terms[int(rng.integers(len(terms)))])
            continue
        # If there are at least as many subrecords as people, somebody has two: one of them moves.
        movable = [
            (row, i) for i in range(len(own)) for row in rows if row[i] and sum(bool(other[i]) for other in rows) > 1
        ]
        if not movable:
            raise ValueError("a cluster has fewer subrecords than people: verify the release")
        row, giver = movable[int(rng.integers(len(movable)))]
        row[person], row[giver] = row[giver], ()
        own[giver] -= set(row[person])
        own[person] |= set(row[person])


def certain_subrecords(release: Disassociated) -> Sequences:
    """Return the locations certainly visited together: each subrecord of a chunk as the record of one person.

    The paper measures tKd-a and re-a on it.
    """
    subrecords = [subrecord for part in release.chunks for subrecord in part.subrecords]
    return Sequences(
        users=np.arange(len(subrecords)),
        starts=np.cumsum([0, *map(len, subrecords)], dtype=np.int64),
        locations=np.array(list(chain.from_iterable(subrecords)), np.int64),
    )


def support_bounds(release: Disassociated, locations: Collection[int]) -> tuple[int, int]:
    """Return bounds of how many people visited all of some locations, at least and at most, according to the release.

    The bounds hold in every window of which the release may be made.

    - The lower bound counts subrecords that hold all the locations. In a cluster that has the locations in different
      chunks of its own, it counts people who must have all parts, because the cluster is too small to keep them apart.
    - The upper bound adds, over all clusters, the fewest people who can have one of the parts. In total it allows no
      more people than a shared chunk has subrecords with its part.

    Args:
        release: The release.
        locations: At least one.

    Returns:
        The lower and the upper bound.

    Raises:
        ValueError: No location is given.
    """
    wanted = set(locations)
    if not wanted:
        raise ValueError("no location is given: give at least one")
    own = [_in_cluster(cluster, wanted) for cluster in release.clusters]
    at_least = sum(certain for certain, _, _ in own)
    at_most = [possible for _, possible, _ in own]
    missing = [left for _, _, left in own]
    scarcest: list[tuple[int, int, Subrecord] | None] = [None] * len(own)
    key = 0
    for joint in _inside_out(release):
        found: list[tuple[int, Counter[Subrecord], set[int]]] = []
        for chunk in joint.shared_chunks:
            in_chunk = _parts(chunk, wanted)
            at_least += in_chunk[tuple(sorted(wanted))]
            found.append((key := key + 1, in_chunk, set(chain.from_iterable(in_chunk))))
        for number in range(joint.first, joint.end):
            for of_chunk, in_chunk, held in found:
                # A location that is not missing is in a chunk further down: people of this cluster have it only there.
                if part := tuple(sorted(held & missing[number])):
                    if in_chunk[part] < at_most[number] or scarcest[number] is None:
                        scarcest[number] = (in_chunk[part], of_chunk, part)
                    at_most[number] = min(at_most[number], in_chunk[part])
                    missing[number].difference_update(part)
    ways = [0 if missing[number] else at_most[number] for number in range(len(own))]
    together: Counter[tuple[int, int, Subrecord]] = Counter()
    for number, part_of_chunk in enumerate(scarcest):
        if part_of_chunk is not None:
            together[part_of_chunk] += ways[number]
            ways[number] = 0
    return at_least, sum(ways) + sum(min(total, n_subrecords) for (n_subrecords, *_), total in together.items())


def _in_cluster(cluster: Cluster, wanted: set[int]) -> tuple[int, int, set[int]]:
    """Look for some locations in a cluster's own chunks.

    Returns:
        The fewest and the most of its people who visited all of them, as far as these chunks show; and the locations
        that are not in these chunks.
    """
    missing = wanted.difference(cluster.term_chunk)
    at_least = [1] * (len(wanted) - len(missing))
    at_most = [cluster.size]
    for chunk in cluster.record_chunks:
        in_chunk = _parts(chunk, wanted)
        if part := tuple(sorted(set(chain.from_iterable(in_chunk)))):
            at_least.append(in_chunk[part])
            at_most.append(in_chunk[part])
            missing = missing.difference(part)
    in_common = sum(at_least) - (len(at_least) - 1) * cluster.size  # if the parts are as far apart as possible
    return 0 if missing else max(0, in_common), min(at_most), missing


def _parts(chunk: RecordChunk, wanted: set[int]) -> Counter[Subrecord]:
    """Count the subrecords by which wanted locations they hold; subrecords without any are left out."""
    parts = Counter(tuple(t for t in subrecord if t in wanted) for subrecord in chunk.subrecords)
    del parts[()]
    return parts
