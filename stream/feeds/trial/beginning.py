"""The beginning of a large JSON document, as a document of its own."""

from __future__ import annotations

import re

__all__ = ["beginning_of_json"]

_MARKS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},]', re.DOTALL)
_CLOSING = {b"[": b"]", b"{": b"}"}


def beginning_of_json(start: bytes) -> bytes | None:
    """Return the longest JSON document that some bytes begin: what is open is closed after its last whole member.

    Args:
        start: The first bytes of one JSON document.

    Returns:
        The document; None if the bytes hold no whole member of anything.

    >>> beginning_of_json(b'{"a": 1, "list": [{"b": 2}, {"b": 3}, {"b')
    b'{"a": 1, "list": [{"b": 2}, {"b": 3}]}'
    """
    is_open: list[bytes] = []
    cut, closing = 0, b""
    for match in _MARKS.finditer(start):
        mark = match[0]
        if mark in _CLOSING:
            is_open.append(mark)
        elif mark in (b"]", b"}"):
            if not is_open or _CLOSING[is_open.pop()] != mark:
                return None
            if not is_open:
                return start[: match.end()]
        elif mark == b"," and is_open:
            cut, closing = match.start(), b"".join(_CLOSING[one] for one in reversed(is_open))
    return start[:cut] + closing if cut else None
