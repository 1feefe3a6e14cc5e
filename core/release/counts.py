"""Counts that may be published: none that points at fewer than k people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Headcount", "population_of", "publishable"]


def publishable(count: int, k: int, *, people: int | None = None) -> int | None:
    """Return a count if nobody can be singled out by it: nobody is behind it, or at least k people are.

    Args:
        count: How many people, points or trajectories.
        k: Fewest people that may be told of.
        people: Distinct people behind the count; the count itself where it counts people.

    >>> publishable(0, 5), publishable(4, 5), publishable(5, 5), publishable(20, 5, people=1)
    (0, None, 5, None)
    """
    behind = count if people is None else people
    return count if behind == 0 or behind >= k else None


def population_of(n_users: int, n_released: int, k: int) -> int | None:
    """Return the people in a window, unless the difference to those released would count fewer than k of them."""
    return n_users if n_users >= k and publishable(n_users - n_released, k) is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Headcount:
    """What a release tells of the numbers of people; see :class:`Release` for each."""

    people: int | None
    population: int | None
    smallest_support: int

    @classmethod
    def of(cls, users: Iterable[int], n_users: int, smallest_support: int, k: int) -> Headcount:
        """Tell what does not tell how many people, fewer than k, have several trajectories or none.

        Args:
            users: User of each released trajectory.
            n_users: Distinct people in the window.
            smallest_support: What verification observed, in distinct people.
            k: Fewest people that may be told of.
        """
        trajectories = Counter(users)
        population = population_of(n_users, len(trajectories), k)
        if publishable(sum(count > 1 for count in trajectories.values()), k) is None:
            # The trajectories can be counted: beside the people behind them, that would tell.
            return cls(people=None, population=None, smallest_support=k)
        return cls(people=len(trajectories), population=population, smallest_support=smallest_support)
