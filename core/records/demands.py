"""Demands of users: the allowed values of k and delta, and the defaults for records that do not state them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from core.records.arrays import UserHashes

__all__ = ["ALLOWED_DELTA_M", "ALLOWED_K", "NO_DEMANDS", "DefaultDemands", "allows_delta_m", "allows_k"]

ALLOWED_K = "k must be from 2 to 1000000"
ALLOWED_DELTA_M = "delta_m must be above 1 and below 10000000 metres"

Deltas = npt.NDArray[np.float32]
Ks = npt.NDArray[np.int32]


def allows_k(k: float) -> bool:
    """Return whether a user may demand this k; NaN is not allowed."""
    return 2 <= k <= 1_000_000


def allows_delta_m(delta_m: float) -> bool:
    """Return whether a user may demand this delta, metres; NaN is not allowed."""
    return 1 < delta_m < 1e7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DefaultDemands:
    """Demands of ``n`` users for records that do not state them.

    Raises:
        ValueError: A user occurs twice or out of order, or the columns differ in length.
    """

    users: UserHashes = field(repr=False)
    """Keyed user hashes, ascending, shape ``(n,)``."""

    k: Ks = field(repr=False)
    """Shape ``(n,)``; 0 if the user demands none."""

    delta_m: Deltas = field(repr=False)
    """Metres, shape ``(n,)``; infinite if the user demands none."""

    def __post_init__(self) -> None:
        if not len(self.users) == len(self.k) == len(self.delta_m):
            raise ValueError("default demands: as many k and delta_m as users are needed")
        if not (self.users[:-1] < self.users[1:]).all():
            raise ValueError("default demands: users must be unique and in ascending order")

    def complete(self, users: UserHashes, k: Ks, delta_m: Deltas) -> tuple[Ks, Deltas]:
        """Fill in the demands that records do not state; a record's own k or delta is kept, even if it is weaker.

        Args:
            users: Keyed user hash of each record, shape ``(r,)``.
            k: The k that each record demands, shape ``(r,)``; 0 for none.
            delta_m: The delta that each record demands, metres, shape ``(r,)``; infinite for none.

        Returns:
            The k and delta that each record demands then, two columns of shape ``(r,)``.

        >>> two = DefaultDemands(
        ...     users=np.array([7, 9], np.uint64), k=np.array([8, 0], np.int32), delta_m=np.array([50, 60], np.float32)
        ... )
        >>> own = np.array([0, 3, 0], np.int32), np.full(3, np.inf, np.float32)
        >>> [column.tolist() for column in two.complete(np.array([7, 7, 8], np.uint64), *own)]
        [[8, 3, 0], [50.0, 50.0, inf]]
        """
        if not len(self.users):
            return k, delta_m
        at = np.minimum(np.searchsorted(self.users, users), len(self.users) - 1)
        listed = self.users[at] == users
        return (
            np.where(listed & (k == 0), self.k[at], k),
            np.where(listed & np.isposinf(delta_m), self.delta_m[at], delta_m),
        )


NO_DEMANDS = DefaultDemands(
    users=np.empty(0, dtype=np.uint64), k=np.empty(0, dtype=np.int32), delta_m=np.empty(0, dtype=np.float32)
)
"""Nobody demands anything by default."""
