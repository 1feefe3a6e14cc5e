"""Faust's app, with two corrections: it skips no messages after a rebalance, and reads no uncommitted records.

At a rebalance Faust drops the messages it has fetched and seeks to the committed offsets (``Consumer.getmany`` and
``perform_seek``). aiokafka's ``seek_to_committed`` does not seek if no offset is committed, or if it is 0. The dropped
messages are then skipped, and are read again only after the next rebalance, if at all.

By itself, Faust reads uncommitted records too, unless it writes in transactions, which this app does not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import faust
import structlog
from faust.app import BootStrategy
from faust.auth import OAuthCredentials
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Producer
from faust.types import TP
from faust.web.base import BlueprintManager
from mode import Service

from stream.kafka.client import METADATA_MAX_AGE_MS
from stream.kafka.oauth import token_provider
from stream.kafka.rotation import follow_rotation
from stream.settings.credentials import check_credentials, sasl_password, tls_context
from stream.settings.kafka import KafkaSettings
from stream.settings.model import Settings

__all__ = ["EXIT_FATAL", "App", "ServiceFirst", "TimelyWorker", "faust_options", "new_app"]

log = structlog.get_logger("shoal.worker")

EXIT_FATAL = 70
"""The exit code of a worker that cannot go on."""


class _CommittedOnly(AIOKafkaConsumerThread):  # type: ignore[misc]
    """Reads no record of an open or aborted transaction."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = "read_committed"  # takes effect when the consumer starts
        follow_rotation(consumer._client)
        return consumer


class _FollowingProducer(Producer):  # type: ignore[misc]
    """Uses credentials that change while the worker runs."""

    def _new_producer(self, transactional_id: str | None = None) -> Any:
        producer = super()._new_producer(transactional_id)
        follow_rotation(producer.client)
        return producer


class _SeekingConsumer(Consumer):  # type: ignore[misc]
    """Goes back to the beginning of a partition if no offset is committed."""

    def _new_consumer_thread(self) -> Any:
        return _CommittedOnly(self, loop=self.loop, beacon=self.beacon)

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Check nothing: Faust takes a partition without records for a broken one, and logs an error every minute.

        :meth:`stream.windows.partition_task.PartitionTask.catch_up` notices what Faust does not pass on.
        """

    async def seek_to_committed(self) -> Mapping[TP, int]:
        committed: Mapping[TP, int] = await super().seek_to_committed()
        # If the log now begins above 0, consumer_auto_offset_reset moves to its earliest message.
        if uncommitted := {at: 0 for at, offset in committed.items() if not offset}:
            await self.seek_wait(uncommitted)
        return committed


class App(faust.App):  # type: ignore[misc]
    """A Faust app whose consumer rereads every partition after a rebalance, even if no offset is committed."""

    def _new_transport(self) -> Any:
        transport = super()._new_transport()
        transport.Consumer, transport.Producer = _SeekingConsumer, _FollowingProducer
        return transport


def faust_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Return the connection options of :func:`stream.kafka.client.client_options` as arguments of a Faust app.

    Raises:
        SettingsError: Credentials are missing or certificates cannot be read.
    """
    check_credentials(kafka)
    context, is_sasl = tls_context(kafka), kafka.security_protocol.startswith("SASL")
    credentials: Any = None
    if is_sasl and kafka.sasl_mechanism == "OAUTHBEARER":
        credentials = OAuthCredentials(oauth_cb=token_provider(kafka), ssl_context=context)
    elif is_sasl:
        credentials = faust.SASLCredentials(
            username=kafka.sasl_username,
            password=sasl_password(kafka),
            mechanism=kafka.sasl_mechanism,
            ssl_context=context,
        )
    elif context is not None:
        credentials = faust.SSLCredentials(context=context)
    servers = [server.strip() for server in kafka.bootstrap_servers.split(",")]
    return {"broker": [f"kafka://{server}" for server in servers], "broker_credentials": credentials}


def new_app(settings: Settings) -> Any:
    """Return an app that reads the shards topic, and serves none of Faust's own pages.

    Raises:
        SettingsError: Credentials are missing or certificates cannot be read.
    """
    kafka, web = settings.kafka, settings.web
    app = App(
        kafka.windows_group,
        **faust_options(kafka),
        # Faust also reads settings from the environment, where Kubernetes sets names such as WEB_PORT.
        env_prefix="SHOAL_FAUST_",
        store="memory://",
        topic_disable_leader=True,
        topic_allow_declare=False,
        broker_session_timeout=kafka.session_timeout / 1000,
        broker_request_timeout=max(60.0, kafka.session_timeout / 1000 + 10),
        broker_heartbeat_interval=max(0.5, kafka.session_timeout / 10_000),
        consumer_auto_offset_reset="earliest",
        consumer_metadata_max_age_ms=METADATA_MAX_AGE_MS,
        stream_wait_empty=False,  # offsets are held back on purpose
        stream_buffer_maxsize=256,  # chunks, not records
        web_enabled=True,
        web_host=web.host,
        web_bind=web.host,
        web_port=web.port,
        web_tables_enabled=False,
        web_router_enabled=False,
    )
    app._create_directories = lambda: None  # nothing is kept on disk, and the disk may be read-only
    app.web.blueprints = BlueprintManager([])  # Faust's index page would replace ours
    return app


class TimelyWorker(faust.Worker):  # type: ignore[misc]
    """Ends within the grace period even if something hangs: without a cluster it cannot leave its groups."""

    def __init__(
        self, app: Any, *, grace_s: Callable[[], float], at_last: Callable[[], Awaitable[None]], **options: Any
    ) -> None:
        super().__init__(app, **options)
        self._grace_s, self._at_last = grace_s, at_last

    async def stop(self) -> None:
        """Stop everything, or end the process when the grace period is over."""
        overdue = threading.Timer(self._grace_s(), _end_overdue)
        overdue.daemon = True
        overdue.start()
        await super().stop()
        await self._at_last()


def _end_overdue() -> None:
    log.critical(
        "worker_stop_overdue",
        why="the cluster did not answer, or a window took longer than worker.grace_period",
        action="nothing is lost; start the worker again",
    )
    os._exit(EXIT_FATAL)


class ServiceFirst(BootStrategy):  # type: ignore[misc]
    """Starts our service before the consumer, because its first assignment needs the service; stops it after."""

    def __init__(self, app: Any, service: Service) -> None:
        super().__init__(app)
        self._service = service

    def kafka_consumer(self) -> list[Any]:
        """Return the services in the order of their start: ours, then the consumer."""
        return [self._service, *super().kafka_consumer()]
