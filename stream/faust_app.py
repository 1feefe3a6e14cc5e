"""Faust's app, mended where a rebalance loses messages, and where it reads what was never committed.

A rebalance lets Faust drop what it has fetched and seek to the committed offsets (``Consumer.getmany`` and
``perform_seek``). aiokafka's ``seek_to_committed`` does not seek where nothing is committed, nor where that is 0: what
was fetched and dropped is then passed over, and comes again only after the next rebalance, if at all.

Faust reads committed records only where it writes in transactions itself, which ours does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import faust
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer
from faust.types import TP

__all__ = ["App"]


class _CommittedOnly(AIOKafkaConsumerThread):  # type: ignore[misc]
    """Reads no record of a transaction that is open or was aborted."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = "read_committed"  # looked at when it starts
        return consumer


class _SeekingConsumer(Consumer):  # type: ignore[misc]
    """Goes back to the beginning where nothing is committed."""

    def _new_consumer_thread(self) -> Any:
        return _CommittedOnly(self, loop=self.loop, beacon=self.beacon)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        committed: Mapping[TP, int] = await super().seek_to_committed()
        # A log that begins above 0 by now gives its earliest message: consumer_auto_offset_reset.
        if uncommitted := {at: 0 for at, offset in committed.items() if not offset}:
            await self.seek_wait(uncommitted)
        return committed


class App(faust.App):  # type: ignore[misc]
    """A Faust app whose consumer begins anew after a rebalance, whatever is committed."""

    def _new_transport(self) -> Any:
        transport = super()._new_transport()
        transport.Consumer = _SeekingConsumer
        return transport
