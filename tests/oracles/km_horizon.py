"""k^m-anonymity of joined trajectories, by its definition and nothing else."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations, product

__all__ = ["ReleasedPieces", "infrequent_in", "joined_subtrajectories"]

ReleasedPieces = Mapping[int, Sequence[Sequence[Hashable]]]
"""What a window released: of each person the pieces."""

Located = tuple[int, Hashable]
"""A window and a generalized location in it."""


def joined_subtrajectories(windows: Sequence[ReleasedPieces], user: int, m: int) -> Iterator[tuple[Located, ...]]:
    """Every subtrajectory of up to ``m`` locations of a person's windows, one released piece of each."""
    choices = [window.get(user, [()]) or [()] for window in windows]
    for pieces in product(*choices):
        joined = [(number, location) for number, piece in enumerate(pieces) for location in piece]
        for size in range(1, m + 1):
            yield from combinations(joined, size)


def infrequent_in(windows: Sequence[ReleasedPieces], k: int, m: int) -> set[tuple[Located, ...]]:
    """What fewer than ``k`` people have, but somebody."""
    people = {user for window in windows for user in window}
    found: dict[tuple[Located, ...], set[int]] = {}
    for user in people:
        for part in joined_subtrajectories(windows, user, m):
            found.setdefault(part, set()).add(user)
    return {part for part, having in found.items() if len(having) < k}
