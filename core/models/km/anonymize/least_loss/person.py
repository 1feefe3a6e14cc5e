"""One person's trajectories, while visits are suppressed and trajectories are split."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Person", "Ways", "bits"]


class Ways(NamedTuple):
    """The single steps that remove a subtrajectory from a person."""

    visits: int
    """Bits of the visits whose suppression removes it; 0 if no single visit does."""

    gaps: int
    """Bits of the visits after which a split removes it; 0 if no single split does."""


class Person:
    """What is left of a person's trajectories.

    A visit is a bit: bit ``i`` is the person's ``i``-th visit. Subtrajectories are numbers, see :class:`Counted`.

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
            # Number of shorter ones at a location's last visit: if it has not grown, the location ends nothing new.
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
        """Find the single steps that remove a subtrajectory; None if the person no longer has it.

        Every embedding in a trajectory uses a visit if and only if the earliest and the latest embedding use it for the
        same location of the subtrajectory. Otherwise, the beginning of the earliest one and the end of the latest one
        form an embedding without it. Every embedding spans a gap if and only if the earliest one ends after the gap
        and the latest one begins before it.

        Args:
            wanted: The digits of the subtrajectory.
        """
        found: Ways | None = None
        for piece in self._pieces:
            earliest = piece.earliest(wanted)
            if earliest is None:
                continue
            if found is not None:
                return Ways(0, 0)  # in several trajectories: no single step removes it
            latest = piece.latest(wanted)
            visits = 0
            for early, late in zip(earliest, latest, strict=True):
                if early == late:
                    visits |= piece.bits[early]
            begins, ends = piece.bits[latest[0]], piece.bits[earliest[-1]]
            found = Ways(visits, ends - begins if begins < ends else 0)
        return found

    def most_used(self, wanted: Sequence[int]) -> int:
        """Return the visit that most embeddings of a subtrajectory use, the latest among equals."""
        return max(use for piece in self._pieces for use in piece.uses(wanted))[1]

    def suppress(self, visit: int) -> None:
        """Suppress a visit."""
        for piece in self._pieces:
            if visit in piece.bits:
                at = piece.bits.index(visit)
                piece.take([*piece.digits[:at], *piece.digits[at + 1 :]], [*piece.bits[:at], *piece.bits[at + 1 :]])

    def split(self, gap: int) -> None:
        """Split a trajectory after a visit."""
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
        """Replace the visits."""
        self.digits, self.bits = digits, bits
        self._backwards = digits[::-1]

    def earliest(self, wanted: Sequence[int]) -> list[int] | None:
        """Return the indices of the visits that the earliest embedding uses; None without an embedding."""
        return _first_embedding(self.digits, wanted)

    def latest(self, wanted: Sequence[int]) -> list[int]:
        """Return the indices of the visits that the latest embedding uses; the subtrajectory has to occur."""
        used, last = _first_embedding(self._backwards, wanted[::-1]), len(self.digits) - 1
        return [last - at for at in reversed(used or ())]

    def uses(self, wanted: Sequence[int]) -> list[tuple[int, int]]:
        """Return, for each visit to a location of a subtrajectory, how many embeddings use it, and its bit."""
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
    """For each visit, count the embeddings of each prefix of ``wanted`` that end at the visit."""
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
