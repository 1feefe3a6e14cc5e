"""Kernels of the models of check-ins."""
