"""A sample: the first documents of a source as they are, whatever the settings make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stream.formats.input.paths import Origin

__all__ = ["Sample", "TrialError"]


class TrialError(Exception):
    """There is nothing to try; the message says why."""


@dataclass(slots=True)
class Sample:
    """What a source holds. It never leaves the trial: only names of fields are taken from it."""

    documents: list[Any] = field(default_factory=list)
    """Documents: whole messages, lines, elements or rows."""

    origins: list[Origin] = field(default_factory=list)
    """What surrounds each document."""

    is_text: bool = False
    """Whether it is a file of text, so that no binary encoding is meant."""

    lines: Sequence[bytes] = ()
    """The first lines of a table."""

    looks: Counter[str] = field(default_factory=Counter)
    """What messages look like that are not JSON, with their number."""
