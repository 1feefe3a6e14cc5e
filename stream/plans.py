"""Plans: from the settings of one kind of feed to all that decides what is released of its windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

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
from stream.digests import digest, file_digest
from stream.profiles import hierarchy_files
from stream.semantics import generalizer, semantic_files, sensitive_locations
from stream.settings import KindSettings, PrivacySettings, Settings, SettingsError
from stream.settings.values import show_duration

__all__ = ["build_plan"]

_OF_PROFILES = ("attributes", "sensitive_field", "sensitive_values")


def build_plan(
    settings: Settings,
    own: KindSettings,
    locator: Locator,
    *,
    secret: bytes,
    vocabulary: str,
    profile: Profile | None,
    trees: Mapping[str, Categories],
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

    Raises:
        SettingsError: A file does not fit.
    """
    privacy, limits = own.privacy, settings.limits
    curbs = Limits(
        points_per_user=limits.points_per_user,
        trajectory_length=limits.trajectory_length or affordable_length(privacy.m),
    )
    # Files are read for what they say before they are hashed: whoever names a wrong one is told which setting does.
    make: Callable[..., Plan] = (
        _fragment_plan(settings, own)
        if own.kind is Kind.FRAGMENTS
        else partial(_checkin_plan(own, locator, profile, trees), locator=locator)
    )
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
    return make(limits=curbs, secret=secret, settings=fingerprint)


def _fragment_plan(settings: Settings, own: KindSettings) -> Callable[..., Plan]:
    model, trajectories = colocator(own.privacy), settings.trajectories
    return partial(
        PointPlan,
        guarantee=KDelta(k=own.privacy.k, delta_m=own.privacy.delta_m, personal=model.personal),
        colocator=model,
        joining=Joining(
            max_speed_m_s=trajectories.max_speed_m_s,
            max_gap_ms=trajectories.max_gap,
            step_ms=trajectories.resample,
        ),
    )


def _checkin_plan(
    own: KindSettings, locator: Locator, profile: Profile | None, trees: Mapping[str, Categories]
) -> Callable[..., Plan]:
    privacy = own.privacy
    match privacy.model:
        case "lm-anon" | "zga" | "sga":
            return partial(
                ClusterPlan,
                guarantee=KLmDiversity(k=privacy.k, l=privacy.l, m=privacy.m),
                organizer=_organizer(privacy),
                sensitive=sensitive_locations(own, locator),
            )
        case "lkc":
            return _pair_plan(privacy, profile)
        case "rum-bound" | "tum-bound":
            return _attribute_plan(own, locator, profile, trees)
        case "disassociation":
            return _set_plan(privacy)
        case "p2ka":
            guarantee = PatternPreservingK(k=privacy.k, alike=privacy.alike)
            return partial(PatternPlan, guarantee=guarantee, known_places=privacy.m)
        case _:
            km = KmAnonymity(k=privacy.k, m=privacy.m)
            return partial(SequencePlan, guarantee=km, generalizer=generalizer(own, locator))


def _organizer(privacy: PrivacySettings) -> Organizer:
    clusters = Clusters(number=privacy.clusters)
    if privacy.model == "sga":
        return SGA(clusters, privacy.key_patterns)
    return ZGA(clusters) if privacy.model == "zga" else LmAnon()


def _pair_plan(privacy: PrivacySettings, profile: Profile | None) -> Callable[..., Plan]:
    try:
        slots = Slots(granularity_ms=privacy.time_slot, cycle=Cycle(privacy.slots_of))
    except ValueError:
        raise SettingsError(
            f"privacy.time_slot is {show_duration(privacy.time_slot)}: it must be at least 1s, and divide a day where "
            "privacy.slots_of is day"
        ) from None
    return partial(
        PairPlan,
        guarantee=LKCPrivacy(l=privacy.m, k=privacy.k, c=privacy.max_confidence),
        slots=slots,
        options=LKCOptions(utility=Utility(privacy.spare)),
        profile=profile,
        sensitive_field=privacy.sensitive_field,
    )


def _attribute_plan(
    own: KindSettings, locator: Locator, profile: Profile | None, trees: Mapping[str, Categories]
) -> Callable[..., Plan]:
    privacy = own.privacy
    if profile is None or not privacy.attributes:
        raise SettingsError(
            f"privacy.attributes is not set: privacy.model {privacy.model} releases attributes of people; name them, "
            "such as age: 0..120"
        )
    sensitive = sensitive_locations(own, locator)
    return partial(
        AttributePlan,
        guarantee=KKmAnonymity(k=privacy.k, m=privacy.m, l=privacy.l if sensitive else None),
        options=RTOptions(
            bound="ncp" if privacy.model == "rum-bound" else "ul", delta=privacy.max_loss, merge=privacy.merge
        ),
        profile=profile,
        schema=tuple(_attribute(one, trees) for one in profile.attributes if one.name in privacy.attributes),
        sensitive=sensitive,
    )


def _attribute(told: Numeric | Categorical, trees: Mapping[str, Categories]) -> Attribute:
    if isinstance(told, Numeric):
        # A range of one value has no loss, but a length it needs.
        return NumericAttribute(name=told.name, low=told.low, high=max(told.high, told.low + 1))
    return CategoricalAttribute(name=told.name, hierarchy=Hierarchy(trees[told.name]))


def _set_plan(privacy: PrivacySettings) -> Callable[..., Plan]:
    options = DisassociationOptions(largest_cluster=privacy.largest_cluster, rare_locations=privacy.rare_locations)
    try:
        options.largest(privacy.k)
    except ValueError:
        raise SettingsError(
            f"privacy.largest_cluster is {privacy.largest_cluster}: with privacy.k {privacy.k} it must be at least "
            f"{2 * privacy.k - 1}, or none"
        ) from None
    return partial(SetPlan, guarantee=DisassociatedKm(k=privacy.k, m=privacy.m), options=options)
