"""Random generators of an evaluation: one for each window, so that a figure does not depend on how a file is read."""

from __future__ import annotations

import numpy as np

__all__ = ["generator_of"]


def generator_of(seed: int, window_ms: int) -> np.random.Generator:
    """Return the generator of a window.

    Args:
        seed: Of the figures.
        window_ms: Where the window begins, Unix milliseconds.
    """
    return np.random.default_rng([seed, window_ms % 2**63])
