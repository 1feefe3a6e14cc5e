"""Utility: what a release lost, by measures that several models share."""
