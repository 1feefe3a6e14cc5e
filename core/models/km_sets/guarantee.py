"""What the models promise: k^m-anonymity of sets of locations."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["KmSetAnonymity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KmSetAnonymity:
    """k^m-anonymity of sets of locations (Terrovitis, Mamoulis, Kalnis 2008, Definition 1).

    Take any set of up to ``m`` generalized locations that a released person has. At least ``k`` people have all of
    them. So whoever knows up to ``m`` locations of a released person, in no order, finds at least ``k`` people who
    match, or nobody.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Fewest distinct people who have what is known. At least 2."""

    m: int
    """Most locations the adversary is assumed to know of a person. At least 1."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        at_least("m", self.m, 1)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"an adversary who knows up to {self.m} places of a person, in no order, finds at least {self.k} people "
            "who match, or nobody"
        )
