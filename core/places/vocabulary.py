"""The vocabulary of one window: the locations that occur in it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Vocabulary"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """The locations that occur in one window; a location's id is its row."""

    ids: IntArray
    """Ids of the locator, shape ``(L,)``."""

    names: tuple[str, ...]
    """Public names, strictly ascending, so that the order of ids is the order of names."""

    lat_deg: FloatArray
    """Centre of each location, degrees north, shape ``(L,)``."""

    lon_deg: FloatArray
    """Centre of each location, degrees east, shape ``(L,)``."""

    xy_m: FloatArray
    """The same centres in a local projection, metres, shape ``(L, 2)``."""

    def among(self, names: Collection[str]) -> BoolArray:
        """Return which locations are among the names, shape ``(L,)``."""
        return np.array([name in names for name in self.names], dtype=np.bool_)
