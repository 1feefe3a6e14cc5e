"""What a release promises: frozen, validated types, one per guarantee."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "DisassociatedKm",
    "Guarantee",
    "KDelta",
    "KKmAnonymity",
    "KLmDiversity",
    "KmAnonymity",
    "LKCPrivacy",
    "PatternPreservingK",
]


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

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return f"whoever knows up to {self.m} places of a person, in order, finds at least {self.k} people who match"


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

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        who = " (or as many and as near as its members demand)" if self.personal else ""
        return (
            f"each trajectory is one of at least {self.k} people's that stay within {self.delta_m:g} m of one another"
            f"{who}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternPreservingK:
    """Pattern-preserving k-anonymity (Pensa, Monreale, Pinelli, Pedreschi 2008, Definition 1 as relaxed in Section 3).

    Every sequence that is released, and so every subtrajectory of one, is one that at least ``k`` people of the
    original window support; patterns that are k-frequent in the release are therefore k-frequent in the original.
    This says nothing of how many people support a sequence in the release, unless ``alike`` adds it.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Smallest support that a released sequence may have in the original window, in distinct people. At least 2."""

    alike: bool = False
    """Whether, beyond the paper, each released sequence is released of at least ``k`` people: then whatever is known of
    a person fits the released sequences of nobody or of at least ``k`` people."""

    def __post_init__(self) -> None:
        _at_least("k", self.k, 2)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        alike = f", and is released of at least {self.k} people" if self.alike else ""
        return f"every released sequence is one that at least {self.k} people of the window have in common{alike}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LKCPrivacy:
    """LKC-privacy over the location-time pairs of one release (Mohammed, Fung, Debbabi 2009, Definition 3.1).

    Whoever knows up to ``l`` pairs of a person, each a place and the slot of time of a visit, finds at least ``k``
    people who match, and infers none of their sensitive values with a confidence above ``c``.

    Raises:
        ValueError: A parameter is out of its range.
    """

    l: int  # noqa: E741 - the paper's name, and that of the setting
    """Most location-time pairs the adversary is assumed to know. At least 1."""

    k: int
    """Smallest support a released sequence of pairs may have, in distinct people. At least 2."""

    c: float
    """Largest share of those who match that may carry one sensitive value. Above 0, at most 1, where 1 bounds nothing.
    It is meant as it is written: 0.29 is 29 of 100."""

    def __post_init__(self) -> None:
        _at_least("l", self.l, 1)
        _at_least("k", self.k, 2)
        if not 0 < self.c <= 1:
            raise ValueError(f"c is {self.c}: it must be above 0 and at most 1")

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"whoever knows up to {self.l} places of a person and the slots of time of the visits finds at least "
            f"{self.k} people who match, and infers a sensitive value of theirs with a confidence of at most {self.c:g}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KLmDiversity:
    """(k,l)^m-anonymity of trajectories with sensitive locations (Select-Organize-Anonymize, Definition 3).

    Whoever knows up to ``m`` nonsensitive locations of a person, in order, finds at least ``k`` people who match, and
    of these at most one in ``l`` was at any one sensitive location. To know none counts as well: it is to know that
    somebody is in the release.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Smallest support a released subtrajectory of nonsensitive locations may have, in distinct people. At least 2."""

    l: int  # noqa: E741 - the name the guarantee is known by
    """Of the people who match, at most one in ``l`` may have been at one sensitive location. At least 2."""

    m: int
    """Most nonsensitive locations the adversary is assumed to know. At least 1."""

    def __post_init__(self) -> None:
        _at_least("k", self.k, 2)
        _at_least("l", self.l, 2)
        _at_least("m", self.m, 1)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"whoever knows up to {self.m} places of a person that are not sensitive, in order, finds at least "
            f"{self.k} people who match, at most one in {self.l} of whom is shown at any one sensitive place"
        )


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

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"whoever knows the attributes of a person and up to {self.m} places finds at least {self.k} people who "
            "match"
            + (f", at most one in {self.l} of whom was at any one sensitive place" if self.l is not None else "")
        )


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

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"whoever knows up to {self.m} places of a person finds at least {self.k} people who may have visited "
            "them all"
        )


Guarantee = KmAnonymity | KDelta | PatternPreservingK | LKCPrivacy | KLmDiversity | KKmAnonymity | DisassociatedKm


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} is {value}: it must be at least {least}")
