"""Kernels for stops, which are found in fragments."""
