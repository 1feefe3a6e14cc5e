"""Noise that makes counts of people differentially private. The draw itself is an argument: ``core`` draws nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["LaplaceNoise"]

_UP = 1 + 1e-9
"""The scale is rounded up, so that rounding cannot make epsilon larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise:
    """Discrete Laplace noise on counts of people, of which only those above a threshold are released.

    A person changes at most ``most_counts`` counts, each by 1. Noise of scale ``most_counts / epsilon`` makes their
    values epsilon-differentially private. A count that would be missing without one person is 1. The threshold keeps
    all such counts of a person away with probability 1 - delta at least (Korolova, Kenthapadi, Mishra, Ntoulas 2009;
    Wilson et al. 2020, Section 3).

    Raises:
        ValueError: A parameter is out of its range.
    """

    epsilon: float
    """Above 0."""

    delta: float
    """Above 0, below 1."""

    most_counts: int
    """Most counts that one person changes. At least 1."""

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon is {self.epsilon}: it must be above 0")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta is {self.delta}: it must be above 0 and below 1")
        if self.most_counts < 1:
            raise ValueError(f"most_counts is {self.most_counts}: it must be at least 1")

    @property
    def scale(self) -> float:
        """Scale of the noise, people."""
        return self.most_counts / self.epsilon * _UP

    @property
    def threshold(self) -> int:
        """Smallest noisy count that is released."""
        return 2 + math.ceil(self.scale * math.log(self.most_counts / self.delta))
