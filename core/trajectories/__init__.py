"""Trajectories: the rows of a window in the order of time, cut and joined."""
