"""Greedy clustering on the whole matrix of distances."""

from __future__ import annotations

from collections.abc import Sequence

from core.records.arrays import IntArray

__all__ = ["greedy_round", "personal_round"]


def greedy_round(
    users: Sequence[int], from_centre_mm: Sequence[int], d_mm: IntArray, k: int, radius_mm: int
) -> tuple[list[int], list[int]]:
    """Run one round of greedy clustering, everybody alike, on the whole matrix of distances; row = pivot."""
    n = len(users)
    cluster, active = [-1] * n, set(range(n))
    pivots: list[int] = []
    while active:
        pivot = _farthest(active, pivots, from_centre_mm, d_mm)
        active.remove(pivot)
        members: list[int] = []
        seen = {users[pivot]}
        for i in sorted((i for i in range(n) if cluster[i] < 0), key=lambda i: (d_mm[pivot][i], i)):
            if len(members) < k - 1 and users[i] not in seen:
                members.append(i)
                seen.add(users[i])
        if len(members) == k - 1 and all(d_mm[pivot][i] <= radius_mm for i in members):
            for i in [pivot, *members]:
                cluster[i] = len(pivots)
                active.discard(i)
            pivots.append(pivot)
    for i in [i for i in range(n) if cluster[i] < 0]:
        near = min(((d_mm[p][i], p) for p in pivots), default=(radius_mm + 1, -1))
        if near[0] <= radius_mm:
            cluster[i] = pivots.index(near[1])
    return cluster, pivots


def personal_round(
    users: Sequence[int],
    from_centre_mm: Sequence[int],
    d_mm: IntArray,
    demands: Sequence[tuple[int, float]],
    radius_mm: int,
) -> tuple[list[int], list[int]]:
    """Run one round of Theodosopoulos 2013, Algorithm 3, literally; ``demands`` are ``(k, delta_m)``."""
    n = len(users)
    fit = set(range(n))
    while unfit := {i for i in fit if demands[i][0] > len({users[j] for j in fit})}:
        fit -= unfit
    cluster, active = [-1] * n, set(fit)
    pivots: list[int] = []
    while active:
        pivot = _farthest(active, pivots, from_centre_mm, d_mm)
        active.remove(pivot)
        members = [pivot]
        neighbours = sorted((i for i in fit if cluster[i] < 0), key=lambda i: (d_mm[pivot][i], i))
        while len(members) < max(demands[i][0] for i in members):
            other = next((i for i in neighbours if users[i] not in {users[j] for j in members}), None)
            if other is None:
                break
            members.append(other)
        else:
            if all(d_mm[pivot][i] <= radius_mm for i in members):
                for i in members:
                    cluster[i] = len(pivots)
                    active.discard(i)
                pivots.append(pivot)
    for i in sorted((i for i in fit if cluster[i] < 0), key=lambda i: (demands[i][0], i)):
        satisfying = []
        for number, pivot in enumerate(pivots):
            its = [j for j in range(n) if cluster[j] == number]
            enough = len({users[j] for j in [*its, i]}) >= demands[i][0]
            if enough and min(demands[j][1] for j in its) <= demands[i][1] and d_mm[pivot][i] <= radius_mm:
                satisfying.append((d_mm[pivot][i], pivot, number))
        if satisfying:
            cluster[i] = min(satisfying)[2]
    return cluster, pivots


def _farthest(active: set[int], pivots: Sequence[int], from_centre_mm: Sequence[int], d_mm: IntArray) -> int:
    if pivots:
        return min(active, key=lambda i: (-min(d_mm[p][i] for p in pivots), i))
    return min(active, key=lambda i: (-from_centre_mm[i], i))
