"""The sections of the settings, each with its names, defaults and ranges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import NoDecode

from core.records import Kind
from stream.plane import projection_in_metres
from stream.settings.names import ConsumerGroup, OptionalTopicName, TopicName
from stream.settings.secret import check_secret
from stream.settings.values import (
    Brokers,
    Count,
    Duration,
    FieldName,
    Instant,
    PositiveDuration,
    SessionTimeout,
    Size,
    Text,
    TokenAddress,
    four_degrees,
    instant_ms,
    none_by_name,
    not_empty,
    not_too_large,
    rows_and_columns,
    separated_by_commas,
    tile_address,
)

__all__ = [
    "CheckInModel",
    "FieldSettings",
    "FileSettings",
    "FragmentModel",
    "IngestSettings",
    "KafkaSettings",
    "KindSettings",
    "LimitSettings",
    "ListenSettings",
    "LocationSettings",
    "LogSettings",
    "MetricsSettings",
    "OverrideSettings",
    "PrivacySettings",
    "Section",
    "ShardSettings",
    "TimeSettings",
    "TopicSettings",
    "TrajectorySettings",
    "WebSettings",
    "WindowSettings",
    "WorkerSettings",
]


class Section(BaseModel):
    """Names with values; unknown names are refused, and so are empty texts."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    with_rules_for_empty: ClassVar[frozenset[str]] = frozenset()
    """Settings whose own type says what an empty text is."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_empty(cls, value: object, info: ValidationInfo) -> object:
        return value if info.field_name in cls.with_rules_for_empty else not_empty(value)


class KafkaSettings(Section):
    """How to reach the cluster."""

    bootstrap_servers: Brokers = "127.0.0.1:9092"
    """Brokers, ``host:port`` separated by commas."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """Whether connections are encrypted (``SSL``) and who we are is shown (``SASL``)."""

    ssl_cafile: Path | None = None
    """Certificates to trust; the system's where it is not set."""

    ssl_certfile: Path | None = None
    """Our own certificate, for clusters that tell clients by it (mTLS); a PEM file, its chain below it."""

    ssl_keyfile: Path | None = None
    """Its private key."""

    ssl_key_password: SecretStr | None = None
    """The password of the private key, where it has one."""

    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = "SCRAM-SHA-512"
    """How we show who we are."""

    sasl_username: str | None = None
    """Our name, for ``PLAIN`` and ``SCRAM``."""

    sasl_password: SecretStr | None = None
    """Our password, for ``PLAIN`` and ``SCRAM``."""

    oauth_token_url: TokenAddress | None = None
    """Token endpoint of an identity provider, for ``OAUTHBEARER`` by the client credentials grant (RFC 6749, 4.4);
    reached through the proxy of ``HTTPS_PROXY`` and ``NO_PROXY`` where they are set."""

    oauth_client_id: str | None = None
    """Our id at the identity provider."""

    oauth_client_secret: SecretStr | None = None
    """Our secret at the identity provider."""

    oauth_scope: str | None = None
    """Scope to ask for, where the provider wants one."""

    oauth_cafile: Path | None = None
    """Certificates to trust at the token endpoint; the system's where it is not set."""

    oauth_token_file: Path | None = None
    """A file with a token, for ``OAUTHBEARER`` without a token endpoint; read anew for every connection."""

    group: ConsumerGroup = "shoal"
    """Prefix of the consumer groups."""

    isolation_level: Literal["read_committed", "read_uncommitted"] = "read_committed"
    """Which records of transactions are read from the input: only those that were committed, or also those of
    transactions that are open or were aborted. People who were never committed then count towards ``k``. Shoal's own
    topics are always read committed."""

    session_timeout: SessionTimeout = 15_000
    """After how long a silent worker loses its partitions. Brokers take 6s to 30m, unless they are configured
    otherwise."""

    startup_timeout: PositiveDuration = 60_000
    """How long a worker waits for the cluster when it starts."""

    partitions: Annotated[int, Field(ge=1, le=10_000)] = 4
    """Partitions of the topics that ``shoal topics create`` makes: the most workers that help."""

    replication_factor: Annotated[int, Field(ge=1, le=10)] = 1
    """Copies of the topics that ``shoal topics create`` makes."""

    @property
    def ingest_group(self) -> str:
        """The group that shares the input topics."""
        return f"{self.group}-ingest"

    @property
    def windows_group(self) -> str:
        """The group that shares the shards topic."""
        return f"{self.group}-windows"


class TopicSettings(Section):
    """Names of the topics, as Kafka takes them; an input topic that is empty is not read."""

    with_rules_for_empty = frozenset({"checkins", "fragments"})

    checkins: OptionalTopicName = "checkins"
    """Input: check-ins."""

    fragments: OptionalTopicName = "fragments"
    """Input: fragments of trajectories."""

    shards: TopicName = "shoal-shards"
    """Internal: records that wait for their window; the only copy of them that counts."""

    seals: TopicName = "shoal-seals"
    """Internal: what each window contains, fixed before anything of it leaves."""

    anonymized: TopicName = "anonymized"
    """Output: trajectories."""

    windows: TopicName = "windows"
    """Output: one message a window, after its trajectories."""

    dead_letters: TopicName = "shoal-dead-letters"
    """Output: why records were rejected, and where they stand."""


class FieldSettings(Section):
    """Names that an existing feed uses for our fields."""

    user: FieldName = "user"
    """Who; leaves only as a pseudonym that no other window shares."""

    ts: FieldName = "ts"
    """When."""

    lat: FieldName = "lat"
    """Latitude of a check-in, degrees."""

    lon: FieldName = "lon"
    """Longitude of a check-in, degrees."""

    venue: FieldName = "venue"
    """Venue of a check-in, for ``location.kind: venues``."""

    category: FieldName = "category"
    """Category of a check-in's venue."""

    points: FieldName = "points"
    """Points of a fragment: time, latitude, longitude."""

    k: FieldName = "k"
    """The least number of people that a user demands."""

    delta_m: FieldName = "delta_m"
    """The greatest distance that a user demands, metres."""


class FileSettings(Section):
    """How ``.tsv`` files of fragments are read: lines of user, time, x and y, without a header. For ``replay``."""

    metres: Annotated[str, AfterValidator(projection_in_metres)] | None = None
    """The map projection that x and y are metres of, such as ``EPSG:2100``; without it these files are refused."""

    start: Instant | None = None
    """What their times count from; 1970 where it is not set. ``time.unit`` is their unit."""


class LocationSettings(Section):
    """The vocabulary of locations that check-ins are told in."""

    kind: Literal["grid", "h3", "venues"] = "grid"
    """``grid`` (``cell_m``, or ``area`` and ``cells``), ``h3`` (``h3_resolution``) or ``venues`` (``venues_file``)."""

    cell_m: Annotated[float, Field(ge=1, le=1_000_000)] = 500.0
    """Side of a grid cell, metres, where no area is given."""

    area: Annotated[tuple[float, float, float, float] | None, BeforeValidator(four_degrees), NoDecode] = None
    """South, west, north, east of the only area served, degrees; records outside are rejected."""

    cells: Annotated[tuple[Count, Count], BeforeValidator(rows_and_columns), NoDecode] = (20, 20)
    """Rows and columns of the grid over the area."""

    h3_resolution: Annotated[int, Field(ge=0, le=15)] = 8
    """Resolution of the cells of ``h3``."""

    zero: Literal["reject", "accept"] = "reject"
    """What to do with a position of exactly 0,0, which receivers without a fix report: ``reject`` the record, or the
    point of a fragment alone, or ``accept`` it as a place in the Gulf of Guinea."""

    venues_file: Path | None = None
    """CSV with the header ``venue,lat,lon`` (more columns are ignored)."""


class ShardSettings(Section):
    """What is anonymized on its own."""

    kind: Literal["single", "region", "user"] = "single"
    """``single`` (one crowd), ``region`` (an H3 cell each) or ``user`` (cohorts)."""

    h3_resolution: Annotated[int, Field(ge=0, le=9)] = 5
    """Resolution of the cells of ``region``."""

    cohorts: Annotated[int, Field(ge=1, le=100_000)] = 8
    """Number of cohorts of ``user``."""


class WindowSettings(Section):
    """Event-time windows."""

    size: PositiveDuration = 900_000
    """Length of a window."""

    allowed_lateness: Duration = 60_000
    """How much older than the newest record of its source a record may be."""

    idle_timeout: PositiveDuration = 60_000
    """After how much silence a source stops holding windows open. A window that ends in the future stays open."""

    max_lead: Annotated[Duration | None, BeforeValidator(none_by_name)] = 60_000
    """How far ahead of all other sources one may push the windows while these are silent, or ``none``: a source whose
    clock is an hour ahead would turn their next records late."""

    max_drift: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """How far ingest reads one partition of the input ahead of another that has a backlog, in event time; where it is
    not set, as far as a window is long."""

    hop: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Tumbling windows only: where it is set it must be the size."""

    max_open: Annotated[int, Field(ge=1)] = 1000
    """Most open windows of one shard; beyond it the oldest is sealed early."""


class TrajectorySettings(Section):
    """How the fragments of one person in one window become trajectories."""

    max_speed_m_s: Annotated[Annotated[float, Field(gt=0, le=300_000_000)] | None, BeforeValidator(none_by_name)] = (
        100.0
    )
    """Fastest that anybody moves, metres a second, or ``none``: of each person the most points that one journey can
    visit stay, the others are suppressed. The default fits what moves on ground or water; aircraft need 350."""

    max_gap: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Longest time between two points of one trajectory, or ``none``; a longer one cuts it, and the pieces stay one
    person in every count."""

    resample: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Step of a common grid of times that trajectories are interpolated on in straight lines, or ``none``. A point is
    then counted as the one of the grid that is nearest in time."""


CheckInModel = Literal[
    "seqanon",
    "sd-seqanon",
    "u-seqanon",
    "least-loss",
    "auto",
    "lm-anon",
    "zga",
    "sga",
    "lkc",
    "p2ka",
    "rum-bound",
    "tum-bound",
    "disassociation",
]
"""Models of check-ins, the default first."""

FragmentModel = Literal["w4m", "nwa", "pw4m", "pw4m-tr", "bounded-pw4m"]
"""Models of fragments, the default first."""


class PrivacySettings(Section):
    """What a release promises."""

    with_rules_for_empty = frozenset({"secret"})

    model: Literal[CheckInModel, FragmentModel] | None = None
    """``seqanon`` (the default), ``sd-seqanon``, ``u-seqanon``, ``least-loss``, ``auto``, ``lm-anon``, ``zga``,
    ``sga``, ``lkc``, ``p2ka``, ``rum-bound``, ``tum-bound`` or ``disassociation`` for check-ins; the others for
    fragments, of which ``w4m`` is the default. ``w4m`` and ``nwa`` leave out people who demand more than ``k`` and
    ``delta_m``; the others give it to their sets, ``bounded-pw4m`` as far as the distortion allows."""

    k: Annotated[int, Field(ge=2)] = 5
    """The least number of people that anything released has in common."""

    m: Annotated[int, Field(ge=1, le=10)] = 2
    """How many places of a person an adversary may know, for models of check-ins."""

    delta_m: Annotated[float, Field(gt=1, le=1_000_000)] = 500.0
    """How far apart those who cannot be told apart are at most, metres, for models of fragments."""

    demands_file: Path | None = None
    """What users demand where a fragment of theirs does not say it: a CSV with the header ``user,k,delta_m``, where an
    empty value demands nothing. Read at the start."""

    taxonomy: str = "own"
    """How alike locations are in meaning, for ``sd-seqanon`` and levels of ``constraints``: ``own`` (H3 parents, grid
    quadrants), or a CSV with the header ``category,parent``, where ``location.venues_file`` has a ``category``."""

    default_category: str | None = None
    """Category of venues whose own is empty or not in the taxonomy; without it every venue must have one."""

    constraints: str | None = None
    """Which locations may be generalized together, for ``u-seqanon``: ``level:N`` of the taxonomy, or a CSV with the
    header ``location,constraint``."""

    default_constraint: str | None = None
    """Constraint of locations that the CSV does not list; without it every venue must be listed."""

    l: Annotated[int, Field(ge=2)] = 2  # noqa: E741 - the name the guarantee is known by
    """Of the people who match, at most one in ``l`` was at one of ``sensitive_locations``, for ``lm-anon``, ``zga``,
    ``sga``, ``rum-bound`` and ``tum-bound``."""

    sensitive_locations: Annotated[tuple[str, ...], BeforeValidator(separated_by_commas), NoDecode] = ()
    """Locations that are sensitive for these models, by name, a list or separated by commas; ``category:NAME`` is every
    venue of a category of ``taxonomy``. They are released as they are, or not at all."""

    clusters: Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(none_by_name)] = None
    """In how many clusters of similar people ``zga`` and ``sga`` generalize, or ``none``: as many as lose least."""

    key_patterns: Annotated[int, Field(ge=1, le=1_000)] = 10
    """How many of the most frequent subtrajectories make people similar for ``sga``."""

    time_slot: PositiveDuration = 3_600_000
    """Length of the slots of time that ``lkc`` releases, and that its adversary knows."""

    slots_of: Literal["window", "day"] = "window"
    """Whether slots count from the window's start, or are times of day, UTC, that all days of a window share."""

    max_confidence: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Largest share of one of ``sensitive_values`` among the people who match, for ``lkc``."""

    spare: Literal["sequences", "instances"] = "sequences"
    """What ``lkc`` suppresses least of: frequent sequences, for mining, or visits, for counting."""

    max_loss: Annotated[float, Field(ge=0, le=1)] = 0.65
    """Largest loss of attributes (NCP) under ``rum-bound``, of locations (UL) under ``tum-bound``; a window that cannot
    keep it is withheld."""

    merge: Literal["r", "t", "rt"] = "rt"
    """Which groups ``rum-bound`` and ``tum-bound`` unite: those alike in attributes, in locations, or in both."""

    largest_cluster: Annotated[Annotated[int, Field(ge=3)] | None, BeforeValidator(none_by_name)] = None
    """Most people of a cluster of ``disassociation``, at least ``2 k - 1``; ten times ``k`` where it is not set."""

    rare_locations: bool = False
    """Whether ``disassociation`` names locations that fewer than ``k`` people visited, as published."""

    alike: bool = True
    """Whether under ``p2ka`` each released sequence is released of at least ``k`` people; without it single people can
    be found, as in the published model."""

    suppression_percent: Annotated[float, Field(ge=0, le=100)] = 5.0
    """Most locations of a window that ``u-seqanon`` may suppress, percent."""

    suppression_price: Annotated[float, Field(ge=0, le=1_000)] = 1.0
    """What ``least-loss`` and ``auto`` count for a suppressed visit: as much as for this many visits that are moved as
    far as if the whole window were one location. At 0 visits are suppressed first, up to ``max_suppressed``."""

    split_price: Annotated[float, Field(ge=0, le=1_000)] = 1.0
    """The same for splitting a trajectory in two with pseudonyms of their own, whose order nobody is told."""

    max_suppressed: Annotated[float, Field(ge=0, le=100)] = 5.0
    """Most visits of a window that ``least-loss`` may suppress, percent; more only where one location for the whole
    window would need it too."""

    max_split: Annotated[float, Field(ge=0, le=100)] = 5.0
    """Most splits, in percent of a window's trajectories."""

    max_work: Annotated[int, Field(ge=1)] = 50_000_000
    """How many subtrajectories ``auto`` may look at in a window, over all models that it tries; ``least-loss`` always
    is. A count and not a time, so that a replay chooses alike."""

    attributes: dict[FieldName, Text] = {}
    """What check-ins tell of their person: for a field's name ``LOW..HIGH``, whole numbers, or a CSV with the header
    ``category,parent``, of which every category is a value. A record that lacks one, or has another value, is rejected;
    all combinations of values together must fit 32 bits."""

    sensitive_field: FieldName | None = None
    """Field of a check-in that tells something sensitive of its person, beside ``attributes``."""

    sensitive_values: Annotated[tuple[str, ...], BeforeValidator(separated_by_commas), NoDecode] = ()
    """The values of ``sensitive_field`` that are sensitive, a list or separated by commas; no other is."""

    secret: Annotated[SecretStr | None, AfterValidator(check_secret)] = None
    """Key of pseudonyms and random choices: at least 16 characters beside white space at the ends, at least 5 of them
    different. A worker does not start without it; ``shoal secret`` prints a new one."""

    translation: Literal["exchangeable", "minimal"] = "exchangeable"
    """How points of a set are moved together; ``minimal`` is the published rule, which gives pivots away."""

    time_step: PositiveDuration = 30_000
    """Step of the common grid of time stamps in released trajectories."""

    time_tolerance: Duration = 60_000
    """How far in time LSTD looks for the nearest position."""

    distance: Literal["lstd", "edr"] = "lstd"
    """What makes trajectories near: ``lstd``, their mean distance, tolerant in time, or ``edr``, the share of points
    that have no counterpart within the tolerances. Not for ``nwa``."""

    space_tolerance_m: Annotated[Annotated[float, Field(ge=0, le=1_000_000)] | None, BeforeValidator(none_by_name)] = (
        None
    )
    """How far apart in each coordinate points may be that EDR takes for counterparts; the delta where not set."""

    max_radius_m: Annotated[float, Field(gt=0, le=20_000_000)] = 5_000.0
    """Largest distance from a pivot to its cluster's members at first; it grows where too much would be trash."""

    max_radius_edits: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """The same for ``distance: edr``, edits a point. Who has no point in common with enough others is suppressed."""

    refinement: bool = True
    """Whether clusters are improved by local search; without it they are those of the published algorithms."""

    chunk_size: Annotated[Annotated[int, Field(ge=2)] | None, BeforeValidator(none_by_name)] = 1_000
    """Most trajectories that are clustered together, or ``none``; larger windows are divided into chunks of similar
    trajectories, at some loss. Whoever demands more people than a chunk has is suppressed."""

    granularity: PositiveDuration = 60_000
    """What the intervals of ``nwa`` begin and end at multiples of; a multiple of ``time_step``."""

    sigma_m: Annotated[float, Field(ge=0.01, le=10_000_000)] = 200.0
    """How near is together, for ``pw4m-tr`` and ``bounded-pw4m``: who is so far away counts for 0.61 of a neighbour."""

    segment_window: Annotated[int, Field(ge=1)] = 4
    """Steps of a trajectory before and after a cut whose neighbours ``pw4m-tr`` compares; no piece has fewer."""

    segment_threshold: Annotated[float, Field(ge=0.000_001, le=1_000_000)] = 1.0
    """Difference in neighbours that ``pw4m-tr`` cuts at."""

    improvement: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """How much lower than under ``pw4m`` the distortion is to be under ``bounded-pw4m``, which relaxes the demands of
    the most demanding for it, down to ``k`` and ``delta_m`` at most."""

    edit_factor: Annotated[float, Field(ge=0, le=1_000)] = 0.25
    """How bad it is to relax somebody's demands completely; suppressing somebody is 1."""

    edit_step_percent: Annotated[int, Field(ge=1, le=99)] = 10
    """By how much the share of people relaxed grows from try to try."""

    trash_share: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Largest share of trajectories left out before the radius grows."""


class TimeSettings(Section):
    """Which event times are accepted, and how numbers are read."""

    earliest: Instant = instant_ms("2000-01-01T00:00:00Z")
    """Records before it are rejected."""

    latest: Instant = instant_ms("2100-01-01T00:00:00Z")
    """Records after it are rejected."""

    max_ahead: Duration = 600_000
    """How far an event time may lie in the future."""

    unit: Literal["s", "ms"] = "s"
    """Unit of time stamps given as numbers; strings are always RFC 3339."""


class LimitSettings(Section):
    """What keeps one user or one flood from stopping a shard."""

    message_bytes: Annotated[Size, AfterValidator(not_too_large)] = 1024**2
    """Longest message that is read or sent; the brokers must take it."""

    user_length: Annotated[int, Field(ge=1)] = 256
    """Longest user id, characters."""

    points_per_fragment: Annotated[int, Field(ge=1)] = 10_000
    """Most points of one fragment."""

    points_per_user: Annotated[int, Field(ge=1)] = 10_000
    """Most visits or points of one user in one window."""

    trajectory_length: Annotated[int, Field(ge=1)] | None = None
    """Longest sequence of locations; longer ones are cut, and the pieces stay one user in every count. Where it is not
    set: up to 100, as long as there are at most 170,000 subtrajectories (100 for m = 2 and 3, 45 for m = 4)."""

    buffered_rows: Annotated[int, Field(ge=1000)] = 5_000_000
    """Most rows that a worker buffers, at about 50 bytes each; consumption pauses beyond it. Where no
    window can close, the oldest is sealed as it is: nothing would ever be read again otherwise."""


class IngestSettings(Section):
    """How input is read in batches."""

    max_records: Annotated[int, Field(ge=1, le=100_000)] = 5_000
    """Most messages of one batch."""

    max_wait: PositiveDuration = 200
    """Longest wait for a batch."""

    chunk_bytes: Size = 512 * 1024
    """Most bytes of rows in one message of the shards topic."""


class ListenSettings(Section):
    """Where a worker listens."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    """The address to listen at; ``0.0.0.0`` is every one."""

    port: Annotated[int, Field(ge=1, le=65535)]
    """The port to listen at."""

    @property
    def url(self) -> str:
        """Its address for whoever asks on the same machine; no slash at the end."""
        # Every address is one to listen at, but none to ask at.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - read, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


class MetricsSettings(ListenSettings):
    """Where health and metrics are served, for Prometheus and whoever keeps the worker running."""

    port: Annotated[int, Field(ge=1, le=65535)] = 6067
    """The port to listen at: ``/metrics``, ``/healthz`` and ``/readyz``."""


class WebSettings(ListenSettings):
    """Where the figures of the last windows and the live page are served, for those who use the releases."""

    port: Annotated[int, Field(ge=1, le=65535)] = 6066
    """The port to listen at: ``/api/status`` and ``/api/windows``, and the page where it is on."""

    page: bool = False
    """Whether the live page at ``/`` is served, and with it released trajectories to whoever reaches the port."""

    tile_url: Annotated[Annotated[str, AfterValidator(tile_address)] | None, BeforeValidator(none_by_name)] = None
    """Map tiles below the live page's map, such as ``https://tiles.example/{z}/{x}/{y}.png``, or ``none``: browsers
    then ask that host for the tiles of where the releases are."""


class LogSettings(Section):
    """How the program speaks."""

    format: Literal["console", "json"] = "console"
    """For people, or one JSON object a line."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """What is said at least."""


class WorkerSettings(Section):
    """How a worker uses its machine."""

    processes: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes that anonymize."""

    grace_period: PositiveDuration = 20_000
    """How long a worker may take to finish its window when it is told to stop."""


class OverrideSettings(Section):
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
    trajectories: TrajectorySettings
    privacy: PrivacySettings
