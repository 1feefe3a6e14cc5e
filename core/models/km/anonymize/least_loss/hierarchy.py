"""The order in which locations are merged: next are always the two whose merge costs least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.kernels.checkins.merge_order import distances_between, merge_cheapest, merged
from core.records.arrays import FloatArray, IntArray

__all__ = ["MergeHierarchy", "hierarchy"]

_MOST_AT_ONCE = 2_048
"""Most locations whose pairwise distances are held at once: memory grows with the square."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeHierarchy:
    """The ``L - 1`` merges that make one generalized location of ``L`` locations."""

    into: IntArray
    """Generalized location that grows with each merge, named by its smallest member's id, shape ``(L - 1,)``."""

    absorbed: IntArray
    """Generalized location that each merge adds to it, shape ``(L - 1,)``."""

    moved_m: FloatArray
    """Distance that all visits together are moved after 0, 1, ..., ``L - 1`` merges, metres, shape ``(L,)``."""

    def group_of(self, merges: int) -> IntArray:
        """Return the generalized location of each location after some merges, shape ``(L,)``."""
        return merged(np.ascontiguousarray(self.into), np.ascontiguousarray(self.absorbed), len(self.moved_m), merges)


def hierarchy(xy_m: FloatArray, visits: IntArray, *, most_at_once: int = _MOST_AT_ONCE) -> MergeHierarchy:
    """Merge the two generalized locations that add least to the distance visits are moved, until one is left.

    A visit is moved by ``D_loc`` of its location (Poulis et al. 2014, Definition 6): the mean distance to the members
    of its generalized location, itself included. Rarely visited locations therefore first merge with others that
    are near and rarely visited: these are the ones in infrequent subtrajectories. Costs are compared in whole
    millimetres; ties are broken by ids.

    With more than ``most_at_once`` locations, the plane is halved across its longer side until no part has more. Each
    part is merged on its own. Then the parts are merged; the distance between two parts' centroids stands for the
    distances between their locations.

    Args:
        xy_m: Position of each location, metres, shape ``(L, 2)``, ``L >= 1``.
        visits: How often each is visited, shape ``(L,)``.
        most_at_once: Most locations of a part, at least 2.
    """
    xy_mm = np.rint(xy_m * 1000)
    counts = visits.astype(np.float64)
    parts = sorted(_parts(xy_mm, np.arange(len(xy_m)), most_at_once), key=lambda part: int(part[0]))
    inside_mm = np.zeros(len(parts))
    found = []  # (into, absorbed, added_mm) of each part
    for number, part in enumerate(parts):
        sizes = np.ones(len(part))
        moved_mm = distances_between(xy_mm[part], counts[part], sizes)
        into, absorbed, added_mm = merge_cheapest(moved_mm, sizes)
        found.append((part[into], part[absorbed], added_mm))
        inside_mm[number] = moved_mm[0, 0]
    into, absorbed, added_mm = (np.concatenate(columns) for columns in zip(*found, strict=True))
    if len(parts) > 1:
        # A part's next merge waits for those before it.
        turns_mm = np.concatenate([np.maximum.accumulate(added) for _, _, added in found])
        order = np.argsort(turns_mm, kind="stable")
        names = np.array([part[0] for part in parts])
        sizes = np.array([len(part) for part in parts], np.float64)
        visited = np.array([visits[part].sum() for part in parts], np.float64)
        moved_mm = distances_between(np.array([np.rint(xy_mm[p].mean(axis=0)) for p in parts]), visited, sizes)
        np.fill_diagonal(moved_mm, inside_mm)
        joined, joining, joined_mm = merge_cheapest(moved_mm, sizes)
        into = np.append(into[order], names[joined])
        absorbed = np.append(absorbed[order], names[joining])
        added_mm = np.append(added_mm[order], joined_mm)
    return MergeHierarchy(
        into=into,
        absorbed=absorbed,
        # Where locations lie within millimetres of each other, rounding may make the sum negative.
        moved_m=np.maximum(np.append(0.0, np.cumsum(added_mm)), 0.0) / 1000,
    )


def _parts(xy_mm: FloatArray, ids: IntArray, most: int) -> list[IntArray]:
    """Halve locations across their longer side until no part has more than ``most``; ids ascend in each."""
    if len(ids) <= most:
        return [ids]
    axis = int(np.ptp(xy_mm[ids], axis=0).argmax())
    order = ids[np.argsort(xy_mm[ids, axis], kind="stable")]
    half = len(order) // 2
    return [part for side in (order[:half], order[half:]) for part in _parts(xy_mm, np.sort(side), most)]
