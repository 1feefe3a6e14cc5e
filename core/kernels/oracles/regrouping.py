"""Oracle of :mod:`core.kernels.fragments.regrouping`: all steps are listed, and what they save is measured anew."""

from __future__ import annotations

from collections.abc import Sequence

from core.records.arrays import FloatArray

__all__ = ["chains", "cost_mm", "steps"]

ListedStep = tuple[float, int, list[int], list[int]]
"""What a step saves, its code, and the members of both clusters after it."""


def cost_mm(apart: FloatArray, members: Sequence[int]) -> float:
    """Return the distances between members, each pair once, over their number."""
    return float(sum(apart[i, j] for i in members for j in members if i < j)) / len(members)


def steps(
    apart: FloatArray, ours: Sequence[int], theirs: Sequence[int], numbers: tuple[int, int], spare: tuple[bool, bool]
) -> list[ListedStep]:
    """Return all steps between two clusters with these numbers, the best one first."""
    n, before = len(apart), cost_mm(apart, ours) + cost_mm(apart, theirs)
    found: list[ListedStep] = []

    def offer(code: int, we: list[int], they: list[int]) -> None:
        found.append((before - cost_mm(apart, we) - cost_mm(apart, they), code, we, they))

    for i in ours:
        we = [m for m in ours if m != i]
        if spare[0]:
            offer(n * n + i * n + numbers[1], we, [*theirs, i])
        for j in theirs:
            offer(min(i, j) * n + max(i, j), [*we, j], [*(m for m in theirs if m != j), i])
    for j in theirs if spare[1] else ():
        offer(n * n + j * n + numbers[0], [*ours, j], [m for m in theirs if m != j])
    return sorted(found, key=lambda step: (-step[0], step[1]))


def chains(passes: dict[tuple[int, int], float], spare: Sequence[bool], each: int) -> list[tuple[float, list[int]]]:
    """Return the most promising chains of clusters: what each promises, its three clusters and 1 for a ring.

    Args:
        passes: What it saves, about, that one cluster passes a member to another.
        spare: Whether each cluster can do without a member.
        each: How many rings, and paths, are wanted from each first cluster.
    """
    found: list[tuple[float, list[int]]] = []
    for first, can_do_without in enumerate(spare):
        for ring in range(2):
            best: list[tuple[float, list[int]]] = []
            for start, second in sorted(passes):
                if start != first or (second < first if ring else not can_do_without):
                    continue
                promises = [
                    (
                        passes[first, second]
                        + passes[second, third]
                        + (passes.get((third, first), -1e300) if ring else 0.0),
                        third,
                    )
                    for _, third in sorted(step for step in passes if step[0] == second)
                    if third != first and not (ring and third < first)
                ]
                promise, third = max(promises, key=lambda promised: promised[0], default=(0.0, -1))
                if promise > 0:
                    best.append((promise, [first, second, third, ring]))
            found += sorted(best, key=lambda chain: -chain[0])[:each]
    return found
