"""Slow oracle of :mod:`core.kernels.checkins.local_repair`."""

from __future__ import annotations

import numpy as np

from core.kernels.checkins.local_repair import _CLEARLY, _EARLIEST, _FRAGILE
from core.kernels.oracles.embeddings import is_embedded, most_used_visit, single_steps
from core.kernels.oracles.subtrajectories import count_subtrajectories
from core.records.arrays import BoolArray, IntArray

__all__ = ["repair_people"]


class _EndedError(Exception):
    """More suppression or effort is needed than is allowed."""


class _Window:
    def __init__(self, locations: IntArray, starts: IntArray, users: IntArray, m: int, effort: int) -> None:
        self.locations, self.starts, self.users, self.m, self.effort = locations, starts, users, m, effort
        self.kept = np.ones(len(locations), np.bool_)
        self.begins = np.isin(np.arange(len(locations) + 1), starts)
        self.splits: list[int] = []

    def people(self) -> dict[tuple[int, ...], set[int]]:
        """The people who have each subtrajectory, by size, then by locations."""
        kept = np.append(0, np.cumsum(self.kept))
        cuts = np.flatnonzero(self.begins | np.isin(np.arange(len(self.begins)), [len(self.locations)]))
        owners = self.users[np.searchsorted(self.starts, cuts[:-1], side="right") - 1]
        _, prefixes, lasts, bounds, users = count_subtrajectories(
            self.locations[self.kept], kept[cuts], owners, 0, self.m
        )
        parts: list[tuple[int, ...]] = []
        for prefix, last in zip(prefixes.tolist(), lasts.tolist(), strict=True):
            parts.append((*parts[prefix], last) if prefix >= 0 else (last,))
        return {part: set(users[bounds[i] : bounds[i + 1]].tolist()) for i, part in enumerate(parts)}

    def visits(self, user: int) -> tuple[int, int]:
        """The first visit of a person, and the end of the visits."""
        own = np.flatnonzero(self.users == user)
        return int(self.starts[own[0]]), int(self.starts[own[-1] + 1])

    def look(self, n: int) -> None:
        """Subtract from the effort."""
        self.effort -= n
        if self.effort < 0:
            raise _EndedError


def repair_people(
    locations: IntArray,
    starts: IntArray,
    users: IntArray,
    m: int,
    k: int,
    suppression_m: float,
    split_m: float,
    most_suppressions: int,
    most_splits: int,
    effort: int,
    at_once: int,
) -> tuple[bool, int, BoolArray, IntArray]:
    """Everything is counted again after each step, by all embeddings."""
    window = _Window(locations, starts, users, m, effort)
    has = window.people()
    waiting = sorted({user for found in has.values() if len(found) < k for user in found})
    n_exposed, turn = len(waiting), 0

    def one_step(user: int, infrequent: list[tuple[int, ...]], fragile: list[tuple[int, ...]]) -> bool:
        """Make the best step; return False if none of the infrequent ones is left."""
        own = (locations, window.kept, window.begins, *window.visits(user))
        left = [part for part in infrequent if is_embedded(np.array(part), *own)]
        if not left:
            return False
        window.look(len(left) + len(fragile))
        repaired: dict[tuple[int, int], int] = {}
        harm: dict[tuple[int, int], float] = {}
        for part in [*left, *fragile]:
            for way, visits in enumerate(single_steps(np.array(part), *own) or ()):
                for visit in visits:
                    if part in left:
                        repaired[way, visit] = repaired.get((way, visit), 0) + 1
                    else:
                        harm[way, visit] = harm.get((way, visit), 0.0) - (k - 1) * _FRAGILE[len(has[part]) - k]
        steps = []
        for (way, visit), n in repaired.items():
            if way == 0 or len(window.splits) < most_splits:
                gain, price_m = n + harm.get((way, visit), 0.0), (suppression_m, split_m)[way]
                steps.append((gain / price_m if gain > 0 else gain * price_m, n, -way, visit))
        _, _, is_split, visit = max(steps) if steps else (0.0, 0, 0, most_used_visit(np.array(left[0]), *own))
        if is_split:
            window.splits.append(visit + 1)
            window.begins[visit + 1] = True
        elif np.count_nonzero(~window.kept) == most_suppressions:
            raise _EndedError
        else:
            window.kept[visit] = False
        return True

    def repair(user: int) -> None:
        before = [part for part, found in has.items() if user in found]
        window.look(len(before))
        infrequent = [part for part in before if len(has[part]) < k]
        fragile = [part for part in before if k <= len(has[part]) < k + len(_FRAGILE)][:at_once]
        while infrequent:
            while one_step(user, infrequent[:at_once], fragile):
                pass
            left = [part for part, found in window.people().items() if user in found]
            infrequent = [part for part in infrequent[at_once:] if part in left]
            window.look(len(left))
            if infrequent:
                continue
            for part in before:
                if part not in left:
                    has[part].remove(user)
                    if len(has[part]) == k - 1:
                        waiting.extend(other for other in sorted(has[part]) if other not in waiting)

    try:
        while waiting:
            repair(waiting.pop(0))
            turn += 1
            n_suppressed = np.count_nonzero(~window.kept)
            foretold = min(n_suppressed * n_exposed / turn, len(locations)) if turn <= n_exposed else 0
            if turn > n_exposed * _EARLIEST and foretold > _CLEARLY * most_suppressions:
                raise _EndedError
    except _EndedError:
        return False, window.effort, window.kept, np.zeros(0, np.int64)
    n_before = np.append(0, np.cumsum(window.kept))
    useful: dict[int, int] = {}
    for split in sorted(window.splits):
        if n_before[split] not in n_before[starts]:
            useful.setdefault(int(n_before[split]), split)
    return True, window.effort, window.kept, np.array(sorted(useful.values()), np.int64)
