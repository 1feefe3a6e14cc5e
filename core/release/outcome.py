"""The outcome of a window: a release, or the reason why the window is withheld.

Published counts leave out every number that could single out fewer than k people.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

from core.release.attacks.linkage import LinkageExtract
from core.release.attacks.risk import Attack, Risk
from core.release.locations import GeneralizedLocation
from core.windows.history import Roster
from core.windows.window import WindowKey

__all__ = [
    "PSEUDONYM",
    "SCHEMA",
    "Account",
    "Outcome",
    "Release",
    "ReleaseRefused",
    "Released",
    "Withheld",
    "WithholdReason",
]

SCHEMA = 1
"""Version of the format of emitted messages."""


PSEUDONYM = {
    "type": "string",
    "description": "Name of this trajectory in this release alone. The same person has another one in every window.",
}
"""JSON Schema of a pseudonym."""


class WithholdReason(StrEnum):
    """Why a window is withheld: a closed set."""

    TOO_FEW_PEOPLE = "too_few_people"
    NOTHING_LEFT = "nothing_left"
    CONSTRAINTS_NOT_SATISFIED = "constraints_not_satisfied"
    SETTINGS_CHANGED = "settings_changed"
    RECORDS_MISSING = "records_missing"
    HISTORY_MISSING = "history_missing"
    TOO_LARGE = "too_large"
    VERIFICATION_FAILED = "verification_failed"
    ANONYMIZER_FAILED = "anonymizer_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The rows of a window by what happened to them; each row is in exactly one count. Not published."""

    duplicates: int = 0
    released: int = 0
    suppressed: int = 0
    withheld: int = 0
    condensed: int | None = None
    """Points of fragments in which stops were looked for; the other numbers are then of stops, not of rows."""

    nowhere: int = 0
    """Stops for which the vocabulary has no location."""

    @property
    def withheld_instead(self) -> Account:
        """The account of the same window if nothing of it is released."""
        n = self.released + self.suppressed + self.withheld
        return replace(self, released=0, suppressed=0, withheld=n)

    @property
    def rows(self) -> int:
        """Number of all rows."""
        if self.condensed is not None:
            return self.condensed
        return self.duplicates + self.released + self.suppressed + self.withheld


class Released(ABC):
    """One message of a release: of one person, of one of their trajectories, or of a group; of one kind in a release.

    Each model has a type of its own, which writes its own content.
    """

    __slots__ = ()

    properties: ClassVar[Mapping[str, Mapping[str, Any]]]
    """JSON Schema of each field of :meth:`content`, in their order."""

    optional: ClassVar[frozenset[str]] = frozenset()
    """Fields that a message may lack."""

    is_ordered: ClassVar[bool] = True
    """Whether its locations, if it has any, are in the order of visits."""

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
    """Distinct people in the window; None if it would reveal that 1 to k-1 people are not released, or if ``people`` is
    None."""

    people: int | None
    """Distinct people in the release; None if it would reveal that 1 to k-1 people have several trajectories."""

    trajectories: tuple[Released, ...]
    """In the order of their pseudonyms, if they have one."""

    locations: tuple[GeneralizedLocation, ...] | None
    """The generalized locations of a release of sequences."""

    points_released: int
    points_suppressed: int | None
    smallest_support: int
    """Smallest support (k^m) or smallest set, in distinct people, that verification observed; k if ``people`` is
    None."""

    information_loss: dict[str, float | int | None]
    account: Account
    risks: Mapping[Attack, Risk] = field(default_factory=dict)
    """Risks that simulated attacks found; for the operator, never published."""

    compared: Mapping[str, float] = field(default_factory=dict)
    """Loss of each compared model, metres per visit, the chosen one first; for the operator, never published. It is
    measured on raw visits, and could reveal how far away a location is whose only visit was suppressed."""

    extract: LinkageExtract | None = field(default=None, repr=False)
    """What an attack needs that links this release to the next one of the shard; never published."""

    roster: Roster | None = None
    """What later windows have to know of this one; never published."""

    @property
    def counts(self) -> dict[str, float | int | None]:
        """The published numbers of the release, beside its information loss."""
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
    """A window of which nothing is released."""

    release_id: str
    key: WindowKey
    model: str
    parameters: dict[str, float | int | str]
    reason: WithholdReason
    account: Account
    roster: Roster | None = None
    """What later windows have to know of this one; never published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRefused(Withheld):
    """Verification found that the candidate breaks its guarantee. The window is withheld; an operator must look."""

    reason: WithholdReason = field(default=WithholdReason.VERIFICATION_FAILED, init=False)
    finding: str
    """What the verifier counted; contains no location and no user."""


Outcome = Release | Withheld | ReleaseRefused
