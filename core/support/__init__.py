"""Supports of subtrajectories: how many distinct people's trajectories contain them.

A person's several trajectories count once, and a subtrajectory never spans two of them. :mod:`core.support.table`
counts a whole window from scratch, :mod:`core.support.incremental` as its records arrive; either one starts the
index that follows the locations as they merge, :mod:`core.support.index`.
"""

from core.support.incremental import WindowSupports
from core.support.index import Subtrajectory, SupportIndex
from core.support.start import ClosedSupports, Recounted, Supports
from core.support.table import SubtrajectoryTable, subtrajectories, support, supporters
from core.support.top import top_subtrajectories

__all__ = [
    "ClosedSupports",
    "Recounted",
    "Subtrajectory",
    "SubtrajectoryTable",
    "SupportIndex",
    "Supports",
    "WindowSupports",
    "subtrajectories",
    "support",
    "supporters",
    "top_subtrajectories",
]
