"""Checks across settings: what each of them allows, but not together."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from core.records import POINT, CheckIn, Kind
from stream.settings.secret import HOW_TO_MAKE_ONE
from stream.settings.sections import (
    CheckInModel,
    FieldSettings,
    FragmentModel,
    KindSettings,
    LimitSettings,
    MetricsSettings,
    PrivacySettings,
    TopicSettings,
    WebSettings,
)
from stream.settings.values import show_duration, show_instant, show_size

if TYPE_CHECKING:
    from stream.settings.model import Settings

__all__ = [
    "NO_KEY_IS_SET",
    "SettingsError",
    "check_always",
    "check_attributes",
    "check_kind",
    "check_ports",
    "check_resampling",
    "check_sizes",
]


NO_KEY_IS_SET = (
    "privacy.secret is not set: set SHOAL_PRIVACY__SECRET to at least 16 random characters, the same for every worker "
    f"({HOW_TO_MAKE_ONE})"
)


class SettingsError(Exception):
    """A setting is wrong; the message is a sentence that says which, what it is, and what is allowed."""


_MODELS: dict[Kind, tuple[str, ...]] = {
    Kind.CHECKINS: get_args(CheckInModel),
    Kind.FRAGMENTS: get_args(FragmentModel),
}
"""Models of each kind of feed, the default first."""

_WITH_SENSITIVE_LOCATIONS = ("lm-anon", "zga", "sga", "rum-bound", "tum-bound")
"""Models that bound what is learnt of sensitive locations."""


def check_kind(settings: KindSettings) -> None:
    """Check that the sections of one kind of feed fit it and one another."""
    kind, privacy, location = settings.kind, settings.privacy, settings.location
    hop, size = settings.window.hop, settings.window.size
    if hop is not None and hop != size:
        raise SettingsError(
            f"window.hop is {show_duration(hop)} and window.size {show_duration(size)}: windows that overlap would "
            "release one visit several times, and nothing is guaranteed of two releases together: leave window.hop out"
        )
    if privacy.model is not None and privacy.model not in _MODELS[kind]:
        allowed = " or ".join(_MODELS[kind])
        raise SettingsError(
            f"privacy.model is {privacy.model}: {kind} allow {allowed} (set {kind}.privacy.model for one feed alone)"
        )
    if privacy.model == "u-seqanon" and privacy.constraints is None:
        raise SettingsError(
            "privacy.constraints is not set: privacy.model u-seqanon needs level:N of the taxonomy, "
            "or a CSV with location,constraint"
        )
    if kind is Kind.CHECKINS and privacy.sensitive_locations and privacy.model not in _WITH_SENSITIVE_LOCATIONS:
        raise SettingsError(
            f"privacy.sensitive_locations is set: privacy.model {privacy.model or _MODELS[kind][0]} does not protect "
            f"them; {', '.join(_WITH_SENSITIVE_LOCATIONS)} do"
        )
    if privacy.taxonomy != "own" and location.kind != "venues":
        raise SettingsError(
            f"privacy.taxonomy is a file: it goes with location.kind venues, whose file has a category, "
            f"not {location.kind}"
        )
    if kind is Kind.FRAGMENTS and settings.window.size % privacy.time_step:
        raise SettingsError(
            f"privacy.time_step is {show_duration(privacy.time_step)}: it must divide window.size, "
            f"{show_duration(settings.window.size)}, so that released time stamps stay inside their window"
        )
    if kind is Kind.FRAGMENTS and privacy.model == "nwa":
        _check_granularity(privacy, settings.window.size)
    elif kind is Kind.FRAGMENTS and privacy.chunk_size is not None and privacy.chunk_size < 2 * privacy.k:
        raise SettingsError(
            f"privacy.chunk_size is {privacy.chunk_size}: it must be at least twice privacy.k, {privacy.k}, or none"
        )
    if kind is Kind.CHECKINS and location.kind == "venues" and location.venues_file is None:
        raise SettingsError("location.venues_file is not set: location.kind venues needs a CSV with venue,lat,lon")
    if location.kind != "grid" and location.area is not None:
        raise SettingsError(f"location.area is set: it goes with location.kind grid, not {location.kind}")


def _check_granularity(privacy: PrivacySettings, window_ms: int) -> None:
    granularity = show_duration(privacy.granularity)
    if privacy.granularity % privacy.time_step:
        raise SettingsError(
            f"privacy.granularity is {granularity}: it must be a multiple of privacy.time_step, "
            f"{show_duration(privacy.time_step)}"
        )
    if window_ms % privacy.granularity:
        raise SettingsError(
            f"privacy.granularity is {granularity}: it must divide window.size, {show_duration(window_ms)}"
        )


def check_resampling(settings: KindSettings, limits: LimitSettings) -> None:
    """Check that resampled trajectories stay inside their window, and no longer than one user's may be."""
    step, size = settings.trajectories.resample, settings.window.size
    if settings.kind is not Kind.FRAGMENTS or step is None:
        return
    if size % step:
        raise SettingsError(
            f"trajectories.resample is {show_duration(step)}: it must divide window.size, {show_duration(size)}, "
            "so that times stay inside their window"
        )
    if size // step > limits.points_per_user:
        raise SettingsError(
            f"trajectories.resample is {show_duration(step)}, which makes up to {size // step} points of one person in "
            f"a window: limits.points_per_user allows {limits.points_per_user}"
        )


def check_attributes(settings: KindSettings, fields: FieldSettings) -> None:
    """Check that what check-ins tell of their person has fields of its own, and that what is sensitive is said."""
    privacy = settings.privacy
    field, values = privacy.sensitive_field, privacy.sensitive_values
    if settings.kind is not Kind.CHECKINS:
        return
    if field is not None and not values:
        raise SettingsError(
            f"privacy.sensitive_values is empty: privacy.sensitive_field, {field!r}, needs the values that "
            "are sensitive"
        )
    if values and field is None:
        raise SettingsError("privacy.sensitive_field is not set: privacy.sensitive_values are values of it")
    if len(set(values)) < len(values):
        raise SettingsError(
            f"privacy.sensitive_values are {len(values)}, of which {len(set(values))} differ: "
            "every value must stand there once"
        )
    if field in privacy.attributes:
        raise SettingsError(
            f"privacy.sensitive_field is {field!r}: it must not be one of privacy.attributes, for whoever attacks may "
            "know those"
        )
    taken = {getattr(fields, name): name for name in CheckIn.__struct_fields__}
    for setting, names in (("privacy.attributes", privacy.attributes), ("privacy.sensitive_field", [field])):
        for name in names:
            if name in taken:
                raise SettingsError(
                    f"{setting} has {name!r}, which is fields.{taken[name]}: name another field, or, where nothing "
                    f"needs it, set fields.{taken[name]} to a name that does not occur"
                )


def _check_topics(topics: TopicSettings) -> None:
    """Check that every topic has a name of its own, in Kafka's eyes too: its metrics write ``.`` as ``_``."""
    named: dict[str, tuple[str, str]] = {}
    for setting, topic in topics:
        if not topic:
            continue
        other, alike = named.setdefault(topic.replace(".", "_"), (setting, topic))
        if other == setting:
            continue
        if alike == topic:
            raise SettingsError(
                f"topics.{other} and topics.{setting} are both {topic!r}: every topic needs a name of its own"
            )
        raise SettingsError(
            f"topics.{other} is {alike!r} and topics.{setting} is {topic!r}: Kafka does not create two topics whose "
            "names differ only in '.' and '_'; name one of them otherwise"
        )


def check_sizes(settings: Settings) -> None:
    """Check that what is sent fits into what is taken."""
    limits, chunk_bytes = settings.limits, settings.ingest.chunk_bytes
    needed = limits.points_per_fragment * POINT.itemsize
    if Kind.FRAGMENTS in settings.kinds and needed > chunk_bytes:
        # The points of one fragment stay together, so they have to fit in one message of the shards topic.
        raise SettingsError(
            f"limits.points_per_fragment is {limits.points_per_fragment}, which takes {needed} bytes: it must fit in "
            f"ingest.chunk_bytes, {show_size(chunk_bytes)} ({POINT.itemsize} bytes a point)"
        )
    if chunk_bytes > limits.message_bytes:
        raise SettingsError(
            f"ingest.chunk_bytes is {show_size(chunk_bytes)}: it must be at most limits.message_bytes, "
            f"{show_size(limits.message_bytes)}, the longest message that the brokers take"
        )


def check_ports(metrics: MetricsSettings, web: WebSettings) -> None:
    """Check that metrics and page have a port each."""
    hosts = {host.lower().replace("localhost", "127.0.0.1") for host in (metrics.host, web.host)}
    if metrics.port == web.port and (len(hosts) == 1 or hosts & {"0.0.0.0", "::"}):  # noqa: S104 - read, not bound
        raise SettingsError(
            f"metrics.port and web.port are both {web.port} (at {metrics.host} and {web.host}): each needs one of its "
            "own, for they are for different people"
        )


def check_always(settings: Settings) -> None:
    """Check what is wrong whatever the settings are used for."""
    if settings.checkins.privacy.demands_file is not None:
        raise SettingsError(
            f"checkins.privacy.demands_file is {settings.checkins.privacy.demands_file}: only users of fragments make "
            "demands of their own; set privacy.demands_file or fragments.privacy.demands_file"
        )
    of_fragments = settings.fragments.privacy
    for name in ("attributes", "sensitive_field", "sensitive_values"):
        if getattr(of_fragments, name):
            raise SettingsError(
                f"fragments.privacy.{name} is set: only check-ins tell something of their person; set "
                f"privacy.{name} or checkins.privacy.{name}"
            )
    _check_topics(settings.topics)
    if settings.time.earliest >= settings.time.latest:
        earliest, latest = show_instant(settings.time.earliest), show_instant(settings.time.latest)
        raise SettingsError(f"time.earliest is {earliest}: it must be before time.latest, {latest}")
    named: dict[str, str] = {}
    for field, name in settings.fields:
        if name in named:
            raise SettingsError(
                f"fields.{named[name]} and fields.{field} are both {name!r}: every field needs a name of its own"
            )
        named[name] = field
