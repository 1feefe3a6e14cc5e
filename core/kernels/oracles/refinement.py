"""Refinement on the whole matrix of distances, step by step as its description tells it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["RefinementOracle", "after"]


@dataclass(frozen=True, kw_only=True)
class RefinementOracle:
    """Distances, people and a radius; clusters are the cluster of each trajectory, or -1, and their pivots."""

    d: Sequence[Sequence[int]]
    """All distances, whole units; row = pivot."""
    users: Sequence[int]
    k: Sequence[int]
    delta_m: Sequence[float]
    per_metre: int
    """Whole units in a metre, 0 if distances are not in metres."""
    radius: int

    def members(self, cluster: Sequence[int], number: int) -> list[int]:
        """Return the members of a cluster, ascending."""
        return [i for i, of in enumerate(cluster) if of == number]

    def price(self, its: Sequence[int], i: int) -> float:
        """What it costs a cluster that somebody joins it: half of what its discs lose, for each member."""
        lost_m = max(0.0, min(self.delta_m[j] for j in its) - self.delta_m[i])
        if not self.per_metre:
            return math.inf if lost_m else 0
        return math.ceil(self.per_metre * lost_m / 2 * len(its))

    def total(self, cluster: Sequence[int], pivots: Sequence[int]) -> int:
        """Sum up the distances of all members from their pivots."""
        return sum(self.d[pivots[number]][i] for i, number in enumerate(cluster) if number >= 0)

    def allowed(self, cluster: Sequence[int], pivots: Sequence[int]) -> bool:
        """Return whether all clusters are satisfied and within the radius."""
        return all(
            len({self.users[i] for i in its}) >= max(self.k[i] for i in its)
            and max(self.d[pivot][i] for i in its) <= self.radius
            for pivot, its in ((pivot, self.members(cluster, number)) for number, pivot in enumerate(pivots))
        )

    def saving(self, cluster: Sequence[int], pivots: Sequence[int], places: Mapping[int, int]) -> float:
        """What it saves in distance if members go to other clusters, less what these clusters pay."""
        paid = sum(self.price(self.members(cluster, number), i) for i, number in places.items())
        return self.total(cluster, pivots) - self.total(after(cluster, places), pivots) - paid

    def dissolved(
        self, cluster: Sequence[int], pivots: Sequence[int], number: int, gone: Collection[int] = ()
    ) -> dict[int, int] | None:
        """Where the members of a cluster go, each to the cheapest of those left that satisfy it as they are."""
        places = {}
        for i in self.members(cluster, number):
            choices = []
            for other, pivot in enumerate(pivots):
                its = self.members(cluster, other)
                is_enough = len({self.users[j] for j in its}) >= self.k[i]
                if other not in {number, *gone} and is_enough and self.d[pivot][i] <= self.radius:
                    choices.append((self.d[pivot][i] + self.price(its, i), other))
            if min(choices, default=(math.inf, -1))[0] == math.inf:
                return None
            places[i] = min(choices)[1]
        return places

    def round(self, cluster: Sequence[int], pivots: Sequence[int]) -> tuple[list[int], list[int]]:
        """One round: medoids, better places, and, if nothing of this helped, dissolved clusters."""
        d, now, centres = self.d, list(cluster), list(pivots)
        for number, pivot in enumerate(pivots):
            its = self.members(now, number)
            within = [i for i in its if max(d[i][j] for j in its) <= self.radius]
            centres[number] = min(within, key=lambda i: (sum(d[i][j] for j in its), i != pivot, i))
        start = {i: d[centres[c]][i] for i, c in enumerate(now) if c >= 0 and i not in centres}
        for i, at_first in sorted(start.items()):
            # Who has changed places meanwhile looks no farther than at the beginning.
            nearest = min(at_first, d[centres[now[i]]][i])
            for _, number in sorted((d[pivot][i], c) for c, pivot in enumerate(centres) if d[pivot][i] < nearest):
                exchanges = [{i: number, j: now[i]} for j in self.members(now, number) if j != centres[number]]
                exchanges.sort(key=lambda places: -self.saving(now, centres, places))
                steps = (
                    step
                    for step in [{i: number}, *exchanges]
                    if self.saving(now, centres, step) > 0 and self.allowed(after(now, step), centres)
                )
                if (step := next(steps, None)) is not None:
                    now = after(now, step)
                    break
        if (now, centres) != (list(cluster), list(pivots)):
            return now, centres
        left, gone, grown = now, set[int](), set[int]()
        for number in range(len(centres)):
            places = self.dissolved(now, centres, number, gone)
            if places is not None and number not in grown and self.saving(now, centres, places) > 0:
                left = after(left, places)
                gone.add(number)
                grown |= set(places.values())
        kept = [number for number in range(len(centres)) if number not in gone]
        return [kept.index(c) if c >= 0 else -1 for c in left], [centres[number] for number in kept]


def after(cluster: Sequence[int], places: Mapping[int, int]) -> list[int]:
    """Put some members elsewhere."""
    return [places.get(i, number) for i, number in enumerate(cluster)]
