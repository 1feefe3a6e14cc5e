"""Persistent sets: people who were in the same sets in the earlier windows of an epoch stay together.

An epoch is a number of successive windows. Whoever follows a person through an epoch finds at least k people who were
with the person in every window: historical k-anonymity (Bettini, Wang, Jajodia 2005), here of sets of trajectories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.models.kdelta.anonymize.across import EarlierSets
from core.models.kdelta.anonymize.cluster.chunks import Block
from core.models.kdelta.anonymize.cluster.clustering import Clustering
from core.models.kdelta.anonymize.companions import Companions
from core.models.kdelta.anonymize.mixing import MixedBorders
from core.models.kdelta.guarantee import Persistent
from core.records.arrays import IntArray, numbered
from core.trajectories.trajectory import Demands

__all__ = ["Persistence", "companions_of"]


def companions_of(earlier: Sequence[EarlierSets], n_users: int, *, windows_left: int, size_ms: int) -> Companions:
    """Find the people of a window who have the same past.

    Args:
        earlier: The sets of the earlier windows of this epoch.
        n_users: How many people the window has.
        windows_left: How many windows of the epoch come after it.
        size_ms: Length of a window.
    """
    numbers: dict[tuple[int, int], int] = {}
    pasts: list[list[int]] = [[] for _ in range(n_users)]
    for window in earlier:
        for user, set_ in zip(window.users.tolist(), window.sets.tolist(), strict=True):
            pasts[user].append(numbers.setdefault((window.start_ms, set_), len(numbers)))
    block, distinct = numbered(tuple(sorted(past)) for past in pasts)
    return Companions(block=block, pasts=tuple(map(frozenset, distinct)), windows_left=windows_left, size_ms=size_ms)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Persistence:
    """Keeps people of one past together inside an epoch, and mixes them where an epoch begins."""

    companions: Companions
    border: MixedBorders | None
    """Mends the clusters where a new epoch begins; None inside an epoch."""

    def mend(self, clustering: Clustering, users: IntArray, demands: Demands, blocks: Sequence[Block]) -> Clustering:
        """See :meth:`~core.models.kdelta.anonymize.across.Across.mend`."""
        return clustering if self.border is None else self.border.mend(clustering, users, demands, blocks)

    @classmethod
    def of(
        cls, earlier: Sequence[EarlierSets], n_users: int, *, promise: Persistent, within_ms: int, is_one_crowd: bool
    ) -> Persistence:
        """Prepare a window.

        Args:
            earlier: The sets of earlier windows, of this epoch and the one before, oldest first.
            n_users: How many people the window has.
            promise: What is promised.
            within_ms: An instant in the window.
            is_one_crowd: See :attr:`core.models.kdelta.anonymize.mixing.MixedBorders.is_one_crowd`.
        """
        epoch = promise.epoch_of(within_ms)
        own = [one for one in earlier if promise.epoch_of(one.start_ms) == epoch]
        companions = companions_of(
            own, n_users, windows_left=promise.windows_left(within_ms), size_ms=promise.window_ms
        )
        is_border = not own and len(earlier) > 0
        border = MixedBorders(earlier=earlier[-1:], l=promise.l, is_one_crowd=is_one_crowd) if is_border else None
        return cls(companions=companions, border=border)
