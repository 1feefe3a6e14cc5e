"""Counts that may be published: those that single out no group of fewer than k people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Headcount", "population_of", "publishable"]


def publishable(count: int, k: int, *, people: int | None = None) -> int | None:
    """Return a count if it singles out nobody: it stands for no people, or for at least k. Else return None.

    Args:
        count: How many people, points or trajectories.
        k: Least number of people that a published count may stand for.
        people: Distinct people behind the count; by default the count itself is a number of people.

    >>> publishable(0, 5), publishable(4, 5), publishable(5, 5), publishable(20, 5, people=1)
    (0, None, 5, None)
    """
    behind = count if people is None else people
    return count if behind == 0 or behind >= k else None


def population_of(n_users: int, n_released: int, k: int) -> int | None:
    """Return the number of people in a window, or None if it would reveal that 1 to k-1 people are not released."""
    return n_users if n_users >= k and publishable(n_users - n_released, k) is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Headcount:
    """The published numbers of people of a release; :class:`Release` describes each."""

    people: int | None
    population: int | None
    smallest_support: int

    @classmethod
    def of(cls, users: Iterable[int], n_users: int, smallest_support: int, k: int) -> Headcount:
        """Return the numbers, without those that reveal that 1 to k-1 people have several trajectories or none.

        Args:
            users: User of each released trajectory.
            n_users: Distinct people in the window.
            smallest_support: Smallest support that verification observed, in distinct people.
            k: Least number of people that a published count may stand for.
        """
        trajectories = Counter(users)
        population = population_of(n_users, len(trajectories), k)
        if publishable(sum(count > 1 for count in trajectories.values()), k) is None:
            # Trajectories can be counted, so the number of people behind them would reveal the difference.
            return cls(people=None, population=None, smallest_support=k)
        return cls(people=len(trajectories), population=population, smallest_support=smallest_support)
