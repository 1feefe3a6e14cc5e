"""Plans: from the settings of one kind of feed to all that decides what is released of its windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from core.anonymize.disassociation.disassociate import DisassociationOptions
from core.anonymize.klm.organize import Clusters
from core.anonymize.lkc.suppress import LKCOptions, Utility
from core.anonymize.rt.result import RTOptions
from core.assemble import Limits, affordable_length
from core.attributes import Attribute, CategoricalAttribute, Hierarchy, NumericAttribute
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
from core.locate import Locator
from core.organize import SGA, ZGA, LmAnon, Organizer
from core.pairs import Cycle, Slots
from core.plan import AttributePlan, ClusterPlan, PairPlan, PatternPlan, Plan, PointPlan, SequencePlan, SetPlan
from core.profile import Categorical, Numeric, Profile
from core.records import Kind
from core.taxonomy import Categories
from stream.colocation import colocator
from stream.profiles import hierarchy_files
from stream.semantics import generalizer, semantic_files, sensitive_locations
from stream.settings import KindSettings, PrivacySettings, Settings, SettingsError
from stream.settings.values import show_duration

__all__ = ["build_plan"]

_OF_CLUSTERS = ("lm-anon", "zga", "sga")
_OF_ATTRIBUTES = ("rum-bound", "tum-bound")
_WITH_SENSITIVE = (*_OF_CLUSTERS, *_OF_ATTRIBUTES)
_OF_PROFILES = ("attributes", "sensitive_field", "sensitive_values")


def build_plan(  # noqa: PLR0911 - one for each family
    settings: Settings,
    own: KindSettings,
    locator: Locator,
    *,
    secret: bytes,
    vocabulary: str,
    profile: Profile | None,
    trees: Mapping[str, Categories],
    digest: Callable[..., str],
    file_digest: Callable[[Path | None], str],
) -> Plan:
    """Build the plan of one kind of feed by its model.

    Args:
        settings: All settings.
        own: Those of this kind, overrides applied.
        locator: Its vocabulary of locations.
        secret: Key of releases.
        vocabulary: Digest of what located the records.
        profile: What records tell of their person.
        trees: Hierarchies of its attributes, by name.
        digest: Makes a short digest of plain data.
        file_digest: Makes one of a file.

    Raises:
        SettingsError: A file does not fit.
    """
    privacy, limits = own.privacy, settings.limits
    curbs = Limits(
        points_per_user=limits.points_per_user,
        trajectory_length=limits.trajectory_length or affordable_length(privacy.m),
    )
    # Before any file is digested: where one cannot be read, this says which setting names it.
    meant = generalizer(own, locator) if own.kind is Kind.CHECKINS else None
    sensitive = sensitive_locations(own, locator) if privacy.model in _WITH_SENSITIVE else frozenset()
    files = [*semantic_files(own), *hierarchy_files(own)]
    named = (privacy.taxonomy, privacy.constraints)
    fingerprint = digest(
        vocabulary,
        own.window.size,
        # Not what users demand by default: rows in their window carry what they were given. The profile is part of the
        # vocabulary.
        privacy.model_dump(mode="json", exclude={"secret", "taxonomy", "constraints", "demands_file", *_OF_PROFILES}),
        ["file" if name is not None and Path(name) in files else name for name in named],
        [file_digest(file) for file in files],
        limits.points_per_user,
        curbs.trajectory_length,
        *([settings.trajectories.model_dump(mode="json")] if own.kind is Kind.FRAGMENTS else []),
    )
    common: dict[str, Any] = {"limits": curbs, "secret": secret, "settings": fingerprint}
    if meant is None:
        return _point_plan(settings, own, common)
    common |= {"locator": locator}
    if privacy.model in _OF_CLUSTERS:
        return ClusterPlan(
            guarantee=KLmDiversity(k=privacy.k, l=privacy.l, m=privacy.m),
            organizer=_organizer(privacy),
            sensitive=sensitive,
            **common,
        )
    if privacy.model == "lkc":
        return _pair_plan(own, profile, common)
    if privacy.model in _OF_ATTRIBUTES:
        return _attribute_plan(own, profile, trees, sensitive, common)
    if privacy.model == "disassociation":
        return _set_plan(privacy, common)
    if privacy.model == "p2ka":
        guarantee = PatternPreservingK(k=privacy.k, alike=privacy.alike)
        return PatternPlan(guarantee=guarantee, known_places=privacy.m, **common)
    return SequencePlan(
        guarantee=KmAnonymity(k=privacy.k, m=privacy.m),
        generalizer=meant,
        **common,
    )


def _organizer(privacy: PrivacySettings) -> Organizer:
    clusters = Clusters(number=privacy.clusters)
    if privacy.model == "sga":
        return SGA(clusters, privacy.key_patterns)
    return ZGA(clusters) if privacy.model == "zga" else LmAnon()


def _pair_plan(own: KindSettings, profile: Profile | None, common: dict[str, Any]) -> PairPlan:
    privacy = own.privacy
    try:
        slots = Slots(granularity_ms=privacy.time_slot, cycle=Cycle(privacy.slots_of))
    except ValueError:
        raise SettingsError(
            f"privacy.time_slot is {show_duration(privacy.time_slot)}: it must be at least 1s, and divide a day where "
            "privacy.slots_of is day"
        ) from None
    return PairPlan(
        guarantee=LKCPrivacy(l=privacy.m, k=privacy.k, c=privacy.max_confidence),
        slots=slots,
        options=LKCOptions(utility=Utility(privacy.spare)),
        profile=profile,
        sensitive_field=privacy.sensitive_field,
        **common,
    )


def _attribute_plan(
    own: KindSettings,
    profile: Profile | None,
    trees: Mapping[str, Categories],
    sensitive: frozenset[str],
    common: dict[str, Any],
) -> AttributePlan:
    privacy = own.privacy
    if profile is None or not privacy.attributes:
        raise SettingsError(
            f"privacy.attributes is not set: privacy.model {privacy.model} releases attributes of people; name them, "
            "such as age: 0..120"
        )
    own_attributes = {one.name: one for one in profile.attributes if one.name in privacy.attributes}
    return AttributePlan(
        guarantee=KKmAnonymity(k=privacy.k, m=privacy.m, l=privacy.l if sensitive else None),
        options=RTOptions(
            bound="ncp" if privacy.model == "rum-bound" else "ul", delta=privacy.max_loss, merge=privacy.merge
        ),
        profile=profile,
        schema=tuple(_attribute(one, trees) for one in own_attributes.values()),
        sensitive=sensitive,
        **common,
    )


def _attribute(told: Numeric | Categorical, trees: Mapping[str, Categories]) -> Attribute:
    if isinstance(told, Numeric):
        return NumericAttribute(name=told.name, low=told.low, high=max(told.high, told.low + 1))
    return CategoricalAttribute(name=told.name, hierarchy=Hierarchy(trees[told.name]))


def _set_plan(privacy: PrivacySettings, common: dict[str, Any]) -> SetPlan:
    options = DisassociationOptions(largest_cluster=privacy.largest_cluster, rare_locations=privacy.rare_locations)
    try:
        options.largest(privacy.k)
    except ValueError:
        raise SettingsError(
            f"privacy.largest_cluster is {privacy.largest_cluster}: with privacy.k {privacy.k} it must be at least "
            f"{2 * privacy.k - 1}, or none"
        ) from None
    return SetPlan(guarantee=DisassociatedKm(k=privacy.k, m=privacy.m), options=options, **common)


def _point_plan(settings: Settings, own: KindSettings, common: dict[str, Any]) -> PointPlan:
    model, trajectories = colocator(own.privacy), settings.trajectories
    return PointPlan(
        guarantee=KDelta(k=own.privacy.k, delta_m=own.privacy.delta_m, personal=model.personal),
        colocator=model,
        joining=Joining(
            max_speed_m_s=trajectories.max_speed_m_s,
            max_gap_ms=trajectories.max_gap,
            step_ms=trajectories.resample,
        ),
        **common,
    )
