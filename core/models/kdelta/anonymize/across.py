"""What clustering has to know of earlier windows, and the step that mends clusters for a promise that spans windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from core.models.kdelta.anonymize.cluster.chunks import Block
from core.models.kdelta.anonymize.cluster.clustering import Clustering
from core.models.kdelta.anonymize.companions import Companions
from core.records.arrays import IntArray, UserHashes
from core.trajectories.trajectory import Demands
from core.windows.history import History

__all__ = ["Across", "EarlierSets", "earlier_sets"]


class Across(Protocol):
    """Makes the clusters of a window keep a promise about earlier windows."""

    @property
    def companions(self) -> Companions | None:
        """Who is clustered with whom; None if nobody is kept apart."""
        ...

    def mend(self, clustering: Clustering, users: IntArray, demands: Demands, blocks: Sequence[Block]) -> Clustering:
        """Move trajectories between clusters, or to the trash, until the promise holds.

        Every cluster keeps the distinct users that each of its members demands, and no member gets a larger delta than
        it demands. Trajectories of different blocks are never together.

        Args:
            clustering: The clusters as the algorithm made them.
            users: User of each of its ``n`` trajectories, numbered as in the window, shape ``(n,)``.
            demands: k and delta of each.
            blocks: The data set in the parts that were clustered separately; each trajectory is in one.

        Returns:
            The mended clusters, numbered anew, with a pivot each.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlierSets:
    """The sets of an earlier window, as far as their people have trajectories in this one."""

    start_ms: int
    """When the earlier window begins."""

    users: IntArray = field(repr=False)
    """The person of each entry, numbered as in this window, ascending, shape ``(e,)``."""

    sets: IntArray = field(repr=False)
    """Number of the person's set in the earlier window, shape ``(e,)``. Somebody in several sets has several entries,
    all different."""


def earlier_sets(history: History, hashes: UserHashes) -> tuple[EarlierSets, ...]:
    """Return the sets of the earlier windows, oldest first.

    Args:
        history: What earlier windows released.
        hashes: Keyed hash of each person of this window, ascending, shape ``(n_users,)``.
    """
    found = []
    for roster in history.rosters:
        at = np.searchsorted(hashes, roster.users)
        here = at < len(hashes)
        here[here] = hashes[at[here]] == roster.users[here]
        entries = np.unique(np.column_stack((at[here], roster.groups[here])).astype(np.int64), axis=0)
        found.append(EarlierSets(start_ms=roster.key.start_ms, users=entries[:, 0], sets=entries[:, 1]))
    return tuple(found)
