"""What all tests share: hypothesis profiles, and brokers that start once and only when a test needs them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TypeVar

import hypothesis
import pytest

from stream.broker import BrokerMissingError, EmbeddedBroker
from tests.brokers import ApacheKafka, KafkaUnavailableError, RunningBroker

# No deadline anywhere: on a shared machine it measures the neighbours. The default draws the same examples in
# every run, so a failure comes from the change at hand; "ci" keeps looking and prints how to repeat a find;
# "thorough" does so for much longer where a test has a budget of its own.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=False, print_blob=True)
hypothesis.settings.register_profile("thorough", deadline=None, derandomize=False, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "default")


AnyBroker = TypeVar("AnyBroker", EmbeddedBroker, ApacheKafka)


@contextlib.contextmanager
def _running(broker: AnyBroker) -> Iterator[AnyBroker]:
    missing = ""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(broker)
        except (BrokerMissingError, KafkaUnavailableError) as error:
            missing = str(error)
        if missing and os.environ.get("SHOAL_REQUIRE_KAFKA") == "1":
            pytest.fail(f"SHOAL_REQUIRE_KAFKA=1, but {missing}", pytrace=False)
        if missing:
            pytest.skip(missing)
        yield broker


@pytest.fixture(scope="session")
def embedded_broker() -> Iterator[EmbeddedBroker]:
    """The development broker, one for all tests: take topics and groups of your own (:func:`unique`)."""
    with _running(EmbeddedBroker()) as broker:
        yield broker


@pytest.fixture(scope="session")
def apache_kafka() -> Iterator[ApacheKafka]:
    """A real Apache Kafka, one for all tests: do not stop it, and take topics and groups of your own."""
    with _running(ApacheKafka()) as broker:
        yield broker


@pytest.fixture
def disposable_kafka() -> Iterator[ApacheKafka]:
    """A real Apache Kafka for one test, which may stop, kill and start it."""
    with _running(ApacheKafka()) as broker:
        yield broker


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("embedded_broker", id="embedded", marks=pytest.mark.broker),
        pytest.param("apache_kafka", id="apache", marks=[pytest.mark.broker, pytest.mark.kafka]),
    ],
)
def broker(request: pytest.FixtureRequest) -> RunningBroker:
    """Each broker in turn; a test that takes it runs once against every one."""
    running: RunningBroker = request.getfixturevalue(request.param)
    return running
