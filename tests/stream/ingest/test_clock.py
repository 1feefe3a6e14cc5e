"""The clock: when it counts as wrong, what is said of it, and that it is said once."""

from __future__ import annotations

import ssl
from typing import Any

import pytest
from aiokafka import TopicPartition
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from core.ingest.validate import TOO_FAR_AHEAD
from core.records.record import Reason, Rejected
from stream.ingest.clock import Clock
from stream.kafka.connection_faults import _reason
from stream.observe.metrics import Metrics
from stream.settings.kafka import KafkaSettings
from tests.builders.windows import SOURCE

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
AT, OTHER = TopicPartition("checkins", 0), TopicPartition("checkins", 1)


class Hands:
    """A clock that a test sets, and the time that passes."""

    def __init__(self) -> None:
        self.now_ms, self.passed_s = NOW_MS, 100.0
        self.metrics = Metrics(CollectorRegistry())
        self.clock = Clock(self.metrics, now_ms=lambda: self.now_ms, passed_s=lambda: self.passed_s)

    def wait(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)
        self.passed_s += seconds

    def shown(self, seen_by: str) -> float | None:
        return self.metrics.registry.get_sample_value("shoal_clock_wrong", {"seen_by": seen_by})


@pytest.fixture
def hands() -> Hands:
    return Hands()


def said(logs: list[Any], event: str) -> int:
    return sum(line["event"] == event for line in logs)


@pytest.mark.parametrize(
    ("ahead_ms", "is_wrong"),
    [
        ([-HOUR_MS] * 3, False),  # a backlog
        ([0, 1000, 59_000], False),
        ([60_000] * 3, False),
        ([61_000] * 3, True),
        ([0, 0, 0, 5 * HOUR_MS], False),  # one producer of many
        ([0, 2 * HOUR_MS, 2 * HOUR_MS], True),
    ],
)
def test_a_batch_that_was_sent_in_the_future(hands: Hands, ahead_ms: list[int], is_wrong: bool) -> None:
    """
    A median of more than a minute ahead of the present means that clocks differ; less does not, nor does one producer.
    """
    hands.clock.read(AT, [NOW_MS + ms for ms in ahead_ms])
    assert (hands.clock.wrong() is not None) == is_wrong
    assert (hands.clock.check() is True) != is_wrong
    assert hands.shown("input") == is_wrong
    assert hands.shown("brokers") == 0


def test_how_far_is_said_in_a_sentence(hands: Hands) -> None:
    """
    The sentence names both clocks that may be wrong, says how far, and what to do.
    """
    hands.clock.read(AT, [NOW_MS + 3 * HOUR_MS])
    assert hands.clock.wrong() == (
        "this machine's clock is 3 h 0 min behind the time stamps of the input, or the clocks of the input's "
        "producers are ahead. Set this machine's clock by NTP, or theirs"
    )
    assert hands.metrics.registry.get_sample_value("shoal_clock_behind_seconds") == 3 * 3600


def test_unknown_time_stamps_say_nothing(hands: Hands) -> None:
    """
    Time stamps of -1 and None are unknown.
    """
    hands.clock.read(AT, [-1, None, -1])
    hands.clock.read(AT, [])
    assert hands.clock.check() is True
    hands.clock.read(AT, [-1, -1, -1, NOW_MS + HOUR_MS])
    assert hands.clock.check() is not True


def test_a_clock_that_is_set_right_is_right_at_once(hands: Hands) -> None:
    """
    No later batch is needed: what was read is compared with the present.
    """
    hands.clock.read(AT, [NOW_MS + 3 * HOUR_MS])
    hands.now_ms += 3 * HOUR_MS
    assert hands.clock.check() is True
    hands.clock.look()
    assert hands.shown("input") == 0


def test_a_later_batch_or_none_for_minutes_ends_it(hands: Hands) -> None:
    """
    A producer that is set right shows in the next batch of its partition; where none comes, it is forgotten.
    """
    hands.clock.read(AT, [NOW_MS + HOUR_MS])
    hands.clock.read(OTHER, [NOW_MS])
    assert hands.clock.check() is not True
    hands.clock.read(AT, [NOW_MS])
    assert hands.clock.check() is True
    hands.clock.read(AT, [NOW_MS + HOUR_MS])
    hands.wait(299)
    assert hands.clock.check() is not True
    hands.wait(2)
    assert hands.clock.check() is True


def test_brokers_that_refuse_the_present(hands: Hands) -> None:
    """
    Two refusals in a row count, a success ends it, and so does silence: what is refused is repeated within seconds.
    """
    hands.clock.refused("seals")
    assert hands.clock.check() is True
    hands.clock.taken("seals")
    hands.clock.refused("seals")
    assert hands.clock.check() is True
    hands.clock.refused("seals")
    assert "refuse the time of this machine's clock as a time stamp (topic seals)" in str(hands.clock.check())
    assert hands.shown("brokers") == 1
    hands.clock.taken("shards")
    assert hands.clock.check() is not True
    hands.clock.taken("seals")
    assert hands.clock.check() is True
    assert hands.shown("brokers") == 0
    hands.clock.refused("seals")
    hands.clock.refused("seals")
    hands.wait(61)
    assert hands.clock.check() is True


def test_it_is_said_once_and_again_each_minute(hands: Hands) -> None:
    """
    A line when it begins, one a minute while it lasts, one when it ends.
    """
    with capture_logs() as logs:
        for _ in range(90):
            hands.clock.read(AT, [hands.now_ms + HOUR_MS])
            hands.wait(1)
        assert said(logs, "clock_wrong") == 2
        hands.clock.read(AT, [hands.now_ms])
        hands.clock.look()
    assert said(logs, "clock_wrong") == 2
    assert said(logs, "clock_right_again") == 1


@pytest.mark.parametrize(
    ("jump_s", "is_said"), [(-3600, True), (-10, True), (-9, False), (0, False), (9, False), (10, True)]
)
def test_a_jump_of_the_clock_is_logged(hands: Hands, jump_s: int, is_said: bool) -> None:
    """
    The clock is compared with the time that passes: a step of 10 seconds or more either way is logged and counted.
    """
    with capture_logs() as logs:
        hands.wait(30)
        hands.clock.look()
        hands.wait(1)
        hands.now_ms += jump_s * 1000
        hands.clock.look()
        hands.wait(1)
        hands.clock.look()
    assert said(logs, "clock_jumped") == is_said
    assert hands.metrics.registry.get_sample_value("shoal_clock_jumps_total") == is_said


@pytest.mark.parametrize(("code", "is_named"), [(9, True), (10, True), (18, False)])
def test_certificates_that_are_not_valid_now_name_the_clock(code: int, is_named: bool) -> None:
    """
    A certificate that is not yet valid or has expired may be good, and the clock wrong; one that nobody vouches for
    has nothing to do with the clock.
    """
    fault = ssl.SSLCertVerificationError()
    fault.verify_code, fault.verify_message = code, "what OpenSSL says"
    reason = _reason(fault, KafkaSettings(), "broker:9093")
    assert reason is not None
    assert ("or set this machine's clock right" in reason) == is_named


def test_dead_letters_name_the_clock(hands: Hands) -> None:
    """
    Only where the clock is behind, and only those that are too far ahead.
    """
    ahead = Rejected(reason=Reason.TIME_OUT_OF_RANGE, detail=TOO_FAR_AHEAD, source=SOURCE, offset=1)
    old = Rejected(reason=Reason.TIME_OUT_OF_RANGE, detail="ts is before time.earliest", source=SOURCE, offset=2)
    assert hands.clock.explain([ahead, old]) == [ahead, old]
    hands.clock.read(AT, [NOW_MS + 2 * HOUR_MS])
    explained = hands.clock.explain([ahead, old])
    assert explained[0].detail == (
        "ts is further ahead than time.max_ahead; the worker's clock was 2 h 0 min behind the time stamps of the input"
    )
    assert explained[1] == old
