"""Disassociate a window (Terrovitis et al. 2012, Section 4): partition horizontally and vertically, refine, shuffle.

Sensitive locations take no part in this (Section 5, Diversity): they are named in the term chunks of the clusters that
result. The paper leaves open what happens where many people of a cluster visited the same one. Here a cluster names it
only if at most one in ``l`` of its people did; otherwise all of their visits to it are suppressed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from core.models.disassociation.anonymize.growing import alike
from core.models.disassociation.anonymize.horizontal import horizontal_partition
from core.models.disassociation.anonymize.refinement import Node, refine
from core.models.disassociation.anonymize.vertical import Leaf, vertical_partition
from core.models.disassociation.disassociated import Cluster, Disassociated, JointCluster, RecordChunk
from core.models.disassociation.guarantee import DisassociatedKm
from core.records.arrays import BoolArray, IntArray
from core.trajectories.location_sets import location_sets
from core.trajectories.trajectory import Sequences

__all__ = ["Disassociation", "DisassociationOptions", "disassociate"]

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class DisassociationOptions:
    """How a window is disassociated, besides its guarantee."""

    largest_cluster: int | None = None
    """Most people of a cluster; ``10 k`` if None. At least ``2 k - 1``, so that any number of people from k on can be
    divided. Larger clusters hide more about which locations were visited together."""

    rare_locations: bool = False
    """Whether locations that fewer than k people of the window visited are released, as in the paper. Otherwise they
    are suppressed first."""

    def largest(self, k: int) -> int:
        """Return the most people of a cluster.

        Raises:
            ValueError: It is below ``2 k - 1``.

        >>> DisassociationOptions().largest(5)
        50
        """
        if self.largest_cluster is None:
            return 10 * k
        if self.largest_cluster < 2 * k - 1:
            raise ValueError(f"largest_cluster is {self.largest_cluster}: with k={k} it must be at least {2 * k - 1}")
        return self.largest_cluster


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Disassociation:
    """The release, and the users behind it."""

    release: Disassociated
    users: tuple[tuple[int, ...], ...]
    """User numbers of the people of each cluster, ascending; not published."""

    kept: BoolArray
    """False for a suppressed visit, shape ``(p,)``. A person's visits to the same location are released as one."""


def disassociate(
    trajectories: Sequences,
    guarantee: DisassociatedKm,
    rng: np.random.Generator,
    options: DisassociationOptions | None = None,
    sensitive: BoolArray | None = None,
) -> Disassociation:
    """Make a window k^m-anonymous by disassociation.

    A person's record is the set of locations of all of the person's trajectories. A person without a released location
    that is not sensitive is not in the release.

    Args:
        trajectories: The window.
        guarantee: k and m. With fewer than k people everything is suppressed.
        rng: Draws the orders that mean nothing, and nothing else: the released bags and sets depend neither on it nor
            on how users are numbered.
        options: The size of clusters, and whether rare locations are released; the defaults if not given.
        sensitive: Which locations are sensitive, shape ``(L,)``; used if the guarantee has an l.

    Raises:
        ValueError: ``largest_cluster`` is too small for k or l, or it is not known which locations are sensitive.
    """
    options = options or DisassociationOptions()
    if sensitive is None and guarantee.l is not None:
        raise ValueError("the guarantee has an l, but it is not known which locations are sensitive: name them")
    fewest = guarantee.smallest_cluster
    largest = options.largest(fewest)
    everything, kept = _without_rare(
        location_sets(trajectories), trajectories, 1 if options.rare_locations else guarantee.k
    )
    hidden = None if guarantee.l is None else sensitive
    sets = everything if hidden is None else everything.where(~hidden[everything.locations])
    present = np.flatnonzero(np.diff(sets.starts))  # people with a location left
    if len(present) < fewest:
        nobody = Disassociated(clusters=(), joint_clusters=())
        return Disassociation(release=nobody, users=(), kept=np.zeros(len(kept), np.bool_))
    starts = np.append(sets.starts[present], len(sets.locations))
    sets = Sequences(users=np.arange(len(present)), starts=starts, locations=sets.locations)

    parts = horizontal_partition(sets, k=fewest, largest=largest)
    leaves = [vertical_partition(_visitors(sets, people), len(people), guarantee) for people in parts]
    top = refine(leaves, guarantee)
    named: list[tuple[int, ...]] = [()] * len(leaves)
    if hidden is not None and guarantee.l is not None:
        of_cluster = np.full(trajectories.n_users, -1)
        for number, people in enumerate(parts):
            of_cluster[present[people]] = number
        secrets = everything.where(hidden[everything.locations])
        sizes = [leaf.size for leaf in leaves]
        fewest_visitors = 1 if options.rare_locations else guarantee.k
        named = _named_sensitive(secrets, of_cluster, sizes, guarantee.l, fewest_visitors)
        kept &= _not_hidden(trajectories, hidden, of_cluster, named)
    release, order = _publish(top, leaves, named, rng)
    users = tuple(tuple(present[parts[leaf]].tolist()) for leaf in order)
    return Disassociation(release=release, users=users, kept=kept)


def _named_sensitive(
    sets: Sequences,
    of_cluster: IntArray,
    sizes: Sequence[int],
    l: int,  # noqa: E741 - the paper's name
    fewest_visitors: int,
) -> list[tuple[int, ...]]:
    """Return the sensitive locations that each cluster may name: at most one in ``l`` of its people visited each.

    Those that too few people visited in all clusters that may name them are left out.

    Args:
        sets: The sensitive locations of each person.
        of_cluster: Cluster of each person, -1 for people who are not in the release, shape ``(n_users,)``.
        sizes: People of each cluster.
        l: As in the guarantee.
        fewest_visitors: Fewest people who visited a location that is named.
    """
    visitors: Counter[tuple[int, int]] = Counter(
        zip(of_cluster[sets.owners].tolist(), sets.locations.tolist(), strict=True)
    )
    allowed = {
        (cluster, location): n
        for (cluster, location), n in visitors.items()
        if cluster >= 0 and n * l <= sizes[cluster]
    }
    in_all: Counter[int] = Counter()
    for (_, location), n in allowed.items():
        in_all[location] += n
    named: list[list[int]] = [[] for _ in sizes]
    for cluster, location in sorted(allowed):
        if in_all[location] >= fewest_visitors:
            named[cluster].append(location)
    return [tuple(locations) for locations in named]


def _not_hidden(
    trajectories: Sequences, hidden: BoolArray, of_cluster: IntArray, named: Sequence[tuple[int, ...]]
) -> BoolArray:
    """Return which visits are to a location that is not sensitive or that their cluster names, shape ``(p,)``."""
    clusters = of_cluster[trajectories.owners]
    left = ~hidden[trajectories.locations]
    for visit in np.flatnonzero(~left & (clusters >= 0)).tolist():
        left[visit] = trajectories.locations[visit] in named[clusters[visit]]
    return left


def _without_rare(sets: Sequences, trajectories: Sequences, fewest: int) -> tuple[Sequences, BoolArray]:
    """Suppress locations with fewer visitors; return the sets left, and which visits are left, shape ``(p,)``."""
    often = np.bincount(sets.locations) >= fewest  # a location is in a set once
    left = often[sets.locations] if len(sets.locations) else np.zeros(0, np.bool_)
    kept = often[trajectories.locations] if len(trajectories.locations) else np.zeros(0, np.bool_)
    return sets.where(left), kept


def _visitors(sets: Sequences, people: IntArray) -> dict[int, int]:
    """Return the visitors of each location among some people, as bits."""
    visitors: dict[int, int] = {}
    for bit, person in enumerate(people.tolist()):
        for location in sets.locations[sets.starts[person] : sets.starts[person + 1]].tolist():
            visitors[location] = visitors.get(location, 0) | 1 << bit
    return visitors


def _publish(
    top: list[Node], leaves: list[Leaf], named: Sequence[tuple[int, ...]], rng: np.random.Generator
) -> tuple[Disassociated, list[int]]:
    """Arrange clusters in a random order that keeps joint ones together; also return their numbers in that order.

    ``named`` are the sensitive locations that each of ``leaves`` names in its term chunk.
    """
    order: list[int] = []
    joint: list[JointCluster] = []
    todo = _shuffled(top, rng)[::-1]
    while todo:
        node = todo.pop()
        if node.children:
            chunks = _chunks(node.shared, rng)
            joint.append(JointCluster(first=len(order), end=len(order) + len(node.leaves), shared_chunks=chunks))
            todo += _shuffled(node.children, rng)
        else:
            order += node.leaves
    clusters = tuple(_cluster(leaves[number], named[number], rng) for number in order)
    return Disassociated(clusters=clusters, joint_clusters=tuple(joint)), order


def _cluster(leaf: Leaf, named: tuple[int, ...], rng: np.random.Generator) -> Cluster:
    bags = []
    for locations in leaf.chunks:
        parts = alike(locations, leaf.visitors_of)
        bags.append([subrecord for subrecord in parts for _ in range(parts[subrecord].bit_count())])
    return Cluster(size=leaf.size, record_chunks=_chunks(bags, rng), term_chunk=tuple(sorted({*leaf.terms, *named})))


def _chunks(bags: Iterable[Sequence[tuple[int, ...]]], rng: np.random.Generator) -> tuple[RecordChunk, ...]:
    """Put each bag into a random order, independent of the order of its people; sort chunks by their locations."""
    chunks = sorted((RecordChunk(tuple(sorted(bag))) for bag in bags), key=lambda chunk: chunk.locations)
    return tuple(RecordChunk(tuple(_shuffled(chunk.subrecords, rng))) for chunk in chunks)


def _shuffled(items: Sequence[Item], rng: np.random.Generator) -> list[Item]:
    return [items[i] for i in rng.permutation(len(items)).tolist()]
