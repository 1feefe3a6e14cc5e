"""The one settings object."""

from __future__ import annotations

import json
from typing import Any, Self, TypeVar

from pydantic_settings import BaseSettings, SettingsConfigDict

from core.records.record import Kind
from stream.formats.presets.registry import preset_settings
from stream.settings.checks import (
    NO_KEY_IS_SET,
    check_attributes,
    check_encoding,
    check_encodings,
    check_input,
    check_kind,
    check_ports,
    check_resampling,
    check_sizes,
)
from stream.settings.credentials import check_credentials, tls_context
from stream.settings.errors import SettingsError
from stream.settings.feeds import (
    IngestSettings,
    LimitSettings,
    LocationSettings,
    ShardSettings,
    StopRuleSettings,
    TrajectorySettings,
    WindowSettings,
)
from stream.settings.input import FieldSettings, FileSettings, InputSettings, TimeSettings
from stream.settings.kafka import KafkaSettings, TopicSettings
from stream.settings.kinds import KindSettings, OverrideSettings, ReleaseOverrideSettings, StopSettings
from stream.settings.privacy import PrivacySettings
from stream.settings.registry import RegistrySettings
from stream.settings.registry_access import check_registry
from stream.settings.release import ReleaseSettings
from stream.settings.section import Section
from stream.settings.service import (
    LogSettings,
    MetricsSettings,
    TelemetrySettings,
    WebSettings,
    WorkerSettings,
    check_telemetry,
)

__all__ = ["Settings"]


class Settings(BaseSettings):
    """Everything that can be set. ``checkins``, ``fragments`` and ``stops`` override sections for one kind of feed."""

    model_config = SettingsConfigDict(env_prefix="SHOAL_", env_nested_delimiter="__", extra="forbid", frozen=True)
    kafka: KafkaSettings = KafkaSettings()
    topics: TopicSettings = TopicSettings()
    registry: RegistrySettings = RegistrySettings()
    fields: FieldSettings = FieldSettings()
    input: InputSettings = InputSettings()
    time: TimeSettings = TimeSettings()
    files: FileSettings = FileSettings()
    location: LocationSettings = LocationSettings()
    shard: ShardSettings = ShardSettings()
    window: WindowSettings = WindowSettings()
    trajectories: TrajectorySettings = TrajectorySettings()
    privacy: PrivacySettings = PrivacySettings()
    release: ReleaseSettings = ReleaseSettings()
    limits: LimitSettings = LimitSettings()
    ingest: IngestSettings = IngestSettings()
    metrics: MetricsSettings = MetricsSettings()
    web: WebSettings = WebSettings()
    logs: LogSettings = LogSettings()
    worker: WorkerSettings = WorkerSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    checkins: OverrideSettings = OverrideSettings()
    fragments: OverrideSettings = OverrideSettings()
    stops: StopSettings = StopSettings()

    def for_kind(self, kind: Kind) -> KindSettings:
        """Apply the overrides of one kind of feed.

        Raises:
            SettingsError: The sections do not fit the kind or one another.
        """
        overrides: ReleaseOverrideSettings = getattr(self, kind.value)
        fields, form, time = self._input(kind.input_kind)
        resolved = KindSettings(
            kind=kind,
            fields=fields,
            input=form,
            time=time,
            location=self.location_of(kind),
            shard=_overlaid(self.shard, overrides.shard),
            window=_overlaid(self.window, overrides.window),
            trajectories=self.trajectories,
            stops=self.stops,
            privacy=_overlaid(self.privacy, overrides.privacy).model_copy(update=_ABSENT.get(kind, {})),
            release=_overlaid(self.release, overrides.release),
        )
        check_kind(resolved)
        check_encoding(resolved)
        check_resampling(resolved, self.limits)
        check_attributes(resolved)
        return resolved

    def location_of(self, kind: Kind) -> LocationSettings:
        """Return the vocabulary of one kind of feed, overrides applied, whatever its other sections are."""
        overrides: ReleaseOverrideSettings = getattr(self, kind.value)
        own = _overlaid(self.location, overrides.location)
        # All that read the same records must refuse the same ones.
        return (
            own if kind.input_kind is kind else own.model_copy(update={"zero": self.location_of(kind.input_kind).zero})
        )

    def check_input(self, kind: Kind) -> None:
        """Check the sections that say how one kind of feed is read.

        Args:
            kind: A kind of :data:`core.records.record.INPUT_KINDS`.

        Raises:
            SettingsError: They do not fit one another.
        """
        check_input(*self._input(kind))

    def _input(self, kind: Kind) -> tuple[FieldSettings, InputSettings, TimeSettings]:
        """Return the sections that say how a feed is read: a preset gives way to everything that is set."""
        overrides: OverrideSettings = getattr(self, kind.value)
        given = {name: _overlaid(getattr(self, name), getattr(overrides, name)) for name in ("fields", "input", "time")}
        if (name := given["input"].preset) is not None:
            for section, values in preset_settings(name, kind).items():
                set_already = getattr(self, section).model_fields_set | getattr(overrides, section).model_fields_set
                missing = {setting: value for setting, value in values.items() if setting not in set_already}
                given[section] = given[section].model_copy(update=missing)
        return given["fields"], given["input"], given["time"]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of feed that are released: their input topic has a name, and stops are asked for."""
        asked = {"none": (Kind.CHECKINS, Kind.FRAGMENTS), "only": (Kind.CHECKINS, Kind.STOPS)}
        wanted = asked.get(self.stops.of_fragments, tuple(Kind))
        return tuple(kind for kind in wanted if getattr(self.topics, kind.input_kind.value))

    def check_feeds(self) -> None:
        """Check that there is a feed.

        Raises:
            SettingsError: No input topic is named.
        """
        if not self.kinds:
            raise SettingsError("topics.checkins and topics.fragments are both empty: at least one must be named")

    def checked(self) -> Self:
        """Check the settings of every feed that is read, and those that a worker needs.

        Raises:
            SettingsError: A setting is wrong, or the secret is missing.
        """
        self.check_feeds()
        check_sizes(self.kinds, self.limits, self.ingest)
        check_ports(self.metrics, self.web)
        check_credentials(self.kafka)
        tls_context(self.kafka)
        check_registry(self.registry)
        check_telemetry(self.telemetry)
        feeds = [self.for_kind(kind) for kind in self.kinds]
        if any(feed.privacy.secret is None for feed in feeds):
            raise SettingsError(NO_KEY_IS_SET)
        check_encodings(feeds, self.registry)
        return self

    def masked(self) -> dict[str, Any]:
        """Return the settings as plain data, secrets masked, for printing."""
        shown: dict[str, Any] = json.loads(self.model_dump_json())
        for kind in Kind:  # only overrides that are set: a default would look like an override
            shown[kind] = json.loads(getattr(self, kind).model_dump_json(exclude_unset=True))
        rule = json.loads(self.stops.model_dump_json(include=set(StopRuleSettings.model_fields)))
        shown[Kind.STOPS] = rule | shown[Kind.STOPS]
        return {str(name): section for name, section in shown.items()}


_ABSENT: dict[Kind, dict[str, Any]] = {
    Kind.STOPS: {"attributes": {}, "sensitive_field": None, "sensitive_values": (), "demands_file": None},
}
"""Settings that have no effect on a kind of feed, whatever they are for all kinds: fragments have no attributes of
their person, and the models of check-ins know no demands."""

_S = TypeVar("_S", bound=Section)


def _overlaid(base: _S, over: _S) -> _S:
    return base.model_copy(update={name: getattr(over, name) for name in over.model_fields_set})
