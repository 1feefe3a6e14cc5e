"""What the model promises: LKC-privacy."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["LKCPrivacy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LKCPrivacy:
    """LKC-privacy over the location-time pairs of one release (Mohammed, Fung, Debbabi 2009, Definition 3.1).

    An adversary who knows up to ``l`` pairs of a person, each a place and the slot of time of a visit, finds at least
    ``k`` people who match, and infers none of their sensitive values with a confidence above ``c``.

    Raises:
        ValueError: A parameter is out of its range.
    """

    l: int  # noqa: E741 - the paper's name, and that of the setting
    """Most location-time pairs the adversary is assumed to know. At least 1."""

    k: int
    """Smallest support a released sequence of pairs may have, in distinct people. At least 2."""

    c: float
    """Largest share of the people who match that may have one sensitive value. Above 0, at most 1; 1 means no bound.
    It is taken as the decimal number written: 0.29 is 29 of 100."""

    def __post_init__(self) -> None:
        at_least("l", self.l, 1)
        at_least("k", self.k, 2)
        if not 0 < self.c <= 1:
            raise ValueError(f"c is {self.c}: it must be above 0 and at most 1")

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"an adversary who knows up to {self.l} places of a person and the slots of time of the visits finds at "
            f"least {self.k} people who match, and infers a sensitive value of theirs with a confidence of at most "
            f"{self.c:g}"
        )
