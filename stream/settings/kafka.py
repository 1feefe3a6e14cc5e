"""The sections about the Kafka cluster and its topics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from core.models.common.values import PositiveDuration
from stream.settings.names import ConsumerGroup, InputTopicNames, TopicName
from stream.settings.section import Section
from stream.settings.values import Brokers, FirstOffset, SessionTimeout, TokenAddress

__all__ = ["KafkaSettings", "TopicSettings"]


class KafkaSettings(Section):
    """How to connect to the Kafka cluster."""

    secrets_in_files = frozenset({"ssl_key_password", "sasl_password", "oauth_client_secret"})

    bootstrap_servers: Brokers = "127.0.0.1:9092"
    """Brokers, ``host:port`` separated by commas."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """Whether connections are encrypted (``SSL``) and authenticated (``SASL``)."""

    ssl_cafile: Path | None = None
    """PEM file of the certificates to trust; by default the system's."""

    ssl_certfile: Path | None = None
    """Client certificate, for clusters that authenticate clients by TLS (mTLS); a PEM file, its chain below it."""

    ssl_keyfile: Path | None = None
    """Private key of the client certificate, a PEM file."""

    ssl_key_password: SecretStr | None = None
    """Password of the private key, if it has one."""

    ssl_key_password_file: Path | None = None
    """A file with the password of the private key, instead of ``ssl_key_password``."""

    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = "SCRAM-SHA-512"
    """How the worker authenticates with SASL."""

    sasl_username: str | None = None
    """User name, for ``PLAIN`` and ``SCRAM``."""

    sasl_password: SecretStr | None = None
    """Password, for ``PLAIN`` and ``SCRAM``."""

    sasl_password_file: Path | None = None
    """A file with the password, instead of ``sasl_password``; a changed one is used for new connections."""

    oauth_token_url: TokenAddress | None = None
    """Token endpoint of an identity provider, for ``OAUTHBEARER`` by the client credentials grant (RFC 6749, 4.4).
    The proxy settings ``HTTPS_PROXY`` and ``NO_PROXY`` of the environment apply."""

    oauth_client_id: str | None = None
    """Client id at the identity provider."""

    oauth_client_secret: SecretStr | None = None
    """Client secret at the identity provider."""

    oauth_client_secret_file: Path | None = None
    """A file with the client secret, instead of ``oauth_client_secret``; a changed one is used for new tokens."""

    oauth_scope: str | None = None
    """Scope to request, if the provider needs one."""

    oauth_cafile: Path | None = None
    """PEM file of the certificates to trust at the token endpoint; by default the system's."""

    oauth_token_file: Path | None = None
    """A file with a token, for ``OAUTHBEARER`` without a token endpoint; read again for every connection."""

    group: ConsumerGroup = "shoal"
    """Prefix of the consumer groups."""

    isolation_level: Literal["read_committed", "read_uncommitted"] = "read_committed"
    """Which transactional records of the input topics are read. ``read_uncommitted`` also reads records of open and
    aborted transactions, whose people then count towards ``k``. Shoal's own topics are always read committed."""

    start: FirstOffset = "earliest"
    """Where a feed begins that has no committed offset and no sealed window yet: ``earliest``, ``latest``, or an
    instant, compared with the time stamps of Kafka. Nothing before is read. Topics and partitions that appear later
    are read from their beginning."""

    session_timeout: SessionTimeout = 15_000
    """Time without a heartbeat after which a worker loses its partitions to others. Brokers accept 6s to 30m, unless
    they are configured otherwise."""

    startup_timeout: PositiveDuration = 60_000
    """How long a worker waits for the cluster when it starts."""

    partitions: Annotated[int, Field(ge=1, le=10_000)] = 4
    """Partitions of the input topics, ``shards``, ``seals`` and ``anonymized`` that ``shoal topics create`` creates;
    ``windows`` and ``dead_letters`` get one. At most this many workers share the work, and the first worker that starts
    fixes the number."""

    replication_factor: Annotated[int, Field(ge=1, le=10)] = 1
    """Replicas of each topic that ``shoal topics create`` creates."""

    @property
    def ingest_group(self) -> str:
        """The group that shares the input topics."""
        return f"{self.group}-ingest"

    @property
    def windows_group(self) -> str:
        """The group that shares the shards topic."""
        return f"{self.group}-windows"


class TopicSettings(Section):
    """Names of the topics. A feed whose input topics are empty is not read."""

    with_rules_for_empty = frozenset({"checkins", "fragments"})

    checkins: InputTopicNames = "checkins"
    """Input: check-ins. One topic, several separated by commas, or a pattern: a regular expression (Python's) that
    begins with ``^`` and that whole names match, such as ``^gps\\..*``. It never matches Shoal's own topics, and none
    that begins with two underscores."""

    fragments: InputTopicNames = "fragments"
    """Input: fragments of trajectories, in the same notation as ``checkins``. No topic may belong to both feeds."""

    shards: TopicName = "shoal-shards"
    """Internal: records that wait for their window to close; after a crash windows are rebuilt from it."""

    seals: TopicName = "shoal-seals"
    """Internal: which records each window contains, fixed before anything of the window is emitted."""

    anonymized: TopicName = "anonymized"
    """Output: anonymized trajectories."""

    windows: TopicName = "windows"
    """Output: one message for each release, after its trajectories."""

    dead_letters: TopicName = "shoal-dead-letters"
    """Output: why each rejected record was rejected, and its topic, partition and offset."""
