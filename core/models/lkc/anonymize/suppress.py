"""LKC-privacy by global suppression of location-time pairs (Mohammed, Fung, Debbabi 2009, Sections 3 and 4).

A suppressed pair is suppressed wherever it occurs, so the sequences that are left keep the support, and the shares of
sensitive values, that they have in the window. Three things are added to the published algorithm:

1. Pairs that violate the requirement alone are suppressed first: no other suppression helps them. The sequences to
   spare are then mined without them.
2. At the end, suppressed pairs that turn out to be superfluous are released again.
3. The work is bounded. A trajectory of ``n`` pairs has ``C(n, 1) + ... + C(n, l)`` sequences that the adversary may
   know. If all trajectories together have more than ``most_sequences``, the longest are cut to the largest length
   within that bound, before other pairs are chosen; everything after uses the cut trajectories. Mining the maximal
   frequent sequences has the same bound.

It ends: sizes go up to l, each choice of a pair removes at least one of the violating sequences, and there are no more
of these than sequences that occur.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil, comb

import numpy as np

from core.models.lkc.anonymize.frequent import Frequent, maximal_frequent
from core.models.lkc.anonymize.greedy import choose_pairs, needed
from core.models.lkc.anonymize.violating import Requirement, alone, minimal_violating
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.pairs import Values
from core.models.lkc.signature import SignedRole
from core.records.arrays import BoolArray, IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["LKCOptions", "Suppression", "Utility", "suppress_pairs"]


class Utility(StrEnum):
    """How the cost of suppressing a pair is counted."""

    SEQUENCES = "sequences"
    """By the maximal frequent sequences that hold it: for mining patterns."""

    INSTANCES = "instances"
    """By its instances, the visits that are lost: for counting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LKCOptions:
    """How pairs are chosen; the guarantee does not depend on it.

    Raises:
        ValueError: An option is out of its range.
    """

    utility: Utility = Utility.SEQUENCES
    """What suppression spares."""

    min_support_percent: float = 1.0
    """K' of the paper: fewest people behind a frequent sequence, in percent of the window's, and never fewer than k.
    In ``0..100``."""

    most_sequences: int = 10_000_000
    """Most sequences of up to l pairs in a window, counted once in each trajectory. At least 1. If people have several
    sensitive values, it is divided by the largest number that one person has. Each sequence takes some 100 bytes and a
    microsecond."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_support_percent <= 100:
            raise ValueError(f"min_support_percent is {self.min_support_percent}: it must be in 0..100")
        if self.most_sequences < 1:
            raise ValueError(f"most_sequences is {self.most_sequences}: it must be at least 1")

    def min_support(self, people: int, k: int) -> int:
        """Return the fewest people behind a frequent sequence of a window."""
        return max(k, ceil(people * self.min_support_percent / 100))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Suppression:
    """What to release, and figures for the operator only: they depend on suppressed visits."""

    kept: BoolArray
    """False where a visit is suppressed, shape ``(p,)``."""

    suppressed: tuple[int, ...]
    """Pairs that are suppressed wherever they occur: those that had to be, ascending, then the others as chosen."""

    unavoidable: int
    """How many of ``suppressed`` violate the requirement alone."""

    violating: int
    """Minimal violating sequences of two pairs or more."""

    frequent: int | None
    """Maximal frequent sequences to be spared; None if instances were to be spared."""

    frequent_kept: int | None
    """How many of ``frequent`` hold no suppressed pair, and so keep their support in the release."""

    complete: bool
    """Whether all maximal frequent sequences were found: see :class:`core.models.lkc.anonymize.frequent.Frequent`."""

    cut: int
    """Visits suppressed because all trajectories together have too many sequences (``most_sequences``)."""

    roles: Mapping[int, SignedRole] | None = field(default=None, repr=False)
    """SignedRole of each user with a visit that is kept, if the promise spans windows."""

    left_out: int = 0
    """People of whom nothing is released for the sake of signatures, although pairs of theirs could be."""


def suppress_pairs(
    trajectories: Sequences,
    values: Values,
    guarantee: LKCPrivacy,
    *,
    sensitive: Collection[int],
    options: LKCOptions | None = None,
) -> Suppression:
    """Suppress pairs until every sequence of at most l pairs that occurs has support k and no share above c.

    Args:
        trajectories: The window: ids of pairs, strictly ascending in each trajectory. Support counts its distinct
            people; a person may have several trajectories, and a sequence never spans two of them.
        values: The values of its people. A person without a value counts among the people who match.
        guarantee: l, k and c.
        sensitive: Codes of the values whose shares are bounded; the others are not.
        options: How pairs are chosen.

    Raises:
        ValueError: A trajectory's pairs do not ascend strictly.
    """
    options = options or LKCOptions()
    _check(trajectories)
    n_pairs = int(trajectories.locations.max(initial=-1)) + 1
    requirement = Requirement(trajectories, values, guarantee, sensitive)
    kept, unavoidable, cut = _bounded(trajectories, requirement, guarantee.l, options.most_sequences)

    left = trajectories.where(kept)
    instances = np.bincount(left.locations, minlength=n_pairs)
    violating = minimal_violating(left, requirement, most=guarantee.l)
    frequent: Frequent | None = None
    if options.utility is Utility.SEQUENCES:
        min_support = options.min_support(trajectories.n_users, guarantee.k)
        frequent = maximal_frequent(left, min_support=min_support, most_work=options.most_sequences)
    chosen = choose_pairs(violating, instances, frequent=None if frequent is None else frequent.tables)
    chosen = needed(chosen, violating, instances)

    is_chosen = np.zeros(n_pairs, np.bool_)
    is_chosen[chosen] = True
    return Suppression(
        kept=kept & ~is_chosen[trajectories.locations],
        suppressed=(*unavoidable, *chosen),
        unavoidable=len(unavoidable),
        violating=sum(map(len, violating)),
        frequent=None if frequent is None else frequent.count,
        frequent_kept=None
        if frequent is None
        else sum(int((~is_chosen[table].any(axis=1)).sum()) for table in frequent.tables),
        complete=frequent is None or frequent.complete,
        cut=cut,
    )


def _bounded(
    trajectories: Sequences, requirement: Requirement, most_known: int, most_sequences: int
) -> tuple[BoolArray, list[int], int]:
    """Suppress the pairs that violate the requirement alone, and cut trajectories if the window is too large.

    A cut trajectory keeps the pairs with the most instances, among equals the smaller id. A cut lowers supports, so
    pairs are checked again after it. Suppressing these pairs lowers no other support, so one more check is enough.

    Returns:
        Visits that stay, shape ``(p,)``; pairs suppressed everywhere, ascending; visits cut.
    """
    pairs = trajectories.locations
    unavoidable = alone(trajectories, requirement)
    kept = ~np.isin(pairs, unavoidable)
    left = trajectories.where(kept)
    lengths = np.diff(left.starts)
    longest = _affordable(lengths, most_known, most_sequences // requirement.most_values)
    if lengths.max(initial=0) <= longest:
        return kept, unavoidable.tolist(), 0
    instances = np.bincount(left.locations)[left.locations]  # (visits left,)
    order = np.lexsort((left.locations, -instances, np.repeat(np.arange(len(lengths)), lengths)))
    stays = np.empty(len(order), np.bool_)
    stays[order] = np.arange(len(order)) - np.repeat(left.starts[:-1], lengths) < longest
    kept[kept] = stays
    again = alone(trajectories.where(kept), requirement)
    kept &= ~np.isin(pairs, again)
    return kept, sorted([*unavoidable.tolist(), *again.tolist()]), int((~stays).sum())


def _affordable(lengths: IntArray, most_known: int, most_sequences: int) -> int:
    """Return the largest length, at least 1, such that cut trajectories have at most ``most_sequences`` sequences."""
    sizes, counts = np.unique(lengths, return_counts=True)
    by_size = list(zip(sizes.tolist(), counts.tolist(), strict=True))

    def n_sequences(longest: int) -> int:
        return sum(
            count * sum(comb(min(size, longest), known) for known in range(1, most_known + 1))
            for size, count in by_size
        )

    within, beyond = 1, int(lengths.max(initial=0)) + 1  # lengths that are affordable, and that are not
    if n_sequences(beyond) <= most_sequences:
        return beyond
    while beyond - within > 1:
        middle = (within + beyond) // 2
        within, beyond = (middle, beyond) if n_sequences(middle) <= most_sequences else (within, middle)
    return within


def _check(trajectories: Sequences) -> None:
    pairs, starts = trajectories.locations, trajectories.starts
    ascends = np.append(True, pairs[1:] > pairs[:-1])[: len(pairs)]
    ascends[starts[:-1][starts[:-1] < len(pairs)]] = True
    if not ascends.all():
        raise ValueError("the pairs of a trajectory do not ascend strictly: sort them, and name each once")
