"""Slow and obvious versions of LKC-privacy, from the definitions alone, and small inputs for both.

A crowd is a list of (user, trajectory), a trajectory a tuple of ids of pairs; carried tells each user's values.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from core.models.lkc.pairs import Values
from tests.oracles.km import Crowd, Trajectory, is_subtrajectory, support

Carried = Mapping[int, frozenset[int]]


def occurring(crowd: Crowd, size: int) -> list[Trajectory]:
    """Every distinct sequence of one size that a trajectory contains, ascending."""
    return sorted({part for _, trajectory in crowd for part in combinations(trajectory, size)})


def shares(part: Trajectory, crowd: Crowd, carried: Carried, sensitive: Collection[int]) -> list[Fraction]:
    """The share of each sensitive value, of the people who match and of the trajectories that match."""
    matching = [user for user, trajectory in crowd if is_subtrajectory(part, trajectory)]
    found = []
    for of in (matching, sorted(set(matching))):
        found += [Fraction(sum(value in carried[user] for user in of), len(of)) for value in sensitive]
    return found


def violates(part: Trajectory, crowd: Crowd, carried: Carried, k: int, c: Fraction, sensitive: Collection[int]) -> bool:
    """Definition 3.1, of one sequence that occurs."""
    return support(part, crowd) < k or any(share > c for share in shares(part, crowd, carried, sensitive))


def is_lkc_private(
    crowd: Crowd,
    carried: Carried,
    known: int,
    k: int,
    c: Fraction,
    sensitive: Collection[int],
) -> bool:
    """Definition 3.1."""
    parts = [part for size in range(1, known + 1) for part in occurring(crowd, size)]
    return not any(violates(part, crowd, carried, k, c, sensitive) for part in parts)


def minimal_violating(
    crowd: Crowd,
    carried: Carried,
    known: int,
    k: int,
    c: Fraction,
    sensitive: Collection[int],
) -> list[Trajectory]:
    """Definition 4.1, by trying all."""
    parts = [part for size in range(1, known + 1) for part in occurring(crowd, size)]
    bad = [part for part in parts if violates(part, crowd, carried, k, c, sensitive)]
    return [part for part in bad if not any(other != part and set(other) < set(part) for other in bad)]


def maximal_frequent(crowd: Crowd, min_support: int) -> list[Trajectory]:
    """Definition 3.2, by trying all."""
    longest = max([len(trajectory) for _, trajectory in crowd], default=0)
    parts = [part for size in range(1, longest + 1) for part in occurring(crowd, size)]
    frequent = [part for part in parts if support(part, crowd) >= min_support]
    return [part for part in frequent if not any(set(part) < set(other) for other in frequent)]


def instances(crowd: Crowd, pair: int) -> int:
    """How many trajectories hold a pair."""
    return sum(pair in trajectory for _, trajectory in crowd)


def without(crowd: Crowd, pairs: Collection[int]) -> Crowd:
    """Global suppression."""
    return [(user, tuple(pair for pair in trajectory if pair not in pairs)) for user, trajectory in crowd]


def literal_suppression(
    crowd: Crowd,
    carried: Carried,
    known: int,
    k: int,
    c: Fraction,
    sensitive: Collection[int],
    *,
    min_support: int | None,
) -> list[int]:
    """Section 4.2, every score computed anew each time, with our rules: see `core/models/lkc/anonymize/suppress.py`.

    Args:
        crowd: The window.
        carried: Each user's values.
        known: L, most pairs known.
        k: Smallest support.
        c: Largest share.
        sensitive: Values whose shares are bounded.
        min_support: Of what is to be spared; None to spare instances.

    Returns:
        The pairs that are suppressed, in order.
    """
    bad = minimal_violating(crowd, carried, known, k, c, sensitive)
    first = sorted(part[0] for part in bad if len(part) == 1)
    crowd = without(crowd, first)
    bad = [part for part in bad if len(part) > 1]
    spared = [] if min_support is None else maximal_frequent(crowd, min_support)

    counts = {pair: instances(crowd, pair) for _, trajectory in crowd for pair in trajectory}
    chosen = literal_choice(bad, counts, spared=None if min_support is None else spared)
    return [*first, *literal_needed(chosen, bad, counts)]


def literal_choice(
    bad: list[Trajectory], instances: Mapping[int, int], *, spared: list[Trajectory] | None
) -> list[int]:
    """The greedy loop, every score computed anew each time; instances are what is spared where nothing else is."""
    left, chosen = list(bad), list[int]()
    while left:
        scores = {}
        for pair in sorted({pair for part in left for pair in part}):
            gain = sum(pair in part for part in left)
            lost = sum(pair in part and not set(part) & set(chosen) for part in spared or [])
            scores[pair] = Fraction(gain, (instances[pair] if spared is None else lost) + 1)
        chosen.append(min(scores, key=lambda pair: (-scores[pair], instances[pair], pair)))
        left = [part for part in left if chosen[-1] not in part]
    return chosen


def literal_needed(chosen: list[int], bad: list[Trajectory], instances: Mapping[int, int]) -> list[int]:
    """Put back, those with most instances first, what the others make superfluous."""
    left = list(chosen)
    for pair in sorted(chosen, key=lambda pair: (-instances[pair], pair)):
        others = {*left} - {pair}
        if all(set(part) & others for part in bad):
            left.remove(pair)
    return left


def as_values(carried: Carried) -> Values:
    """Turn each user's values into the columns that `core` takes."""
    facts = sorted((user, code) for user, its in carried.items() for code in its)
    return Values(
        users=np.array([user for user, _ in facts], np.int64), codes=np.array([code for _, code in facts], np.int64)
    )


def n_sequences(crowd: Crowd, known: int) -> int:
    """How many sequences of up to l pairs there are to know, counted in each trajectory."""
    return sum(math.comb(len(trajectory), size) for _, trajectory in crowd for size in range(1, known + 1))


def pair_crowds(
    *, n_pairs: int = 6, max_users: int = 8, max_pieces: int = 2
) -> st.SearchStrategy[tuple[Crowd, dict[int, frozenset[int]]]]:
    """Draw people with one or more trajectories, some empty, and of values 0, 1 and 2 none or several each."""
    trajectory = st.frozensets(st.integers(0, n_pairs - 1)).map(lambda pairs: tuple(sorted(pairs)))
    person = st.tuples(
        st.lists(trajectory, min_size=1, max_size=max_pieces), st.frozensets(st.integers(0, 2), max_size=2)
    )
    return st.lists(person, max_size=max_users).map(
        lambda people: (
            [(user, piece) for user, (pieces, _) in enumerate(people) for piece in pieces],
            {user: its for user, (_, its) in enumerate(people)},
        )
    )
