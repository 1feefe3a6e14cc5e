"""What the model promises: flows of at least k people, between places that do not overlap."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.models.common.guarantee import at_least

__all__ = ["KAnonymousFlows", "TripRule"]


class TripRule(StrEnum):
    """What counts as a trip."""

    SUCCESSIVE = "successive"
    """Each step from a location to the next different one."""

    FIRST_LAST = "first-last"
    """From the first location of a person in the window to the last one, if they differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymousFlows:
    """Each released flow counts at least ``k`` distinct people (k-anonymous OD matrices; Matet et al. 2023).

    All flows of a release are between the same places, which do not overlap, so no flow is part of another one, and no
    difference of two flows counts fewer people.

    Raises:
        ValueError: k is below 2.
    """

    k: int
    """Fewest distinct people of a flow. At least 2."""

    trips: TripRule = TripRule.SUCCESSIVE
    """What counts as a trip."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return f"every released flow counts at least {self.k} people, and no two places of a release overlap"
