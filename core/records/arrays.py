"""The array types that everything shares, and ranges of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "FloatArray", "IntArray", "UserHashes", "ranges"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
UserHashes = npt.NDArray[np.uint64]
"""Keyed hashes of user ids."""


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the numbers of several ranges, one range after the other, shape ``(lengths.sum(),)``.

    >>> ranges(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    before = np.cumsum(lengths) - lengths
    numbers: IntArray = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return numbers
