"""Attack on check-ins: a trajectory is linked to the one of the next release that visits the most similar locations.

The similarity is the cosine of vectors of locations in which rare locations weigh more; how sure a guess is, is the
distance between the best and the second best (Narayanan and Shmatikov 2008, Section 4: Scoreboard-RH, eccentricity). A
generalized location counts as each of its members, by equal shares. The order of visits is not used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from core.records.arrays import FloatArray, IntArray, UserHashes, numbered, ranges, starts_of
from core.release.attacks.linkage import Guesses, LinkageExtract, Units
from core.release.attacks.location_cosine import DIGITS, LabelSimilarity

__all__ = ["VisitedPlaces"]

_MOST_VISITS = 400_000
"""Most entries of labels in an extract. Beyond, units of the people with the highest hashes are left out: hashes are
keyed, so that successive releases keep the same people."""

_LEAST_SURE = 10
"""Least number of guesses that count as the surest tenth: of one or two, the share of right ones says nothing."""

_MOST_AT_ONCE = 1_000_000
"""Most pairs of units that are compared at once, to bound the memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VisitedPlaces(LinkageExtract):
    """The distinct labels of each of ``n`` trajectories or clusters of a release: generalized locations, values."""

    starts: IntArray = field(repr=False)
    """Where the labels of each unit begin, then ``e``, shape ``(n + 1,)``."""

    labels: IntArray = field(repr=False)
    """Numbers of labels, distinct in a unit, shape ``(e,)``."""

    member_starts: IntArray = field(repr=False)
    """Where the members of each of ``g`` labels begin, then ``h``, shape ``(g + 1,)``."""

    members: IntArray = field(repr=False)
    """Stable number of each member, the same in every release of a deployment, shape ``(h,)``."""

    @classmethod
    def of(
        cls,
        people: Sequence[Iterable[int]],
        labels: Sequence[Iterable[tuple[str, ...]]],
        hashes: UserHashes,
        *,
        most: int = _MOST_VISITS,
    ) -> VisitedPlaces:
        """Extract what each unit of a release shows.

        Args:
            people: Dense user numbers behind each unit: one for a trajectory, several for a cluster.
            labels: The labels of each unit, each the names of its members; may repeat.
            hashes: Keyed hash of each user, shape ``(n_users,)``.
            most: Most entries of labels in the extract.
        """
        held = [list(ones) for ones in labels]
        number, distinct_labels = numbered(chain.from_iterable(held))
        unit = np.repeat(np.arange(len(held)), [len(ones) for ones in held])
        entry = np.unique(unit * max(len(distinct_labels), 1) + number)
        unit, number = entry // max(len(distinct_labels), 1), entry % max(len(distinct_labels), 1)
        behind = [list(ones) for ones in people]
        owner = np.fromiter(chain.from_iterable(behind), np.int64)
        of_unit = np.repeat(np.arange(len(behind)), [len(ones) for ones in behind])
        units = Units.of(of_unit, hashes[owner], len(behind))
        name, names = numbered(chain.from_iterable(distinct_labels))
        sizes = [len(one) for one in distinct_labels]
        whole = cls(
            units=units,
            starts=np.searchsorted(unit, np.arange(len(held) + 1)).astype(np.int64),
            labels=number.astype(np.int64),
            member_starts=starts_of(np.array(sizes, np.int64)),
            members=_stable(names)[name],
        )
        return whole if len(number) <= most else whole._bounded(most)

    def _bounded(self, most: int) -> VisitedPlaces:
        """Keep the units of the people with the lowest hashes, up to ``most`` entries."""
        n_labels = np.diff(self.starts)
        firsts = self.units.hashes[np.minimum(self.units.starts[:-1], len(self.units.hashes) - 1)]
        by_hash = np.argsort(firsts, kind="stable")
        stays = np.sort(by_hash[np.cumsum(n_labels[by_hash]) <= most])
        sizes = self.units.sizes[stays]
        return VisitedPlaces(
            units=Units(
                starts=starts_of(sizes),
                hashes=self.units.hashes[ranges(self.units.starts[stays], sizes)],
            ),
            starts=starts_of(n_labels[stays]),
            labels=self.labels[ranges(self.starts[stays], n_labels[stays])],
            member_starts=self.member_starts,
            members=self.members,
        )

    @property
    def n_bytes(self) -> int:
        """See :attr:`LinkageExtract.n_bytes`."""
        own = self.starts.nbytes + self.labels.nbytes + self.member_starts.nbytes + self.members.nbytes
        return own + self.units.starts.nbytes + self.units.hashes.nbytes

    @classmethod
    def joined(cls, parts: Sequence[VisitedPlaces]) -> VisitedPlaces:
        """See :meth:`LinkageExtract.joined`."""
        before = np.cumsum([0, *(len(one.member_starts) - 1 for one in parts)]).tolist()
        return cls(
            units=Units.joined([one.units for one in parts]),
            starts=_joined_starts([one.starts for one in parts]),
            labels=np.concatenate([one.labels + n for one, n in zip(parts, before, strict=False)]),
            member_starts=_joined_starts([one.member_starts for one in parts]),
            members=np.concatenate([one.members for one in parts]),
        )

    def guess(self, later: VisitedPlaces, units: IntArray) -> Guesses:
        """Name the unit that visits the most similar locations; equally similar ones share the guess."""
        similarity = LabelSimilarity(self, later)
        step = max(1, _MOST_AT_ONCE // max(len(later.units), 1))
        parts = [units[first : first + step] for first in range(0, len(units), step)]
        of, to, shares = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        sureness = np.zeros(len(units))
        for first, some in zip(range(0, len(units), step), parts, strict=True):
            scores = similarity.of(some)
            best = scores.max(axis=1, initial=0.0)
            row, column = np.nonzero((scores == best[:, None]) & (best[:, None] > 0))
            n_best = np.bincount(row, minlength=len(some))
            if scores.shape[1] > 1:
                second = np.partition(scores, -2, axis=1)[:, -2]
                sureness[first : first + len(some)] = best - second
            else:
                sureness[first : first + len(some)] = best
            of.append(row + first)
            to.append(column)
            shares.append(1 / n_best[row])
        return Guesses(of=np.concatenate(of), to=np.concatenate(to), weight=np.concatenate(shares), sureness=sureness)

    def highest(self, found: FloatArray, sureness: FloatArray) -> float:
        """Return the share of right guesses among the surest tenth; see the base class."""
        if not len(found):
            return 0.0
        n = min(max(_LEAST_SURE, -(-len(found) // 10)), len(found))
        sureness = sureness.round(DIGITS)
        least = np.sort(sureness)[-n]
        surer, tied = sureness > least, sureness == least
        # Of equally sure guesses the tenth has a part, as if drawn: their order means nothing.
        from_tied = (n - int(surer.sum())) * float(found[tied].mean())
        return (float(found[surer].sum()) + from_tied) / n


def _stable(names: Sequence[str]) -> IntArray:
    """Return a number of each name that is the same in every process."""
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.frombuffer(digests, dtype="<i8").astype(np.int64)


def _joined_starts(parts: Sequence[IntArray]) -> IntArray:
    sizes = np.concatenate([np.empty(0, np.int64), *(np.diff(one) for one in parts)])
    return starts_of(sizes)
