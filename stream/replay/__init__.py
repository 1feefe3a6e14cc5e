"""Replay: the service's own code on files, and comparisons of models on them."""
