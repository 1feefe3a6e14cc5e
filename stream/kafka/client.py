"""Clients of the Kafka cluster: their options, a producer, and operations that are repeated until they succeed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    AuthenticationFailedError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidTimestampError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
)
from aiokafka.partitioner import DefaultPartitioner

from stream.kafka.oauth import token_provider
from stream.kafka.rotation import follow_rotation, in_force
from stream.settings.credentials import check_credentials, sasl_password, tls_context
from stream.settings.kafka import KafkaSettings
from stream.settings.model import Settings
from stream.settings.values import LARGEST_MESSAGE_BYTES

__all__ = [
    "IF_AWAY",
    "METADATA_MAX_AGE_MS",
    "Operation",
    "Producer",
    "Timekeeper",
    "Trouble",
    "client_options",
    "cure_of",
    "new_producer",
    "partition_of",
    "until_it_works",
]

log = structlog.get_logger("shoal.kafka")
T = TypeVar("T")

Operation = Literal[
    "commit",
    "emit a windows message",
    "emit trajectories",
    "fetch a schema",
    "forward records",
    "join the ingest group",
    "probe",
    "read input",
    "read seals",
    "read shards",
    "read windows messages",
    "remove seals",
    "send dead letters",
    "start the producer",
    "write a seal",
]
"""What a worker does on the cluster, or asks the schema registry for; used in logs and as a metric's label."""

Trouble = Callable[[Operation], None]
"""Called whenever an operation on the cluster fails."""

_BATCH_BYTES = 900 * 1024
"""Most bytes of messages in one batch: less than brokers accept by default, and never more than
``limits.message_bytes``, which the topics accept. A longer message is sent alone."""

METADATA_MAX_AGE_MS = 10_000
"""How long a group's consumer uses cached metadata of topics. A broker that has just restarted may not know a topic
yet. The group's leader then assigns none of its partitions until it refreshes its metadata: after 5 minutes by
default."""

_MESSAGE_OVERHEAD_BYTES = 64 * 1024
"""Room for a key, headers and the request's own fields."""

_CREDENTIALS = "check kafka.sasl_mechanism and its credentials"
_RIGHTS = "give the worker's user the rights that `shoal topics acls` prints"
_SIZES = "raise max.message.bytes of the topic above limits.message_bytes and ingest.chunk_bytes"
_HOPELESS: dict[type[KafkaError], str] = {
    MessageSizeTooLargeError: _SIZES,
    RecordListTooLargeError: _SIZES,
    AuthenticationFailedError: _CREDENTIALS,
    SaslAuthenticationFailed: _CREDENTIALS,
    TopicAuthorizationFailedError: _RIGHTS,
    GroupAuthorizationFailedError: _RIGHTS,
    ClusterAuthorizationFailedError: _RIGHTS,
}
"""Errors that a retry does not cure, and the action that does."""

IF_AWAY = (
    "nothing is lost, and the worker continues by itself; if this lasts, check that the brokers run, that they have "
    "free disk space, and that this machine reaches the addresses in their advertised.listeners"
)
"""What to do if the cluster does not answer. A broker whose disk is full stops, so it looks like one that is away."""


def client_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Return the connection options of an aiokafka client.

    Raises:
        SettingsError: Credentials are missing or certificates cannot be read.
    """
    check_credentials(kafka)
    newest = in_force(kafka)
    options: dict[str, Any] = {
        "bootstrap_servers": kafka.bootstrap_servers,
        "security_protocol": kafka.security_protocol,
        "ssl_context": tls_context(newest),
        "client_id": "shoal",
    }
    if not kafka.security_protocol.startswith("SASL"):
        return options
    options["sasl_mechanism"] = kafka.sasl_mechanism
    if kafka.sasl_mechanism == "OAUTHBEARER":
        return options | {"sasl_oauth_token_provider": token_provider(kafka)}
    return options | {"sasl_plain_username": newest.sasl_username, "sasl_plain_password": sasl_password(newest)}


def partition_of(key: bytes, n_partitions: int) -> int:
    """Return the partition of a key, chosen as every Kafka client does."""
    numbers = list(range(n_partitions))
    return int(DefaultPartitioner()(key, numbers, numbers))


class Timekeeper(Protocol):
    """An observer of whether brokers accept this machine's time as a time stamp."""

    def refused(self, topic: str) -> None:
        """Called when a broker refuses it."""

    def taken(self, topic: str) -> None:
        """Called when a broker accepts it."""


class Producer(AIOKafkaProducer):  # type: ignore[misc]
    """A producer that reports whether brokers accept this machine's time as a time stamp.

    Args:
        clock: Receives the reports.
        options: Options of aiokafka's producer.
    """

    def __init__(self, clock: Timekeeper | None, **options: Any) -> None:
        super().__init__(**options)
        follow_rotation(self.client)
        self._timekeeper = clock

    async def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes]] | None = None,
    ) -> Any:
        """Send a message; the default time stamp is the present."""
        sent = await super().send(topic, value, key, partition, timestamp_ms, headers)
        return self._watched(sent, topic) if timestamp_ms is None else sent

    async def send_batch(self, batch: Any, topic: str, *, partition: int, has_present: bool = False) -> Any:
        """Send a batch of messages.

        Args:
            batch: The batch.
            topic: Its topic.
            partition: Its partition.
            has_present: Whether the time stamp of its messages is the present.
        """
        sent = await super().send_batch(batch, topic, partition=partition)
        return self._watched(sent, topic) if has_present else sent

    def _watched(self, sent: asyncio.Future[Any], topic: str) -> asyncio.Future[Any]:
        clock = self._timekeeper
        if clock is None:
            return sent

        def look(done: asyncio.Future[Any]) -> None:
            if done.cancelled():
                return
            fault = done.exception()
            if fault is None:
                clock.taken(topic)
            elif isinstance(fault, InvalidTimestampError):
                clock.refused(topic)

        sent.add_done_callback(look)
        return sent


def new_producer(settings: Settings, *, clock: Timekeeper | None = None) -> Producer:
    """Make a producer; the caller starts and stops it.

    It is not idempotent, so that it works with any Kafka-compatible broker; all our consumers drop duplicates.

    Args:
        settings: All settings.
        clock: Receives reports of whether brokers accept this machine's time as a time stamp.
    """
    return Producer(
        clock,
        **client_options(settings.kafka),
        acks="all",
        linger_ms=2,
        max_batch_size=min(_BATCH_BYTES, settings.limits.message_bytes),
        max_request_size=LARGEST_MESSAGE_BYTES + _MESSAGE_OVERHEAD_BYTES,
        request_timeout_ms=20_000,
    )


def cure_of(fault: BaseException) -> str | None:
    """Return what cures an error that a retry does not cure; None for other errors."""
    return next((action for error, action in _HOPELESS.items() if isinstance(fault, error)), None)


async def until_it_works(what: Operation, attempt: Callable[[], Awaitable[T]], *, on_trouble: Trouble) -> T:
    """Repeat an operation on the cluster until it succeeds; nothing is lost while the cluster does not answer.

    Args:
        what: The name of the operation.
        attempt: Performs the operation; safe to repeat.
        on_trouble: Called after each failure.

    Raises:
        KafkaError: The cluster refuses, and a retry would not help; the log says what to do.
    """
    pause_s = 0.2
    while True:
        try:
            return await attempt()
        except KafkaError as fault:
            on_trouble(what)
            if (action := cure_of(fault)) is not None:
                log.critical("kafka_refuses", operation=what, fault=str(fault), action=action)
                raise
            log.warning("kafka_trouble", operation=what, fault=type(fault).__name__, retry_in_s=pause_s, action=IF_AWAY)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, 5.0)
