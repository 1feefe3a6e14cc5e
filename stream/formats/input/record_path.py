"""Where the records of a document are."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, Literal

from stream.formats.input.json_messages import unfolded
from stream.formats.input.paths import FieldPath, Origin, alternatives_in, path_from

__all__ = ["MISSING", "RecordPath"]


class _Missing(Enum):
    MISSING = "missing"


MISSING: Final[Literal[_Missing.MISSING]] = _Missing.MISSING
"""A document has no record, not even null in its place."""


class RecordPath:
    """Finds the record, or the list of records, in documents.

    Several alternatives are tried in turn. The place of one that is there, but holds null, decides too: the envelope
    ``{"before": ..., "after": null}`` says that a record was deleted, and is not a record itself.

    Args:
        text: The path, such as ``payload.after|after|/``.

    Raises:
        PathError: It is not a path.

    >>> record = RecordPath("payload.after|after|/")
    >>> record({"after": {"user": 1}}, NOWHERE), record({"after": None}, NOWHERE)
    ({'user': 1}, None)
    """

    def __init__(self, text: str) -> None:
        self._alternatives = [(path_from(one), *_place_of(one)) for one in alternatives_in(text)]

    def __call__(self, document: Any, origin: Origin) -> Any:
        """Return what is at the path; None if it is null there, :data:`MISSING` if there is nothing."""
        if document is None:
            return None
        for path, parent, last in self._alternatives:
            if (found := path(document, origin)) is not None:
                return found
            holder = unfolded(document if parent is None else parent(document, origin))
            if isinstance(holder, dict) and last in holder:
                return None
        return MISSING


def _place_of(text: str) -> tuple[FieldPath | None, str]:
    """Return the path of the object that holds a field, None for the document itself, and the name of the field."""
    parent, _, last = text.removeprefix("/").rpartition(".")
    return (path_from(parent) if parent else None), last
