"""Workers of these tests start by forks: what they import is imported once. And a Kafka with a guard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.brokers import KafkaUnavailableError
from tests.cluster.secured_kafka import SecuredKafka, secured_kafka
from tests.cluster.workers import forked_workers


@pytest.fixture(scope="session", autouse=True)
def _quick_starts() -> Iterator[None]:
    with forked_workers():
        yield


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """A Kafka with a guard, which allows nothing unasked; for one module alone."""
    try:
        with secured_kafka(tmp_path_factory.mktemp("secured")) as kafka:
            yield kafka
    except KafkaUnavailableError as missing:
        pytest.skip(str(missing))
