"""What may leave: a release, or the reason why a window is withheld.

Counts that could point at fewer than k people are left out of everything here that is published.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from core.keys import check_key
from core.risk import Attack, Risk
from core.trajectory import FloatArray, IntArray
from core.window import WindowKey

__all__ = [
    "SCHEMA",
    "Account",
    "AttributeRecord",
    "ClusterGroup",
    "GeneralizedLocation",
    "Headcount",
    "NamedChunk",
    "NamedCluster",
    "NamedJoint",
    "Outcome",
    "PairTrajectory",
    "PointTrajectory",
    "Release",
    "ReleaseRefused",
    "Released",
    "SequenceTrajectory",
    "Withheld",
    "WithholdReason",
    "keyed_generator",
    "keyed_id",
    "population_of",
    "pseudonyms",
    "publishable",
]

SCHEMA = 1
"""Version of the records that leave."""


class WithholdReason(StrEnum):
    """Why nothing of a window leaves: a closed set."""

    TOO_FEW_PEOPLE = "too_few_people"
    NOTHING_LEFT = "nothing_left"
    CONSTRAINTS_NOT_SATISFIED = "constraints_not_satisfied"
    SETTINGS_CHANGED = "settings_changed"
    RECORDS_MISSING = "records_missing"
    TOO_LARGE = "too_large"
    VERIFICATION_FAILED = "verification_failed"
    ANONYMIZER_FAILED = "anonymizer_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where the rows of a window went: every one is in exactly one of these counts. Not published."""

    duplicates: int = 0
    released: int = 0
    suppressed: int = 0
    withheld: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceTrajectory:
    """One released sequence."""

    pseudonym: str
    locations: tuple[tuple[str, ...], ...]
    """Names of the members of each generalized location, in order of visit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointTrajectory:
    """One released GPS trajectory."""

    pseudonym: str
    t_ms: IntArray
    lat_deg: FloatArray
    lon_deg: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTrajectory:
    """One released sequence of visits with their slots of time, and what is sensitive of its person."""

    pseudonym: str
    visits: tuple[tuple[int, str], ...]
    """When the slot begins and the name of the location, in that order: Unix milliseconds, or milliseconds after
    midnight where slots are times of day."""

    sensitive: tuple[str, ...]
    of_day: bool = False
    """Whether slots are times of day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRecord:
    """One released person: generalized attributes, and the set of generalized locations visited."""

    pseudonym: str
    attributes: Mapping[str, str | tuple[float, float]]
    """A node of a hierarchy, or the smallest and largest value that a number may have."""

    locations: tuple[tuple[str, ...], ...]
    """Names of the members of each generalized location, in no order of visit."""

    sensitive: tuple[str, ...]
    """Names of the sensitive locations visited."""


NamedChunk = tuple[tuple[str, ...], ...]
"""Subrecords of a chunk, each of another person, by the names of their locations; their order means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCluster:
    """See :class:`core.disassociated.Cluster`."""

    size: int
    record_chunks: tuple[NamedChunk, ...]
    term_chunk: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedJoint:
    """See :class:`core.disassociated.JointCluster`; its clusters are counted within the group."""

    first: int
    end: int
    shared_chunks: tuple[NamedChunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterGroup:
    """Clusters of a disassociated window that share chunks, or one that shares none."""

    clusters: tuple[NamedCluster, ...]
    joint_clusters: tuple[NamedJoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizedLocation:
    """Members of a released location and their centroid, degrees."""

    members: tuple[str, ...]
    lat_deg: float
    lon_deg: float
    sensitive: bool = False
    """Whether the model was told that it is; such a one is released as it is."""


Released = SequenceTrajectory | PointTrajectory | PairTrajectory | AttributeRecord | ClusterGroup
"""One message of a release: of one person, of one of their trajectories, or of a group; of one kind in a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A verified, anonymized window."""

    release_id: str
    key: WindowKey
    model: str
    parameters: dict[str, float | int | str]
    population: int | None
    """Distinct people in the window; None where it would tell how many of them, fewer than k, are not released, or
    where ``people`` is None."""

    people: int | None
    """Distinct people in the release; None where it would tell how many of them, fewer than k, have several
    trajectories."""

    trajectories: tuple[Released, ...]
    """In the order of their pseudonyms, where they have one."""

    locations: tuple[GeneralizedLocation, ...] | None
    """The generalized locations of a release of sequences."""

    points_released: int
    points_suppressed: int | None
    smallest_support: int
    """Smallest support (k^m) or smallest set, in distinct people, that verification observed; k, where ``people`` is
    None."""

    information_loss: dict[str, float | int | None]
    account: Account
    risks: Mapping[Attack, Risk] = field(default_factory=dict)
    """What simulated attacks came to: for the operator, published nowhere."""

    compared: Mapping[str, float] = field(default_factory=dict)
    """What the models that were compared would lose, metres a visit, the chosen one first: for the operator, published
    nowhere. Measured on raw visits, it would tell how far the one place is whose only visit was suppressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """Nothing of this window leaves."""

    release_id: str
    key: WindowKey
    model: str
    parameters: dict[str, float | int | str]
    reason: WithholdReason
    account: Account


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRefused(Withheld):
    """Verification found that the candidate breaks its guarantee; the window is withheld, and somebody must look."""

    reason: WithholdReason = field(default=WithholdReason.VERIFICATION_FAILED, init=False)
    finding: str
    """What the verifier counted; no location and no user."""


Outcome = Release | Withheld | ReleaseRefused


def publishable(count: int, k: int, *, people: int | None = None) -> int | None:
    """Return a count if nobody can be singled out by it: nobody is behind it, or at least k people are.

    Args:
        count: How many people, points or trajectories.
        k: Fewest people that may be told of.
        people: Distinct people behind the count; the count itself where it counts people.

    >>> publishable(0, 5), publishable(4, 5), publishable(5, 5), publishable(20, 5, people=1)
    (0, None, 5, None)
    """
    behind = count if people is None else people
    return count if behind == 0 or behind >= k else None


def keyed_id(secret: bytes, purpose: str, *parts: str | int) -> str:
    """Derive 16 hexadecimal digits that nobody can predict or link without the secret.

    Raises:
        ValueError: The secret has fewer than 16 or more than 64 bytes.
    """
    check_key(secret, "the secret")
    text = "\x1f".join([purpose, *map(str, parts)])
    return hashlib.blake2b(text.encode(), key=secret, digest_size=8).hexdigest()


def keyed_generator(secret: bytes, release_id: str, purpose: str = "choices") -> np.random.Generator:
    """Return the generator of all random choices of one release: the same on every run, unknown to outsiders.

    Args:
        secret: The deployment's key.
        release_id: The release.
        purpose: What the choices are for; by default the release itself. Another purpose draws independently.

    Raises:
        ValueError: The secret has fewer than 16 or more than 64 bytes.
    """
    check_key(secret, "the secret")
    seed = hashlib.blake2b(f"{purpose}\x1f{release_id}".encode(), key=secret, digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(seed, dtype=np.uint64)))


def population_of(n_users: int, n_released: int, k: int) -> int | None:
    """Return the people in a window, unless the difference to those released would count fewer than k of them."""
    return n_users if n_users >= k and publishable(n_users - n_released, k) is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Headcount:
    """What a release tells of the numbers of people; see :class:`Release` for each."""

    people: int | None
    population: int | None
    smallest_support: int

    @classmethod
    def of(cls, users: Iterable[int], n_users: int, smallest_support: int, k: int) -> Headcount:
        """Tell what does not tell how many people, fewer than k, have several trajectories or none.

        Args:
            users: User of each released trajectory.
            n_users: Distinct people in the window.
            smallest_support: What verification observed, in distinct people.
            k: Fewest people that may be told of.
        """
        trajectories = Counter(users)
        population = population_of(n_users, len(trajectories), k)
        if publishable(sum(count > 1 for count in trajectories.values()), k) is None:
            # The trajectories can be counted: beside the people behind them, that would tell.
            return cls(people=None, population=None, smallest_support=k)
        return cls(people=len(trajectories), population=population, smallest_support=smallest_support)


def pseudonyms(secret: bytes, release_id: str, n: int) -> list[tuple[str, int]]:
    """Give each of ``n`` trajectories a pseudonym of this release; returned in the order of the pseudonyms."""
    return sorted((keyed_id(secret, "pseudonym", release_id, i), i) for i in range(n))
