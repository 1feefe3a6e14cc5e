"""A line of the table of attacks, and how figures are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Line", "median", "percent"]


class Line(NamedTuple):
    """What an attack came to."""

    attack: str
    promise: str
    """What the settings promise about it; ``-`` for nothing."""

    measured: str


def percent(share: float) -> str:
    """Write a share in percent.

    >>> percent(0.0934)
    '9.3 %'
    """
    return f"{100 * share:.1f} %"


def median(values: Sequence[int]) -> str:
    """Write the median of numbers.

    >>> median([1, 5, 2])
    '2'
    """
    return f"{np.median(values):g}"
