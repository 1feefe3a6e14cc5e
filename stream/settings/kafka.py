"""The sections of the cluster and its topics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from core.models.common.values import PositiveDuration
from stream.settings.names import ConsumerGroup, OptionalTopicName, TopicName
from stream.settings.section import Section
from stream.settings.values import Brokers, SessionTimeout, TokenAddress

__all__ = ["KafkaSettings", "TopicSettings"]


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
