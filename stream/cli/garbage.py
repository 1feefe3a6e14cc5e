"""How often Python looks for reference cycles."""

from __future__ import annotations

import gc

__all__ = ["collect_garbage_rarely"]

_NEW_OBJECTS = 50_000


def collect_garbage_rarely() -> None:
    """Look for reference cycles once in 50,000 new objects, and never among what is in memory now.

    A batch of records is thousands of objects at once and no cycles: with Python's default of 700, looking for cycles
    would take most of the time of reading one.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
