"""The generalized dataset T' that belongs to an original T."""

from __future__ import annotations

from core.records.arrays import BoolArray, IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["generalized"]


def generalized(trajectories: Sequences, group_of: IntArray, kept: BoolArray) -> Sequences:
    """Apply a generalization: the visits that are kept, each at its generalized location.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        group_of: Generalized location of each location, named by a member's id, shape ``(L,)``.
        kept: False for each suppressed visit, shape ``(p,)``.

    Returns:
        The same ``n`` trajectories over generalized locations; one may be empty.
    """
    left = trajectories.where(kept)
    return Sequences(users=left.users, starts=left.starts, locations=group_of[left.locations])
