"""SIM1 and SIM2: how alike the frequent patterns of two data sets are (Pensa et al. 2008, Section 5.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.support.table import support
from core.trajectories.trajectory import Sequences
from core.utility.patterns import pattern_supports

__all__ = ["PatternSimilarity", "pattern_similarity"]


class PatternSimilarity(NamedTuple):
    """How alike frequent patterns are; both are 1 for equal data sets."""

    support: float
    """SIM1, in ``0..1``; NaN where the release has no frequent pattern."""

    size: float
    """SIM2, in ``0..1``; NaN if neither has any."""


def pattern_similarity(
    original: Sequences, released: Sequences, *, min_support: int, longest: int
) -> PatternSimilarity:
    """Compare the frequent patterns of an original D and its release D'.

    ``SIM1 = 1 / |S(D')| * sum over s in S(D') of min{freq(s, D'), freq(s, D)} / max{freq(s, D'), freq(s, D)}`` and
    ``SIM2 = min{|S(D')|, |S(D)|} / max{|S(D')|, |S(D)|}``, S being the frequent patterns. The paper leaves freq open
    and speaks of relative frequencies: it is the support over the number of people who have any visit in the data set.

    Args:
        original: D.
        released: D', over the same locations.
        min_support: Fewest people behind a frequent pattern, in both, at least 1. The paper takes k.
        longest: Most locations of a pattern. The paper has no such bound: see
            :func:`core.utility.patterns.frequent_patterns`.
    """
    before = pattern_supports(original, min_support=min_support, longest=longest)
    after = pattern_supports(released, min_support=min_support, longest=longest)
    n_before, n_after = _people(original), _people(released)
    ratios = []
    for pattern, n in sorted(after.items()):
        # Without the guarantee, a frequent pattern of a release need not be frequent in the original.
        there = before[pattern] if pattern in before else support(pattern, original)
        one, other = n * n_before, there * n_after  # both over n_before * n_after
        ratios.append(min(one, other) / max(one, other))
    sizes = len(before), len(after)
    return PatternSimilarity(
        support=float(np.mean(ratios)) if ratios else float("nan"),
        size=min(sizes) / max(sizes) if any(sizes) else float("nan"),
    )


def _people(sequences: Sequences) -> int:
    # Without people every frequency is 0.
    return max(len(np.unique(sequences.users[np.diff(sequences.starts) > 0])), 1)
