"""A chunk that grows location by location and stays k^m-anonymous (Algorithm VerPart, lines 8 to 15)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

__all__ = ["MOST_COMBINATIONS", "GrowingChunk", "alike", "grow_chunks"]

MOST_COMBINATIONS = 2_000
"""Sets of people that are kept in mind for one chunk. Beyond, the chunk is closed and another one begins: a bound of
work, which only people who share very many places reach, with m of 3 or more."""


class GrowingChunk:
    """Locations of a chunk, and who visited which of their combinations.

    People are bits: a set of people is an int. Combinations that the same people visited count once.

    Args:
        k: Fewest people of a combination that occurs.
        m: Most locations of a combination.
    """

    def __init__(self, *, k: int, m: int) -> None:
        self._k = k
        self.locations: list[int] = []
        self._visitors: list[int] = []
        # The distinct subrecords over some locations: the chunk's when they were needed last, and with one tried since.
        self._parts: tuple[list[int], dict[tuple[int, ...], int]] = ([], {})
        self._tried = self._parts
        self._people_of: list[set[int]] = [{-1}, *(set[int]() for _ in range(m - 1))]  # by size of combination, below m

    @property
    def full(self) -> bool:
        """Whether it takes no more."""
        return sum(map(len, self._people_of)) > MOST_COMBINATIONS

    def stays_k(self, location: int, visitors: int) -> dict[tuple[int, ...], int] | None:
        """Return the distinct subrecords with one more location, and who would have each; None if fewer than k."""
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
        """Tell whether every combination of up to m locations with one more has k people or none."""
        k = self._k
        for same_size in self._people_of:
            for people in same_size:
                if 0 < (people & visitors).bit_count() < k:
                    return False
        return True

    def add(self, location: int, visitors: int) -> None:
        """Take one more location."""
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

    Each round places a location or ends, so it terminates.

    Args:
        order: The locations. A location with fewer than k visitors is never placed.
        visitors_of: Who visited each, as bits.
        k: Fewest people of a combination that occurs.
        m: Most locations of a combination.
        may_join: What else a location has to satisfy to join a chunk. One that may not even be alone is not placed.
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
    """Return the distinct subrecords that a chunk over some locations has, and who has each, as bits.

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
