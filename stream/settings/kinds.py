"""The settings of one kind of feed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from core.records.record import Kind
from stream.settings.feeds import LocationSettings, ShardSettings, StopRuleSettings, TrajectorySettings, WindowSettings
from stream.settings.input import FieldSettings, InputSettings, TimeSettings
from stream.settings.privacy import PrivacySettings
from stream.settings.release import ReleaseSettings
from stream.settings.section import Section

__all__ = ["KindSettings", "OverrideSettings", "ReleaseOverrideSettings", "StopSettings"]


class ReleaseOverrideSettings(Section):
    """Sections about releases that differ for one kind; a setting that is not set here has the value for all kinds."""

    location: LocationSettings = LocationSettings()
    shard: ShardSettings = ShardSettings()
    window: WindowSettings = WindowSettings()
    privacy: PrivacySettings = PrivacySettings()
    release: ReleaseSettings = ReleaseSettings()


class OverrideSettings(ReleaseOverrideSettings):
    """Sections that differ for one kind of feed; a setting that is not set here has the value for all feeds."""

    fields: FieldSettings = FieldSettings()
    input: InputSettings = InputSettings()
    time: TimeSettings = TimeSettings()


class StopSettings(ReleaseOverrideSettings, StopRuleSettings):
    """Where people stop, found in fragments and released by a model of check-ins. How the fragments are read is set for
    fragments."""


class KindSettings(BaseModel):
    """The settings of one kind of feed, overrides applied."""

    model_config = ConfigDict(frozen=True)
    kind: Kind
    fields: FieldSettings
    input: InputSettings
    time: TimeSettings
    location: LocationSettings
    shard: ShardSettings
    window: WindowSettings
    trajectories: TrajectorySettings
    stops: StopRuleSettings
    privacy: PrivacySettings
    release: ReleaseSettings
