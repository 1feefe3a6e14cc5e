"""What a preset is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.records.record import INPUT_KINDS, Kind

__all__ = ["ONE_FILE_A_PERSON", "Example", "Preset", "Sections"]

Sections = Mapping[str, Mapping[str, Any]]
"""Settings by section: ``fields``, ``time`` and ``input``."""

ONE_FILE_A_PERSON = (
    "The file does not say whose it is, so its name counts as the person: give every person one file, named by an id."
)
"""The beginning of a note on files of one person each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A message or a file as the source writes it, with drawn values: one person, one instant, one place."""

    file: str
    """Name of a file that holds it."""

    content: Any
    """JSON as plain data, or a text of another form."""

    key: str | None = None
    """Key of the message, if the feed's records have their user there."""

    is_file: bool = False
    """Whether it is a file as a whole, and no message of a topic."""

    kinds: tuple[Kind, ...] = INPUT_KINDS
    """The kinds of feed that can read it."""

    places: int = 1
    """Number of places that it holds: check-ins, or points of fragments."""

    @property
    def text(self) -> str:
        """What is in the message or the file."""
        return self.content if isinstance(self.content, str) else json.dumps(self.content, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A known form of feed."""

    title: str
    """What writes it, for people."""

    note: str = ""
    """What to know before it is used: who counts as a person, and what the form does not say."""

    known_by: str = ""
    """A path at which messages of this source have a value; needed if the settings read other feeds as well."""

    settings: Sections
    """The settings that read it."""

    of_kind: Mapping[Kind, Sections] = field(default_factory=dict)
    """Settings that differ for one kind of feed."""

    examples: tuple[Example, ...]
