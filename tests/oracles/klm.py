"""(k,l)^m-anonymity by its definition, and l^m-Anon line by line, slow and obvious.

A shown crowd is a list of (user, trajectory), a trajectory a tuple of labels, a label a frozen set of location ids.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import combinations, product

from hypothesis import strategies as st

from core.models.klm.anonymize.window import Clustered
from core.models.klm.guarantee import KLmDiversity
from tests.oracles.km import Crowd, Point, distance_mm, is_subtrajectory, support

Label = frozenset[int]
Shown = list[tuple[int, tuple[Label, ...]]]


def guarantees(*, most: int = 3) -> st.SearchStrategy[KLmDiversity]:
    """Draw small guarantees."""
    return st.builds(KLmDiversity, k=st.integers(2, 3), l=st.integers(2, 4), m=st.integers(1, most))


def shown(crowd: Crowd, result: Clustered) -> Shown:
    """Apply a recoding visit by visit."""
    label_of = iter(result.recoding.label_of.tolist())
    labels = [frozenset(label) for label in result.recoding.labels]
    return [(user, tuple([labels[i] for _ in trajectory if (i := next(label_of)) >= 0])) for user, trajectory in crowd]


def plain(crowd: Crowd, sensitive: Collection[int]) -> Crowd:
    """Leave out the sensitive visits."""
    return [(user, tuple(x for x in trajectory if x not in sensitive)) for user, trajectory in crowd]


def who_was_at(crowd: Crowd, places: Collection[int]) -> list[set[int]]:
    """Find the people of each place, in whichever of their trajectories."""
    return [{user for user, trajectory in crowd if place in trajectory} for place in sorted(places)]


def violations(crowd: Shown, sensitive: Collection[int], guarantee: KLmDiversity) -> tuple[int, int]:
    """Count the subtrajectories of 0 to m nonsensitive labels below k, and their pairs with a place above 1/l."""
    # A label that is not sensitive gets a number, a sensitive location keeps its id.
    number: dict[Label, int] = {}
    numbered: Crowd = [
        (user, tuple(min(x) if x & {*sensitive} else 100 + number.setdefault(x, len(number)) for x in trajectory))
        for user, trajectory in crowd
        if trajectory
    ]
    at = who_was_at(numbered, sensitive)
    bare = plain(numbered, sensitive)
    parts = {part for _, t in bare for size in range(guarantee.m + 1) for part in combinations(t, size)}
    groups = [{user for user, t in bare if is_subtrajectory(part, t)} for part in parts]
    rare = sum(len(group) < guarantee.k for group in groups)
    return rare, sum(_too_many(group & who, group, guarantee) for group in groups for who in at)


def _too_many(part: set[int], group: set[int], guarantee: KLmDiversity) -> bool:
    return bool(group) and Fraction(len(part), len(group)) > Fraction(1, guarantee.l)


def candidates(crowd: Shown, known: Sequence[int]) -> set[int]:
    """Find the people who may have been at some locations in order, for somebody who knows locations, not labels."""

    def fits(trajectory: Sequence[Label]) -> bool:
        rest = iter(trajectory)
        return all(any(location in label for label in rest) for location in known)

    return {user for user, trajectory in crowd if trajectory and fits(trajectory)}


def raw_violations(crowd: Shown, sensitive: Collection[int], n_locations: int, guarantee: KLmDiversity) -> int:
    """Count what somebody who knows 0 to m nonsensitive locations finds too few people for, or too many at a place."""
    places = [location for location in range(n_locations) if location not in sensitive]
    at = [candidates(crowd, (place,)) for place in sensitive]
    found = 0
    for size in range(guarantee.m + 1):
        for known in product(places, repeat=size):
            group = candidates(crowd, known)
            found += 0 < len(group) < guarantee.k
            found += sum(_too_many(group & who, group, guarantee) for who in at)
    return found


def settled_by_merging(crowd: Crowd, sensitive: Collection[int], guarantee: KLmDiversity) -> bool:
    """Tell whether one location for all nonsensitive visits would do, but for who knows nothing."""
    at = who_was_at(crowd, sensitive)
    for size in range(1, guarantee.m + 1):
        group = {user for user, trajectory in plain(crowd, sensitive) if len(trajectory) >= size}
        if 0 < len(group) < guarantee.k or any(_too_many(group & who, group, guarantee) for who in at):
            return False
    return True


def literal_lm_anon(
    crowd: Crowd, points: Sequence[Point], sensitive: Collection[int], guarantee: KLmDiversity
) -> list[int]:
    """Algorithm l^m-Anon line by line, with the probability for the count and our tie rules, until nothing changes.

    Returns:
        The smallest id of each location's generalized location.
    """
    at = who_was_at(crowd, sensitive)
    group_of = list(range(len(points)))
    left = plain(crowd, sensitive)

    def unprotected(s: tuple[int, ...]) -> bool:
        people = {user for user, trajectory in left if is_subtrajectory(s, trajectory)}
        return 0 < len(people) < guarantee.k or any(_too_many(people & who, people, guarantee) for who in at)

    while True:
        before = list(group_of)
        for size in range(1, guarantee.m + 1):  # line 2
            parts = {part for _, trajectory in left for part in combinations(trajectory, size)}  # line 4
            wanting = sorted((support(part, left), part) for part in parts if unprotected(part))  # lines 5 to 8
            for _, original in wanting:  # line 9
                s = tuple(group_of[location] for location in original)
                while unprotected(s):  # line 10
                    l1 = min(s, key=lambda location: (support([location], left), location))  # line 11
                    in_use = {location for _, trajectory in left for location in trajectory}
                    members = {g: [points[x] for x in range(len(points)) if group_of[x] == g] for g in in_use}
                    centre = members[l1]
                    l2 = min(in_use - {l1}, key=lambda g: (distance_mm(centre, members[g]), g))  # line 12
                    both = {l1, l2}
                    group_of = [min(both) if g in both else g for g in group_of]  # line 13
                    left = [(user, tuple(group_of[x] for x in t)) for user, t in left]
                    s = tuple(group_of[location] for location in s)
        if group_of == before:
            return group_of
