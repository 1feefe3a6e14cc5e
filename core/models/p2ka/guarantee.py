"""What the model promises: pattern-preserving k-anonymity."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["PatternPreservingK"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternPreservingK:
    """Pattern-preserving k-anonymity (Pensa, Monreale, Pinelli, Pedreschi 2008, Definition 1 as relaxed in Section 3).

    At least ``k`` people of the original window support every released sequence, and so every subtrajectory of one.
    Patterns that are k-frequent in the release are therefore k-frequent in the original. This does not bound how many
    people a sequence is released for, unless ``alike`` is set.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Smallest support that a released sequence may have in the original window, in distinct people. At least 2."""

    alike: bool = False
    """Whether each sequence is released for at least ``k`` people, which the paper does not require. Any knowledge of a
    person then matches the released sequences of nobody or of at least ``k`` people."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        alike = f", and is released of at least {self.k} people" if self.alike else ""
        return f"every released sequence is one that at least {self.k} people of the window have in common{alike}"
