"""The encoding of each feed's releases; the schemas of Avro are registered first."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping

import structlog

from core.models.common.values import show_duration
from core.records.record import Kind
from stream.formats.input.encodings.extras import needs_extra
from stream.formats.release.avro import AvroRelease
from stream.formats.release.avro_schemas import AVRO_SCHEMAS
from stream.formats.release.encoding import ReleaseEncoding
from stream.formats.release.encodings import WITHOUT_REGISTRY
from stream.kafka.schema_registry import RegistryError, SchemaRefusedError, SchemaRegistry
from stream.kafka.topics import ClusterError
from stream.settings.model import Settings

__all__ = ["release_encodings"]

log = structlog.get_logger("shoal.worker")

_RETRY_S = 1.0


async def release_encodings(settings: Settings, progress: Callable[[str], None]) -> Mapping[Kind, ReleaseEncoding]:
    """Return how the releases of each feed are written.

    The schemas of Avro are registered under ``TOPIC-value``, unless they are there already. A registry gives the same
    schema the same id again, so that a window that is emitted again has the same bytes.

    Args:
        settings: Checked settings.
        progress: Called with what the worker waits for.

    Raises:
        ClusterError: The registry does not answer within ``kafka.startup_timeout``, or refuses a schema.
        MissingExtraError: fastavro is not installed.
    """
    names = {kind: settings.for_kind(kind).release.encoding for kind in settings.kinds}
    if "avro" not in names.values():
        return {kind: WITHOUT_REGISTRY[name] for kind, name in names.items()}
    with needs_extra("avro", "fastavro"):
        import fastavro  # noqa: F401, PLC0415 - an extra, loaded where it is used
    avro = await _registered(settings, progress)
    return dict.fromkeys(names, avro)


async def _registered(settings: Settings, progress: Callable[[str], None]) -> AvroRelease:
    registry = SchemaRegistry(settings.registry)
    limit_ms = settings.kafka.startup_timeout
    deadline_s = time.monotonic() + limit_ms / 1000
    ids: dict[str, int] = {}
    for topic, schema in AVRO_SCHEMAS.items():
        subject = f"{getattr(settings.topics, topic)}-value"
        while topic not in ids:
            try:
                ids[topic] = await registry.register(subject, json.dumps(schema))
            except SchemaRefusedError as fault:
                raise ClusterError(
                    f"{fault}: give {subject} to these releases alone, by another name in topics.{topic}, or allow "
                    "the change there"
                ) from None
            except RegistryError as fault:
                if time.monotonic() > deadline_s:
                    raise ClusterError(
                        f"release.encoding is avro, and its schemas were not registered within "
                        f"kafka.startup_timeout={show_duration(limit_ms)}: {fault}"
                    ) from None
                progress(f"waiting for the schema registry: {fault}")
                await asyncio.sleep(_RETRY_S)
        log.info("schema_registered", subject=subject, schema=ids[topic])
    return AvroRelease(anonymized_id=ids["anonymized"], windows_id=ids["windows"])
