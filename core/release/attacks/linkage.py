"""Attacks on two successive releases of a shard: which unit of the later one has the people of a unit of the earlier.

A unit is what a release shows as one: a set of indistinguishable GPS trajectories, a trajectory, or a cluster of people
whose locations are mixed. The adversary knows that a person is in a unit of the earlier release, and names the unit of
the later release that follows it. Only published content decides the guess; the evaluation knows the true people. To
follow sets by where they end and begin is target tracking (Gruteser and Hoh 2005); to link trajectories by locations
that few others visit is the attack of Narayanan and Shmatikov (2008). The figures are for the operator. They are never
published, because they are exact figures of few people.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from core.records.arrays import FloatArray, IntArray, UserHashes, ranges, starts_of

__all__ = ["SAMPLE", "Guesses", "LinkageExtract", "LinkageRisk", "Units", "linkage_risk"]

SAMPLE = 200
"""Most units of the earlier release that are followed; the time stays below a few percent of anonymizing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkageRisk:
    """How well an adversary follows people from one release of a shard to the next."""

    highest: float
    """Sets of fragments: the largest share of a set's people who are in the set named next. Check-ins: the share of
    right guesses among the surest tenth, at least ten guesses."""

    mean: float
    """Mean probability that the unit named next has a person of the unit; 0 for people who are not released again."""

    chance: float
    """The same if every unit of the later release is named with equal probability."""

    people: int
    """Number of people in the units that were followed; somebody in several of them counts several times."""

    stayed: int
    """How many of these people are in the later release."""

    company: int | None
    """Fewest people that a unit shares with the one named next, if it shares anybody; else None."""

    @property
    def right(self) -> float:
        """Probability of naming the right next unit of a person who is released again; 0 without such people."""
        return self.mean * self.people / self.stayed if self.stayed else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Units:
    """The people of ``n`` units, by their keyed hashes. A person may be in several units.

    Raises:
        ValueError: The columns do not fit together.
    """

    starts: IntArray
    """Where each unit begins in ``hashes``, then their number, shape ``(n + 1,)``."""

    hashes: UserHashes = field(repr=False)
    """Keyed hash of each person of each unit, in one unit once."""

    def __post_init__(self) -> None:
        if not len(self.starts) or int(self.starts[-1]) != len(self.hashes):
            raise ValueError(f"{len(self.hashes)} people do not fit the units: the last start must be their number")

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> IntArray:
        """Number of people of each unit, shape ``(n,)``."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, units: IntArray, hashes: UserHashes, n: int) -> Units:
        """Collect units from one entry for each person of each; entries may repeat.

        Args:
            units: The unit of each entry, in ``0..n - 1``, shape ``(e,)``.
            hashes: Keyed hash of the person of each entry, shape ``(e,)``.
            n: Number of units; some may have no people.
        """
        order = np.lexsort((hashes, units))
        units, hashes = units[order], hashes[order]
        is_new = np.append(True, (units[1:] != units[:-1]) | (hashes[1:] != hashes[:-1]))[: len(units)]
        starts = np.searchsorted(units[is_new], np.arange(n + 1)).astype(np.int64)
        return cls(starts=starts, hashes=hashes[is_new])

    @classmethod
    def joined(cls, parts: Sequence[Units]) -> Units:
        """Put the units of several cells one after the other."""
        sizes = np.concatenate([np.empty(0, np.int64), *(one.sizes for one in parts)])
        hashes = np.concatenate([np.empty(0, np.uint64), *(one.hashes for one in parts)])
        return cls(starts=starts_of(sizes), hashes=hashes)

    def shared(self, later: Units, of: IntArray, to: IntArray) -> IntArray:
        """Return how many people each unit ``of`` shares with a unit ``to`` of a later release, shape ``(g,)``."""
        everybody = np.unique(np.concatenate([self.hashes, later.hashes]))
        sizes = self.sizes[of]
        people = np.searchsorted(everybody, self.hashes[ranges(self.starts[of], sizes)])
        wanted = np.repeat(to, sizes) * len(everybody) + people
        present = np.repeat(np.arange(len(later)), later.sizes) * len(everybody)
        present += np.searchsorted(everybody, later.hashes)
        return np.bincount(np.repeat(np.arange(len(of)), sizes)[np.isin(wanted, present)], minlength=len(of))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guesses:
    """Which units of a later release an adversary names for ``a`` units of an earlier one: ``g`` guesses."""

    of: IntArray
    """Index of the unit that each guess is about, in ``0..a - 1``, shape ``(g,)``."""

    to: IntArray
    """Unit of the later release that is named, shape ``(g,)``."""

    weight: FloatArray
    """Probability of naming it, shape ``(g,)``: units that fit equally well share it. Together at most 1 for a unit."""

    sureness: FloatArray
    """How much better the best unit fits than the next one, for each unit, shape ``(a,)``; 0 where none was named."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkageExtract(ABC):
    """What an adversary needs of a release to link it to the next one, and its true people. Never published.

    It lives in the memory of a worker or a replay until the next window of its shard, and its size is bounded.
    """

    units: Units = field(repr=False)

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """Size in memory, bytes."""

    @classmethod
    @abstractmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the extract of a window from those of its cells, at least one."""

    @abstractmethod
    def guess(self, later: Self, units: IntArray) -> Guesses:
        """Name the units of the next release that follow some units of this one, by published content alone.

        Args:
            later: The extract of the next release of the shard.
            units: Units of this release, shape ``(a,)``.
        """

    def highest(self, found: FloatArray, sureness: FloatArray) -> float:
        """Return the figure :attr:`LinkageRisk.highest`.

        Args:
            found: Probability of finding a person of each unit that was followed, shape ``(a,)``.
            sureness: As in :class:`Guesses`.
        """
        return float(found.max(initial=0.0))


def linkage_risk(
    earlier: LinkageExtract, later: LinkageExtract, generator: np.random.Generator, *, sample: int = SAMPLE
) -> LinkageRisk:
    """Follow units of a release into the next release of the same shard.

    Args:
        earlier: The earlier release.
        later: The next one, of the same model.
        generator: Draws the units that are followed, if there are more than ``sample``.
        sample: Most units that are followed.

    Raises:
        TypeError: The releases are of different kinds.
    """
    if type(earlier) is not type(later):
        raise TypeError(f"{type(earlier).__name__} and {type(later).__name__} cannot be linked: the models differ")
    n = len(earlier.units)
    followed = np.sort(generator.choice(n, size=min(sample, n), replace=False)).astype(np.int64)
    guesses = earlier.guess(later, followed)
    sizes = earlier.units.sizes[followed]
    shared = earlier.units.shared(later.units, followed[guesses.of], guesses.to)
    found_people = np.bincount(guesses.of, guesses.weight * shared, minlength=len(followed))
    people = earlier.units.hashes[ranges(earlier.units.starts[followed], sizes)]
    again, n_units = np.unique(later.units.hashes, return_counts=True)
    at = np.searchsorted(again, people)
    stays = at < len(again)
    stays[stays] = again[at[stays]] == people[stays]
    n_people, n_later = max(len(people), 1), max(len(later.units), 1)
    return LinkageRisk(
        highest=earlier.highest(found_people / np.maximum(sizes, 1), guesses.sureness),
        mean=float(found_people.sum()) / n_people,
        chance=int(n_units[at[stays]].sum()) / n_people / n_later,
        people=len(people),
        stayed=int(stays.sum()),
        company=int(shared[shared > 0].min()) if (shared > 0).any() else None,
    )
