"""Markdown for generated pages: tables, and JSON that fits the width of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["code", "listed", "plain", "shown_json", "table"]

_WIDTH = 96


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table.

    >>> print(table(["a", "b"], [["1", "x | y"]]))
    | a | b |
    | --- | --- |
    | 1 | x \| y |
    """
    lines = [header, ["---"] * len(header), *rows]
    escaped = [[cell.replace("|", "\\|") for cell in cells] for cells in lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in escaped)


def code(value: object) -> str:
    """Return a value as code.

    >>> code("k"), code(True)
    ('`k`', '`true`')
    """
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def listed(values: Iterable[str], last: str = "or") -> str:
    """Return values as code, as prose lists them.

    >>> listed(["a", "b", "c"])
    '`a`, `b` or `c`'
    """
    *first, end = [code(value) for value in values]
    return f"{', '.join(first)} {last} {end}" if first else end


def plain(docstring: str) -> str:
    """Return a docstring as Markdown in one line."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", docstring)
    return re.sub(r"\s+", " ", text.replace("``", "`")).strip()


def shown_json(value: Any, indent: int = 0) -> str:
    """Return JSON whose lines are as long as a page is wide.

    >>> print(shown_json({"a": [1, 2], "b": "x" * 90}))
    {
      "a": [1, 2],
      "b": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    }
    """
    whole = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or len(whole) + indent <= _WIDTH:
        return whole
    space = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{space}{json.dumps(name)}: {shown_json(below, indent + 2)}" for name, below in value.items()]
    else:
        parts = [f"{space}{shown_json(below, indent + 2)}" for below in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, ",\n".join(parts), f"{' ' * indent}{closing}"])
