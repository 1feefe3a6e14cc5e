"""Kernels of the models of fragments."""
