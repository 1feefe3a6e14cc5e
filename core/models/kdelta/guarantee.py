"""What the model promises: (k,delta)-anonymity."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["KDelta"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KDelta:
    """(k,delta)-anonymity of trajectories (Abul, Bonchi, Nanni 2008; Theodosopoulos 2013, Definitions 2 to 4).

    Each released trajectory belongs to a set of at least ``k`` people's trajectories that have the same time
    stamps and lie within ``delta_m`` of one another at each of them. With ``personal``, people may demand more
    (section 4); ``k`` and ``delta_m`` are then the least that everybody is given.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Fewest distinct people in a released set. At least 2."""

    delta_m: float
    """Uncertainty diameter, metres: the largest distance inside a set at any time stamp. Above 1."""

    personal: bool = False
    """Whether a set keeps the largest k and the smallest delta that any of its members demands. Otherwise a person who
    demands more than ``k`` and ``delta_m`` is not released."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        if not 1 < self.delta_m < float("inf"):
            raise ValueError(f"delta_m is {self.delta_m}: it must be a finite number of metres above 1")

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        who = " (or the larger k and smaller distance that members demand)" if self.personal else ""
        return (
            f"each trajectory belongs to a set of at least {self.k} people's trajectories that stay within "
            f"{self.delta_m:g} m of one another{who}"
        )
