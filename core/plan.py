"""Plans: all that decides what is released from the windows of one kind of feed, beside their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import h3
import numpy as np
import pyproj

from core.anonymize.disassociation.disassociate import DisassociationOptions
from core.anonymize.lkc.suppress import LKCOptions
from core.anonymize.rt.result import RTOptions
from core.assemble import Limits
from core.attributes import Schema
from core.colocate import Colocator
from core.generalize import Generalizer
from core.guarantees import (
    DisassociatedKm,
    KDelta,
    KKmAnonymity,
    KLmDiversity,
    KmAnonymity,
    LKCPrivacy,
    PatternPreservingK,
)
from core.joining import Joining
from core.keys import check_key
from core.locate import Locator
from core.organize import Organizer
from core.pairs import Slots
from core.profile import Categorical, Profile
from core.release import (
    Account,
    GeneralizedLocation,
    Headcount,
    Release,
    Released,
    ReleaseRefused,
    Withheld,
    WithholdReason,
    keyed_id,
)
from core.risk import Attack, Risk
from core.seal import Seal
from core.window import WindowKey

__all__ = [
    "ALGORITHMS",
    "AttributePlan",
    "ClusterPlan",
    "PairPlan",
    "PatternPlan",
    "Plan",
    "PointPlan",
    "SequencePlan",
    "SetPlan",
]

ALGORITHMS = {
    "algorithms": "5",
    "numpy": np.__version__,
    "proj": pyproj.proj_version_str,
    "h3": str(h3.versions()["c"]),
}
"""Versions of all that decides the bytes of a release: where one differs, a replay could differ.

Raise the first whenever the same rows would give other bytes.
"""

Parameters = dict[str, float | int | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlanBase:
    limits: Limits
    secret: bytes = field(repr=False)
    """Key of pseudonyms, release ids and random choices, 16 to 64 bytes."""

    settings: str
    """Digest of the settings behind this plan."""

    def __post_init__(self) -> None:
        check_key(self.secret, "the plan's secret")

    @property
    def model(self) -> str:
        """Name of the anonymizer, as in the settings."""
        raise NotImplementedError

    @property
    def parameters(self) -> Parameters:
        """The promise in numbers, for the windows message."""
        raise NotImplementedError

    @property
    def digest(self) -> str:
        """Digest of the settings, the secret and the algorithms: where it differs, a replay would differ."""
        return keyed_id(self.secret, "plan", self.settings, *ALGORITHMS.values())

    def seal(self, key: WindowKey, last_offset: int, n_rows: int, writer: str) -> Seal:
        """Make the seal of a window; its release id depends on window and plan, not on offset or writer."""
        release_id = keyed_id(self.secret, "release", key.kind, key.shard, key.start_ms, key.end_ms, self.digest)
        return Seal(
            key=key,
            last_offset=last_offset,
            n_rows=n_rows,
            release_id=release_id,
            digest=self.digest,
            writer=writer,
        )

    def release(
        self,
        seal: Seal,
        count: Headcount,
        *,
        trajectories: tuple[Released, ...],
        locations: tuple[GeneralizedLocation, ...] | None,
        points_released: int,
        points_suppressed: int | None,
        information_loss: dict[str, float | int | None],
        account: Account,
        risks: Mapping[Attack, Risk] | None = None,
        compared: Mapping[str, float] | None = None,
    ) -> Release:
        """Let a verified window leave; see :class:`core.release.Release` for each argument.

        Where models were compared, the parameters tell which was chosen, the first of them.
        """
        return Release(
            release_id=seal.release_id,
            key=seal.key,
            model=self.model,
            parameters=self.parameters | ({"chosen": next(iter(compared))} if compared else {}),
            population=count.population,
            people=count.people,
            trajectories=trajectories,
            locations=locations,
            points_released=points_released,
            points_suppressed=points_suppressed,
            smallest_support=count.smallest_support,
            information_loss=information_loss,
            account=account,
            risks=risks or {},
            compared=compared or {},
        )

    def withhold(self, seal: Seal, reason: WithholdReason, *, withheld: int, duplicates: int = 0) -> Withheld:
        """Let nothing of a window leave; ``withheld`` counts its rows, ``duplicates`` left out."""
        return Withheld(
            release_id=seal.release_id,
            key=seal.key,
            model=self.model,
            parameters=self.parameters,
            reason=reason,
            account=Account(withheld=withheld, duplicates=duplicates),
        )

    def refuse(self, seal: Seal, finding: str, *, withheld: int, duplicates: int) -> ReleaseRefused:
        """Let nothing leave because the verifier found what ``finding`` says."""
        return ReleaseRefused(
            release_id=seal.release_id,
            key=seal.key,
            model=self.model,
            parameters=self.parameters,
            finding=finding,
            account=Account(withheld=withheld, duplicates=duplicates),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencePlan(_PlanBase):
    """Check-ins, released as sequences of generalized locations."""

    guarantee: KmAnonymity
    locator: Locator = field(repr=False)
    """The vocabulary that numbered the locations."""

    generalizer: Generalizer

    @property
    def model(self) -> str:
        """Name of the anonymizer, as in the settings."""
        return self.generalizer.model

    @property
    def parameters(self) -> Parameters:
        """The promise in numbers, for the windows message."""
        return {"k": self.guarantee.k, "m": self.guarantee.m, **self.generalizer.parameters}


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternPlan(_PlanBase):
    """Check-ins, released as sequences of locations as they are, where enough people have them in common."""

    guarantee: PatternPreservingK
    locator: Locator = field(repr=False)
    """The vocabulary that numbered the locations."""

    known_places: int
    """How many places of a person a simulated attack knows; the promise does not depend on it."""

    @property
    def model(self) -> str:
        """Name of the anonymizer, as in the settings."""
        return "p2ka"

    @property
    def parameters(self) -> Parameters:
        """The promise in numbers, for the windows message."""
        return {"k": self.guarantee.k, "alike": self.guarantee.alike}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan(_PlanBase):
    """Check-ins, released as sequences of locations that are generalized in clusters of similar people."""

    guarantee: KLmDiversity
    locator: Locator = field(repr=False)
    """The vocabulary that numbered the locations."""

    organizer: Organizer
    sensitive: frozenset[str] = field(repr=False)
    """Names of the sensitive locations."""

    @property
    def model(self) -> str:
        """Name of the anonymizer, as in the settings."""
        return self.organizer.model

    @property
    def parameters(self) -> Parameters:
        """The promise in numbers, for the windows message."""
        promised = {"k": self.guarantee.k, "l": self.guarantee.l, "m": self.guarantee.m}
        return {**promised, "sensitive_locations": len(self.sensitive), **self.organizer.parameters}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPlan(_PlanBase):
    """Check-ins, released as visits with their slots of time, suppressed wherever too few people made them."""

    guarantee: LKCPrivacy
    locator: Locator = field(repr=False)
    """The vocabulary that numbered the locations."""

    slots: Slots
    options: LKCOptions
    profile: Profile | None = None
    """What rows tell of their person."""

    sensitive_field: str | None = None
    """The attribute of it that is sensitive; None where nothing is."""

    @property
    def sensitive_values(self) -> tuple[str, ...]:
        """The values that are sensitive, in the order of their codes."""
        attributes = () if self.profile is None else self.profile.attributes
        named = [one for one in attributes if one.name == self.sensitive_field and isinstance(one, Categorical)]
        return named[0].values if named else ()

    @property
    def model(self) -> str:
        """Name of the anonymizer, as in the settings."""
        return "lkc"

    @property
    def parameters(self) -> Parameters:
        """The promise in numbers, for the windows message."""
        promised = {"l": self.guarantee.l, "k": self.guarantee.k, "c": self.guarantee.c}
        return promised | {"slot_ms": self.slots.granularity_ms, "slots_of": self.slots.cycle.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributePlan(_PlanBase):
    """Check-ins, released as a person's attributes and set of locations, both generalized."""

    guarantee: KKmAnonymity
    locator: Locator = field(repr=False)
    """The vocabulary that numbered the locations."""

    options: RTOptions
    profile: Profile
    """What rows tell of their person."""

    schema: Schema = field(repr=False)
    """The attributes that are released, with their ranges and hierarchies."""

    sensitive: frozenset[str] = field(repr=False)
    """Names of the sensitive locations; used where the guarantee has an l."""

    @property
    def model(self) -> str:
        """Name of the anonymizer, as in the settings."""
        return "rum-bound" if self.options.bound == "ncp" else "tum-bound"

    @property
    def parameters(self) -> Parameters:
        """The promise in numbers, for the windows message."""
        promised: Parameters = {"k": self.guarantee.k, "m": self.guarantee.m}
        if self.guarantee.l is not None:
            promised |= {"l": self.guarantee.l, "sensitive_locations": len(self.sensitive)}
        return promised | {"max_loss": self.options.delta, "merge": self.options.merge}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPlan(_PlanBase):
    """Check-ins, released as sets of locations, of which nothing tells which parts belong to one person."""

    guarantee: DisassociatedKm
    locator: Locator = field(repr=False)
    """The vocabulary that numbered the locations."""

    options: DisassociationOptions

    @property
    def model(self) -> str:
        """Name of the anonymizer, as in the settings."""
        return "disassociation"

    @property
    def parameters(self) -> Parameters:
        """The promise in numbers, for the windows message."""
        promised: Parameters = {"k": self.guarantee.k, "m": self.guarantee.m}
        return promised | {
            "largest_cluster": self.options.largest(self.guarantee.k),
            "rare_locations": self.options.rare_locations,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PointPlan(_PlanBase):
    """Fragments, released as GPS trajectories."""

    guarantee: KDelta
    colocator: Colocator
    joining: Joining = field(default_factory=Joining)
    """Which points can follow one another, and where trajectories are cut."""

    def __post_init__(self) -> None:
        _PlanBase.__post_init__(self)
        if self.guarantee.personal != self.colocator.personal:
            raise ValueError(
                f"guarantee.personal is {self.guarantee.personal}: with {self.colocator.model} it must be "
                f"{self.colocator.personal}"
            )

    @property
    def model(self) -> str:
        """Name of the anonymizer, as in the settings."""
        return self.colocator.model

    @property
    def parameters(self) -> Parameters:
        """The promise in numbers, for the windows message."""
        return {"k": self.guarantee.k, "delta_m": self.guarantee.delta_m, **self.colocator.parameters}


Plan = SequencePlan | ClusterPlan | PatternPlan | PairPlan | AttributePlan | SetPlan | PointPlan
