"""The array types that everything shares, and ways to number things."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "SmallIntArray",
    "UserHashes",
    "changes",
    "distinct",
    "numbered",
    "ranges",
    "starts_of",
]

T = TypeVar("T", bound=Hashable)

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
SmallIntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
UserHashes = npt.NDArray[np.uint64]
"""Keyed hashes of user ids."""


def changes(column: IntArray | SmallIntArray) -> BoolArray:
    """Return which entries differ from the entry before; the first does.

    >>> changes(np.array([7, 7, 2])).tolist()
    [True, False, True]
    """
    return np.append(True, column[1:] != column[:-1])[: len(column)]


def distinct(numbers: IntArray) -> IntArray:
    """Return the distinct numbers, ascending. np.unique uses hashes here, which takes three times as long.

    >>> distinct(np.array([7, 2, 7])).tolist()
    [2, 7]
    """
    ordered = np.sort(numbers)
    found: IntArray = ordered[changes(ordered)]
    return found


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the numbers of several ranges, one range after the other, shape ``(lengths.sum(),)``.

    >>> ranges(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    before = np.cumsum(lengths) - lengths
    numbers: IntArray = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return numbers


def starts_of(lengths: IntArray) -> IntArray:
    """Return where parts of these lengths begin if they stand one after the other, then the end, shape ``(n + 1,)``.

    >>> starts_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return np.append(0, np.cumsum(lengths)).astype(np.int64)


def numbered(values: Iterable[T]) -> tuple[IntArray, list[T]]:
    """Number values: equal ones alike, in the order in which they occur first.

    A value that occurs as the same object again and again is hashed only once.

    Args:
        values: ``n`` values.

    Returns:
        The number of each, shape ``(n,)``, and the distinct values in the order of their numbers.

    >>> numbers, distinct = numbered(["b", "a", "b"])
    >>> numbers.tolist(), distinct
    ([0, 1, 0], ['b', 'a'])
    """
    held = list(values)  # as long as they are held, no two objects have the same id
    ids, object_of = np.unique(np.fromiter(map(id, held), np.int64, len(held)), return_inverse=True)
    first = np.empty(len(ids), np.int64)
    first[object_of[::-1]] = np.arange(len(held))[::-1]  # of several places for one object the last written stays
    number_of: dict[T, int] = {}
    number_of_object = np.empty(len(ids), np.int64)
    for one in np.argsort(first).tolist():
        number_of_object[one] = number_of.setdefault(held[first[one]], len(number_of))
    return number_of_object[object_of], list(number_of)
