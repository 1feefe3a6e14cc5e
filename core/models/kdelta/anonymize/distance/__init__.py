"""Distances of trajectories: LSTD, EDR and Euclidean."""
