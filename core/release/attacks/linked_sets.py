"""Attack on fragments: a set of GPS trajectories is followed by where and when it ends, and another one begins.

The adversary names the set that begins nearest to where the followed one ends (Gruteser and Hoh 2005, Section 4). On
the real feeds, to name no set twice and to predict positions from speeds find no more people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.places.geo import geocentric
from core.records.arrays import FloatArray, IntArray, UserHashes
from core.release.attacks.linkage import Guesses, LinkageExtract, Units

__all__ = ["SetEnds"]

_FASTEST_M_S = 60.0
"""No set is followed faster than this, 216 km/h: more than cars, trains and ships do."""

_SLACK_M = 20_000.0
"""Added to the distance that the speed allows: points are moved, and an end is the mean over members far apart."""

_WAIT_M_S = 10.0
"""A second between end and begin counts as this many metres, so that of sets at one place the next one is named."""

_MOST_PEOPLE = 100_000
"""Most entries of people in an extract; sets beyond are left out, those with the highest numbers first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetEnds(LinkageExtract):
    """Where and when each of ``n`` sets of a release begins and ends: the mean over its members."""

    begin_ms: IntArray = field(repr=False)
    """Unix milliseconds, shape ``(n,)``."""

    begin_m: FloatArray = field(repr=False)
    """From the centre of the earth, metres, shape ``(n, 3)``."""

    end_ms: IntArray = field(repr=False)
    end_m: FloatArray = field(repr=False)

    @classmethod
    def of(
        cls,
        sets: IntArray,
        hashes: UserHashes,
        *,
        starts: IntArray,
        t_ms: IntArray,
        lat_deg: FloatArray,
        lon_deg: FloatArray,
        most: int = _MOST_PEOPLE,
    ) -> SetEnds:
        """Extract the ends of the sets of a release.

        Args:
            sets: Set of each of ``r`` released trajectories, any numbers, shape ``(r,)``. If members of a set can be
                told apart, each trajectory is a set of its own.
            hashes: Keyed hash of the person of each trajectory, shape ``(r,)``.
            starts: Where each trajectory begins, then ``q``, shape ``(r + 1,)``; none is empty.
            t_ms: Published times, Unix milliseconds, shape ``(q,)``.
            lat_deg: Published latitudes, shape ``(q,)``.
            lon_deg: Published longitudes, shape ``(q,)``.
            most: Most trajectories of the extract.
        """
        by_set = np.argsort(sets, kind="stable")
        if len(by_set) > most:  # the set at the limit would be incomplete
            by_set = by_set[: int(np.searchsorted(sets[by_set], sets[by_set[most]]))]
        first, last = starts[:-1][by_set], starts[1:][by_set] - 1
        unit = np.unique(sets[by_set], return_inverse=True)[1].astype(np.int64)
        n = int(unit.max(initial=-1)) + 1
        size = np.bincount(unit, minlength=n)

        def mean_m(points: IntArray) -> FloatArray:
            at_m = geocentric(lat_deg[points], lon_deg[points])
            return np.column_stack([np.bincount(unit, axis, n) / size for axis in at_m.T])

        def mean_ms(points: IntArray) -> IntArray:
            from_ms = int(t_ms[0]) if len(t_ms) else 0
            since_ms = np.bincount(unit, t_ms[points] - from_ms, n) / size
            return np.rint(since_ms).astype(np.int64) + from_ms

        return cls(
            units=Units.of(unit, hashes[by_set], n),
            begin_ms=mean_ms(first),
            begin_m=mean_m(first),
            end_ms=mean_ms(last),
            end_m=mean_m(last),
        )

    @property
    def n_bytes(self) -> int:
        """See :attr:`LinkageExtract.n_bytes`."""
        ends = self.begin_ms.nbytes + self.begin_m.nbytes + self.end_ms.nbytes + self.end_m.nbytes
        return self.units.starts.nbytes + self.units.hashes.nbytes + ends

    @classmethod
    def joined(cls, parts: Sequence[SetEnds]) -> SetEnds:
        """See :meth:`LinkageExtract.joined`."""
        return cls(
            units=Units.joined([one.units for one in parts]),
            begin_ms=np.concatenate([one.begin_ms for one in parts]),
            begin_m=np.concatenate([one.begin_m for one in parts]),
            end_ms=np.concatenate([one.end_ms for one in parts]),
            end_m=np.concatenate([one.end_m for one in parts]),
        )

    def guess(self, later: SetEnds, units: IntArray) -> Guesses:
        """Name the set that begins nearest to the end of each set, if it can be reached; see the base class."""
        to = np.full(len(units), -1, np.int64)
        sureness = np.zeros(len(units))
        for i, unit in enumerate(units.tolist() if len(later.units) else []):
            way_m = np.sqrt(((later.begin_m - self.end_m[unit]) ** 2).sum(axis=1))
            wait_s = np.abs(later.begin_ms - self.end_ms[unit]) / 1000
            cost_mm = np.rint((way_m + _WAIT_M_S * wait_s) * 1000).astype(np.int64)
            reached = np.flatnonzero(way_m <= _FASTEST_M_S * wait_s + _SLACK_M)
            if len(reached):
                cost_mm = cost_mm[reached]
                to[i] = reached[cost_mm.argmin()]  # of sets equally near, the one with the smallest number
                nearest = np.partition(cost_mm, 1)[:2] if len(cost_mm) > 1 else np.append(cost_mm, 2 * cost_mm + 1)
                sureness[i] = float(nearest[1] - nearest[0]) / 1000
        named = np.flatnonzero(to >= 0)
        return Guesses(of=named.astype(np.int64), to=to[named], weight=np.ones(len(named)), sureness=sureness)
