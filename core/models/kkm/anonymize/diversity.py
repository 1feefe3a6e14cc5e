"""What (k,l^m)-diversity adds inside a cluster: shares of sensitive locations (Poulis et al. 2013, section 5).

Of the people who match 0 to m nonsensitive locations, at most one in l may be shown at any combination of sensitive
locations. No more people hold a combination than hold each location in it, so checking single locations is enough.

The paper takes the algorithm from elsewhere and does not print it. Here a set of locations with too large a share is
generalized further, like one that is too rare. This may raise other shares, so all sets are checked again until none is
broken. In two cases generalization cannot help, and the fewest occurrences of a sensitive location are suppressed: if
more than one in l of the whole cluster are shown at it, or more than one in l of the people with a nonsensitive
location, once all these locations are generalized to one.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Diversity"]


class Diversity:
    """The people shown at each sensitive location of a cluster; people are bits.

    Occurrences that exceed the share of the whole cluster are suppressed at once. The person with the most nonsensitive
    locations loses a location first, because most knowledge matches that person; ties by the later place in the
    cluster.

    Args:
        visited: The nonsensitive locations of each person.
        sensitive: The sensitive locations of each person.
        l: One over the largest share; None for no limit.
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
        """Return whether too many of some people are shown at one sensitive location."""
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
