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

    With a ``horizon`` of several windows, the attributes keep a promise for all of them together: of whatever a person
    is released with in these windows, attribute by attribute, the intersection contains the person's *signature*. Into
    it fit at least ``k`` people who were released together in one window of the shard. So an adversary who knows the
    person's record in each of these windows, and the attributes of everybody, finds at least ``k`` people who may be
    the person. For that a release keeps three rules, beside those of a single window:

    1. A person's released attributes contain the person's own values and signature.
    2. A signature that is new is that of at least ``k`` people of the release: their values, and their own signatures,
       are within it.
    3. A person keeps the signature while a window of the horizon has the person. A new person may take one that is
       remembered, if the person's values are within it.

    Nothing is promised of locations over several windows: they change from window to window.

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

    horizon: int = 1
    """Over how many successive windows the promise about attributes holds. At least 1: each window alone."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        at_least("m", self.m, 1)
        at_least("horizon", self.horizon, 1)
        if self.l is not None:
            at_least("l", self.l, 2)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"an adversary who knows the attributes of a person and up to {self.m} places finds at least {self.k} "
            "people who match, or nobody"
            + (f", and at most one in {self.l} of them at any one sensitive place" if self.l is not None else "")
            + (
                f"; the attributes with which a person is released in {self.horizon} successive windows fit at least "
                f"{self.k} people together"
                if self.horizon > 1
                else ""
            )
        )
