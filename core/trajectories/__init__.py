"""Trajectories: the rows of each person in a window, in the order of time, joined and cut."""
