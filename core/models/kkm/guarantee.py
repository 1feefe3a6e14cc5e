"""What the model promises: (k,k^m)-anonymity and (k,l^m)-diversity."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["KKmAnonymity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KKmAnonymity:
    """(k,k^m)-anonymity of people with attributes and visited locations (Poulis et al. 2013, Definitions 1 and 2).

    An adversary who knows all attributes of a person and up to ``m`` of the locations visited, in no order, finds at
    least ``k`` people who match. With ``l`` it is (k,l^m)-diversity (section 5): the known locations are nonsensitive,
    and at most one in ``l`` of the people who match is shown at any one sensitive location, and so at any combination.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Fewest distinct people who match what is known. At least 2."""

    m: int
    """Most locations the adversary is assumed to know, besides all attributes. At least 1."""

    l: int | None = None  # noqa: E741 - the paper's name
    """At most one in ``l`` of the people who match may be shown at one sensitive location. At least 2; None if no
    location is sensitive."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        at_least("m", self.m, 1)
        if self.l is not None:
            at_least("l", self.l, 2)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"an adversary who knows the attributes of a person and up to {self.m} places finds at least {self.k} "
            "people who match"
            + (f", at most one in {self.l} of whom was at any one sensitive place" if self.l is not None else "")
        )
