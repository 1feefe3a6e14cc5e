"""Suppress sensitive visits where merging does not keep a share at 1/l.

A sensitive location is never generalized, so only suppression is left. It is safe to do last: it changes no support of
nonsensitive locations and raises no share, with one exception. A person with only sensitive visits may vanish; the
whole release then has fewer people, and its shares are counted again.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np

from core.models.klm.anonymize.carriers import Carriers
from core.models.klm.guarantee import KLmDiversity
from core.records.arrays import BoolArray
from core.support.table import subtrajectories
from core.trajectories.trajectory import Sequences

__all__ = ["suppress_sensitive"]


def suppress_sensitive(shown: Sequences, carriers: Carriers, guarantee: KLmDiversity) -> BoolArray:
    """Choose which people's visits to which sensitive locations to suppress, as few as a greedy choice finds.

    Candidates are ordered by how many of the shares that are too high they lower. Among equals, first are people who do
    not vanish, then those with fewer visits, then the smaller number. Suppressions that turn out to be unneeded are
    taken back.

    Args:
        shown: The nonsensitive part of the release over its labels, one trajectory for each of the window's; every
            subtrajectory of at most m labels has a support of at least k. Some may be empty.
        carriers: The sensitive visits of the same people.
        guarantee: k, l and m.

    Returns:
        True for the entries of ``carriers`` to suppress, shape ``(e,)``.
    """
    return _Suppression(shown, carriers, guarantee).run()


class _Suppression:
    def __init__(self, shown: Sequences, carriers: Carriers, guarantee: KLmDiversity) -> None:
        self._guarantee, self._carriers = guarantee, carriers
        self._users = carriers.users.tolist()
        self._places = carriers.places.tolist()
        self._visits = carriers.visits.tolist()
        self._shows = np.zeros(len(carriers.starts) - 1, np.bool_)  # (n_users,) has a nonsensitive visit left
        self._shows[shown.users[np.diff(shown.starts) > 0]] = True
        self._suppressed: dict[int, None] = {}  # entries, in the order in which they were chosen
        # A claim: enough supporters of one subtrajectory have to lose one sensitive location. The first claims, one for
        # each sensitive location, are of the empty subtrajectory.
        self._needed = [0] * len(carriers.locations)
        self._claims_on: list[list[int]] = [[place] for place in self._places]  # of each entry
        for size in range(1, guarantee.m + 1):
            self._claim(shown, size)

    def run(self) -> BoolArray:
        self._count_everybody()
        while any(needed > 0 for needed in self._needed):
            self._choose()
            self._count_everybody()  # some may have vanished
        while self._take_back():
            pass  # a person released again enlarges the release, so that others may be released again, too
        suppressed = np.zeros(len(self._places), np.bool_)
        suppressed[list(self._suppressed)] = True
        return suppressed

    def _claim(self, shown: Sequences, size: int) -> None:
        table = subtrajectories(shown, size)
        rows, entries = self._carriers.among(table)
        n_places = max(len(self._carriers.locations), 1)
        codes, claim_of, people = np.unique(
            rows * n_places + self._carriers.places[entries], return_inverse=True, return_counts=True
        )
        allowed = table.supports[codes // n_places] // self._guarantee.l
        claimed = people > allowed
        number = np.cumsum(claimed) - 1 + len(self._needed)
        self._needed += (people - allowed)[claimed].tolist()
        of_claims = claimed[claim_of]
        for entry, claim in zip(entries[of_claims].tolist(), number[claim_of[of_claims]].tolist(), strict=True):
            self._claims_on[entry].append(claim)

    def _count_everybody(self) -> None:
        """Renew the claims of the empty subtrajectory: its supporters are all released people."""
        left = np.ones(len(self._places), np.bool_)
        left[list(self._suppressed)] = False
        people = np.bincount(self._carriers.places[left], minlength=len(self._carriers.locations))
        n_released = self._n_released(left)
        # Fewer than k people: no share is small enough.
        allowed = n_released // self._guarantee.l if n_released >= self._guarantee.k else 0
        self._needed[: len(people)] = (people - allowed).tolist()

    def _n_released(self, left: BoolArray) -> int:
        released = self._shows.copy()
        released[self._carriers.users[left]] = True
        return int(np.count_nonzero(released))

    def _choose(self) -> None:
        """Suppress entries until every claim is met."""
        order = [
            (-self._helps(entry), not self._shows[self._users[entry]], self._visits[entry], entry)
            for entry in range(len(self._places))
            if entry not in self._suppressed
        ]
        heapify(order)
        while order:
            negative, *ties, entry = order[0]
            helps = self._helps(entry)
            if not helps:
                heappop(order)
            elif helps < -negative:  # other entries have met some of its claims
                heapreplace(order, (-helps, *ties, entry))
            else:
                heappop(order)
                self._suppressed[entry] = None
                for claim in self._claims_on[entry]:
                    self._needed[claim] -= 1

    def _helps(self, entry: int) -> int:
        return sum(self._needed[claim] > 0 for claim in self._claims_on[entry])

    def _take_back(self) -> bool:
        """Release entries again that no claim needs, the last chosen first; return whether there was any."""
        n_before = len(self._suppressed)
        for entry in reversed(list(self._suppressed)):
            _, *claims = self._claims_on[entry]
            if all(self._needed[claim] < 0 for claim in claims):
                del self._suppressed[entry]
                self._count_everybody()
                if self._needed[self._places[entry]] > 0:
                    self._suppressed[entry] = None
                    self._count_everybody()
                    continue
                for claim in claims:
                    self._needed[claim] += 1
        return len(self._suppressed) < n_before
