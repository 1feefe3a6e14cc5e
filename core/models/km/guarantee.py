"""What the model promises: k^m-anonymity."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["KmAnonymity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KmAnonymity:
    """k^m-anonymity over the trajectories of one release (Poulis et al. 2014, Definition 4).

    An adversary who knows up to ``m`` locations of a person, in order, finds at least ``k`` people who match, or
    nobody.

    With a ``horizon`` of several windows this holds of *joined* trajectories: the released trajectories of a person in
    any successive windows of a shard, as many as the horizon has, one after the other. A location is then a generalized
    location in one window. So an adversary who can link all releases of each person over the horizon, and knows up to
    ``m`` locations of a person in these windows together, finds at least ``k`` people who match, or nobody. If somebody
    has several released trajectories in a window, one of them has to match what is known of this window.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Smallest support a released subtrajectory may have, in distinct people. At least 2."""

    m: int
    """Most locations the adversary is assumed to know, in all windows of the horizon together. At least 1."""

    horizon: int = 1
    """Over how many successive windows the promise holds. At least 1: each window alone."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        at_least("m", self.m, 1)
        at_least("horizon", self.horizon, 1)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        where = f" in {self.horizon} successive windows together" if self.horizon > 1 else ""
        return (
            f"an adversary who knows up to {self.m} places of a person{where}, in order, "
            f"finds at least {self.k} people who match, or nobody"
        )
