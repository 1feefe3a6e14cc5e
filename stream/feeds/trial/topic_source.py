"""A topic as the source of a trial: its newest messages, read without a group, so that nothing is committed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from core.records.record import Kind, Reason
from stream.feeds.decoders import message_decoder
from stream.feeds.feed import Feed
from stream.feeds.inputs import message_reader
from stream.feeds.trial.guessing.looks import looks_like
from stream.feeds.trial.sample import Sample
from stream.formats.files.record_file import FileFormatError
from stream.formats.files.rejections import within
from stream.formats.input.encodings.decoding import Decoder, FramedJson
from stream.formats.input.encodings.registered import RegisteredSchema
from stream.formats.input.errors import UnreadableError
from stream.formats.input.mapping import Entry, Observer, Skipped, Unreadable
from stream.formats.input.messages import origin_of
from stream.kafka.client import client_options
from stream.kafka.connection_faults import connection_fault
from stream.kafka.reading import new_reader
from stream.kafka.schema_registry import RegistryError, SchemaRegistry
from stream.kafka.topics import ClusterError
from stream.settings.model import Settings
from stream.settings.registry import RegistrySettings

__all__ = ["TopicSource", "newest_messages"]

_WAIT_MS = 500

Progress = Callable[[int], None]
"""Called with the number of messages read so far."""


class TopicSource:
    """Messages of a topic.

    Args:
        name: The topic.
        messages: Its messages, as the Kafka client returns them.
    """

    def __init__(self, name: str, messages: Sequence[Any]) -> None:
        self.name, self._messages = name, messages
        self._schemas: dict[int, RegisteredSchema | None] = {}
        """Schemas of the registry by their ids, or None where it has none; they are fetched once."""
        self._registry_fault: str | None = None

    def entries(self, settings: Settings, feed: Feed, observer: Observer) -> Iterator[tuple[str, Entry]]:
        """See :class:`stream.feeds.trial.findings.RecordSource`."""
        reader = message_reader(settings, feed, observer)
        self._learn(settings, reader.decoder)
        for message in self._messages:
            place = f"partition {message.partition}, offset {message.offset}"
            if message.value is None:
                yield place, Skipped.TOMBSTONE
            elif len(message.value) > settings.limits.message_bytes:
                detail = f"the message is larger than {settings.limits.message_bytes} bytes"
                yield place, Unreadable(Reason.MESSAGE_TOO_LARGE, detail)
            else:
                for element, entry in reader.read(message.value, origin_of(message)):
                    yield place + within(element), entry

    def form(self) -> str:
        """See :class:`stream.feeds.trial.findings.RecordSource`."""
        looks = {looks_like(message.value) or "JSON" for message in self._messages if message.value is not None}
        return "; ".join(sorted(looks)) or "no messages"

    def sample(self, settings: Settings, kind: Kind) -> Sample:
        """Return its documents, decoded as the settings say, or as JSON."""
        found = Sample()
        decoder = message_decoder(settings, kind)
        with suppress(FileFormatError):
            self._learn(settings, decoder)
        for message in self._messages:
            if message.value is None:
                continue
            with suppress(UnreadableError):
                found.documents.append(_document(decoder, message.value))
                found.origins.append(origin_of(message))
                continue
            found.looks[looks_like(message.value) or "JSON"] += 1
        return found

    def _learn(self, settings: Settings, decoder: Decoder) -> None:
        """Teach a decoder the schemas that the messages need. The registry is asked once, whatever it answers."""
        missing = decoder.missing(message.value for message in self._messages)
        if not missing or settings.registry.url is None:
            return
        unknown = missing - self._schemas.keys()
        if unknown and self._registry_fault is None:
            self._fetch(settings.registry, unknown)
        for schema_id in sorted(missing & self._schemas.keys()):
            decoder.learn(schema_id, self._schemas[schema_id])
        if self._registry_fault is not None:
            raise FileFormatError(
                f"the schema is not known, because the registry could not be used: {self._registry_fault}"
            )

    def _fetch(self, settings: RegistrySettings, schema_ids: Iterable[int]) -> None:
        registry = SchemaRegistry(settings)

        async def fetch() -> None:
            for schema_id in sorted(schema_ids):
                self._schemas[schema_id] = await registry.schema(schema_id)

        try:
            asyncio.run(fetch())
        except RegistryError as fault:
            self._registry_fault = str(fault)


def _document(decoder: Decoder, value: bytes) -> Any:
    try:
        return decoder.document(value)
    except UnreadableError:
        return FramedJson().document(value)


async def newest_messages(
    settings: Settings, topic: str, most: int, *, within_s: float, progress: Progress = lambda _: None
) -> list[Any] | None:
    """Read the newest messages of each partition of a topic. Nothing is committed, and no group is joined.

    Args:
        settings: How to connect.
        topic: The topic.
        most: Number of messages of each partition.
        within_s: How long to wait for them, seconds; those that came until then are returned.
        progress: Is told how many there are.

    Returns:
        The messages; None if there is no such topic.

    Raises:
        ClusterError: The cluster does not answer, or does not let us read.
    """
    fault = await connection_fault(settings.kafka, client_options(settings.kafka))
    if fault is not None and not fault.may_pass:
        raise ClusterError(fault.why)
    consumer = new_reader(
        settings.kafka, isolation_level=settings.kafka.isolation_level, request_timeout_ms=round(within_s * 1000)
    )
    try:
        await consumer.start()
        # The public methods know the partitions of subscribed topics alone.
        numbers = (await consumer._client.fetch_all_metadata()).partitions_for_topic(topic)
        if numbers is None:
            return None
        partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
        return await _newest(consumer, partitions, most, time.monotonic() + within_s, progress)
    except (KafkaError, OSError) as fault:
        raise ClusterError(
            f"the topic {topic} cannot be read at {settings.kafka.bootstrap_servers} ({type(fault).__name__}): check "
            "kafka.bootstrap_servers, kafka.security_protocol, the credentials, and the right to read the topic"
        ) from None
    finally:
        await consumer.stop()


async def _newest(
    consumer: AIOKafkaConsumer,
    partitions: Sequence[TopicPartition],
    most: int,
    deadline_s: float,
    progress: Progress,
) -> list[Any]:
    consumer.assign(partitions)
    firsts, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
    for at in partitions:
        consumer.seek(at, max(firsts[at], ends[at] - most))
    found: list[Any] = []
    left = {at for at in partitions if firsts[at] < ends[at]}
    while left and time.monotonic() < deadline_s:
        for messages in (await consumer.getmany(*left, timeout_ms=_WAIT_MS)).values():
            found += messages
        progress(len(found))
        left = {at for at in left if await consumer.position(at) < ends[at]}
    return sorted(found, key=lambda message: (message.partition, message.offset))
