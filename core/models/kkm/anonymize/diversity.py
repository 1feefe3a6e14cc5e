"""What (k,l^m)-diversity adds inside a cluster: shares of sensitive locations (Poulis et al. 2013, section 5).

Of the people who match up to m nonsensitive locations, none included, at most one in l may be shown at any combination
of sensitive locations. A combination is held by no more people than each location in it: single ones decide.

The algorithm that the paper takes from elsewhere is not printed. Here a set of locations with too large a share is
generalized further, like one that is too rare; since a share may rise by that, all sets are looked at again until none
is broken. Two things no generalization mends, and there the fewest occurrences of a sensitive location are suppressed:
more than one in l of the whole cluster, and more than one in l of those who visit anything, once that is one
generalized location.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Diversity"]


class Diversity:
    """Who is shown at each sensitive location of a cluster; people are bits.

    What is too much for the whole cluster is suppressed at once. Of those to choose from, who has the most nonsensitive
    locations loses it, for most of what may be known leads there; ties by the later place in the cluster.

    Args:
        visited: Of each person the nonsensitive locations.
        sensitive: Of each person the sensitive locations.
        l: One over the largest share; None where there is no limit.
    """

    def __init__(self, visited: Sequence[Sequence[int]], sensitive: Sequence[Sequence[int]], l: int | None) -> None:  # noqa: E741
        self._l = l
        self._n = len(sensitive)
        self._loses_first = sorted(range(self._n), key=lambda person: (len(visited[person]), person), reverse=True)
        self._masks: dict[int, int] = {}
        for person, locations in enumerate(sensitive):
            for location in locations:
                self._masks[location] = self._masks.get(location, 0) | 1 << person
        self.suppress((1 << self._n) - 1)

    def is_broken(self, people: int) -> bool:
        """Tell whether too many of some people are shown at one sensitive location."""
        if self._l is None:
            return False
        most = people.bit_count() // self._l
        return any((people & mask).bit_count() > most for mask in self._masks.values())

    def suppress(self, people: int) -> None:
        """Suppress the fewest occurrences so that no sensitive location has too large a share of some people."""
        if self._l is None:
            return
        most = people.bit_count() // self._l
        for location, mask in self._masks.items():
            excess = (people & mask).bit_count() - most
            losers = [person for person in self._loses_first if (people & mask) >> person & 1]
            for person in losers[: max(excess, 0)]:
                mask &= ~(1 << person)  # noqa: PLW2901
            self._masks[location] = mask

    def left(self) -> tuple[tuple[int, ...], ...]:
        """Return the sensitive locations that each person is still shown at, ascending."""
        return tuple(
            tuple(location for location in sorted(self._masks) if self._masks[location] >> person & 1)
            for person in range(self._n)
        )
