"""The order in which the generalized locations of a release are merged further."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.kernels.checkins.merge_order import distances_between, merge_cheapest, merged
from core.models.km.anonymize.least_loss.hierarchy import hierarchy
from core.records.arrays import FloatArray, IntArray
from core.utility.distance import location_distance

__all__ = ["GroupMerges"]

_MOST_AT_ONCE = 2_048
"""Most generalized locations whose pairwise distances are held at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupMerges:
    """The merges of the ``G`` generalized locations of a release: next is the one that moves visits least."""

    into: IntArray
    """Number of the generalized location that grows with each merge."""

    absorbed: IntArray
    """Larger number of the one that each merge adds to it."""

    n_groups: int
    """How many there are at first, ``G``."""

    @classmethod
    def of(
        cls, xy_m: FloatArray, group_of: IntArray, visited: IntArray, constraint_of: IntArray | None = None
    ) -> GroupMerges:
        """Order the merges. Costs are compared in whole millimetres; ties are broken by numbers.

        Args:
            xy_m: Position of each location, metres, shape ``(L, 2)``.
            group_of: Generalized location of each location, named by a member's id, shape ``(L,)``. Those that are
                visited are numbered in the order of their names.
            visited: Location of each released visit, at least one.
            constraint_of: Number of the constraint that holds each location, which no merge leaves, shape ``(L,)``.
                None if there are none.
        """
        groups, number = np.unique(group_of[visited], return_inverse=True)  # (G,), (q,)
        is_member = np.isin(group_of, groups)
        group = np.searchsorted(groups, group_of[is_member])
        sizes = np.bincount(group).astype(np.float64)
        centres_mm = np.column_stack([np.bincount(group, axis) / sizes for axis in np.rint(xy_m[is_member] * 1000).T])
        visits = np.bincount(number).astype(np.float64)
        # From all visits of a group to all its members.
        inside_mm = np.bincount(number, np.rint(1000 * location_distance(xy_m, group_of))[visited]) * sizes
        parts = np.zeros(len(groups), np.int64) if constraint_of is None else constraint_of[groups]
        found = []  # (into, absorbed, turn) of each part
        for part in (np.flatnonzero(parts == one) for one in np.unique(parts)):
            into, absorbed, added_mm = _cheapest(centres_mm[part], visits[part], sizes[part], inside_mm[part])
            # A part's next merge waits for those before it.
            found.append((part[into], part[absorbed], np.maximum.accumulate(added_mm)))
        into, absorbed, turns_mm = (np.concatenate(columns) for columns in zip(*found, strict=True))
        order = np.argsort(turns_mm, kind="stable")
        return cls(
            into=np.ascontiguousarray(into[order]),
            absorbed=np.ascontiguousarray(absorbed[order]),
            n_groups=len(groups),
        )

    @property
    def n_coarsest(self) -> int:
        """How many generalized locations are left after all merges: one for each constraint."""
        return self.n_groups - len(self.into)

    def until(self, n: int) -> IntArray:
        """Return the smallest number that is merged with each, shape ``(G,)``, once ``n`` are left."""
        return merged(self.into, self.absorbed, self.n_groups, self.n_groups - n)


def _cheapest(
    centres_mm: FloatArray, visits: FloatArray, sizes: FloatArray, inside_mm: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Merge the two that add least to the distance visits are moved, until one is left.

    Args:
        centres_mm: Centroid of each generalized location, millimetres, shape ``(g, 2)``.
        visits: Visits of each, shape ``(g,)``.
        sizes: Members of each, shape ``(g,)``.
        inside_mm: Distance of all visits of each from all of its members, millimetres, shape ``(g,)``.

    Returns:
        The number that grows with each merge, the larger one that it absorbs, and what the merge adds, millimetres.
    """
    if len(centres_mm) > _MOST_AT_ONCE:  # then each counts as one location
        found = hierarchy(centres_mm / 1000, visits.astype(np.int64))
        return found.into, found.absorbed, np.diff(found.moved_m) * 1000
    moved_mm = distances_between(np.ascontiguousarray(np.rint(centres_mm)), visits, sizes)
    np.fill_diagonal(moved_mm, inside_mm)
    return merge_cheapest(moved_mm, sizes.copy())
