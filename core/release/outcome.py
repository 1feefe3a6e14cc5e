"""What may leave: a release, or the reason why a window is withheld.

Counts that could point at fewer than k people are left out of everything here that is published.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.release.locations import GeneralizedLocation
from core.release.risk import Attack, Risk
from core.windows.window import WindowKey

__all__ = ["SCHEMA", "Account", "Outcome", "Release", "ReleaseRefused", "Released", "Withheld", "WithholdReason"]

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


class Released(ABC):
    """One message of a release: of one person, of one of their trajectories, or of a group; of one kind in a release.

    Each model has a type of its own, which writes its own content.
    """

    __slots__ = ()

    @abstractmethod
    def content(self) -> dict[str, object]:
        """Return what the message states beside its release, window and shard, as plain data."""


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

    @property
    def counts(self) -> dict[str, float | int | None]:
        """The numbers that are published of the release, beside its information loss."""
        return {
            "population": self.population,
            "people": self.people,
            "trajectories": len(self.trajectories),
            "points_released": self.points_released,
            "points_suppressed": self.points_suppressed,
            "smallest_support": self.smallest_support,
        }


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
