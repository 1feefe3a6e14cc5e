"""Warnings of one cause: one line at once, then one a minute with their number, whoever logs them."""

from __future__ import annotations

import ast
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from stream.observe import logs
from stream.observe.logs import set_up_logs
from stream.observe.repeated import CAUSES, Repeats, RepeatsProcessor
from stream.settings.service import LogSettings
from tests.paths import ROOT


class Minutes:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Minutes:
    return Minutes()


@pytest.fixture
def lines(clock: Minutes, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What is logged, as JSON lines, with the time of the test's clock."""
    monkeypatch.setattr(logs, "_ours", RepeatsProcessor(Repeats(now_s=clock)))
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    text = io.StringIO()
    set_up_logs(LogSettings(format="json"), stream=text)
    logs.hear_kafka_client()  # a test of a command may have silenced it
    yield text
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def logged(lines: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def warn(**fields: Any) -> None:
    structlog.get_logger("shoal.test").warning("shards_lost", why="deleted", **fields)


def test_the_first_is_logged_at_once_and_the_others_as_one_line(clock: Minutes, lines: io.StringIO) -> None:
    """
    The line at once shows everything; the summary what is equal, how often it was repeated, and the sum.
    """
    for n in range(5):
        warn(topic="t", partition=n, offsets=10 + n)
    assert [(line["partition"], line["offsets"]) for line in logged(lines)] == [(0, 10)]
    clock.now_s = 59.0
    logs.report_repeats()
    assert len(logged(lines)) == 1
    clock.now_s = 60.0
    logs.report_repeats()
    (_, summary) = logged(lines)
    assert {name: summary.get(name) for name in ("event", "level", "logger", "topic", "times", "offsets", "in_s")} == {
        "event": "shards_lost",
        "level": "warning",
        "logger": "shoal.test",
        "topic": "t",
        "times": 4,
        "offsets": 11 + 12 + 13 + 14,
        "in_s": 60,
    }
    assert "partition" not in summary
    assert "is_summary" not in summary


def test_after_a_quiet_minute_the_next_one_is_new(clock: Minutes, lines: io.StringIO) -> None:
    """
    Nothing is logged for a cause that did not come again, and its next line is logged at once, with its own number.
    """
    warn(topic="t", offsets=1)
    clock.now_s = 61.0
    logs.report_repeats()
    assert len(logged(lines)) == 1
    warn(topic="t", offsets=2)
    assert [line["offsets"] for line in logged(lines)] == [1, 2]
    assert "times" not in logged(lines)[1]


def test_without_a_report_the_next_line_carries_what_was_left_out(clock: Minutes, lines: io.StringIO) -> None:
    """
    No occurrence is lost, also where nobody asks for reports.
    """
    for _ in range(3):
        warn(topic="t", offsets=2)
    clock.now_s = 70.0
    warn(topic="t", offsets=5)
    assert [(line.get("times"), line["offsets"]) for line in logged(lines)] == [(None, 2), (3, 2 + 2 + 5)]


def test_other_causes_and_other_events_are_logged_beside(lines: io.StringIO) -> None:
    """
    A cause is the event and the fields that are listed for it; events that are not listed are never held back.
    """
    for topic in ("t", "u", "t"):
        warn(topic=topic, offsets=1)
    for _ in range(2):
        structlog.get_logger("shoal.test").warning("something_else", offsets=1)
    assert [(line["event"], line.get("topic")) for line in logged(lines)] == [
        ("shards_lost", "t"),
        ("shards_lost", "u"),
        ("something_else", None),
        ("something_else", None),
    ]


def test_the_kafka_client_repeats_itself_once_a_minute(
    clock: Minutes, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Its lines are counted by their template; that passwords are in the clear a worker says itself, once.
    """
    monkeypatch.setattr(logs._damped, "_repeats", Repeats(now_s=clock))
    client = logging.getLogger("aiokafka.test")
    for node in range(3):
        client.error("Unable connect to node with id %s: %s", node, "refused")
    client.warning("Sending username and password in the clear")
    clock.now_s = 61.0
    client.error("Unable connect to node with id %s: %s", 7, "refused")
    assert [line["event"] for line in logged(lines)] == [
        "Unable connect to node with id 0: refused",
        "Unable connect to node with id 7: refused (3 times since this was last logged)",
    ]


def test_the_kafka_client_is_silent_where_our_own_sentence_says_it(lines: io.StringIO) -> None:
    """
    Commands and the start of a worker silence it; a worker that runs hears it again.
    """
    client = logging.getLogger("aiokafka.test2")
    try:
        logs.silence_kafka_client()
        client.error("nobody reads this")
        logs.hear_kafka_client()
        client.error("somebody reads this")
    finally:
        logs.hear_kafka_client()
    assert [line["event"] for line in logged(lines)] == ["somebody reads this"]


ONCE = {
    "clock_wrong": "limited by the clock's watch, which also says when it is right again",
    "internal_topic_recreated": "ends the worker",
    "kafka_refuses": "ends the worker",
    "kernels_interpreted": "at the start",
    "kernels_not_kept": "at the start",
    "not_started": "ends the worker",
    "password_in_the_clear": "at the start",
    "settings_replaced": "ends the worker",
    "settings_not_reloaded": "once for every change by a person",
    "settings_wait_for_restart": "once for every change by a person",
    "telemetry_given_up": "ends the worker",
    "telemetry_lost": "limited by the sender, which counts what is lost",
    "topic_in_two_feeds": "once for every topic",
    "window_alarm": "one line is one window that an operator must look at",
    "workers_did_not_leave": "once for a change of settings",
    "worker_failed": "ends the worker",
    "worker_stop_overdue": "ends the worker",
}
"""Warnings and errors that are not limited, and why no cause repeats them."""


def warnings_of_the_program() -> dict[str, set[str]]:
    """The fields of every warning and error by event, as the source gives them."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "stream").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            of = node.func.value
            if isinstance(of, ast.Name) and of.id == "log" and node.func.attr in ("warning", "error", "critical"):
                names = {keyword.arg for keyword in node.keywords if keyword.arg is not None}
                if isinstance(node.args[0], ast.Constant):
                    found.setdefault(str(node.args[0].value), set()).update(names)
    return found


def test_every_warning_has_a_cause_or_a_reason_to_be_logged_each_time() -> None:
    """
    Whoever adds a warning decides what its cause is: it could come for every chunk, record or attempt. What is listed
    exists, with the fields that make two of them alike.
    """
    found = warnings_of_the_program()
    assert len(found) > 20
    assert sorted(found.keys() - CAUSES.keys() - ONCE.keys()) == []
    for event in found.keys() & CAUSES.keys():
        cause = CAUSES[event]
        assert {*cause.fields, *cause.sums} <= found[event], event
    jumps = {name for name in CAUSES if name.startswith("input_")} - {"input_unreadable"}
    assert sorted(CAUSES.keys() - found.keys() - jumps) == []
