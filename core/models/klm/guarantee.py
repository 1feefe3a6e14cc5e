"""What the model promises: (k,l)^m-anonymity."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["KLmDiversity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KLmDiversity:
    """(k,l)^m-anonymity of trajectories with sensitive locations (Select-Organize-Anonymize, Definition 3).

    An adversary who knows up to ``m`` nonsensitive locations of a person, in order, finds at least ``k`` people who
    match, and at most one in ``l`` of them was at any one sensitive location. This includes an adversary who knows no
    location, only that the person is in the release.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Smallest support a released subtrajectory of nonsensitive locations may have, in distinct people. At least 2."""

    l: int  # noqa: E741 - the name in the literature
    """Of the people who match, at most one in ``l`` may have been at one sensitive location. At least 2."""

    m: int
    """Most nonsensitive locations the adversary is assumed to know. At least 1."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        at_least("l", self.l, 2)
        at_least("m", self.m, 1)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"an adversary who knows up to {self.m} places of a person that are not sensitive, in order, finds at "
            f"least {self.k} people who match, or nobody; at most one in {self.l} of them is shown at any one "
            "sensitive place"
        )
