"""Conditions: which records they hold for."""

from __future__ import annotations

from typing import Any

import pytest

from stream.formats.input.conditions import condition_from
from stream.formats.input.paths import NOWHERE

TRUE: list[Any] = [True, "true", "True", "TRUE", " true", "t", "T", "yes", "Yes", "y", "1", 1, 1.0]
FALSE: list[Any] = [False, "false", "False", "FALSE", "f", "F", "no", "No", "n", "N", "0", 0, 0.0]
NEITHER: list[Any] = [None, "", "null", "none", "maybe", "2", 2, 0.5, -1, "01", [], {}, [True]]


@pytest.mark.parametrize("word", ["true", "True", "true|ok", "ok|TRUE"])
def test_words_for_true(word: str) -> None:
    """
    Programs write it as text, as a letter or as a number; whatever is no word for it is not true.
    """
    for sign, is_it in (("=", True), ("!=", False)):
        condition = condition_from(f"valid{sign}{word}")
        assert [condition.holds({"valid": value}, NOWHERE) for value in TRUE] == [is_it] * len(TRUE)
        assert [condition.holds({"valid": value}, NOWHERE) for value in FALSE] == [not is_it] * len(FALSE)
        assert [condition.holds({"valid": value}, NOWHERE) for value in NEITHER] == [not is_it] * len(NEITHER)


@pytest.mark.parametrize("word", ["false", "False", "false|ok", "ok|FALSE"])
def test_words_for_false(word: str) -> None:
    """
    So it is with false: a position that the tracker calls invalid is left out, however it says so.
    """
    for sign, is_it in (("=", True), ("!=", False)):
        condition = condition_from(f"valid{sign}{word}")
        assert [condition.holds({"valid": value}, NOWHERE) for value in FALSE] == [is_it] * len(FALSE)
        assert [condition.holds({"valid": value}, NOWHERE) for value in TRUE] == [not is_it] * len(TRUE)
        assert [condition.holds({"valid": value}, NOWHERE) for value in NEITHER] == [not is_it] * len(NEITHER)


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("op=t", "true", False),
        ("op=t", "T", False),
        ("op=1", True, False),
        ("op=1", 1, True),
        ("op=1", 1.0, True),
        ("op=yes", "y", False),
        ("op=null", None, True),
        ("op", False, True),
        ("op", None, False),
    ],
)
def test_other_values_are_compared_as_they_are_written(text: str, value: Any, holds: bool) -> None:
    """
    A letter or a number in a condition is no word for true or false.
    """
    assert condition_from(text).holds({"op": value}, NOWHERE) is holds
