"""Slow and obvious versions of disassociation, from Terrovitis et al. 2012 and the rules set in its page alone.

A record is a frozenset of location ids, a window a list of them, one for each person.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from core.models.disassociation.disassociated import Cluster, Disassociated, JointCluster, RecordChunk
from core.trajectories.trajectory import Sequences

Record = frozenset[int]
Window = list[Record]
Bag = Counter[Record]


def support(itemset: Iterable[int], window: Iterable[Record]) -> int:
    """How many records contain all of an itemset."""
    wanted = set(itemset)
    return sum(record >= wanted for record in window)


def is_km(bag: Iterable[Record], k: int, m: int) -> bool:
    """Every combination of up to m locations that occurs in a bag occurs k times."""
    bag = list(bag)
    held = {part for record in bag for size in range(1, m + 1) for part in combinations(sorted(record), size)}
    return all(support(part, bag) >= k for part in held)


def is_k(bag: Iterable[Record], k: int) -> bool:
    """Every subrecord, but for the empty one, occurs k times."""
    return all(n >= k for record, n in Counter(bag).items() if record)


def projected(records: Iterable[Record], locations: Iterable[int]) -> Bag:
    """The bag of what records hold of some locations, without the empty ones."""
    chosen = frozenset(locations)
    return Counter(record & chosen for record in records if record & chosen)


# ---------------------------------------------------------------------- the algorithms, line by line


def literal_horpart(window: Window, largest: int, ignore: frozenset[int] = frozenset()) -> list[Window] | None:
    """Algorithm HorPart as printed, but that ``largest`` people still are a cluster; None where it would never end."""
    if len(window) <= largest:
        return [window]
    terms = {t for record in window for t in record} - ignore
    if not terms:
        return None
    a = min(terms, key=lambda t: (-support([t], window), t))
    one = literal_horpart([record for record in window if a in record], largest, ignore | {a})
    other = literal_horpart([record for record in window if a not in record], largest, ignore)
    return None if one is None or other is None else one + other


@dataclass
class Simple:
    """A cluster on its way, by its records."""

    records: Window
    domains: list[set[int]]
    terms: set[int]
    placed: set[int] = field(default_factory=set)


def literal_verpart(records: Window, k: int, m: int) -> Simple:
    """Algorithm VerPart and the check of Lemma 2 at its end."""
    everything = {t for record in records for t in record}
    by_support = sorted(everything, key=lambda t: (-support([t], records), t))
    terms = {t for t in everything if support([t], records) < k}
    remain = [t for t in by_support if t not in terms]
    domains: list[set[int]] = []
    while remain:
        current: set[int] = set()
        for t in remain:
            if is_km(projected(records, current | {t}).elements(), k, m):
                current = current | {t}
        domains.append(current)
        remain = [t for t in remain if t not in current]
    made = Simple(records, domains, terms)
    if not terms and not lemma_2(made, k, m):
        least = min(everything, key=lambda t: (support([t], records), t))
        made = Simple(records, [domain - {least} for domain in domains if domain != {least}], {least})
    made.placed = {t for domain in made.domains for t in domain}
    return made


def lemma_2(cluster: Simple, k: int, m: int) -> bool:
    """Lemma 2, (b), without a term chunk; h is 1 where there is no chunk."""
    n_subrecords = sum(projected(cluster.records, domain).total() for domain in cluster.domains)
    return n_subrecords >= len(cluster.records) + k * (max(1, min(m, len(cluster.domains))) - 1)


@dataclass
class Tree:
    """A cluster, simple or joint."""

    leaves: list[int]
    children: list[Tree]
    shared: list[Bag]


def literal_refine(clusters: list[Simple], k: int, m: int) -> list[Tree]:
    """Algorithm Refine, with the rules of the page for the last location of a term chunk and for room."""
    forest = [Tree([i], [], []) for i in range(len(clusters))]

    def virtual(tree: Tree) -> set[int]:
        return {t for i in tree.leaves for t in clusters[i].terms}

    while True:
        tcs = Counter(t for tree in forest for t in virtual(tree))

        def key(tree: Tree, tcs: Counter[int] = tcs) -> Any:
            return sorted((-tcs[t], t) for t in virtual(tree)), tree.leaves

        forest.sort(key=key)
        after: list[Tree] = []
        rest = forest
        while rest:
            joined = _literal_join(rest[0], rest[1], clusters, k, m) if len(rest) > 1 else None
            after.append(joined or rest[0])
            rest = rest[2:] if joined else rest[1:]
        if len(after) == len(forest):
            return after
        forest = after


def _literal_join(one: Tree, other: Tree, clusters: list[Simple], k: int, m: int) -> Tree | None:
    leaves = one.leaves + other.leaves
    inside = [clusters[i] for i in leaves]

    def contributed(locations: set[int]) -> Bag:
        bag: Bag = Counter()
        for cluster in inside:
            bag += projected(cluster.records, locations & cluster.terms)
        return bag

    both = {t for i in one.leaves for t in clusters[i].terms} & {t for i in other.leaves for t in clusters[i].terms}
    refining = {t for t in both if contributed({t}).total() >= k}
    for i in sorted(leaves):
        its = clusters[i].terms
        if its and its <= refining and not lemma_2(clusters[i], k, m):
            refining.remove(min(its, key=lambda t: (contributed({t}).total(), t)))
    crossing = {t for cluster in inside for t in cluster.placed}
    remain = sorted(refining, key=lambda t: (-contributed({t}).total(), t))
    domains: list[set[int]] = []
    while remain:
        current: set[int] = set()
        for t in remain:
            bag = contributed(current | {t})
            good = is_km(bag.elements(), k, m)
            if crossing & (current | {t}):
                good = is_k(bag.elements(), k) and all(
                    sum(len(cluster.records) for cluster in inside if not cluster.placed & subrecord) >= bag.total()
                    for subrecord in bag
                )
            if good:
                current = current | {t}
        if not current:
            break
        domains.append(current)
        remain = [t for t in remain if t not in current]
    shared = {t for domain in domains for t in domain}
    if not shared:
        return None
    holding = [cluster for cluster in inside if cluster.terms & shared]
    left = sum(contributed({t}).total() for t in shared) / sum(len(cluster.records) for cluster in inside)
    right = sum(len(cluster.terms & shared) for cluster in holding) / sum(len(cluster.records) for cluster in holding)
    if left < right and not math.isclose(left, right):
        return None
    bags = [contributed(domain) for domain in domains]
    for cluster in inside:
        cluster.terms -= shared
        cluster.placed |= shared
    return Tree(leaves, [one, other], bags)


def as_form(trees: Iterable[Tree], clusters: list[Simple]) -> Any:
    """What a forest says, whatever the order."""

    def form(tree: Tree) -> Any:
        if not tree.children:
            cluster = clusters[tree.leaves[0]]
            bags = (projected(cluster.records, domain) for domain in cluster.domains)
            return len(cluster.records), sorted(map(_bag, bags)), sorted(cluster.terms)
        return sorted(map(_bag, tree.shared)), sorted(map(form, tree.children), key=repr)

    return sorted(map(form, trees), key=repr)


def release_form(release: Disassociated) -> Any:
    """What a release says, whatever the order; the same for the same as :func:`as_form`."""

    def form(first: int, end: int, joints: list[JointCluster]) -> list[Any]:
        found: list[Any] = []
        at = first
        while at < end:
            here = next((joint for joint in joints if joint.first == at), None)
            if here is None:
                cluster = release.clusters[at]
                bags = sorted(_bag(Counter(map(frozenset, chunk.subrecords))) for chunk in cluster.record_chunks)
                found.append((cluster.size, bags, list(cluster.term_chunk)))
                at += 1
                continue
            inside = [joint for joint in joints if joint is not here and here.first <= joint.first < here.end]
            bags = sorted(_bag(Counter(map(frozenset, chunk.subrecords))) for chunk in here.shared_chunks)
            found.append((bags, sorted(form(here.first, here.end, inside), key=repr)))
            joints = [joint for joint in joints if joint.first >= here.end]
            at = here.end
        return found

    return sorted(form(0, len(release.clusters), list(release.joint_clusters)), key=repr)


def _bag(bag: Bag) -> list[list[int]]:
    return sorted(sorted(record) for record in bag.elements())


# ---------------------------------------------------------------------- all windows that a release may be of


def possible_windows(release: Disassociated) -> Iterator[list[Window]]:
    """Every window that a release may be of, cluster by cluster, where everybody visited the whole term chunk.

    In the others fewer people visited what is in a term chunk, so that these have the largest supports. People of a
    cluster are numbered by their subrecords in its first chunk: who is called what makes no other window.
    """
    sizes = [cluster.size for cluster in release.clusters]
    slots = [(number, i) for number, size in enumerate(sizes) for i in range(size)]
    placed = [{t for chunk in cluster.record_chunks for t in chunk.locations} for cluster in release.clusters]
    todo: list[tuple[Counter[tuple[int, ...]], dict[tuple[int, ...], set[tuple[int, int]]]]] = []
    filled: dict[tuple[int, int], set[int]] = {slot: set() for slot in slots}
    for number, cluster in enumerate(release.clusters):
        its = {slot for slot in slots if slot[0] == number}
        for i, chunk in enumerate(cluster.record_chunks):
            if i == 0:
                for person, subrecord in enumerate(chunk.subrecords):
                    filled[number, person] |= set(subrecord)
            else:
                todo.append((Counter(chunk.subrecords), dict.fromkeys(chunk.subrecords, its)))
    for joint in sorted(release.joint_clusters, key=lambda joint: joint.end - joint.first):
        inside = range(joint.first, joint.end)
        for chunk in joint.shared_chunks:
            allowed = {
                subrecord: {slot for slot in slots if slot[0] in inside and not placed[slot[0]] & set(subrecord)}
                for subrecord in chunk.subrecords
            }
            todo.append((Counter(chunk.subrecords), allowed))
        for number in inside:
            placed[number] |= {t for chunk in joint.shared_chunks for t in chunk.locations}

    def fill(at: int) -> Iterator[list[Window]]:
        if at == len(todo):
            window: list[Window] = [[] for _ in sizes]
            for slot in slots:
                window[slot[0]].append(frozenset(filled[slot]) | set(release.clusters[slot[0]].term_chunk))
            if all(record for cluster in window for record in cluster):
                yield window
            return
        bag, allowed = todo[at]
        yield from deal(sorted(bag.items()), allowed, set(), at)

    def deal(
        bag: list[tuple[tuple[int, ...], int]],
        allowed: dict[tuple[int, ...], set[tuple[int, int]]],
        taken: set[tuple[int, int]],
        at: int,
    ) -> Iterator[list[Window]]:
        if not bag:
            yield from fill(at + 1)
            return
        (subrecord, n), *others = bag
        for chosen in combinations(sorted(allowed[subrecord] - taken), n):
            for slot in chosen:
                filled[slot] |= set(subrecord)
            yield from deal(others, allowed, taken | set(chosen), at)
            for slot in chosen:
                filled[slot] -= set(subrecord)

    yield from fill(0)


def n_windows(release: Disassociated) -> int:
    """No fewer than the windows that :func:`possible_windows` goes through."""
    total = 1
    for cluster in release.clusters:
        for chunk in cluster.record_chunks[1:]:
            total *= _ways(chunk, cluster.size)
    for joint in release.joint_clusters:
        size = sum(cluster.size for cluster in release.clusters[joint.first : joint.end])
        for chunk in joint.shared_chunks:
            total *= _ways(chunk, size)
    return total


def _ways(chunk: RecordChunk, size: int) -> int:
    ways = math.perm(size, len(chunk.subrecords))
    for n in Counter(chunk.subrecords).values():
        ways //= math.factorial(n)
    return ways


def largest_supports(release: Disassociated, largest: int) -> Counter[tuple[int, ...]]:
    """The most people, in any possible window, who visited each combination of up to so many locations."""
    best: Counter[tuple[int, ...]] = Counter()
    held = [part for size in range(1, largest + 1) for part in combinations(release.locations, size)]
    for window in possible_windows(release):
        people = [record for cluster in window for record in cluster]
        for part in held:
            best[part] = max(best[part], support(part, people))
    return best


def keeps_guarantee_1(release: Disassociated, k: int, m: int) -> bool:
    """Guarantee 1, by all possible windows: whatever can have been known, k people can have done. There is a window."""
    if not any(True for _ in possible_windows(release)):
        return False
    return all(most == 0 or most >= k for most in largest_supports(release, m).values())


# ---------------------------------------------------------------------- inputs


def sequences(window: Sequence[Iterable[int]]) -> Sequences:
    """One trajectory for each record."""
    visited = [sorted(record) for record in window]
    return Sequences(
        users=np.arange(len(visited)),
        starts=np.cumsum([0, *map(len, visited)], dtype=np.int64),
        locations=np.array([t for record in visited for t in record], np.int64),
    )


def records(sets: Sequences) -> Window:
    """The sets of the people of a window."""
    bounds = sets.starts.tolist()
    return [frozenset(sets.locations[a:b].tolist()) for a, b in pairwise(bounds)]


def windows(*, n_locations: int = 6, max_users: int = 10, max_length: int = 4) -> st.SearchStrategy[Window]:
    """Draw small windows; some locations are visited more than others."""
    location = st.integers(0, n_locations - 1) | st.integers(0, 1)
    return st.lists(st.frozensets(location, max_size=max_length), max_size=max_users)


def chunk(*subrecords: Iterable[int]) -> RecordChunk:
    """A chunk of these subrecords."""
    return RecordChunk(tuple(tuple(sorted(subrecord)) for subrecord in subrecords))


def cluster(size: int, *chunks: RecordChunk, terms: Iterable[int] = ()) -> Cluster:
    """A cluster of these chunks."""
    return Cluster(size=size, record_chunks=chunks, term_chunk=tuple(sorted(terms)))


@st.composite
def _bags(draw: st.DrawFn, domain: Sequence[int], size: int) -> RecordChunk:
    """A chunk of at most so many subrecords, most of them in pairs or threes."""
    parts = [part for n in range(1, len(domain) + 1) for part in combinations(domain, n)]
    kinds = draw(st.lists(st.sampled_from(parts), min_size=1, max_size=2, unique=True))
    bag = [part for part in kinds for _ in range(draw(st.sampled_from([2, 2, 2, 3, 1])))]
    return chunk(*bag[:size])


@st.composite
def releases(draw: st.DrawFn) -> Disassociated:
    """Draw small releases, many of them good for k = 2: one to three clusters, mostly joint, over few locations."""
    clusters: list[Cluster] = []
    for _ in range(draw(st.sampled_from([1, 2, 2, 3, 3]))):
        size = draw(st.integers(2, 4))
        domains = draw(st.sampled_from([[[0]], [[0], [1, 2]], [[1, 2]], [[1], [2]], [[0, 1]], [[3, 5]]]))
        chunks = [draw(_bags(domain, size)) for domain in domains]
        clusters.append(cluster(size, *chunks, terms=draw(st.sampled_from([[], [4], [4], [7]]))))
    joint: list[JointCluster] = []
    if len(clusters) > 1:
        whole = (0, len(clusters))
        spans = draw(st.sampled_from([[whole], [whole, (0, 2)], [(0, 2)], []]))
        for first, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
            domains = draw(st.sampled_from([[[0]], [[5]], [[0, 5]], [[1, 5]], [[6], [5]], [[6, 8]]]))
            size = sum(its.size for its in clusters[first:end])
            shared = tuple(draw(_bags(domain, size)) for domain in domains)
            joint.append(JointCluster(first=first, end=end, shared_chunks=shared))
    return Disassociated(clusters=tuple(clusters), joint_clusters=tuple(joint))
