"""Which tests a deep run changes: those with a budget of examples, and those that only a deep run has at all."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

__all__ = ["gains_by_a_deep_run", "has_a_budget"]

# A module as a whole: a test may draw examples in a helper beside it, and the others of its module take little time.
_BUDGETED = re.compile(r"^\s*(?:from|import)\s+(?:hypothesis|tests\.budgets)\b", re.MULTILINE)


def has_a_budget(source: str) -> bool:
    """Whether a module draws examples, by hypothesis or by a budget of its own."""
    return _BUDGETED.search(source) is not None


@functools.cache
def _module_has_a_budget(path: Path) -> bool:
    return has_a_budget(path.read_text(encoding="utf-8"))


def gains_by_a_deep_run(item: pytest.Item) -> bool:
    """Whether a deep run does anything for a test that a quick run has not done in the same way."""
    return item.get_closest_marker("deep") is not None or _module_has_a_budget(item.path)
