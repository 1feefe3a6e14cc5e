"""Settings: one object, from a YAML file and ``SHOAL_...`` variables, validated before anything starts.

A setting has one name in three places: ``SHOAL_PRIVACY__K``, ``settings.privacy.k``, Helm ``privacy.k``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    ValidationError,
)
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import SettingsError as VariableError

from core.records import POINT, Kind

__all__ = ["KindSettings", "Settings", "SettingsError", "load_settings"]


class SettingsError(Exception):
    """A setting is wrong; the message is a sentence that says which, what it is, and what is allowed."""


_MASK = "**********"
"""What pydantic shows of a secret."""


# ---------------------------------------------------------------------- values as people write them

_DURATION_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_LONGEST_MS = 36_500 * _DURATION_MS["d"]
"""Far beyond every use, far below where 64-bit milliseconds end."""

_SIZE_BYTES = {"": 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def _duration_ms(value: object) -> object:
    if isinstance(value, str) and (match := re.fullmatch(r"(\d+)\s*(ms|s|m|h|d|w)", value.strip())):
        return int(match[1]) * _DURATION_MS[match[2]]
    if value in (0, "0") and not isinstance(value, bool):
        return 0
    raise ValueError("it must be a duration such as 500ms, 30s, 15m, 1h, 7d or 1w")


def _size_bytes(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (match := re.fullmatch(r"(\d+)\s*(B|KiB|MiB|GiB|)", value.strip())):
        return int(match[1]) * _SIZE_BYTES[match[2]]
    raise ValueError("it must be a size such as 900KiB or 1MiB")


def _instant_ms(value: object) -> int:
    if isinstance(value, datetime):
        moment = value
    else:
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            raise ValueError("it must be an instant such as 2000-01-01T00:00:00Z") from None
    return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)


def _four_degrees(value: object) -> object:
    if value is None:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or len(parts) != 4:
        raise ValueError("it must be four numbers: south, west, north, east in degrees")
    return tuple(parts)


def _rows_and_columns(value: object) -> object:
    if isinstance(value, str) and (match := re.fullmatch(r"(\d+)\s*x\s*(\d+)", value.strip())):
        return int(match[1]), int(match[2])
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return tuple(value)
    raise ValueError("it must be rows and columns such as 20x20")


def _not_too_long(value: int) -> int:
    if value > _LONGEST_MS:
        raise ValueError("it must be at most 36500d")
    return value


def _positive(value: int) -> int:
    if value <= 0:
        raise ValueError("it must be longer than zero")
    return value


def _servers(value: str) -> str:
    for server in value.split(","):
        if not re.fullmatch(r"\s*(\[[0-9a-fA-F:.]+\]|[^\s:/@\[\]]+):\d{1,5}\s*", server):
            raise ValueError("it must be brokers such as kafka-1:9092,kafka-2:9092")
    return value


def _empty_for_none(value: object) -> object:
    return "" if value is None else value


def _largest_unit(value: int, units: dict[str, int]) -> str:
    unit = max((u for u, size in units.items() if value % size == 0), key=lambda u: units[u])
    return f"{value // units[unit]}{unit}"


def _show_duration(value: int) -> str:
    return _largest_unit(value, _DURATION_MS) if value else "0s"


def _show_size(value: int) -> str:
    return _largest_unit(value, _SIZE_BYTES)


def _show_instant(value: int) -> str:
    return datetime.fromtimestamp(value / 1000, tz=UTC).isoformat().replace("+00:00", "Z")


Duration = Annotated[
    int,
    BeforeValidator(_duration_ms),
    AfterValidator(_not_too_long),
    PlainSerializer(_show_duration, when_used="json"),
]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
Size = Annotated[int, BeforeValidator(_size_bytes), Field(ge=1024), PlainSerializer(_show_size, when_used="json")]
Instant = Annotated[int, BeforeValidator(_instant_ms), PlainSerializer(_show_instant, when_used="json")]
OptionalName = Annotated[str, BeforeValidator(_empty_for_none)]
FieldName = Annotated[str, Field(pattern=r'^[^"\\\x00-\x1f]+$')]
Count = Annotated[int, Field(ge=1, le=100_000)]


# ---------------------------------------------------------------------- sections


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KafkaSettings(_Section):
    """How to reach the cluster."""

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = "127.0.0.1:9092"
    """Brokers, ``host:port`` separated by commas."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ssl_cafile: Path | None = None
    """Certificates to trust; the system's where it is not set."""

    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None
    ssl_key_password: SecretStr | None = None
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    group: str = "shoal"
    """Prefix of the consumer groups."""

    session_timeout: PositiveDuration = 15_000
    """After how long a silent worker loses its partitions."""

    startup_timeout: PositiveDuration = 60_000
    """How long a worker waits for the cluster when it starts."""

    partitions: Annotated[int, Field(ge=1, le=10_000)] = 4
    """Partitions of the topics that ``shoal topics create`` makes: the most workers that help."""

    replication_factor: Annotated[int, Field(ge=1, le=10)] = 1


class TopicSettings(_Section):
    """Names of the topics; an input topic that is empty is not read."""

    checkins: OptionalName = "checkins"
    fragments: OptionalName = "fragments"
    shards: str = "shoal-shards"
    seals: str = "shoal-seals"
    anonymized: str = "anonymized"
    windows: str = "windows"
    dead_letters: str = "shoal-dead-letters"


class FieldSettings(_Section):
    """Names that an existing feed uses for our fields."""

    user: FieldName = "user"
    ts: FieldName = "ts"
    lat: FieldName = "lat"
    lon: FieldName = "lon"
    venue: FieldName = "venue"
    category: FieldName = "category"
    points: FieldName = "points"
    k: FieldName = "k"
    delta_m: FieldName = "delta_m"


class LocationSettings(_Section):
    """The vocabulary of locations that check-ins are told in."""

    kind: Literal["grid", "h3", "venues"] = "grid"
    cell_m: Annotated[float, Field(ge=1, le=1_000_000)] = 500.0
    """Side of a grid cell, metres, where no area is given."""

    area: Annotated[tuple[float, float, float, float] | None, BeforeValidator(_four_degrees), NoDecode] = None
    """South, west, north, east of the only area served, degrees; records outside are rejected."""

    cells: Annotated[tuple[Count, Count], BeforeValidator(_rows_and_columns), NoDecode] = (20, 20)
    """Rows and columns of the grid over the area."""

    h3_resolution: Annotated[int, Field(ge=0, le=15)] = 8
    venues_file: Path | None = None
    """CSV with the header ``venue,lat,lon`` (more columns are ignored)."""


class ShardSettings(_Section):
    """What is anonymized on its own."""

    kind: Literal["single", "region", "user"] = "single"
    h3_resolution: Annotated[int, Field(ge=0, le=9)] = 5
    """Resolution of the cells of ``region``."""

    cohorts: Annotated[int, Field(ge=1, le=100_000)] = 8
    """Number of cohorts of ``user``."""


class WindowSettings(_Section):
    """Event-time windows."""

    size: PositiveDuration = 900_000
    allowed_lateness: Duration = 60_000
    idle_timeout: PositiveDuration = 60_000
    max_open: Annotated[int, Field(ge=1)] = 64
    """Most open windows of one shard; beyond it the oldest is sealed early."""


class PrivacySettings(_Section):
    """What a release promises."""

    model: Literal["seqanon", "w4m"] | None = None
    """``seqanon`` for check-ins, ``w4m`` for fragments; the right one where it is not set."""

    k: Annotated[int, Field(ge=2)] = 5
    m: Annotated[int, Field(ge=1, le=10)] = 2
    delta_m: Annotated[float, Field(gt=1, le=1_000_000)] = 500.0
    secret: SecretStr | None = None
    """Key of pseudonyms and random choices, at least 16 characters; a worker does not start without it."""

    translation: Literal["exchangeable", "minimal"] = "exchangeable"
    time_step: PositiveDuration = 30_000
    """Step of the common grid of time stamps in released trajectories."""

    time_tolerance: Duration = 60_000
    """How far in time LSTD looks for the nearest position."""

    max_radius_m: Annotated[float, Field(gt=0, le=20_000_000)] = 5_000.0
    """Largest distance from a pivot to its cluster's members at first; it grows where too much would be trash."""

    trash_share: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Largest share of trajectories left out before the radius grows."""


class TimeSettings(_Section):
    """Which event times are accepted, and how numbers are read."""

    earliest: Instant = _instant_ms("2000-01-01T00:00:00Z")
    latest: Instant = _instant_ms("2100-01-01T00:00:00Z")
    max_ahead: Duration = 600_000
    """How far an event time may lie in the future."""

    unit: Literal["s", "ms"] = "s"
    """Unit of time stamps given as numbers; strings are always RFC 3339."""


class LimitSettings(_Section):
    """What keeps one user or one flood from stopping a shard."""

    message_bytes: Size = 1024**2
    user_length: Annotated[int, Field(ge=1)] = 256
    points_per_fragment: Annotated[int, Field(ge=1)] = 10_000
    points_per_user: Annotated[int, Field(ge=1)] = 10_000
    """Most visits or points of one user in one window."""

    trajectory_length: Annotated[int, Field(ge=1)] = 100
    """Longest sequence of locations: C(100, 2) = 4,950 subtrajectories of size 2, 166,650 of size up to 3."""

    buffered_rows: Annotated[int, Field(ge=1000)] = 5_000_000
    """Most rows that a worker buffers; consumption pauses beyond it."""


class IngestSettings(_Section):
    """How input is read in batches."""

    max_records: Annotated[int, Field(ge=1, le=100_000)] = 5_000
    """Most messages of one batch."""

    max_wait: PositiveDuration = 200
    """Longest wait for a batch."""

    chunk_bytes: Size = 512 * 1024
    """Most bytes of rows in one message of the shards topic."""


class WebSettings(_Section):
    """Where health, metrics and the status page are served."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535)] = 6066


class LogSettings(_Section):
    """How the program speaks."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class WorkerSettings(_Section):
    """How a worker uses its machine."""

    processes: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes that anonymize."""

    grace_period: PositiveDuration = 20_000
    """How long a worker may take to finish its window when it is told to stop."""


class OverrideSettings(_Section):
    """Sections that differ for one kind of feed; what is not set here is as it is for all."""

    location: LocationSettings = LocationSettings()
    shard: ShardSettings = ShardSettings()
    window: WindowSettings = WindowSettings()
    privacy: PrivacySettings = PrivacySettings()


class KindSettings(BaseModel):
    """The settings of one kind of feed, overrides applied."""

    model_config = ConfigDict(frozen=True)
    kind: Kind
    location: LocationSettings
    shard: ShardSettings
    window: WindowSettings
    privacy: PrivacySettings


_MODELS = {Kind.CHECKINS: "seqanon", Kind.FRAGMENTS: "w4m"}


class Settings(BaseSettings):
    """Everything that can be set. ``checkins`` and ``fragments`` override sections for one kind of feed."""

    model_config = SettingsConfigDict(env_prefix="SHOAL_", env_nested_delimiter="__", extra="forbid", frozen=True)
    kafka: KafkaSettings = KafkaSettings()
    topics: TopicSettings = TopicSettings()
    fields: FieldSettings = FieldSettings()
    location: LocationSettings = LocationSettings()
    shard: ShardSettings = ShardSettings()
    window: WindowSettings = WindowSettings()
    privacy: PrivacySettings = PrivacySettings()
    time: TimeSettings = TimeSettings()
    limits: LimitSettings = LimitSettings()
    ingest: IngestSettings = IngestSettings()
    web: WebSettings = WebSettings()
    logs: LogSettings = LogSettings()
    worker: WorkerSettings = WorkerSettings()
    checkins: OverrideSettings = OverrideSettings()
    fragments: OverrideSettings = OverrideSettings()

    def for_kind(self, kind: Kind) -> KindSettings:
        """Apply the overrides of one kind of feed.

        Raises:
            SettingsError: The sections do not fit the kind or one another.
        """
        overrides: OverrideSettings = getattr(self, kind.value)
        resolved = KindSettings(
            kind=kind,
            location=_overlaid(self.location, overrides.location),
            shard=_overlaid(self.shard, overrides.shard),
            window=_overlaid(self.window, overrides.window),
            privacy=_overlaid(self.privacy, overrides.privacy),
        )
        _check_kind(resolved)
        return resolved

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of feed whose input topic is named."""
        return tuple(kind for kind in Kind if getattr(self.topics, kind.value))

    def checked(self) -> Self:
        """Check every kind of feed that is read, and what a worker needs.

        Raises:
            SettingsError: A setting is wrong, or the secret is missing.
        """
        if not self.kinds:
            raise SettingsError("topics.checkins and topics.fragments are both empty: at least one must be named")
        _check_topics(self.topics)
        _check_sizes(self)
        for kind in self.kinds:
            privacy = self.for_kind(kind).privacy
            if privacy.secret is None:
                raise SettingsError(
                    "privacy.secret is not set: set SHOAL_PRIVACY__SECRET to at least 16 random characters, "
                    "the same for every worker (for instance from `openssl rand -hex 32`)"
                )
        return self

    def masked(self) -> dict[str, Any]:
        """Return the settings as plain data, secrets masked, for printing."""
        shown: dict[str, Any] = json.loads(self.model_dump_json())
        for kind in Kind:  # of the overrides only those that are set: shown, a default would read as one
            shown[kind] = json.loads(getattr(self, kind).model_dump_json(exclude_unset=True))
        return {str(name): section for name, section in shown.items()}


_S = TypeVar("_S", bound=_Section)


def _overlaid(base: _S, over: _S) -> _S:
    return base.model_copy(update={name: getattr(over, name) for name in over.model_fields_set})


def _check_kind(settings: KindSettings) -> None:
    kind, privacy, location = settings.kind, settings.privacy, settings.location
    expected = _MODELS[kind]
    if privacy.model not in (None, expected):
        raise SettingsError(
            f"privacy.model is {privacy.model}: {kind} allow {expected} (set {kind}.privacy.model for one feed alone)"
        )
    secret = privacy.secret.get_secret_value() if privacy.secret else None
    if secret is not None and len(secret) < 16:
        raise SettingsError(f"privacy.secret has {len(secret)} characters: it must have at least 16")
    if kind is Kind.FRAGMENTS and settings.window.size % privacy.time_step:
        raise SettingsError(
            f"privacy.time_step is {_show_duration(privacy.time_step)}: it must divide window.size, "
            f"{_show_duration(settings.window.size)}, so that released time stamps stay inside their window"
        )
    if kind is Kind.CHECKINS and location.kind == "venues" and location.venues_file is None:
        raise SettingsError("location.venues_file is not set: location.kind venues needs a CSV with venue,lat,lon")
    if location.kind != "grid" and location.area is not None:
        raise SettingsError(f"location.area is set: it goes with location.kind grid, not {location.kind}")


def _check_topics(topics: TopicSettings) -> None:
    named: dict[str, str] = {}
    for setting, topic in topics:
        if topic in named and topic:
            raise SettingsError(
                f"topics.{named[topic]} and topics.{setting} are both {topic!r}: every topic needs a name of its own"
            )
        if not topic and setting not in tuple(Kind):
            raise SettingsError(f"topics.{setting} is empty: only topics.checkins and topics.fragments may be")
        named[topic] = setting


def _check_sizes(settings: Settings) -> None:
    limits, chunk_bytes = settings.limits, settings.ingest.chunk_bytes
    needed = limits.points_per_fragment * POINT.itemsize
    if Kind.FRAGMENTS in settings.kinds and needed > chunk_bytes:
        # The points of one fragment stay together, so they have to fit in one message of the shards topic.
        raise SettingsError(
            f"limits.points_per_fragment is {limits.points_per_fragment}, which takes {needed} bytes: it must fit in "
            f"ingest.chunk_bytes, {_show_size(chunk_bytes)} ({POINT.itemsize} bytes a point)"
        )
    if chunk_bytes > limits.message_bytes:
        raise SettingsError(
            f"ingest.chunk_bytes is {_show_size(chunk_bytes)}: it must be at most limits.message_bytes, "
            f"{_show_size(limits.message_bytes)}, the longest message that the brokers take"
        )


def _check_always(settings: Settings) -> None:
    if settings.time.earliest >= settings.time.latest:
        earliest, latest = _show_instant(settings.time.earliest), _show_instant(settings.time.latest)
        raise SettingsError(f"time.earliest is {earliest}: it must be before time.latest, {latest}")
    named: dict[str, str] = {}
    for field, name in settings.fields:
        if name in named:
            raise SettingsError(
                f"fields.{named[name]} and fields.{field} are both {name!r}: every field needs a name of its own"
            )
        named[name] = field


def load_settings(file: Path | None = None, given: dict[str, Any] | None = None) -> Settings:
    """Load the settings: the command line wins over the environment, the environment over the file.

    Args:
        file: A YAML file, or None.
        given: Dotted names and values from the command line.

    Raises:
        SettingsError: Something is wrong; the sentence says what is allowed.
    """
    from_file = _read(file) if file is not None else {}
    _refuse_unknown_variables()

    class _Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=from_file)

    try:
        settings = _Loaded(**_nested(given or {}))
    except ValidationError as fault:
        raise SettingsError("\n".join(_sentence(error) for error in fault.errors())) from None
    except VariableError:
        raise SettingsError(
            "a SHOAL_... variable names a section: name one setting, as SHOAL_PRIVACY__K does"
        ) from None
    _check_always(settings)
    return settings


def _read(file: Path) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as fault:
        raise SettingsError(f"{file}: cannot be read ({fault.strerror})") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: is not text in UTF-8") from None
    except yaml.YAMLError as fault:
        raise SettingsError(f"{file}: is not YAML ({str(fault).splitlines()[0]})") from None
    if not isinstance(loaded, dict | None) or any(not isinstance(name, str) for name in loaded or {}):
        raise SettingsError(f"{file}: must hold sections such as `privacy:` with names and values below")
    return {name: _unmasked(section) for name, section in (loaded or {}).items() if section is not None}


def _unmasked(value: Any) -> Any:
    """Leave out secrets as :meth:`Settings.masked` prints them: they have to come from elsewhere."""
    if not isinstance(value, dict):
        return value
    return {name: _unmasked(below) for name, below in value.items() if below != _MASK}


def _nested(given: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for dotted, value in given.items():
        at = nested
        *sections, name = dotted.split(".")
        for section in sections:
            at = at.setdefault(section, {})
            if not isinstance(at, dict):
                raise SettingsError(f"--set {dotted}: {section} is set to a value as well")
        at[name] = value
    return nested


def _sentence(error: Any) -> str:
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{name} is not a setting: `shoal check-config` lists them"
    if error["type"] in ("model_type", "dict_type"):  # what stands there could be a secret in the wrong place
        return f"{name} is a section: it must hold names and values, such as privacy.k"
    shown = "hidden" if re.search("secret|password", name) else repr(error["input"])
    rule = re.sub(r"^(Value error, |Input )", "", error["msg"])
    rule = rule if rule.startswith("it ") else f"it {rule}"
    return f"{name} is {shown}: {rule}"


def _refuse_unknown_variables() -> None:
    for variable in os.environ:
        # Kubernetes adds SHOAL_SERVICE_HOST and the like; a setting always has a section.
        if not variable.startswith("SHOAL_") or "__" not in variable:
            continue
        section, name = variable.removeprefix("SHOAL_").lower().split("__")[:2]
        field = Settings.model_fields.get(section)
        model = field.annotation if field else None
        known = model.model_fields if isinstance(model, type) and issubclass(model, BaseModel) else {}
        if name not in known:
            raise SettingsError(f"{variable} is not a setting: `shoal check-config` lists them")


def digest(*parts: object) -> str:
    """Return a short digest of plain data, the same on every machine."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
