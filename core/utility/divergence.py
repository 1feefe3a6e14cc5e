"""Kullback-Leibler divergence of supports (Poulis et al. 2014, Section 5, Measures)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.records.arrays import IntArray
from core.support.index import Subtrajectory
from core.support.table import subtrajectories, support
from core.trajectories.trajectory import Sequences

__all__ = ["Divergence", "draw_subtrajectories", "support_divergence"]


class Divergence(NamedTuple):
    """Change of the distribution of supports."""

    nats: float
    """The divergence over subtrajectories that are released, at least 0; NaN if none is."""

    lost_share: float
    """Share of the original supports that belongs to subtrajectories that are not released."""


def draw_subtrajectories(
    trajectories: Sequences, rng: np.random.Generator, *, size: int, n: int
) -> list[Subtrajectory]:
    """Draw distinct subtrajectories that occur, without repetition: ``n`` of them, or all if there are fewer.

    Args:
        trajectories: The originals.
        rng: The only source of randomness.
        size: Number of locations of each, at least 1.
        n: Number of subtrajectories.
    """
    table = subtrajectories(trajectories, size).locations
    if len(table) > n:
        table = table[np.sort(rng.choice(len(table), n, replace=False))]
    return [tuple(row) for row in table.tolist()]


def support_divergence(
    trajectories: Sequences,
    released: Sequences,
    group_of: IntArray,
    chosen: Sequence[Subtrajectory],
) -> Divergence:
    """Compare the distribution of the supports of some subtrajectories S before and after generalization.

    ``D_KL(P_S || Q_S) = sum over s in S of P_S(s) ln(P_S(s) / Q_S(s))``, where ``P_S(s)`` is the support of s in the
    original over the sum of all supports of S there, and ``Q_S(s)`` the same in the release, where the support of s is
    that of its generalized counterpart (footnote 2).

    If every occurrence of a counterpart is suppressed, Q is 0 and the divergence infinite. The paper does not cover
    this case, because its algorithm suppresses nothing. So both distributions are taken over the part of S that is
    still released, and the lost share is returned as well, so that neither figure hides the other.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        released: What is released of them, over generalized locations.
        group_of: Generalized location of each location, named by a member's id, shape ``(L,)``.
        chosen: S, distinct subtrajectories that occur in the originals.
    """
    before = np.array([support(subtrajectory, trajectories) for subtrajectory in chosen], np.float64)
    after = np.array(
        [support(group_of[list(subtrajectory)].tolist(), released) for subtrajectory in chosen], np.float64
    )
    left = after > 0
    if not left.any():
        return Divergence(float("nan"), 1.0 if len(chosen) else float("nan"))
    p, q = before[left] / before[left].sum(), after[left] / after[left].sum()
    # The divergence is at least 0; rounding could make it slightly negative.
    return Divergence(max(0.0, float((p * np.log(p / q)).sum())), float(before[~left].sum() / before.sum()))
