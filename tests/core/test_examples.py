"""The examples in core's docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import core

NAMES = sorted(module.name for module in pkgutil.walk_packages(core.__path__, "core."))


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    """
    What a docstring shows is what the function returns.
    """
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    """
    The search finds the examples of modules and of packages inside core.
    """
    finder = doctest.DocTestFinder()
    with_examples = {name for name in NAMES for test in finder.find(importlib.import_module(name)) if test.examples}
    assert {
        "core.windows.window",
        "core.release.counts",
        "core.support.table",
        "core.models.kdelta.verify",
    } <= with_examples
