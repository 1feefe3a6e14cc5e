"""BF-P2kA line by line (Pensa et al. 2008), and the definitions around it, slow and obvious.

Crowds and trajectories are those of :mod:`tests.oracles.km`. A sequence of the tree is a tuple of location ids; the
empty one is the root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations

from tests.oracles.km import Crowd, Trajectory, is_subtrajectory

Supports = Mapping[Trajectory, int]


@cache
def levenshtein(one: Trajectory, other: Trajectory) -> int:
    """Definition 4, by its recursion."""
    if not one or not other:
        return len(one) + len(other)
    return min(
        levenshtein(one[1:], other) + 1,
        levenshtein(one, other[1:]) + 1,
        levenshtein(one[1:], other[1:]) + (one[0] != other[0]),
    )


@cache
def longest_common(one: Trajectory, other: Trajectory) -> frozenset[Trajectory]:
    """Definition 5: every longest common subsequence, by trying all."""
    for size in range(len(one), 0, -1):
        found = frozenset(part for part in combinations(one, size) if is_subtrajectory(part, other))
        if found:
            return found
    return frozenset([()])


def common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of a longest common subsequence."""
    return common_lengths(one, other)[-1]


def common_lengths(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Length of one with each beginning of the other, the empty one first: the last row of the usual table."""
    row = [0] * (len(other) + 1)
    for x in one:
        above, row = row, [0]
        for j, y in enumerate(other):
            row.append(above[j] + 1 if x == y else max(above[j + 1], row[j]))
    return row


def minimum_prefix(sequence: Trajectory, part: Trajectory) -> Trajectory:
    """Definition 2."""
    return next(sequence[:n] for n in range(len(sequence) + 1) if is_subtrajectory(part, sequence[:n]))


def beginnings(crowd: Crowd) -> dict[Trajectory, int]:
    """How many people have a trajectory that begins with each sequence that any begins with, the empty one left out."""
    people: dict[Trajectory, set[int]] = {}
    for user, trajectory in crowd:
        for n in range(1, len(trajectory) + 1):
            people.setdefault(trajectory[:n], set()).add(user)
    return {sequence: len(users) for sequence, users in people.items()}


def closest(sequence: Trajectory, paths: Iterable[Trajectory], supports: Supports) -> Trajectory:
    """ClosestLCS and the minimum prefix of Algorithm 5, with our tie rules; the empty sequence where there is none."""
    found = [
        (-len(part), levenshtein(part, path), -supports[path], path, part)
        for path in paths
        for part in longest_common(sequence, path)
    ]
    _, _, _, path, part = min(found, default=(0, 0, 0, (), ()))
    return minimum_prefix(path, part) if part else ()


def literal_p2ka(sequences: Sequence[Trajectory], k: int) -> tuple[Counter[Trajectory], Counter[Trajectory]]:
    """Algorithms 1 to 5 over a database of sequences, each of somebody else.

    Returns:
        The infrequent sequences that are cut, and the anonymized database.
    """
    support: Counter[Trajectory] = Counter()
    for sequence in sequences:  # Algorithm 3
        for n in range(1, len(sequence) + 1):
            support[sequence[:n]] += 1
    before = dict(support)

    def children(node: Trajectory) -> list[Trajectory]:
        return sorted(path for path in support if len(path) == len(node) + 1 and path[:-1] == node)

    def ending_at(node: Trajectory) -> int:
        return support[node] - sum(support[child] for child in children(node))

    def prune(node: Trajectory) -> Counter[Trajectory]:  # Algorithm 4
        if support[node] >= k:
            return sum((prune(child) for child in children(node)), Counter())
        subtree = [path for path in support if path[: len(node)] == node]
        found = Counter({path: ending_at(path) for path in subtree})
        lost = support[node]
        for n in range(1, len(node) + 1):
            support[node[:n]] -= lost
        for path in subtree:
            del support[path]
        return found

    cut: Counter[Trajectory] = sum((prune(child) for child in children(())), Counter())  # Algorithm 2
    left = list(support)
    for sequence, times in cut.items():  # Algorithm 5
        path = closest(sequence, left, before)
        for n in range(1, len(path) + 1):
            support[path[:n]] += times
    return +cut, +Counter({path: ending_at(path) for path in support})


def released(crowd: Crowd, k: int, *, alike: bool, least: int = 0) -> Crowd:
    """What is released of each trajectory, several of a person or not.

    Args:
        crowd: The window.
        k: Smallest support.
        alike: Whether k people have to share what is released.
        least: Smallest support of the paths that are compared; the beginnings of a trajectory always are.
    """
    supports = beginnings(crowd)
    left = [path for path, people in supports.items() if people >= k]
    after: Crowd = []
    for user, trajectory in crowd:
        if trajectory not in left:
            paths = [path for path in left if supports[path] >= least or trajectory[: len(path)] == path]
            trajectory = closest(trajectory, paths, supports)  # noqa: PLW2901 - it becomes this
        after.append((user, trajectory))
    longest = max((len(sequence) for _, sequence in after), default=0)
    for length in range(longest, 0, -1) if alike else ():
        crowds = {sequence: {user for user, other in after if other == sequence} for _, sequence in after}
        few = {sequence for sequence, users in crowds.items() if len(sequence) == length and len(users) < k}
        after = [(user, sequence[:-1] if sequence in few else sequence) for user, sequence in after]
    return after
