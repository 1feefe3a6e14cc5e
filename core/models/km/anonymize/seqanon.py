"""SeqAnon, SD-SeqAnon and U-SeqAnon: k^m-anonymity for sequences of locations (Poulis et al. 2014, Section 4).

The published loop is followed as printed: sizes 1 to m, infrequent subtrajectories by support, and for each the merging
of its least supported location with the nearest one until its support is k. What "nearest" means is the algorithm's
choice: see :mod:`core.models.common.merge_cost`. The constraints of U-SeqAnon may leave nothing to merge with; it then
suppresses the location. Its loop ends when the support is k or no supporter is left, as the paper's text says and its
condition means.

One addition to the paper acts only where the loop of SeqAnon would never end. However far locations are merged, a
subtrajectory of ``i`` locations has at most as many supporters as there are people with a trajectory of ``i`` visits or
more. Let ``limit`` be the k-th largest, over all people, of the number of visits in a person's longest trajectory. No
merging raises the support of a subtrajectory of more than ``limit`` locations to k. So if ``limit < m``, no release
that keeps the guarantee holds a trajectory of more than ``limit`` visits. Longer trajectories are therefore cut to
``limit`` visits before anything is merged. This suppresses the fewest occurrences possible. Without constraints, no
further suppression is needed: one location for the whole window would give every remaining subtrajectory a support of
k, so the loop ends there at the latest, and the guarantee holds. All supports are counted after the cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from core.models.common.merge_cost import Constrained, MergeCost, Semantic, Spatial
from core.models.common.merging import GeneralizedLocations, affordable_visits, longest_of
from core.models.km.guarantee import KmAnonymity
from core.places.taxonomy import LocationTree
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.support.index import SupportIndex
from core.support.table import visitors
from core.trajectories.generalized import generalized
from core.trajectories.trajectory import Sequences

__all__ = ["Generalization", "budget_of", "sd_seqanon", "seqanon", "u_seqanon"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Generalization:
    """What to release: visit ``j`` as ``group_of[locations[j]]`` if ``kept[j]``, else nothing."""

    group_of: IntArray
    """Generalized location of each location, named by its smallest member's id, shape ``(L,)``.

    A location that no kept visit uses is alone, or with others that were suppressed together with it.
    """

    kept: BoolArray
    """False where an occurrence is suppressed, shape ``(p,)``."""

    merges: int
    """How many times two generalized locations were made one."""

    comparison: Mapping[str, float] = field(default_factory=dict)
    """Loss of each model that was compared, metres per visit, by name; the chosen model comes first."""

    splits: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Visits before which a trajectory is split in two, ascending."""

    def released(self, trajectories: Sequences) -> Sequences:
        """Return the released trajectories over generalized locations; some may be empty."""
        return generalized(trajectories.split(self.splits), self.group_of, self.kept)


def seqanon(
    trajectories: Sequences,
    xy_m: FloatArray,
    guarantee: KmAnonymity,
    *,
    apriori: bool = True,
) -> Generalization:
    """Make a window k^m-anonymous by merging near locations (Algorithm SeqAnon).

    Order and ties: infrequent subtrajectories by (support, ids), the location to generalize by (support, id), the one
    to merge it with by (cost, id). Distances are whole millimetres between centroids. The id of a generalized location
    is that of its smallest member.

    Args:
        trajectories: The window. Support counts its distinct people.
        xy_m: Position of each location, metres, shape ``(L, 2)``; ids are rows.
        guarantee: k and m. With fewer than k people everything is suppressed.
        apriori: Whether subtrajectories of 1, 2, ... m locations are protected in turn. False is the paper's SeqAnon_F
            (Section 5, Figure 20), which works on those of m locations alone. Shorter trajectories have none, so that
            here the smaller sizes follow, in turn.

    Raises:
        ValueError: A position is missing or not finite.
    """
    return _Run(trajectories, xy_m, guarantee, Spatial(), apriori=apriori).finish()


def sd_seqanon(
    trajectories: Sequences,
    xy_m: FloatArray,
    guarantee: KmAnonymity,
    tree: LocationTree,
) -> Generalization:
    """Make a window k^m-anonymous by merging near and similar locations (Algorithm SD-SeqAnon).

    Args:
        trajectories: As for :func:`seqanon`.
        xy_m: As for :func:`seqanon`.
        guarantee: As for :func:`seqanon`.
        tree: The taxonomy over the same ``L`` locations.

    Raises:
        ValueError: As for :func:`seqanon`, or the tree is over other locations.
    """
    if tree.n_leaves != len(xy_m):
        raise ValueError(f"the taxonomy has {tree.n_leaves} locations: xy_m has {len(xy_m)} rows")
    return _Run(trajectories, xy_m, guarantee, Semantic(tree)).finish()


def u_seqanon(
    trajectories: Sequences,
    xy_m: FloatArray,
    guarantee: KmAnonymity,
    constraint_of: IntArray,
    *,
    max_suppressed_percent: float,
) -> Generalization | None:
    """Make a window k^m-anonymous inside utility constraints, by generalization and suppression (Algorithm U-SeqAnon).

    A location is suppressed when none of its visits is kept; the budget is a share of the locations that are visited
    (Definition 10).

    Args:
        trajectories: As for :func:`seqanon`.
        xy_m: As for :func:`seqanon`.
        guarantee: As for :func:`seqanon`.
        constraint_of: Number of the constraint that holds each location, a partition, shape ``(L,)``.
        max_suppressed_percent: Most locations that may be suppressed, delta %, in ``0..100``.

    Returns:
        The generalization, or None where the constraints cannot be satisfied within the budget.

    Raises:
        ValueError: As for :func:`seqanon`, or the constraints are over other locations.
    """
    if len(constraint_of) != len(xy_m):
        raise ValueError(f"{len(constraint_of)} locations have a constraint: xy_m has {len(xy_m)} rows")
    n_visited = len(np.unique(trajectories.locations))
    budget = budget_of(n_visited, max_suppressed_percent)
    run = _Run(trajectories, xy_m, guarantee, Constrained(constraint_of), budget=budget)
    return None if run.exhausted else run.finish()


class _Run:
    """The state of one run: the suppressed visits and the merged locations.

    Args:
        trajectories: The window.
        xy_m: Positions, metres, shape ``(L, 2)``.
        guarantee: k and m.
        merge_cost: What "nearest" means.
        budget: Most locations that may be suppressed; None if locations may not be suppressed.
        apriori: Whether sizes below m come first; see :func:`seqanon`.
    """

    def __init__(
        self,
        trajectories: Sequences,
        xy_m: FloatArray,
        guarantee: KmAnonymity,
        merge_cost: MergeCost,
        *,
        budget: int | None = None,
        apriori: bool = True,
    ) -> None:
        trajectories.check_positions(xy_m)
        self._trajectories, self._budget = trajectories, budget
        self._kept = affordable_visits(trajectories, k=guarantee.k, m=guarantee.m)
        remaining = trajectories.where(self._kept)
        self._places = GeneralizedLocations(visitors(remaining), xy_m, merge_cost)
        self._merges = 0
        self.exhausted = self._over_budget()
        largest = min(guarantee.m, longest_of(remaining))
        sizes = list(range(1, largest + 1))
        if not apriori:
            sizes = sizes[-1:] + sizes[:-1]
        for size in sizes:
            if self.exhausted:
                return
            self._work_on(size, guarantee.k)

    def finish(self) -> Generalization:
        """Return the result."""
        return Generalization(group_of=np.array(self._places.group_of, np.int64), kept=self._kept, merges=self._merges)

    def _work_on(self, size: int, k: int) -> None:
        left = generalized(self._trajectories, np.array(self._places.group_of, np.int64), self._kept)
        index = SupportIndex.of(left, size=size, k=k)
        for subtrajectory in index.unprotected():
            least = min(subtrajectory, key=lambda location: (self._places.support(location), location))
            nearest = self._places.nearest(least)
            if nearest is None:
                self._suppress(least, index)  # then no supporter is left
                if self.exhausted:
                    return
                continue
            into, absorbed = min(least, nearest), max(least, nearest)
            self._places.merge(into, absorbed)
            index.merge(into, absorbed)
            self._merges += 1

    def _suppress(self, location: int, index: SupportIndex) -> None:
        if self._budget is None:
            raise RuntimeError("one generalized location is left and a subtrajectory is still infrequent")
        self._kept &= np.array(self._places.group_of)[self._trajectories.locations] != location
        self._places.suppress(location)
        index.suppress(location)
        self.exhausted = self._over_budget()

    def _over_budget(self) -> bool:
        if self._budget is None:
            return False
        visited, left = np.unique(self._trajectories.locations), self._trajectories.locations[self._kept]
        return len(visited) - len(np.unique(left)) > self._budget


def budget_of(n: int, percent: float) -> int:
    """Return how many of ``n`` things a percentage allows.

    Percentages that a float holds inexactly are rounded up, by less than the tolerance of the verifier.
    """
    return int(n * (percent + 1e-10) / 100)
