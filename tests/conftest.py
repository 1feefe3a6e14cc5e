"""What all tests share: profiles, what a deep run selects, and brokers that start once and only when needed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TypeVar

import hypothesis
import pytest

from stream.demo.broker import BrokerMissingError, EmbeddedBroker
from stream.windows.kernel_cache import choose_kernel_cache
from tests.budgets import BY_DEFAULT, PROFILE, examples
from tests.cluster.brokers import ApacheKafka, KafkaUnavailableError, RunningBroker
from tests.cluster.registries import ApicurioRegistry
from tests.cluster.shared_kafka import shared_kafka
from tests.selection import gains_by_a_deep_run

choose_kernel_cache()  # a kernel that calls a changed one in another file is compiled anew

# No deadline anywhere: on a shared machine it measures the neighbours.
_BY_DEFAULT = examples(BY_DEFAULT, least=15)
hypothesis.settings.register_profile("quick", deadline=None, derandomize=True, max_examples=_BY_DEFAULT)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, max_examples=_BY_DEFAULT)
hypothesis.settings.register_profile("deep", deadline=None, derandomize=True, max_examples=_BY_DEFAULT)
hypothesis.settings.register_profile("thorough", deadline=None, derandomize=False, print_blob=True)
hypothesis.settings.load_profile(PROFILE)

_FIRST = ("integration", "system")
"""Folders of the tests that take longest, in the order in which they begin: waits for brokers, then whole feeds."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-deep",
        action="store_true",
        help="leave out the tests that a deep run repeats exactly as a quick run has run them",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        # What takes longest begins first: at the end, one process would work while the others have nothing to do.
        items.sort(key=lambda item: next((i for i, part in enumerate(_FIRST) if part in item.path.parts), len(_FIRST)))
    if config.getoption("--only-deep"):
        config.hook.pytest_deselected(items=[item for item in items if not gains_by_a_deep_run(item)])
        items[:] = [item for item in items if gains_by_a_deep_run(item)]


AnyBroker = TypeVar("AnyBroker", EmbeddedBroker, ApacheKafka, ApicurioRegistry)


@contextlib.contextmanager
def _running(broker: contextlib.AbstractContextManager[AnyBroker]) -> Iterator[AnyBroker]:
    missing = ""
    with contextlib.ExitStack() as stack:
        try:
            running = stack.enter_context(broker)
        except (BrokerMissingError, KafkaUnavailableError) as error:
            missing = str(error)
        if missing and os.environ.get("SHOAL_REQUIRE_KAFKA") == "1":
            pytest.fail(f"SHOAL_REQUIRE_KAFKA=1, but {missing}", pytrace=False)
        if missing:
            pytest.skip(missing)
        yield running


@pytest.fixture(scope="session")
def embedded_broker() -> Iterator[EmbeddedBroker]:
    """The development broker, one for all tests: take topics and groups of your own (:func:`unique`)."""
    with _running(EmbeddedBroker()) as broker:
        yield broker


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """A real Apache Kafka, one for all tests: do not stop it, and take topics and groups of your own."""
    of_the_run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        of_the_run = of_the_run.parent  # the processes of a run have folders of their own in that of the run
    with _running(shared_kafka(of_the_run)) as broker:
        yield broker


@pytest.fixture(scope="session")
def apicurio_registry() -> Iterator[ApicurioRegistry]:
    """A real schema registry for all tests: do not stop it, and take subjects of your own."""
    with _running(ApicurioRegistry()) as registry:
        yield registry


@pytest.fixture
def disposable_registry() -> Iterator[ApicurioRegistry]:
    """A real schema registry for one test, which may stop and start it."""
    with _running(ApicurioRegistry()) as registry:
        yield registry


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
