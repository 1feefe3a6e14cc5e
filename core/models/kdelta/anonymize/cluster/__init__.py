"""Clusters of trajectories: greedy, refined by local search, in blocks."""
