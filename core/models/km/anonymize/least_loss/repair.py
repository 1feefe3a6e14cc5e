"""Repair a window locally: suppress visits and split trajectories until nothing infrequent is left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.kernels.checkins.local_repair import repair_people
from core.models.km.anonymize.least_loss.counted import Counted
from core.models.km.guarantee import KmAnonymity
from core.records.arrays import BoolArray, IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["Allowed", "Effort", "Repaired", "repair"]

_AT_ONCE = 1_000
"""Most infrequent subtrajectories of a person that are repaired together, and most fragile ones that are considered
with them. A person with a hundred visits has a hundred thousand; repairing the shortest ones removes nearly all."""

_NO_LIMIT = np.iinfo(np.int64).max // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Prices and budgets of local repairs."""

    suppression_m: float
    """Price of a suppressed visit, metres, above 0."""

    split_m: float
    """Price of a split, metres, above 0."""

    suppressions: int
    """Most visits that may be suppressed."""

    splits: int
    """Most splits."""


@dataclass(slots=True)
class Effort:
    """Work that repairs may do: a count, not a time limit, so that a replay decides alike."""

    left: int
    """(Subtrajectory, person) pairs that may still be examined; below 0 once more were needed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repaired:
    """What is left of a window."""

    kept: BoolArray
    """False where an occurrence is suppressed, shape ``(p,)``."""

    splits: IntArray
    """Visits before which a trajectory is split in two, ascending."""


def repair(
    sequences: Sequences, counted: Counted, guarantee: KmAnonymity, allowed: Allowed, effort: Effort | None = None
) -> Repaired | None:
    """Suppress visits and split trajectories until every subtrajectory of at most m locations has support k or 0.

    People with an infrequent subtrajectory are repaired one after the other. Each step suppresses a visit or splits a
    trajectory at a gap: the one with the smallest price per infrequent subtrajectory that the person loses, less the
    harm to others. If a support falls below k, all other people with that subtrajectory are queued for repair.

    The loop ends, because there are finitely many visits and gaps. The queue is then empty. A person with an infrequent
    subtrajectory is in the queue from the moment its support falls below k, so no such person is left.

    Args:
        sequences: The window, over generalized locations.
        counted: Its subtrajectories of at most m locations.
        guarantee: k and m.
        allowed: Prices and budgets.
        effort: Work allowed; the work done is subtracted from it. None for no limit.

    Returns:
        The repaired window; None as soon as the suppressed visits exceed the budget, or are predicted to exceed it
        clearly, or the effort is used up.
    """
    finished, left, kept, splits = repair_people(
        np.ascontiguousarray(sequences.locations),
        sequences.starts,
        sequences.users,
        counted.prefixes,
        counted.lasts,
        counted.starts,
        counted.users,
        guarantee.k,
        allowed.suppression_m,
        allowed.split_m,
        allowed.suppressions,
        allowed.splits,
        _NO_LIMIT if effort is None else effort.left,
        _AT_ONCE,
    )
    if effort is not None:
        effort.left = left
    return Repaired(kept=kept, splits=splits) if finished else None
