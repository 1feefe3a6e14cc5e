"""Supports of subtrajectories: how many distinct people's trajectories contain them.

A person's several trajectories count once, and a subtrajectory never spans two of them. :mod:`core.support.table`
counts a whole window from scratch, :mod:`core.support.incremental` as its records arrive; either one starts the
index that follows the locations as they merge, :mod:`core.support.index`.
"""
