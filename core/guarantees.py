"""What a release promises: frozen, validated types, one per guarantee."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Guarantee", "KDelta", "KKmAnonymity", "KmAnonymity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KmAnonymity:
    """k^m-anonymity over the trajectories of one release (Poulis et al. 2014, Definition 4).

    Whoever knows up to ``m`` locations of a person, in order, finds at least ``k`` people who match.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Smallest support a released subtrajectory may have, in distinct people. At least 2."""

    m: int
    """Most locations the adversary is assumed to know. At least 1."""

    def __post_init__(self) -> None:
        _at_least("k", self.k, 2)
        _at_least("m", self.m, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KDelta:
    """(k,delta)-anonymity of trajectories (Abul, Bonchi, Nanni 2008; Theodosopoulos 2013, Definitions 2 to 4).

    Each released trajectory belongs to a set of at least ``k`` people's trajectories that have the same time
    stamps and lie within ``delta_m`` of one another at each of them. ``personal`` adds what people demand of their
    own (section 4): then ``k`` and ``delta_m`` are what everybody is given at least.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Fewest distinct people in a released set. At least 2."""

    delta_m: float
    """Uncertainty diameter, metres: the largest distance inside a set at any time stamp. Above 1."""

    personal: bool = False
    """Whether a set keeps the largest k and the smallest delta that any of its members demands, where they demand
    more than the above. Otherwise who demands more is not released."""

    def __post_init__(self) -> None:
        _at_least("k", self.k, 2)
        if not 1 < self.delta_m < float("inf"):
            raise ValueError(f"delta_m is {self.delta_m}: it must be a finite number of metres above 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class KKmAnonymity:
    """(k,k^m)-anonymity of people with attributes and visited locations (Poulis et al. 2013, Definitions 1 and 2).

    Whoever knows all attributes of a person and up to ``m`` of the locations visited, in no order, finds at least
    ``k`` people who match. With ``l`` it is (k,l^m)-diversity (section 5): what is known are nonsensitive locations,
    and of those who match at most one in ``l`` is shown at any one sensitive location, and so with any combination.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Fewest distinct people who match what is known. At least 2."""

    m: int
    """Most locations the adversary is assumed to know, besides all attributes. At least 1."""

    l: int | None = None  # noqa: E741 - the paper's name
    """One over the largest share of those who match that may be shown at one sensitive location. At least 2; None
    where no location is sensitive."""

    def __post_init__(self) -> None:
        _at_least("k", self.k, 2)
        _at_least("m", self.m, 1)
        if self.l is not None:
            _at_least("l", self.l, 2)


Guarantee = KmAnonymity | KDelta | KKmAnonymity


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} is {value}: it must be at least {least}")
