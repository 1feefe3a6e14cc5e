"""Clustering of trajectories: greedy, in chunks, improved by local search."""
