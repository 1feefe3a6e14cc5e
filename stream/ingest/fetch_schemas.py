"""The schemas of messages: fetched from the registry before a batch is decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import structlog

from stream.formats.input.encodings.decoding import Decoder
from stream.formats.input.encodings.registered import RegisteredSchema
from stream.kafka.client import Trouble, until_it_works
from stream.kafka.schema_registry import RegistryError, SchemaRegistry
from stream.settings.registry import RegistrySettings

__all__ = ["Schemas"]

log = structlog.get_logger("shoal.ingest")


class Schemas:
    """Fetches the schemas that messages begin with. While the registry is away, it waits.

    Args:
        registry: The registry; None if there is none.
        on_trouble: Called whenever the registry does not answer.
    """

    def __init__(self, registry: SchemaRegistry | None, *, on_trouble: Trouble) -> None:
        self._registry, self._on_trouble = registry, on_trouble
        self._unknown: set[tuple[Decoder, int]] = set()
        """Ids that the registry does not have, by the decoder that has learnt so."""
        self._trouble: str | None = None

    def check(self) -> bool | str:
        """Return True, or why schemas cannot be fetched, for the readiness check."""
        return self._trouble or True

    def use_registry(self, registry: RegistrySettings) -> None:
        """Authenticate at the registry with other credentials."""
        if self._registry is not None:
            self._registry.rotate(registry)

    async def fetch(self, decoder: Decoder, values: Iterable[bytes | None]) -> None:
        """Fetch the schemas that messages need, so that the decoder can decode them.

        An id that the registry does not have is learnt too: its messages are then rejected. It is asked for again after
        a while.

        Args:
            decoder: The decoder of the messages.
            values: The messages.
        """
        if self._registry is None:
            return
        for known in [known for known in self._unknown if self._registry.may_be_known(known[1])]:
            self._unknown.discard(known)
            known[0].forget(known[1])
        for schema_id in sorted(decoder.missing(values)):
            schema = await until_it_works(
                "fetch a schema", self._attempt(self._registry, schema_id), on_trouble=self._on_trouble
            )
            self._trouble = None
            if schema is None:
                self._unknown.add((decoder, schema_id))
            # In a thread, because it may run a compiler.
            if (why := await asyncio.to_thread(decoder.learn, schema_id, schema)) is None:
                log.info("schema_fetched", schema=schema_id)
            else:
                log.warning("schema_unusable", schema=schema_id, why=why, action="its messages are rejected")

    def _attempt(self, registry: SchemaRegistry, schema_id: int) -> Callable[[], Awaitable[RegisteredSchema | None]]:
        async def attempt() -> RegisteredSchema | None:
            try:
                return await registry.schema(schema_id)
            except RegistryError as fault:
                if self._trouble != str(fault):
                    log.error("schema_registry_trouble", why=str(fault), action="records wait until it answers")
                self._trouble = str(fault)
                raise

        return attempt
