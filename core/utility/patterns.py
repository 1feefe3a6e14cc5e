"""Frequent sequential patterns before and after (Poulis et al. 2014, Section 5, Measures).

A random projection of a release replaces every generalized location by one member, drawn at random. Patterns are mined
in projections as in the original, by PrefixSpan.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from prefixspan import PrefixSpan

from core.records.arrays import IntArray
from core.support.index import Subtrajectory
from core.trajectories.trajectory import Sequences

__all__ = ["PatternShares", "frequent_patterns", "pattern_shares", "pattern_supports", "project"]


class PatternShares(NamedTuple):
    """How well frequent patterns are preserved in a release."""

    frequent: int
    """Number of frequent patterns of the original."""

    kept: float
    """Share of them that is frequent in a projection, mean over projections; NaN if the original has none."""

    invented: float
    """Share of the frequent patterns of a projection that are not frequent in the original, mean over the projections
    that have any; NaN if none has."""


def project(released: Sequences, group_of: IntArray, rng: np.random.Generator) -> Sequences:
    """Replace each visit's generalized location by one of its members.

    The paper's "every generalized location in it" is read as every occurrence: each visit is drawn independently, with
    equally likely members.

    Args:
        released: The generalized dataset.
        group_of: Generalized location of each location, named by a member's id, shape ``(L,)``.
        rng: The only source of randomness.
    """
    members = np.argsort(group_of, kind="stable")  # (L,) locations, those of one generalized location together
    sizes = np.bincount(group_of)
    first = np.cumsum(sizes) - sizes
    drawn = rng.integers(0, sizes[released.locations])
    locations = members[first[released.locations] + drawn]
    return Sequences(users=released.users, starts=released.starts, locations=locations)


def frequent_patterns(sequences: Sequences, *, min_support: int, longest: int) -> set[Subtrajectory]:
    """Mine the subtrajectories of at most ``longest`` locations that at least ``min_support`` people support.

    Args:
        sequences: The trajectories.
        min_support: Fewest people, at least 1. The paper's patterns have a support "larger than a threshold".
        longest: Most locations. The paper has no such bound; without one, people who repeat a long trajectory would
            make exponentially many patterns.
    """
    return set(pattern_supports(sequences, min_support=min_support, longest=longest))


def pattern_supports(sequences: Sequences, *, min_support: int, longest: int) -> dict[Subtrajectory, int]:
    """Mine frequent patterns as :func:`frequent_patterns` does, and count the people who support each."""
    starts = sequences.starts.tolist()
    locations = sequences.locations.tolist()
    miner = PrefixSpan([locations[start:end] for start, end in pairwise(starts)])
    miner.maxlen = longest
    if sequences.n_users == len(sequences.users):
        found = miner.frequent(min_support)
    else:
        owner = sequences.users.tolist()

        def count(_: list[int], matches: list[tuple[int, int]]) -> int:
            # Too few trajectories means too few people; counting people is slower.
            return len(matches) if len(matches) < min_support else len({owner[i] for i, _ in matches})

        found = miner.frequent(min_support, key=count, bound=count)
    return {tuple(pattern): people for people, pattern in found}


def pattern_shares(
    trajectories: Sequences,
    released: Sequences,
    group_of: IntArray,
    rng: np.random.Generator,
    *,
    projections: int,
    min_support: int,
    longest: int,
) -> PatternShares:
    """Compare the frequent patterns of an original and of random projections of its release.

    ``kept = avg{|F(T) & F(T_i)| / |F(T)|}`` and ``invented = avg{|F(T_i) - F(T)| / |F(T_i)|}`` over the projections
    ``T_i``, F being :func:`frequent_patterns`. The paper shows medians over 2000 projections. Here means
    are used, which can be averaged over windows. ``min_support`` is the same number of people before and after.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        released: Their release, over generalized locations.
        group_of: Generalized location of each location, named by a member's id, shape ``(L,)``.
        rng: The only source of randomness.
        projections: Number of projections to draw.
        min_support: See :func:`frequent_patterns`.
        longest: See :func:`frequent_patterns`.
    """
    original = frequent_patterns(trajectories, min_support=min_support, longest=longest)
    kept_shares: list[float] = []
    invented_shares: list[float] = []
    for _ in range(projections):
        found = frequent_patterns(project(released, group_of, rng), min_support=min_support, longest=longest)
        if original:
            kept_shares.append(len(found & original) / len(original))
        if found:
            invented_shares.append(len(found - original) / len(found))
    return PatternShares(len(original), _mean(kept_shares), _mean(invented_shares))


def _mean(shares: list[float]) -> float:
    return float(np.mean(shares)) if shares else float("nan")
