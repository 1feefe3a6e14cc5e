"""Slow and obvious versions of Rum-bound and Tum-bound, from the paper alone, and small inputs for both.

A person is a tuple of values, a set of nonsensitive locations and a set of sensitive ones; a person's number is the
place in the list. The attributes are always :data:`SCHEMA`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from core.models.kkm.anonymize.result import RTRecords
from core.models.kkm.attributes import Attributes, CategoricalAttribute, Hierarchy, Interval, NumericAttribute, Value
from core.places.taxonomy import Categories
from core.trajectories.trajectory import Sequences
from tests.oracles.km import Point, distance_mm

BILLION = 10**9

PARENTS = {"at": "eu", "de": "eu", "eu": "", "dz": "af", "ng": "af", "af": "", "br": ""}
"""A tree of two levels, one value directly below the root; inner nodes are values as well."""

SCHEMA = (
    NumericAttribute(name="age", low=0, high=20),
    CategoricalAttribute(name="origin", hierarchy=Hierarchy(Categories.from_rows(PARENTS.items()))),
)


@dataclass(frozen=True)
class Person:
    age: int
    origin: str
    visited: frozenset[int]
    hidden: frozenset[int] = frozenset()


Released = dict[tuple[Value, ...], tuple[frozenset[int], frozenset[frozenset[int]]]]
"""Of each group its people and its generalized locations."""


def path(value: str) -> tuple[str, ...]:
    """The nodes from below the root down to a value."""
    return (*path(PARENTS[value]), value) if value else ()


def leaves(value: str) -> set[str]:
    """The leaves below a node; the root is empty."""
    is_leaf = set(PARENTS) - set(PARENTS.values())
    return {leaf for leaf in is_leaf if path(leaf)[: len(path(value))] == path(value)}


def generalized(group: Iterable[Person]) -> tuple[Value, ...]:
    """The interval of the ages and the deepest node above all origins."""
    people = list(group)
    ages = [float(person.age) for person in people]
    above = [node for node in ["", *PARENTS] if all(path(p.origin)[: len(path(node))] == path(node) for p in people)]
    return Interval(min(ages), max(ages)), max(above, key=lambda node: len(path(node))) or "*"


def ncp(group: Iterable[Person]) -> int:
    """NCP of a record of a group, two attributes of equal weight, each rounded to billionths."""
    interval, node = generalized(group)
    assert isinstance(interval, Interval)
    below = len(leaves("" if node == "*" else str(node)))
    shares = [Fraction(interval.high - interval.low) / 20, Fraction(below, len(leaves(""))) if below > 1 else 0]
    return sum(round(Fraction(share) * BILLION / 2) for share in shares)


def btd(group: Iterable[Person]) -> Fraction:
    """BTD of a cluster: the largest of any two of its records."""
    sets = [person.visited for person in group]
    return max(Fraction(len(a ^ b) + 1, len(a & b) + 1) for a in sets for b in sets)


def utility_loss(sizes: Sequence[int]) -> Fraction:
    """UL of a record, the weight of an intact location being 0."""
    if not sizes:
        return Fraction(0)
    return Fraction(sum(2**size - 1 for size in sizes if size > 1), 2 ** sum(sizes) - 1)


def literal_items(group: Sequence[Person], points: Sequence[Point], k: int, m: int) -> frozenset[frozenset[int]]:
    """The generalized locations of a cluster, by counting everything again after every merge."""
    everything = {x for person in group for x in person.visited}
    if sum(bool(person.visited) for person in group) < k:
        return frozenset()
    partition = {x: frozenset([x]) for x in everything}

    def support(key: Iterable[frozenset[int]]) -> int:
        wanted = set(key)
        return sum(wanted <= {partition[x] for x in person.visited} for person in group)

    for size in range(1, m + 1):
        found = []
        for key in combinations(sorted(set(partition.values()), key=min), size):
            if 0 < support(key) < k:
                found.append((support(key), [min(place) for place in key]))
        for _, names in sorted(found):
            while support(places := {partition[x] for x in names}) < k:
                least = min(places, key=lambda place: (support([place]), min(place)))
                others = set(partition.values()) - {least}
                here = [points[x] for x in least]
                nearest = min(others, key=lambda o: (distance_mm(here, [points[x] for x in o]), min(o)))
                both = least | nearest
                partition |= dict.fromkeys(both, both)
    return frozenset(partition.values())


def shown(person: Person, partition: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """The generalized locations of a person."""
    return [place for place in partition if place & person.visited]


def literal_ul(group: Sequence[Person], points: Sequence[Point], k: int, m: int) -> int:
    """Sum of UL over a cluster, in billionths; who is left without any location counts 1."""
    partition = literal_items(group, points, k, m)
    total = 0
    for person in group:
        its = shown(person, partition)
        total += round(BILLION * utility_loss([len(place) for place in its])) if its else BILLION * bool(person.visited)
    return total


def literal_rt(
    people: Sequence[Person],
    points: Sequence[Point],
    k: int,
    m: int,
    *,
    bound: str,
    delta: float,
    merge: str,
    distance: str,
) -> Released | None:
    """Rum-bound or Tum-bound line by line, with our tie rules; None where it returns false."""
    order = sorted(
        range(len(people)),
        key=lambda i: (people[i].age, path(people[i].origin), sorted(people[i].visited | people[i].hidden), i),
    )
    clusters = _literal_cluster(people, order, k)
    n = sum(map(len, clusters.values()))
    limit = (round(delta * BILLION) + (2 if bound == "ncp" else 0)) * n  # a billionth an attribute more

    def of(numbers: Iterable[int]) -> list[Person]:
        return [people[i] for i in sorted(numbers, key=order.index)]

    def rum(these: Mapping[int, list[int]]) -> int:
        return sum(len(its) * ncp(of(its)) for its in these.values())

    def tum(these: Mapping[int, list[int]]) -> int:
        return sum(literal_ul(of(its), points, k, m) for its in these.values())

    if bound == "ncp" and rum(clusters) > limit:
        return None
    while not (bound == "ul" and tum(clusters) <= limit):
        after = None
        for partner, seed in _literal_order(clusters, of, merge, distance, points, k, m):
            candidate = _literal_merge(clusters, of, seed, partner)
            if bound == "ul" or rum(candidate) <= limit:
                after = candidate
                break
            if merge == "r":
                break
        if after is None:
            break
        clusters = after
    if bound == "ul" and tum(clusters) > limit:
        return None
    return {generalized(of(its)): (frozenset(its), literal_items(of(its), points, k, m)) for its in clusters.values()}


def _literal_cluster(people: Sequence[Person], order: list[int], k: int) -> dict[int, list[int]]:
    left, found = list(order), []
    while len(left) >= k:
        seed, *others = left
        nearest = sorted(others, key=lambda i: (ncp([people[seed], people[i]]), order.index(i)))[: k - 1]
        found.append([seed, *nearest])
        left = [i for i in left if i not in found[-1]]
    if not found:
        return {}
    for i in left:
        best = min(found, key=lambda its: (ncp([people[j] for j in (*its, i)]), len(its), found.index(its)))
        best.append(i)
    extended: dict[tuple[Value, ...], list[int]] = {}
    for its in found:
        extended.setdefault(generalized(people[i] for i in its), []).extend(its)
    return dict(enumerate(extended.values()))


def _literal_order(
    clusters: Mapping[int, list[int]],
    of: Callable[[Iterable[int]], list[Person]],
    merge: str,
    distance: str,
    points: Sequence[Point],
    k: int,
    m: int,
) -> Iterator[tuple[int, int]]:
    """The partners in the order in which they are tried, each with the seed."""
    if len(clusters) < 2:
        return
    seed = min(clusters, key=lambda c: (ncp(of(clusters[c])), len(clusters[c]), c))
    others = [c for c in clusters if c != seed]

    def both(c: int) -> list[Person]:
        return of(clusters[seed] + clusters[c])

    def unlike(c: int) -> Fraction:
        return btd(both(c)) if distance == "btd" else Fraction(literal_ul(both(c), points, k, m), len(both(c)))

    by_ncp = sorted(others, key=lambda c: (ncp(both(c)), len(clusters[c]), c))
    by_items = sorted(by_ncp, key=unlike)
    by_both = sorted(by_ncp, key=lambda c: by_ncp.index(c) + by_items.index(c))
    yield from ((c, seed) for c in {"r": by_ncp, "t": by_items, "rt": by_both}[merge])


def _literal_merge(
    clusters: Mapping[int, list[int]], of: Callable[[Iterable[int]], list[Person]], one: int, other: int
) -> dict[int, list[int]]:
    together = clusters[one] + clusters[other]
    alike = {c for c, its in clusters.items() if generalized(of(its)) == generalized(of(together))} | {one, other}
    after = {c: its for c, its in clusters.items() if c not in alike}
    after[min(alike)] = [i for c in sorted(alike) for i in clusters[c]]
    return dict(sorted(after.items()))


def matching(records: RTRecords, person: Person, known: Iterable[str]) -> set[int]:
    """Whose records match a person's attributes and some places: what the adversary of the paper finds."""
    found = set()
    for user, values, locations in zip(records.users, records.attributes, records.locations, strict=True):
        interval, node = values
        assert isinstance(interval, Interval)
        attributes_match = interval.low <= person.age <= interval.high and (node == "*" or node in path(person.origin))
        if attributes_match and all(any(name in place for place in locations) for name in known):
            found.add(user)
    return found


def people(
    *, max_people: int = 9, n_locations: int = 6, n_sensitive: int = 0, fewest: int = 0
) -> st.SearchStrategy[list[Person]]:
    """Draw people over few places, the last ``n_sensitive`` of them sensitive; all visit something."""
    ordinary = n_locations - n_sensitive
    places = st.frozensets(st.integers(0, n_locations - 1), min_size=1, max_size=4)
    person = st.builds(
        lambda age, origin, its: Person(
            age, origin, frozenset(x for x in its if x < ordinary), frozenset(x for x in its if x >= ordinary)
        ),
        st.sampled_from([1, 2, 2, 5, 9, 17]),
        st.sampled_from(sorted(PARENTS)),
        places,
    )
    return st.lists(person, min_size=fewest, max_size=max_people)


def attributes_of(crowd: Sequence[Person]) -> Attributes:
    """Turn people into the columns that `core` takes."""
    return Attributes.of(SCHEMA, [(person.age, person.origin) for person in crowd])


def visits_of(crowd: Sequence[Person]) -> Sequences:
    """Turn people into one trajectory each."""
    sets = [sorted(person.visited | person.hidden) for person in crowd]
    return Sequences(
        users=np.arange(len(crowd)),
        starts=np.cumsum([0, *map(len, sets)], dtype=np.int64),
        locations=np.array([x for its in sets for x in its], dtype=np.int64),
    )
