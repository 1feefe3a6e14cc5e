"""What a release of location-time pairs keeps (Mohammed, Fung, Debbabi 2009, Section 3). For the operator only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.records.arrays import BoolArray, IntArray
from core.trajectories.trajectory import Sequences
from core.utility.patterns import frequent_patterns

__all__ = ["KeptShares", "kept_shares"]


class KeptShares(NamedTuple):
    """Shares that are kept; NaN where the original has nothing of the kind."""

    visits: float
    """Of the rows behind the pairs of each trajectory."""

    pairs: float
    """Of the distinct location-time pairs."""

    people: float
    """Of the people with a visit: those with a visit left."""

    sequences: float
    """Of the frequent sequences of the original: those that are frequent in the release. If pairs are
    suppressed everywhere, sequences keep their support, and no new one becomes frequent."""


def kept_shares(
    trajectories: Sequences, stands_for: IntArray, kept: BoolArray, *, min_support: int, longest: int
) -> KeptShares:
    """Compare a window of pairs with what is released of it.

    Args:
        trajectories: The window, ``p`` visits in all.
        stands_for: Number of rows behind each visit, shape ``(p,)``.
        kept: False where a visit is suppressed, shape ``(p,)``.
        min_support: Fewest people behind a frequent sequence.
        longest: Most pairs of a frequent sequence; see :func:`core.utility.patterns.frequent_patterns`.
    """
    pairs = trajectories.locations
    owners = trajectories.owners
    left = trajectories.where(kept)
    before = frequent_patterns(trajectories, min_support=min_support, longest=longest)
    after = frequent_patterns(left, min_support=min_support, longest=longest)
    return KeptShares(
        visits=_share(int(stands_for[kept].sum()), int(stands_for.sum())),
        pairs=_share(len(np.unique(pairs[kept])), len(np.unique(pairs))),
        people=_share(len(np.unique(owners[kept])), len(np.unique(owners))),
        sequences=_share(len(before & after), len(before)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
