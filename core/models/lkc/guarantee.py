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

    With a ``horizon`` of several windows, the second half holds for all of them together: an adversary who knows up to
    ``l`` pairs of a person in each of these windows, and even in which of them the person was released and with which
    signature, infers none of the person's sensitive values with a confidence above ``c``, if the entries of a signature
    were equally likely before the release (m-invariance, Xiao and Tao 2007, Definition 5 and Lemma 2). For that a
    release keeps four rules, beside the bounds of a single window:

    1. It states no value but a signature: entries that are values or "none", each a share of at most ``c``. Only people
       without a sensitive value may have the empty signature.
    2. Each entry of a signature is true of equally many people of the release.
    3. A person has the same signature in every window of the horizon in which the person is released.
    4. A person whose value stays is counted for the same entry.

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

    horizon: int = 1
    """Over how many successive windows the promise about sensitive values holds. At least 1: each window alone."""

    def __post_init__(self) -> None:
        at_least("l", self.l, 1)
        at_least("k", self.k, 2)
        at_least("horizon", self.horizon, 1)
        if not 0 < self.c <= 1:
            raise ValueError(f"c is {self.c}: it must be above 0 and at most 1")

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"an adversary who knows up to {self.l} places of a person and the slots of time of the visits finds at "
            f"least {self.k} people who match, or nobody, and infers a sensitive value with a confidence of at most "
            f"{self.c:g}"
            + (
                f", also from {self.horizon} successive windows together if a signature's values are equally likely"
                if self.horizon > 1 and self.c < 1
                else ""
            )
        )
