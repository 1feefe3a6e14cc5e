"""Conditions: which records of a feed are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from stream.formats.input.paths import FieldPath, Origin, PathError, names_in, path_from

__all__ = ["Condition", "condition_from", "names_of_condition"]

_TRUTHS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
"""How programs write true and false as text or as a number."""

_WRITTEN = re.compile(r"(?P<path>.*?[^\\!=])\s*(?P<sign>!=|=)\s*(?P<values>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the value at a path: that there is one or, if values are given, which.

    Where ``true`` or ``false`` is among the values, any other word for it, such as ``False`` or ``0``, is the same.
    """

    path: FieldPath
    values: frozenset[str] | None = None
    is_negated: bool = False
    truths: frozenset[bool] = frozenset()

    def holds(self, record: Any, origin: Origin) -> bool:
        """Whether a record meets the condition."""
        value = self.path(record, origin)
        if self.values is None:
            return value is not None
        text = _as_text(value)
        is_one = text in self.values or (bool(self.truths) and _TRUTHS.get(text.strip().lower()) in self.truths)
        return is_one is not self.is_negated


def condition_from(text: str) -> Condition:
    """Read a condition: ``path`` (there is a value), ``path=value``, ``path=one|another`` or ``path!=value``.

    Raises:
        PathError: The text is not a condition.

    >>> condition_from("valid=true").holds({"valid": True}, Origin())
    True
    >>> condition_from("valid!=false").holds({"valid": "False"}, Origin())
    False
    >>> condition_from("_type!=lwt|transition").holds({"_type": "lwt"}, Origin())
    False
    """
    if (match := _WRITTEN.fullmatch(text.strip())) is None:
        if "=" in text:
            raise PathError("it must be a path, path=value or path!=value, such as _type=location")
        return Condition(path_from(text))
    values = frozenset(value.strip() for value in match["values"].split("|"))
    truths = frozenset(_TRUTHS[word] for value in values if (word := value.lower()) in ("true", "false"))
    return Condition(path_from(match["path"].strip()), values, match["sign"] == "!=", truths)


def names_of_condition(text: str) -> list[str]:
    """Return the names of fields that the path of a condition may lead to; see :func:`paths.names_in`."""
    match = _WRITTEN.fullmatch(text.strip())
    return names_in(text if match is None else match["path"].strip())


def _as_text(value: Any) -> str:
    """Write a value as JSON does, but texts without quotation marks."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
