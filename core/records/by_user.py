"""Rows sorted by user: where the rows of each user begin and end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.records.arrays import BoolArray, IntArray

__all__ = ["is_last_of_user", "position_in_user", "same_as_before", "starts_of_users"]


def starts_of_users(users: npt.NDArray[np.generic]) -> IntArray:
    """Return where the rows of each of ``n`` users begin, then the number of rows, shape ``(n + 1,)``."""
    return np.append(np.flatnonzero(position_in_user(users) == 0), len(users)).astype(np.int64)


def same_as_before(*columns: npt.NDArray[np.generic]) -> BoolArray:
    """Return which rows equal their predecessor in every column, shape ``(n,)``."""
    same = np.ones(len(columns[0]), dtype=np.bool_)
    same[:1] = False
    for column in columns:
        same[1:] &= column[1:] == column[:-1]
    return same


def position_in_user(users: npt.NDArray[np.generic]) -> IntArray:
    """Number the rows of each user from 0, shape ``(n,)``; rows of one user must be adjacent."""
    first = ~same_as_before(users)
    index = np.arange(len(users))
    return index - np.maximum.accumulate(np.where(first, index, 0)) if len(users) else index


def is_last_of_user(users: npt.NDArray[np.generic]) -> BoolArray:
    """Return which rows are the last of their user, shape ``(n,)``; rows of one user must be adjacent."""
    return np.append(users[1:] != users[:-1], True)[: len(users)]
