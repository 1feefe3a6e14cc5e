"""Least loss: merge, suppress or split, whichever costs least."""
