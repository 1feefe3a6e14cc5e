"""Supports of subtrajectories: the number of distinct people whose trajectories contain each.

A person's several trajectories count once, and a subtrajectory never spans two of them. :mod:`core.support.table`
counts a whole window; :mod:`core.support.index` is updated while locations merge.
"""
