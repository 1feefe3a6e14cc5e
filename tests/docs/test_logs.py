"""The page of log events: exactly the events that the code logs, each with its level and with what to do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from stream.kafka.log_start import Jump
from stream.observe.repeated import CAUSES
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "logs.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (info|warning|error|critical) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
LEVELS = ("debug", "info", "warning", "error", "critical", "exception")
MADE = {"input_": [jump.value for jump in Jump], "window_": ["released", "withheld", "refused"]}
"""Events whose names are put together, by their beginning: how they end."""


def names_of(event: ast.expr) -> list[str]:
    """Return the names that the first argument of a call can have."""
    if isinstance(event, ast.Constant) and isinstance(event.value, str):
        return [event.value]
    assert isinstance(event, ast.JoinedStr), ast.unparse(event)
    beginning = event.values[0]
    assert isinstance(beginning, ast.Constant), ast.unparse(event)
    begins = str(beginning.value)
    return [begins + end for end in MADE[begins]]


def logged() -> Iterator[tuple[str, str]]:
    """Yield every event of the code with its level."""
    for path in sorted((ROOT / "stream").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "structlog.get_logger(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "log"
                and node.func.attr in LEVELS
            ):
                for name in names_of(node.args[0]):
                    yield name, node.func.attr


def test_the_page_has_every_event_with_its_level() -> None:
    """
    Each once, and no event that the code does not log.
    """
    on_page = [(event, level) for event, level, _, _ in ROWS]
    assert len(on_page) == len(set(on_page)) > 50
    assert set(on_page) == set(logged())
    assert PAGE.count("\n| `") - len(ROWS) == 6 + 4  # the tables of fields and levels have other rows


def test_every_logger_is_called_log() -> None:
    """
    Otherwise this test would miss its events. One call repeats what other calls have logged.
    """
    made = re.compile(r"^(?!log = ).*structlog\.get_logger\(", re.MULTILINE)
    found = {path.name: made.findall(path.read_text(encoding="utf-8")) for path in (ROOT / "stream").rglob("*.py")}
    assert [name for name, calls in found.items() if calls] == ["repeated.py"]


@pytest.mark.parametrize(("event", "level", "when", "action"), ROWS)
def test_an_event_says_what_to_do(event: str, level: str, when: str, action: str) -> None:
    """
    A warning or an error has a next step, nearly always with a page; "nothing" alone is enough for normal work.
    """
    assert when
    if level == "info":
        return
    assert action != "nothing", event
    assert "](../operate/" in action or "report it with the log" in action, event


def test_the_page_has_the_events_that_are_logged_once_a_minute() -> None:
    """
    In the order of the alphabet, as the code lists them.
    """
    listed = PAGE.partition("The events:\n")[2]
    assert re.findall(r"`(\w+)`", listed) == sorted(CAUSES)
    sums = {field for cause in CAUSES.values() for field in cause.sums}
    assert [field for field in sums if f"`{field}`" not in PAGE.partition("## Repeated events")[2]] == []
