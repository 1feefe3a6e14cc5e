"""Keys of people, and the order that brings similar people together.

Select-Organize-Anonymize gives each trajectory a key, one bit for each of some subtrajectories (Definition 1), and
sorts by Gray order. Here each person has one key, over all the person's trajectories: if a person's
trajectories were in different clusters, an adversary with knowledge of original locations could count the person twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from core.records.arrays import FloatArray, IntArray, ranges
from core.support.index import Subtrajectory
from core.support.table import supporters
from core.trajectories.trajectory import Sequences

__all__ = ["gray_order", "location_keys", "subtrajectory_keys", "z_order"]

SortKey = list[int]
"""Positions of a key's ones, ascending; 0 is the most significant bit."""


def z_order(xy_m: FloatArray) -> IntArray:
    """Sort locations by their z-values: the bits of whole metres from the south-western corner, interleaved.

    Of x and y, y has the more significant bit.

    Args:
        xy_m: Positions, metres, shape ``(L, 2)``, less than 2^31 m apart in each axis.

    Returns:
        Location ids, ties by id, shape ``(L,)``.

    >>> z_order(np.array([(1.0, 1.0), (0.0, 2.0), (0.0, 1.0), (1.0, 0.0)])).tolist()
    [3, 2, 0, 1]
    """
    if not len(xy_m):
        return np.empty(0, np.int64)
    whole_m = np.rint(xy_m * 1000).astype(np.int64) // 1000
    x, y = (_spread(axis - axis.min()) for axis in whole_m.T)
    return np.argsort(x | (y << np.uint64(1)), kind="stable").astype(np.int64)


def _spread(numbers: IntArray) -> npt.NDArray[np.uint64]:
    """Put a zero between any two bits of numbers below 2^32 (Raman and Wise 2008: dilated integers)."""
    spread = numbers.astype(np.uint64)
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        spread = (spread | (spread << np.uint64(shift))) & np.uint64(mask)
    return spread


def location_keys(sequences: Sequences, order: IntArray) -> list[SortKey]:
    """Give each person the key of the locations visited, for ZGA.

    Args:
        sequences: Nonsensitive visits.
        order: Location ids in the order of :func:`z_order`. The first is the least significant bit, as in Fig. 2.

    Returns:
        Keys of ``len(order)`` bits, one for each of ``n_users`` people.
    """
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))[::-1]
    user_of = sequences.owners
    n_bits = max(len(order), 1)
    codes = np.unique(user_of * n_bits + position[sequences.locations])
    bounds = np.searchsorted(codes, np.arange(sequences.n_users + 1) * n_bits).tolist()
    bits = (codes % n_bits).tolist()
    return [bits[start:end] for start, end in pairwise(bounds)]


def subtrajectory_keys(sequences: Sequences, subtrajectories: Sequence[Subtrajectory]) -> list[SortKey]:
    """Give each person the key of the subtrajectories contained in any of their trajectories, for SGA.

    Args:
        sequences: Nonsensitive visits.
        subtrajectories: In descending order of support. The first is the least significant bit, as in Fig. 3.

    Returns:
        Keys of ``len(subtrajectories)`` bits, one for each of ``n_users`` people.
    """
    keys: list[SortKey] = [[] for _ in range(sequences.n_users)]
    for bit, subtrajectory in enumerate(reversed(subtrajectories)):
        for user in supporters(subtrajectory, sequences).tolist():
            keys[user].append(bit)
    return keys


def gray_order(keys: Sequence[SortKey], n_bits: int) -> IntArray:
    """Sort keys by the numbers that they encode as Gray codes; ties keep their order.

    A bit of that number is the parity of the key's bits up to it: a run of ones begins at the key's first, third, ...
    one, and ends before its second, fourth, ... one. So the number is the larger the earlier the first run begins, then
    the later it ends, and so on. Comparing runs needs no numbers of ``n_bits`` bits.

    Args:
        keys: Of ``u`` people.
        n_bits: Length of each key.

    Returns:
        Indices into the keys, shape ``(u,)``.

    >>> gray_order([[0, 1], [1], [0], []], 2).tolist()
    [3, 1, 0, 2]
    """
    sizes = np.array([len(key) for key in keys], np.int64)
    ones = np.fromiter(chain.from_iterable(keys), np.int64, int(sizes.sum()))
    row = np.repeat(np.arange(len(keys)), sizes)
    column = ranges(np.zeros(len(keys), np.int64), sizes)
    # Where runs begin, negative, and end; behind the last one every key ends. No row is the beginning of another.
    turns = np.zeros((len(keys), int(sizes.max(initial=0)) + 1), np.int64)
    turns[row, column] = np.where(column % 2 == 0, -ones, ones)
    turns[np.arange(len(keys)), sizes] = np.where(sizes % 2 == 0, -n_bits, n_bits)
    return np.lexsort(turns.T[::-1]).astype(np.int64)
