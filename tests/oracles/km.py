"""Slow and obvious versions of what `core` does fast, from the definitions alone, and small inputs for both.

A crowd is a list of (user, trajectory), a trajectory a tuple of location ids; one user may have several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from core.models.km.anonymize.seqanon import Generalization
from core.records.arrays import FloatArray
from core.trajectories.trajectory import Sequences

Trajectory = tuple[int, ...]
Crowd = list[tuple[int, Trajectory]]
Point = tuple[int, int]


def is_subtrajectory(part: Sequence[int], trajectory: Sequence[int]) -> bool:
    """Poulis et al. 2014, Definition 2: order kept, gaps allowed."""
    rest = iter(trajectory)
    return all(location in rest for location in part)


def support(part: Sequence[int], crowd: Crowd) -> int:
    """Definition 3, over people."""
    return len({user for user, trajectory in crowd if is_subtrajectory(part, trajectory)})


def all_subtrajectories(crowd: Crowd, size: int) -> set[Trajectory]:
    """Every distinct subtrajectory of one size."""
    return {part for _, trajectory in crowd for part in combinations(trajectory, size)}


def infrequent(crowd: Crowd, k: int, size: int) -> list[tuple[int, Trajectory]]:
    """Return (support, subtrajectory) of one size with support below k, ascending."""
    counted = [(support(part, crowd), part) for part in all_subtrajectories(crowd, size)]
    return sorted((count, part) for count, part in counted if count < k)


def is_km_anonymous(crowd: Crowd, k: int, m: int) -> bool:
    """Definition 4."""
    return not any(infrequent(crowd, k, size) for size in range(1, m + 1))


def distance_mm(points_a: Sequence[Point], points_b: Sequence[Point]) -> int:
    """Distance of the centroids of points given in metres, to the nearest whole millimetre, without floats."""
    squared = Fraction(0)
    for axis in (0, 1):
        mean_a = Fraction(sum(point[axis] for point in points_a), len(points_a))
        mean_b = Fraction(sum(point[axis] for point in points_b), len(points_b))
        squared += (1000 * (mean_a - mean_b)) ** 2
    below = math.isqrt(math.floor(squared))
    return below if squared <= (below + Fraction(1, 2)) ** 2 else below + 1


def closest_common_ancestor(paths: Sequence[tuple[Hashable, ...]], members: Iterable[int]) -> int:
    """Count the leaves below the closest common ancestor, Definition 7, by trying every node.

    Args:
        paths: The nodes above each location, coarsest first; locations are leaves of their own.
        members: Some of the locations.
    """
    leaves = [(*path, ("leaf", location)) for location, path in enumerate(paths)]
    nodes = {leaf[:depth] for leaf in leaves for depth in range(len(leaf) + 1)}
    below = [{i for i, leaf in enumerate(leaves) if leaf[: len(node)] == node} for node in nodes]
    return min(len(held) for held in below if held >= set(members))


def literal_seqanon(crowd: Crowd, points: Sequence[Point], k: int, m: int) -> list[int] | None:
    """Algorithm SeqAnon line by line, with our tie rules; None where its loop would never end.

    Returns:
        The smallest id of each location's generalized location.
    """
    return _literal(crowd, points, k, m, lambda together: Fraction(1))


def literal_sd_seqanon(
    crowd: Crowd, points: Sequence[Point], paths: Sequence[tuple[Hashable, ...]], k: int, m: int
) -> list[int] | None:
    """Algorithm SD-SeqAnon, "SeqAnon but for step 7"; as :func:`literal_seqanon`."""

    def dissimilarity(together: list[int]) -> Fraction:
        return Fraction(closest_common_ancestor(paths, together), len(paths))

    return _literal(crowd, points, k, m, dissimilarity)


def _literal(
    crowd: Crowd, points: Sequence[Point], k: int, m: int, factor: Callable[[list[int]], Fraction]
) -> list[int] | None:
    group_of = list(range(len(points)))
    generalized = crowd
    for size in range(1, m + 1):  # line 2
        for _, original in infrequent(generalized, k, size):  # lines 3, 4
            s = tuple(group_of[location] for location in original)
            while support(s, generalized) < k:  # line 5
                l1 = min(s, key=lambda location: (support([location], generalized), location))  # line 6
                in_use = {location for _, trajectory in generalized for location in trajectory}
                if in_use == {l1}:
                    return None
                members = {g: [x for x in range(len(points)) if group_of[x] == g] for g in in_use}

                def cost(g: int, one: int = l1, members: dict[int, list[int]] = members) -> Fraction:
                    here, there = ([points[x] for x in members[i]] for i in (one, g))
                    return distance_mm(here, there) * factor(members[one] + members[g])

                l2 = min(in_use - {l1}, key=lambda g: (cost(g), g))  # line 7
                both = {l1, l2}
                group_of = [min(both) if g in both else g for g in group_of]  # line 8
                generalized = [(user, tuple(group_of[x] for x in t)) for user, t in generalized]
                s = tuple(group_of[location] for location in s)
    return group_of


def literal_u_seqanon(
    crowd: Crowd,
    points: Sequence[Point],
    constraint_of: Sequence[Hashable],
    k: int,
    m: int,
    *,
    percent: float,
    in_order: Mapping[int, Sequence[Trajectory]] | None = None,
) -> tuple[list[int], Crowd] | None:
    """Algorithm U-SeqAnon line by line, with our tie rules; None where it exits because U is not satisfied.

    Its line 5 reads "sup > 0 or sup < k", which never ends: the text, "until its support is either at least k or
    0", is followed.

    Args:
        crowd: The window.
        points: A point for each location.
        constraint_of: The constraint of each location.
        k: Smallest support.
        m: Most locations known.
        percent: Delta, the share of visited locations that may be suppressed.
        in_order: The subtrajectories of each size to go through, instead of line 3.

    Returns:
        The smallest id of each location's generalized location, and what is released.
    """
    group_of = list(range(len(points)))
    generalized = crowd
    visited = {location for _, trajectory in crowd for location in trajectory}
    suppressed: set[int] = set()
    for size in range(1, m + 1):  # line 2
        found = [part for _, part in infrequent(generalized, k, size)] if in_order is None else in_order.get(size, [])
        for original in found:  # lines 3, 4
            s = tuple(group_of[location] for location in original)
            while 0 < support(s, generalized) < k:  # line 5
                l1 = min(s, key=lambda location: (support([location], generalized), location))  # line 6
                u = constraint_of[l1]  # line 7
                in_use = {location for _, trajectory in generalized for location in trajectory}
                members = {g: [points[x] for x in range(len(points)) if group_of[x] == g] for g in in_use}
                others = {g for g in in_use - {l1} if constraint_of[g] == u}
                if not others:  # line 9
                    suppressed |= {x for x in visited if group_of[x] == l1}
                    generalized = [(user, tuple(x for x in t if x != l1)) for user, t in generalized]  # line 10
                    if Fraction(100 * len(suppressed), len(visited)) > Fraction(percent):  # line 11
                        return None  # line 12
                    break  # no supporter of s is left
                centre = members[l1]
                l2 = min(others, key=lambda g: (distance_mm(centre, members[g]), g))  # line 8
                both = {l1, l2}
                group_of = [min(both) if g in both else g for g in group_of]  # line 14
                generalized = [(user, tuple(group_of[x] for x in t)) for user, t in generalized]
                s = tuple(group_of[location] for location in s)
    return group_of, generalized


def constraints_hold(left: Crowd, group_of: Sequence[int], constraint_of: Sequence[Hashable]) -> bool:
    """Definition 10, condition (i), over every generalized location that is released."""
    shown = {location for _, trajectory in left for location in trajectory}
    members = [{x for x in range(len(group_of)) if group_of[x] == location} for location in shown]
    constraints = [{x for x in range(len(group_of)) if constraint_of[x] == u} for u in set(constraint_of)]
    return all(held <= u or not held & u for held in members for u in constraints)


def suppressed_percent(crowd: Crowd, left: Crowd, group_of: Sequence[int]) -> Fraction:
    """Definition 10, condition (ii): which share of the locations that were visited is in no released trajectory."""
    visited = {location for _, trajectory in crowd for location in trajectory}
    shown = {location for _, trajectory in left for location in trajectory}
    gone = {location for location in visited if group_of[location] not in shown}
    return Fraction(100 * len(gone), max(len(visited), 1))


def fewest_suppressed(crowd: Crowd, k: int, m: int) -> int:
    """Fewest occurrences whose suppression lets some generalization be k^m-anonymous, by trying all.

    Merging never lowers a support, so if any generalization does, one location for everything does.
    """
    sizes = [len(trajectory) for _, trajectory in crowd]
    visits = [index for index, size in enumerate(sizes) for _ in range(size)]
    for n_suppressed in range(len(visits) + 1):
        for gone in combinations(visits, n_suppressed):
            left = [
                (user, (0,) * (size - gone.count(index)))
                for index, ((user, _), size) in enumerate(zip(crowd, sizes, strict=True))
            ]
            if is_km_anonymous(left, k, m):
                return n_suppressed
    raise AssertionError("an empty release is k^m-anonymous")


def as_sequences(crowd: Crowd) -> Sequences:
    """Turn a crowd, ordered by user, into the columns that `core` takes."""
    return Sequences(
        users=np.array([user for user, _ in crowd], np.int64),
        starts=np.cumsum([0, *(len(trajectory) for _, trajectory in crowd)], dtype=np.int64),
        locations=np.array([location for _, trajectory in crowd for location in trajectory], np.int64),
    )


def positions(points: Sequence[Point]) -> FloatArray:
    """Turn points into the positions that `core` takes, metres, shape ``(L, 2)``."""
    return np.array(points, np.float64).reshape(-1, 2)


def released(crowd: Crowd, generalization: Generalization) -> Crowd:
    """Apply a generalization visit by visit; the pieces of a trajectory that is split follow each other."""
    kept, group_of = generalization.kept.tolist(), generalization.group_of.tolist()
    splits = set(generalization.splits.tolist())
    left: Crowd = []
    visit = 0
    for user, trajectory in crowd:
        pieces: list[list[int]] = [[]]
        for place, location in enumerate(trajectory):
            if place and visit in splits:
                pieces.append([])
            if kept[visit]:
                pieces[-1].append(group_of[location])
            visit += 1
        left += [(user, tuple(piece)) for piece in pieces]
    return left


def crowds(
    *, n_locations: int = 6, max_users: int = 6, max_pieces: int = 3, max_length: int = 5
) -> st.SearchStrategy[Crowd]:
    """Draw crowds of a few people with one or more trajectories each, some of them empty."""
    trajectory = st.lists(st.integers(0, n_locations - 1), max_size=max_length).map(tuple)
    pieces = st.lists(trajectory, min_size=1, max_size=max_pieces)
    return st.lists(pieces, max_size=max_users).map(
        lambda people: [(user, piece) for user, own in enumerate(people) for piece in own]
    )


def maps(*, n_locations: int = 6, side_m: int = 9) -> st.SearchStrategy[list[Point]]:
    """Draw a point in whole metres for each location; few of them, so that distances tie."""
    coordinate = st.integers(0, side_m)
    return st.lists(st.tuples(coordinate, coordinate), min_size=n_locations, max_size=n_locations)
