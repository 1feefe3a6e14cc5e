"""A chunk that grows location by location and stays k^m-anonymous (Algorithm VerPart, lines 8 to 15)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

__all__ = ["MOST_COMBINATIONS", "GrowingChunk", "alike", "grow_chunks"]

MOST_COMBINATIONS = 2_000
"""Most sets of people that are stored for one chunk. Beyond this number the chunk is closed and another one begins.
This bounds the work; it matters only for people who share very many places, with m of 3 or more."""


class GrowingChunk:
    """Locations of a chunk, and the people who visited each of their combinations.

    A set of people is an int with one bit a person. Combinations that the same people visited count once.

    Args:
        k: Fewest people of a combination that occurs.
        m: Most locations of a combination.
    """

    def __init__(self, *, k: int, m: int) -> None:
        self._k = k
        self.locations: list[int] = []
        self._visitors: list[int] = []
        # Distinct subrecords over some locations: those of the chunk when last needed, and with the one tried since.
        self._parts: tuple[list[int], dict[tuple[int, ...], int]] = ([], {})
        self._tried = self._parts
        self._people_of: list[set[int]] = [{-1}, *(set[int]() for _ in range(m - 1))]  # by size of combination, below m

    @property
    def full(self) -> bool:
        """Whether the chunk takes no more locations."""
        return sum(map(len, self._people_of)) > MOST_COMBINATIONS

    def stays_k(self, location: int, visitors: int) -> dict[tuple[int, ...], int] | None:
        """Return the distinct subrecords with one more location, and the people of each; None if any has below k."""
        parts: dict[tuple[int, ...], int] = {}
        rest = visitors
        for subrecord, people in self._alike().items():
            for finer, part in (((*subrecord, location), people & visitors), (subrecord, people & ~visitors)):
                if part:
                    if part.bit_count() < self._k:
                        return None
                    parts[finer] = part
            rest &= ~people
        if rest:
            if rest.bit_count() < self._k:
                return None
            parts[(location,)] = rest
        self._tried = [*self.locations, location], parts
        return parts

    def _alike(self) -> dict[tuple[int, ...], int]:
        if self._parts[0] != self.locations:
            visitors_of = dict(zip(self.locations, self._visitors, strict=True))
            self._parts = list(self.locations), alike(self.locations, visitors_of)
        return self._parts[1]

    def stays_km(self, visitors: int) -> bool:
        """Return whether each combination of up to m locations with the new one has at least k people or none."""
        k = self._k
        for same_size in self._people_of:
            for people in same_size:
                if 0 < (people & visitors).bit_count() < k:
                    return False
        return True

    def add(self, location: int, visitors: int) -> None:
        """Add one more location."""
        self.locations.append(location)
        if self._tried[0] == self.locations:
            self._parts = self._tried
        self._visitors.append(visitors)
        for size in range(len(self._people_of) - 1, 0, -1):
            self._people_of[size] |= {both for people in self._people_of[size - 1] if (both := people & visitors)}


def grow_chunks(
    order: Iterable[int],
    visitors_of: Mapping[int, int],
    *,
    k: int,
    m: int,
    may_join: Callable[[GrowingChunk, int], bool] = lambda chunk, location: True,
) -> list[GrowingChunk]:
    """Fill chunk after chunk, each with every location, in order, that leaves it k^m-anonymous.

    Each round places a location or is the last, so the loop terminates.

    Args:
        order: The locations. A location with fewer than k visitors is never placed.
        visitors_of: Visitors of each location, as bits.
        k: Fewest people of a combination that occurs.
        m: Most locations of a combination.
        may_join: Further condition for a location to join a chunk. A location that may not even join an empty chunk is
            not placed.
    """
    chunks: list[GrowingChunk] = []
    remaining = list(order)
    while remaining:
        chunk, skipped = GrowingChunk(k=k, m=m), []
        for location in remaining:
            visitors = visitors_of[location]
            if not chunk.full and chunk.stays_km(visitors) and may_join(chunk, location):
                chunk.add(location, visitors)
            else:
                skipped.append(location)
        if not chunk.locations:
            break
        chunks.append(chunk)
        remaining = skipped
    return chunks


def alike(locations: Iterable[int], visitors_of: Mapping[int, int]) -> dict[tuple[int, ...], int]:
    """Return the distinct subrecords of a chunk over some locations, and the people who have each, as bits.

    >>> alike([4, 2], {2: 0b011, 4: 0b110})
    {(2, 4): 2, (2,): 1, (4,): 4}
    """
    parts: dict[tuple[int, ...], int] = {}
    for location in sorted(locations):
        rest, finer = visitors_of[location], dict[tuple[int, ...], int]()
        for subrecord, people in parts.items():
            finer[(*subrecord, location)] = people & rest
            finer[subrecord] = people & ~rest
            rest &= ~people
        finer[(location,)] = rest
        parts = {subrecord: people for subrecord, people in finer.items() if people}
    return parts
