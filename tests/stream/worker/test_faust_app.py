"""Faust's app: what it must not do by itself."""

from __future__ import annotations

import logging
import time
from typing import Any
from unittest.mock import Mock

import pytest
from faust.transport.drivers.aiokafka import Consumer
from faust.types import TP

from stream.settings.model import Settings
from stream.worker.faust_app import new_app

IDLE = TP("shards", 0)


def consumer_of_an_idle_worker() -> Any:
    """A consumer whose only partition was assigned long ago, and has not had a record since."""
    app = new_app(Settings())
    consumer = app.transport.create_consumer(Mock(), on_partitions_revoked=Mock(), on_partitions_assigned=Mock())
    thread = consumer._thread
    thread.time_started = time.monotonic() - 3600
    assignment = Mock()
    assignment.state_value.return_value.timestamp = None
    thread._consumer = Mock()
    thread._consumer._fetcher._subscriptions.subscription.assignment = assignment
    return consumer


async def test_an_idle_partition_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """
    Faust logs an error every minute for a partition of which nothing was fetched since the start: a false alarm, as a
    partition without records has nothing to fetch.
    """
    consumer = consumer_of_an_idle_worker()
    with caplog.at_level(logging.ERROR):
        Consumer.verify_event_path(consumer, time.monotonic(), IDLE)
        assert "has not sent fetch request" in caplog.text
        caplog.clear()
        consumer.verify_event_path(time.monotonic(), IDLE)
        assert caplog.text == ""
