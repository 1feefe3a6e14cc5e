"""What the model promises: k^m-anonymity of a disassociated release."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["DisassociatedKm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisassociatedKm:
    """k^m-anonymity of a disassociated release (Terrovitis et al. 2012, Guarantee 1).

    Take any set of up to ``m`` locations that, according to the release, one person may have visited. The release then
    describes at least one possible window in which at least ``k`` people visited all of them. Order does not matter.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Fewest people who visited them in that possible window, and fewest people of a cluster. At least 2."""

    m: int
    """Most locations the adversary is assumed to know of a person. At least 1."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        at_least("m", self.m, 1)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"an adversary who knows up to {self.m} places of a person finds at least {self.k} people who may have "
            "visited all of them"
        )
