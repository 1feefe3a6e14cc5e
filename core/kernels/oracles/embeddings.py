"""Slow oracles of :mod:`core.kernels.checkins.embeddings`."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from core.records.arrays import BoolArray, IntArray

__all__ = ["embeddings", "is_embedded", "most_used_visit", "single_steps"]


def embeddings(
    wanted: IntArray, locations: IntArray, kept: BoolArray, begins: BoolArray, first: int, end: int
) -> list[tuple[int, ...]]:
    """All combinations of kept visits of a trajectory that are to the wanted locations."""
    starts = [first, *(visit for visit in range(first + 1, end) if begins[visit]), end]
    return [
        used
        for i in range(len(starts) - 1)
        for used in combinations([visit for visit in range(starts[i], starts[i + 1]) if kept[visit]], len(wanted))
        if all(locations[visit] == location for visit, location in zip(used, wanted, strict=True))
    ]


def is_embedded(
    wanted: IntArray, locations: IntArray, kept: BoolArray, begins: BoolArray, first: int, end: int
) -> bool:
    """At least one."""
    return bool(embeddings(wanted, locations, kept, begins, first, end))


def single_steps(
    wanted: IntArray, locations: IntArray, kept: BoolArray, begins: BoolArray, first: int, end: int
) -> tuple[list[int], list[int]] | None:
    """The visits that every embedding uses, and those after which a split cuts every embedding; None if none exists."""
    found = embeddings(wanted, locations, kept, begins, first, end)
    visits = [visit for visit in range(first, end) if all(visit in used for used in found)]
    splits = [visit for visit in range(first, end) if all(used[0] <= visit < used[-1] for used in found)]
    return (visits, splits) if found else None


def most_used_visit(
    wanted: IntArray, locations: IntArray, kept: BoolArray, begins: BoolArray, first: int, end: int
) -> int:
    """The visit in most embeddings, the latest among equals."""
    uses = Counter(visit for used in embeddings(wanted, locations, kept, begins, first, end) for visit in used)
    return max((n, visit) for visit, n in uses.items())[1]
