"""Paths: where in a message a value is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.formats.input.paths import Origin, PathError, is_elsewhere, names_in, path_from

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6).filter(
    lambda name: name == name.strip() and not name.startswith(("kafka:", "file:", "=", "/"))
)
STEPS = st.lists(st.one_of(NAMES, st.integers(0, 3)), min_size=1, max_size=5)


def written(steps: list[str | int]) -> str:
    """Write steps as a path, each special character after a backslash."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += "." * bool(text) + "".join(f"\\{sign}" if sign in "\\.[]|" else sign for sign in step)
    return text


@given(STEPS, st.integers())
def test_a_value_is_found_where_it_was_put(steps: list[str | int], value: int) -> None:
    """
    Any names, whatever characters they have, and indices, in any nesting.
    """
    document: Any = value
    for step in reversed(steps):
        document = {step: document, f"not {step}": 0} if isinstance(step, str) else [None] * step + [document]
    assert path_from(written(steps))(document, Origin()) == value


@given(STEPS, st.recursive(st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)))
def test_no_path_fails_on_any_document(steps: list[str | int], document: Any) -> None:
    """
    A path through something else leads nowhere.
    """
    path_from(written(steps))(document, Origin())


@pytest.mark.parametrize(
    ("path", "record", "value"),
    [
        ("a.b", {"a": {"b": 1}}, 1),
        ("a.b", {"a": {"b": 1}, "a.b": 2}, 2),
        ("a.b", {"a.b": None, "a": {"b": 1}}, 1),
        (r"a\.b", {"a": {"b": 1}}, None),
        ("a[1]", {"a": [5, 6]}, 6),
        ("a[-1]", {"a": [5, 6]}, 6),
        ("a[2]", {"a": [5, 6]}, None),
        ("a[0]", {"a": {"0": 5}}, None),
        ("[1]", [5, 6], 6),
        ("a[].b", {"a": [{"b": 1}, {}, {"b": 3}]}, [1, None, 3]),
        ("a[][0]", {"a": [[1], [], [3]]}, [1, None, 3]),
        ("a|b", {"b": 0}, 0),
        ("a | b.c", {"a": None, "b": {"c": False}}, False),
        ("=p01", {"p01": 1}, "p01"),
        ("# Timestamp", {"# Timestamp": 1}, 1),
    ],
)
def test_what_a_path_means(path: str, record: Any, value: Any) -> None:
    """
    The forms of the documentation, one by one.
    """
    assert path_from(path)(record, Origin()) == value


def test_paths_lead_out_of_the_record() -> None:
    """
    To the whole message, its key, headers and time stamp, and to the name of a file.
    """
    origin = Origin(
        document={"header": {"at": 5}},
        key=b'{"id": "k1"}',
        headers=[("trace", b"t1"), ("empty", None), ("bytes", b"\xff")],
        timestamp_ms=1_760_000_000_000,
        topic="gps.a",
        file="p01",
    )
    wanted = {
        "/header.at": 5,
        "kafka:key": '{"id": "k1"}',
        "kafka:key.id": "k1",
        "kafka:header:trace": "t1",
        "kafka:header:empty": None,
        "kafka:header:bytes": None,
        "kafka:header:none": None,
        "kafka:timestamp": datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC),
        "kafka:topic": "gps.a",
        "file:name": "p01",
        "at|/header.at": 5,
    }
    assert {path: path_from(path)({}, origin) for path in wanted} == wanted
    assert {path: path_from(path)({}, Origin()) for path in wanted} == dict.fromkeys(wanted)


@pytest.mark.parametrize(
    "text",
    ["", " ", "a.", ".a", "a..b", "a[", "a]", "a[x]", "a|", "|a", "kafka:", "kafka:x", "kafka:header:", "file:x"],
)
def test_what_is_no_path_is_refused(text: str) -> None:
    """
    With a sentence of what is allowed.
    """
    with pytest.raises(PathError, match=r"^it must"):
        path_from(text)


def test_the_columns_that_a_path_may_read() -> None:
    """
    Every alternative inside the record is one, under its literal name.
    """
    assert names_in(r"lat|position.lat|a\|b|kafka:key|/x") == ["lat", "position.lat", "a|b"]
    assert [is_elsewhere(path) for path in ("lat", "lat|kafka:key", "file:name", "=x")] == [False, True, True, True]
