"""What the model promises: k^m-anonymity."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["KmAnonymity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KmAnonymity:
    """k^m-anonymity over the trajectories of one release (Poulis et al. 2014, Definition 4).

    An adversary who knows up to ``m`` locations of a person, in order, finds at least ``k`` people who match.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Smallest support a released subtrajectory may have, in distinct people. At least 2."""

    m: int
    """Most locations the adversary is assumed to know. At least 1."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        at_least("m", self.m, 1)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"an adversary who knows up to {self.m} places of a person, in order, "
            f"finds at least {self.k} people who match"
        )
