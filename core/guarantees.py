"""What a release promises: frozen, validated types, one per guarantee."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DisassociatedKm", "Guarantee", "KDelta", "KmAnonymity"]


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
class DisassociatedKm:
    """k^m-anonymity of a disassociated release (Terrovitis et al. 2012, Guarantee 1).

    Of every set of up to ``m`` locations that somebody can have visited by the release, the release describes at least
    one possible window in which at least ``k`` people visited all of them. Order does not matter.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Fewest people of that possible window, and of every cluster. At least 2."""

    m: int
    """Most locations the adversary is assumed to know of a person. At least 1."""

    def __post_init__(self) -> None:
        _at_least("k", self.k, 2)
        _at_least("m", self.m, 1)


Guarantee = KmAnonymity | KDelta | DisassociatedKm


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} is {value}: it must be at least {least}")
