"""Kernels: the inner loops of anonymizers, compiled; each has a slow oracle in ``oracles``."""
