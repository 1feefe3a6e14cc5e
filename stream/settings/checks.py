"""Checks that involve several settings: values that are valid alone, but not together."""

from __future__ import annotations

from collections.abc import Collection

import h3

from core.models.common.settings import Context, ModelSettingsError
from core.models.common.values import show_duration
from core.models.registry import FAMILIES, family_of, models_of
from core.records.record import INPUT_KINDS, POINT, CheckIn, Kind
from stream.formats.files.csv_files.dialect import delimiter_of
from stream.formats.input.times.formats import says_zone
from stream.formats.release.encodings import needs_points
from stream.settings.errors import SettingsError
from stream.settings.feeds import IngestSettings, LimitSettings
from stream.settings.input import FieldSettings, InputSettings, TimeSettings
from stream.settings.input_topics import FeedTopics
from stream.settings.kafka import TopicSettings
from stream.settings.kinds import KindSettings, OverrideSettings, StopSettings
from stream.settings.registry import RegistrySettings
from stream.settings.secret import HOW_TO_MAKE_ONE
from stream.settings.service import MetricsSettings, WebSettings
from stream.settings.values import show_instant, show_size

__all__ = [
    "NO_KEY_IS_SET",
    "check_attributes",
    "check_encoding",
    "check_encodings",
    "check_input",
    "check_kind",
    "check_overrides",
    "check_ports",
    "check_resampling",
    "check_sizes",
    "check_topics",
]

NO_KEY_IS_SET = (
    "privacy.secret is not set: set SHOAL_PRIVACY__SECRET to at least 16 random characters, or "
    f"SHOAL_PRIVACY__SECRET_FILE to a file with them, the same for every worker ({HOW_TO_MAKE_ONE})"
)


def _check_regions(settings: KindSettings) -> None:
    shard = settings.shard
    if shard.finest_resolution is None:
        return
    if shard.kind != "region":
        raise SettingsError(
            f"shard.finest_resolution is set and shard.kind is {shard.kind}: only the windows of a region are divided; "
            "set shard.kind to region, or shard.finest_resolution to none"
        )
    if shard.finest_resolution < shard.h3_resolution:
        raise SettingsError(
            f"shard.finest_resolution is {shard.finest_resolution} and shard.h3_resolution is {shard.h3_resolution}: "
            "the finest cells must not be larger than a region; set shard.finest_resolution to at least "
            f"{shard.h3_resolution}, or to none"
        )
    edge_m, delta_m = h3.average_hexagon_edge_length(shard.finest_resolution, unit="m"), settings.privacy.delta_m
    if settings.kind is Kind.FRAGMENTS and edge_m < delta_m:
        raise SettingsError(
            f"shard.finest_resolution is {shard.finest_resolution}, with edges of {edge_m:.0f} m, and privacy.delta_m "
            f"is {delta_m:g}: the name of a cell would reveal more than released points; choose a smaller resolution"
        )
    if settings.kind is Kind.FRAGMENTS and settings.privacy.across != "none":
        raise SettingsError(
            f"shard.finest_resolution is set and privacy.across is {settings.privacy.across}: the people of a region "
            "with few people cannot be spread over several sets, so most would be left out of every second window; set "
            "fragments.privacy.across to none, or fragments.shard.finest_resolution to none"
        )


def _check_stops(settings: KindSettings) -> None:
    if settings.location.kind == "venues":
        raise SettingsError(
            "location.kind is venues: fragments name no venue where people stop; set stops.location.kind to grid, "
            "h3, regions or pois"
        )
    model = settings.privacy.model
    if model is not None and family_of(model).needs_attributes:
        raise SettingsError(
            f"privacy.model is {model}, which releases attributes of people: fragments have none; choose another "
            "stops.privacy.model"
        )
    if settings.shard.kind == "region":
        raise SettingsError(
            "shard.kind is region: somebody who stops near a border would be in two shards, and neither would see the "
            "stop; set stops.shard.kind to single or user"
        )


def check_kind(settings: KindSettings) -> None:
    """Check that the sections of one kind of feed fit it and one another."""
    kind, privacy, location = settings.kind, settings.privacy, settings.location
    hop, size = settings.window.hop, settings.window.size
    if hop is not None and hop != size:
        raise SettingsError(
            f"window.hop is {show_duration(hop)} and window.size is {show_duration(size)}: overlapping windows would "
            "release one visit several times, and the guarantee covers one release alone: leave window.hop out"
        )
    _check_regions(settings)
    models = models_of(kind)
    if privacy.model is not None and privacy.model not in models:
        allowed = " or ".join(models)
        raise SettingsError(
            f"privacy.model is {privacy.model}: {kind} allow {allowed} (set {kind}.privacy.model for one feed alone)"
        )
    model = privacy.model or models[0]
    family = family_of(model)
    context = Context(
        model=model, k=privacy.k, window_ms=settings.window.size, has_constraints=privacy.constraints is not None
    )
    try:
        family.check(privacy, context)
    except ModelSettingsError as fault:
        raise SettingsError(str(fault)) from None
    if kind.model_kind is Kind.CHECKINS and privacy.sensitive_locations and not family.protects_sensitive_locations:
        protecting = [model for one in FAMILIES if one.protects_sensitive_locations for model in one.models]
        raise SettingsError(
            f"privacy.sensitive_locations is set: privacy.model {model} does not protect them; "
            f"{', '.join(protecting)} do"
        )
    if privacy.taxonomy != "own" and location.kind not in {"venues", "pois"}:
        what = "categories" if privacy.taxonomy == "categories" else "a file"
        raise SettingsError(
            f"privacy.taxonomy is {what}: this needs location.kind venues or pois, whose files have categories, "
            f"not {location.kind}"
        )
    if kind is Kind.CHECKINS and location.kind == "venues" and location.venues_file is None:
        raise SettingsError("location.venues_file is not set: location.kind venues needs a CSV with venue,lat,lon")
    if kind is Kind.STOPS:
        _check_stops(settings)
    if kind.model_kind is Kind.CHECKINS and location.kind == "pois" and location.pois_file is None:
        raise SettingsError(
            "location.pois_file is not set: location.kind pois needs a file of places, such as a CSV with name,lat,lon"
        )
    if location.kind != "grid" and location.area is not None:
        raise SettingsError(f"location.area is set: this needs location.kind grid, not {location.kind}")


def check_resampling(settings: KindSettings, limits: LimitSettings) -> None:
    """Check that resampled points stay inside their window, and that one person does not get too many of them."""
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


def check_attributes(settings: KindSettings) -> None:
    """Check that attributes of a person have fields of their own, and that sensitive values are listed."""
    privacy, fields = settings.privacy, settings.fields
    field, values = privacy.sensitive_field, privacy.sensitive_values
    if settings.kind is not Kind.CHECKINS:
        return
    if field is not None and not values:
        raise SettingsError(
            f"privacy.sensitive_values is empty: privacy.sensitive_field, {field!r}, needs the values that "
            "are sensitive"
        )
    if values and field is None:
        raise SettingsError(
            "privacy.sensitive_field is not set: privacy.sensitive_values needs the field that holds these values"
        )
    if len(set(values)) < len(values):
        raise SettingsError(
            f"privacy.sensitive_values has {len(values)} values, of which {len(set(values))} differ: "
            "list every value once"
        )
    if field in privacy.attributes:
        raise SettingsError(
            f"privacy.sensitive_field is {field!r}: it must not be one of privacy.attributes, because an "
            "adversary may know those"
        )
    taken = {getattr(fields, name): name for name in CheckIn.__struct_fields__}
    for setting, names in (("privacy.attributes", privacy.attributes), ("privacy.sensitive_field", [field])):
        for name in names:
            if name in taken:
                raise SettingsError(
                    f"{setting} has {name!r}, which is fields.{taken[name]}: name another field or, if fields."
                    f"{taken[name]} is not needed, set it to a name that does not occur in the feed"
                )


def check_topics(topics: TopicSettings) -> None:
    """Check that every topic has a name of its own, also in Kafka's metrics, which write ``.`` as ``_``."""
    named: dict[str, tuple[str, str]] = {}
    feeds = FeedTopics(topics)
    of_feeds = {kind.value: read.names for kind, read in feeds.by_kind.items()}
    for setting, text in topics:
        for topic in of_feeds.get(setting, (text,) if text else ()):
            other, alike = named.get(topic.replace(".", "_"), (None, ""))
            if other is None:
                named[topic.replace(".", "_")] = setting, topic
            elif alike == topic and other == setting:
                raise SettingsError(f"topics.{setting} has {topic!r} twice: name every topic once")
            elif alike == topic:
                raise SettingsError(
                    f"topics.{other} and topics.{setting} are both {topic!r}: every topic needs a name of its own"
                )
            else:
                raise SettingsError(
                    f"topics.{other} is {alike!r} and topics.{setting} is {topic!r}: Kafka does not create two topics "
                    "whose names differ only in '.' and '_'; rename one of them"
                )
    _check_patterns(feeds)


def _check_patterns(feeds: FeedTopics) -> None:
    """Check that no topic with a name in the settings belongs to two feeds, and that two patterns differ."""
    patterns = {kind: one.pattern for kind, one in feeds.by_kind.items() if one.pattern is not None}
    if len(patterns) == len(INPUT_KINDS) and len(set(patterns.values())) == 1:
        raise SettingsError(
            f"topics.checkins and topics.fragments are both {patterns[Kind.CHECKINS]!r}: a topic belongs to one feed"
        )
    for topic in feeds.in_two_feeds(feeds.names):
        owner = next(kind for kind, one in feeds.by_kind.items() if topic in one.names)
        other, pattern = next((kind, pattern) for kind, pattern in patterns.items() if kind != owner)
        raise SettingsError(
            f"topics.{other} is {pattern!r}, which also matches {topic!r} of topics.{owner}: "
            "a topic belongs to one feed"
        )


def check_sizes(kinds: Collection[Kind], limits: LimitSettings, ingest: IngestSettings) -> None:
    """Check that the longest fragment fits in a chunk, and a chunk in a message."""
    chunk_bytes = ingest.chunk_bytes
    needed = limits.points_per_fragment * POINT.itemsize
    if Kind.FRAGMENTS in (kind.input_kind for kind in kinds) and needed > chunk_bytes:
        # All points of one fragment are sent in one message of the shards topic.
        raise SettingsError(
            f"limits.points_per_fragment is {limits.points_per_fragment}, which takes {needed} bytes: it must fit in "
            f"ingest.chunk_bytes, {show_size(chunk_bytes)} ({POINT.itemsize} bytes a point)"
        )
    if chunk_bytes > limits.message_bytes:
        raise SettingsError(
            f"ingest.chunk_bytes is {show_size(chunk_bytes)}: it must be at most limits.message_bytes, "
            f"{show_size(limits.message_bytes)}, the longest message that is sent"
        )


def check_ports(metrics: MetricsSettings, web: WebSettings) -> None:
    """Check that the metrics and the web server have different ports."""
    hosts = {host.lower().replace("localhost", "127.0.0.1") for host in (metrics.host, web.host)}
    if metrics.port == web.port and (len(hosts) == 1 or hosts & {"0.0.0.0", "::"}):  # noqa: S104 - read, not bound
        raise SettingsError(
            f"metrics.port and web.port are both {web.port} (at {metrics.host} and {web.host}): each needs a port "
            "of its own"
        )


def check_overrides(checkins: OverrideSettings, fragments: OverrideSettings, stops: StopSettings) -> None:
    """Check that no kind of feed has a setting that only another kind can use."""
    for kind, own in ((Kind.CHECKINS, checkins.privacy), (Kind.STOPS, stops.privacy)):
        if own.demands_file is not None:
            raise SettingsError(
                f"{kind}.privacy.demands_file is {own.demands_file}: only fragments can "
                "have demands of their own; set privacy.demands_file or fragments.privacy.demands_file"
            )
    if "zero" in stops.location.model_fields_set:
        raise SettingsError(
            f"stops.location.zero is {stops.location.zero}: stops are found in the points that are read as fragments; "
            "set location.zero or fragments.location.zero"
        )
    for name in ("attributes", "sensitive_field", "sensitive_values"):
        for kind, of_fragments in ((Kind.FRAGMENTS, fragments.privacy), (Kind.STOPS, stops.privacy)):
            if getattr(of_fragments, name):
                raise SettingsError(
                    f"{kind}.privacy.{name} is set: only check-ins have attributes of their person; set "
                    f"privacy.{name} or checkins.privacy.{name}"
                )


def check_input(fields: FieldSettings, form: InputSettings, time: TimeSettings) -> None:
    """Check that the sections which say how a feed is read fit one another."""
    _check_time(time)
    _check_fields(fields)
    if form.message is not None and (form.encoding != "protobuf" or form.schema_file is None):
        raise SettingsError("input.message is set: only input.encoding protobuf with input.schema_file needs it")
    if form.schema_file is not None and form.encoding not in ("avro", "protobuf"):
        raise SettingsError(
            f"input.schema_file is set: input.encoding {form.encoding} needs none, avro and protobuf do"
        )
    if form.decimal == "," and delimiter_of(form.delimiter) == ",":
        raise SettingsError(
            'input.decimal is "," and input.delimiter is comma: values with a decimal comma need quotation marks then; '
            "leave input.delimiter out, or name another"
        )


def _check_time(time: TimeSettings) -> None:
    """Check that the range of accepted event times is not empty, and that a format says all that a time needs."""
    if time.earliest >= time.latest:
        earliest, latest = show_instant(time.earliest), show_instant(time.latest)
        raise SettingsError(f"time.earliest is {earliest}: it must be before time.latest, {latest}")
    if time.format is not None and not says_zone(time.format) and time.zone is None:
        raise SettingsError(
            f"time.format is {time.format!r}, without %z or %Z: set time.zone to the zone of such time stamps, such as "
            "UTC"
        )
    if time.ambiguous != "reject" and time.zone is None:
        raise SettingsError(f"time.ambiguous is {time.ambiguous}: it needs time.zone")


def _check_fields(fields: FieldSettings) -> None:
    """Check that every field has a name of its own."""
    named: dict[str, str] = {}
    for field, name in fields:
        if name in named:
            raise SettingsError(
                f"fields.{named[name]} and fields.{field} are both {name!r}: every field needs a name of its own"
            )
        named[name] = field


def check_encoding(settings: KindSettings) -> None:
    """Check that what the model releases can be written in the encoding."""
    model = settings.privacy.model or models_of(settings.kind)[0]
    if (fault := needs_points(settings.release.encoding, model)) is not None:
        raise SettingsError(f"release.encoding is mf-json: {fault} (set fragments.release.encoding for one feed alone)")


def check_encodings(feeds: Collection[KindSettings], registry: RegistrySettings) -> None:
    """Check that the encodings of all feeds can share their topics, and that a registry is there for their schemas."""
    encodings = {str(feed.kind): feed.release.encoding for feed in feeds}
    if "avro" not in encodings.values():
        return
    if len(set(encodings.values())) > 1:
        named = " and ".join(f"{kind}.release.encoding {encoding}" for kind, encoding in encodings.items())
        raise SettingsError(
            f"{named} would share topics.anonymized and topics.windows: a program that reads Avro reads nothing else; "
            "set release.encoding to avro for both feeds, or for none"
        )
    if registry.url is None:
        raise SettingsError(
            "release.encoding is avro and registry.url is not set: set it to the schema registry at which the worker "
            "registers the schemas, or choose json, geojson or mf-json"
        )
