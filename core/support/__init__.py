"""Supports of subtrajectories: the number of distinct people whose trajectories contain each.

A person's several trajectories count once, and a subtrajectory never spans two of them. :mod:`core.support.table`
counts a whole window from scratch, :mod:`core.support.incremental` counts while records arrive. Both can start the
index that is updated while locations merge, :mod:`core.support.index`.
"""
