"""The plan of one kind of feed, from its settings: everything that determines what is released of its windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from core.models.common.plan import Plan
from core.models.common.settings import ModelSettingsError, PlanInputs
from core.models.registry import family_of, models_of
from core.places.locate import Locator
from core.places.shard_cells import ShardCells
from core.places.taxonomy import Categories
from core.records.profile import Profile
from core.records.record import Kind
from core.trajectories.assemble import Limits, affordable_length
from core.trajectories.joining import Joining
from core.trajectories.stops import StopRule
from stream.feeds.attributes import hierarchy_files
from stream.feeds.constraints import build_constraints, constraint_level
from stream.feeds.digests import digest, file_digest
from stream.feeds.noise import check_noise
from stream.feeds.place_categories import taxonomy_file
from stream.feeds.sensitive_locations import sensitive_locations
from stream.feeds.taxonomies import build_taxonomy
from stream.formats.release.avro_schemas import fingerprint
from stream.settings.errors import SettingsError
from stream.settings.feeds import ShardSettings
from stream.settings.kinds import KindSettings
from stream.settings.model import Settings

__all__ = ["build_plan"]

_PROFILE_SETTINGS = ("attributes", "sensitive_field", "sensitive_values")


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
        own: Settings of this kind of feed, overrides applied.
        locator: The vocabulary of locations.
        secret: Key of releases.
        vocabulary: Digest of the settings and files by which records are located.
        profile: The attributes of a person that records carry.
        trees: Hierarchies of these attributes, by name.

    Raises:
        SettingsError: A file does not fit.
    """
    privacy, limits, trajectories = own.privacy, settings.limits, settings.trajectories
    model = privacy.model or models_of(own.kind)[0]
    inputs = PlanInputs(
        model=model,
        k=privacy.k,
        m=privacy.m,
        l=privacy.l,
        delta_m=privacy.delta_m,
        limits=Limits(
            points_per_user=limits.points_per_user,
            trajectory_length=limits.trajectory_length or affordable_length(privacy.m),
        ),
        secret=secret,
        locator=locator,
        profile=profile,
        attributes=tuple(privacy.attributes),
        sensitive_field=privacy.sensitive_field,
        hierarchies=trees,
        joining=Joining(
            max_speed_m_s=trajectories.max_speed_m_s,
            max_gap_ms=trajectories.max_gap,
            step_ms=trajectories.resample,
        ),
        window_ms=own.window.size,
        taxonomy=partial(build_taxonomy, own, locator),
        constraints=partial(build_constraints, own, locator),
        sensitive_locations=partial(sensitive_locations, own, locator),
    )
    # Files are read before they are hashed, so that the error of a wrong file names its setting.
    try:
        plan: Plan = family_of(model).plan(privacy, inputs)
    except ModelSettingsError as fault:
        raise SettingsError(str(fault)) from None
    if plan.noise is not None:
        if own.shard.finest_resolution is not None:
            raise SettingsError(
                f"privacy.noise is laplace and shard.finest_resolution is {own.shard.finest_resolution}: which regions "
                "a window is divided into depends on its people; set shard.finest_resolution to none"
            )
        check_noise(plan.noise)
    return replace(
        plan,
        settings=_fingerprint(settings, own, vocabulary, inputs.limits),
        shard_cells=_shard_cells(own.shard),
        stop_rule=_stop_rule(own) if own.kind is Kind.STOPS else None,
    )


def _stop_rule(own: KindSettings) -> StopRule:
    return StopRule(
        radius_m=own.stops.radius_m,
        min_duration_ms=own.stops.min_duration,
        max_gap_ms=own.stops.max_gap,
        by_place=own.location.kind == "regions",
    )


def _shard_cells(shard: ShardSettings) -> ShardCells | None:
    if shard.finest_resolution is None:
        return None
    return ShardCells(finest=shard.finest_resolution, coarsest=shard.h3_resolution)


def _fingerprint(settings: Settings, own: KindSettings, vocabulary: str, bounds: Limits) -> str:
    """Return the digest of the settings that decide what is released."""
    privacy = own.privacy
    files = [*_semantic_files(own), *(("privacy.attributes", file) for file in hierarchy_files(own))]
    paths = {file for _, file in files}
    named = (privacy.taxonomy, privacy.constraints)
    return digest(
        vocabulary,
        own.window.size,
        # Default demands are left out, because the rows of a window carry them. The profile is part of the
        # vocabulary.
        privacy.model_dump(
            mode="json",
            exclude={"secret", "secret_file", "taxonomy", "constraints", "demands_file", *_PROFILE_SETTINGS},
        ),
        ["file" if name is not None and Path(name) in paths else name for name in named],
        [file_digest(file, setting) for setting, file in files],
        bounds.points_per_user,
        bounds.trajectory_length,
        *([settings.trajectories.model_dump(mode="json")] if own.kind is Kind.FRAGMENTS else []),
        *([_stop_rule(own)] if own.kind is Kind.STOPS else []),
        # A window that is emitted again has the same bytes. JSON is the default, and is what earlier versions wrote.
        *([own.release.encoding] if own.release.encoding != "json" else []),
        *([own.shard.finest_resolution] if own.shard.finest_resolution is not None else []),
        *([fingerprint()] if own.release.encoding == "avro" else []),
    )


def _semantic_files(settings: KindSettings) -> list[tuple[str, Path]]:
    """Return the files that decide how locations are generalized, each with the setting that names it.

    Their content is part of a release's settings.
    """
    privacy = settings.privacy
    named = [("privacy.taxonomy", taxonomy_file(privacy)), ("privacy.constraints", privacy.constraints)]
    return [
        (setting, Path(name)) for setting, name in named if name is not None and constraint_level(str(name)) is None
    ]
