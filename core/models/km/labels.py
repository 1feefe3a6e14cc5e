"""A released sequence as the label of a roster, by which later windows recognize it.

A label is the sequence as numbers of its generalized locations: of each the number, in the feed's vocabulary, of its
smallest member. A location of the vocabulary is in one cell alone, so that the labels of several cells of a window
never mean different locations by one number. Numbers mean the same inside a window only.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["label_of", "locations_of_label"]


def label_of(locations: Sequence[int]) -> str:
    """Write a sequence of locations of the vocabulary, at least one and none negative, as a label.

    >>> label_of([3, 5, 3])
    '3,5,3'
    """
    return ",".join(map(str, locations))


def locations_of_label(label: str) -> list[str] | None:
    """Read a label; None if it is none.

    >>> locations_of_label("3,5,3"), locations_of_label("3,,5")
    (['3', '5', '3'], None)
    """
    found = label.split(",")
    return found if all(one.isascii() and one.isdecimal() for one in found) else None
