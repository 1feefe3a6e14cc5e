"""One person's trajectories, while visits go and trajectories are split."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Person", "Ways", "bits"]


class Ways(NamedTuple):
    """How a person can lose a subtrajectory in one step."""

    visits: int
    """Bits of the visits without which it is gone; 0 where none is."""

    gaps: int
    """Bits of the visits behind which a split takes it away."""


class Person:
    """What a person's trajectories still hold.

    A visit is a bit: bit ``i`` is the person's ``i``-th. Subtrajectories are numbers, see :class:`Counted`.

    Args:
        digits: The digit of the location of every visit of the window.
        bounds: Where the person's trajectories begin, and where the last one ends.
        base: Base of the digits.
        m: Most locations of a subtrajectory.
    """

    def __init__(self, digits: Sequence[int], bounds: Sequence[int], base: int, m: int) -> None:
        self.first = bounds[0]
        """The person's first visit."""
        self._base, self._m = base, m
        self._pieces = [
            _Piece(digits[start:end], [1 << (at - self.first) for at in range(start, end)])
            for start, end in pairwise(bounds)
        ]

    def subtrajectories(self) -> set[int]:
        """Return every subtrajectory of at most ``m`` locations.

        The work depends on how many there are, not on their embeddings: a long trajectory over few locations is cheap.
        """
        base, everything = self._base, set[int]()
        for piece in self._pieces:
            by_size = [set[int]() for _ in range(self._m)]
            steps = list(zip(by_size[-2::-1], by_size[:0:-1], strict=True))  # shorter and longer, the longest first
            # How many shorter ones there were when a location was met last: it ends nothing new if there are no more.
            n_shorter, known = 0, dict[int, int]()
            for digit in piece.digits:
                if known.get(digit) == n_shorter:
                    continue
                known[digit] = n_shorter
                for shorter, longer in steps:
                    longer.update([number * base + digit for number in shorter])
                by_size[0].add(digit)
                n_shorter = sum([len(shorter) for shorter, _ in steps])
            everything.update(*by_size)
        return everything

    def ways(self, wanted: Sequence[int]) -> Ways | None:
        """Find how a subtrajectory could be lost; None where the person has it no more.

        A visit is used by every embedding in a trajectory exactly if the earliest and the latest one use it for the
        same location: otherwise the beginning of the one and the end of the other leave it out. A gap is spanned by
        every embedding exactly if the earliest one ends behind it and the latest one begins before it.

        Args:
            wanted: The digits of the subtrajectory.
        """
        found: Ways | None = None
        for piece in self._pieces:
            earliest = piece.earliest(wanted)
            if earliest is None:
                continue
            if found is not None:
                return Ways(0, 0)  # it is in several trajectories
            latest = piece.latest(wanted)
            visits = 0
            for early, late in zip(earliest, latest, strict=True):
                if early == late:
                    visits |= piece.bits[early]
            begins, ends = piece.bits[latest[0]], piece.bits[earliest[-1]]
            found = Ways(visits, ends - begins if begins < ends else 0)
        return found

    def most_used(self, wanted: Sequence[int]) -> int:
        """Return the visit that most embeddings of a subtrajectory use, the latest of several."""
        return max(use for piece in self._pieces for use in piece.uses(wanted))[1]

    def suppress(self, visit: int) -> None:
        """Take out a visit."""
        for piece in self._pieces:
            if visit in piece.bits:
                at = piece.bits.index(visit)
                piece.take([*piece.digits[:at], *piece.digits[at + 1 :]], [*piece.bits[:at], *piece.bits[at + 1 :]])

    def split(self, gap: int) -> None:
        """Split a trajectory behind a visit."""
        pieces = []
        for piece in self._pieces:
            at = bisect_right(piece.bits, gap)
            pieces += [_Piece(piece.digits[:at], piece.bits[:at]), _Piece(piece.digits[at:], piece.bits[at:])]
        self._pieces = [piece for piece in pieces if piece.bits]


class _Piece:
    """One trajectory: the digits of its visits, and their bits."""

    __slots__ = ("_backwards", "bits", "digits")

    def __init__(self, digits: Sequence[int], bits: list[int]) -> None:
        self.take(list(digits), bits)

    def take(self, digits: list[int], bits: list[int]) -> None:
        """Hold these visits from now on."""
        self.digits, self.bits = digits, bits
        self._backwards = digits[::-1]

    def earliest(self, wanted: Sequence[int]) -> list[int] | None:
        """Return which visits the earliest embedding uses, None where there is none."""
        return _first_embedding(self.digits, wanted)

    def latest(self, wanted: Sequence[int]) -> list[int]:
        """Return which visits the latest embedding uses, of a subtrajectory that is there."""
        used, last = _first_embedding(self._backwards, wanted[::-1]), len(self.digits) - 1
        return [last - at for at in reversed(used or ())]

    def uses(self, wanted: Sequence[int]) -> list[tuple[int, int]]:
        """Return how many embeddings of a subtrajectory use each visit that may be one of its, with its bit."""
        at = [i for i, digit in enumerate(self.digits) if digit in wanted]
        before = _counts([self.digits[i] for i in at], wanted)
        after = _counts([self.digits[i] for i in reversed(at)], wanted[::-1])[::-1]
        return [
            (sum(a * b for a, b in zip(ends, begins[::-1], strict=True)), self.bits[i])
            for i, ends, begins in zip(at, before, after, strict=True)
        ]


def _first_embedding(digits: list[int], wanted: Sequence[int]) -> list[int] | None:
    used, at = [], -1
    try:
        for digit in wanted:
            at = digits.index(digit, at + 1)
            used.append(at)
    except ValueError:
        return None
    return used


def _counts(digits: Sequence[int], wanted: Sequence[int]) -> list[list[int]]:
    """Count the embeddings that end at each visit, of what is wanted up to each location."""
    ending, counts = [1] + [0] * len(wanted), []
    for visited in digits:
        here = [ending[i] if visited == digit else 0 for i, digit in enumerate(wanted)]
        for i, n in enumerate(here, start=1):
            ending[i] += n
        counts.append(here)
    return counts


def bits(number: int) -> Iterator[int]:
    """Return the bits that are set, the lowest first."""
    while number:
        bit = number & -number
        yield bit
        number ^= bit
