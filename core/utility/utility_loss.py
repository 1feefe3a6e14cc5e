"""Utility loss of generalized sets of locations: UL (Poulis et al. 2013, section 5, after COAT).

``UL(u) = (2^|u| - 1) w(u)`` of a generalized location of ``|u|`` members, ``UL(r)`` the sum over those of a record over
``2^sigma - 1``, where ``sigma`` is the sum of their sizes, and ``UL(D)`` the mean over the records. The paper leaves
the weights to the publisher: here ``w`` is 1, and 0 for a location that is released intact, which has lost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["mean_utility_loss", "utility_loss"]


def utility_loss(sizes: Sequence[int]) -> float:
    """Return UL of one record.

    Args:
        sizes: Members of each of its generalized locations.

    Returns:
        A value in ``0..1``; 0 without any location.

    >>> utility_loss([1, 1]), utility_loss([1, 2]), utility_loss([3])
    (0.0, 0.42857142857142855, 1.0)
    """
    total = sum(sizes)
    lost = sum((1 << size) - 1 for size in sizes if size > 1)
    return lost / ((1 << total) - 1) if total else 0.0  # whole numbers of any size, divided once


def mean_utility_loss(records: Sequence[Sequence[int]]) -> float:
    """Return UL of a release, 0 of an empty one.

    Args:
        records: Sizes of the generalized locations of each record.
    """
    # Sorted: the order of records, which is not published, must not show in the last bit.
    return sum(sorted(map(utility_loss, records))) / len(records) if records else 0.0
