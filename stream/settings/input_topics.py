"""Input topics: the topics that each feed reads, by their names or by a pattern.

One place decides which topic belongs to which feed: the group's subscription, the checks at the start and the windows
all ask here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.records.record import INPUT_KINDS, Kind
from stream.settings.kafka import TopicSettings

__all__ = ["FeedTopics", "InputTopics", "input_topics"]

_OF_THE_BROKERS = "__"
"""How the names of the brokers' own topics begin; no pattern matches such a name."""

_ATOM = r"[A-Za-z0-9_-]|\\[.\-_]"
"""A part of a pattern that stands for one character of a name."""


@dataclass(frozen=True, slots=True)
class InputTopics:
    """The input topics of one feed."""

    names: tuple[str, ...] = ()
    pattern: str | None = None
    """A regular expression that whole names match; without it the feed has its names alone."""

    @property
    def literal_prefix(self) -> str:
        r"""The characters with which every name begins that the pattern matches; perhaps none.

        >>> InputTopics(pattern=r"^gps\.(a|b)").literal_prefix, InputTopics(pattern="^gps|trucks").literal_prefix
        ('gps.', '')
        """
        rest = (self.pattern or "")[1:]
        outside = re.sub(r"\\.|\[[^]]*\]", "", rest)
        while outside != (outside := re.sub(r"\([^()]*\)", "", outside)):
            pass
        if "|" in outside:
            return ""  # between patterns of whole names
        atoms: list[str] = []
        while (atom := re.match(_ATOM, rest)) is not None:
            atoms.append(atom[0].removeprefix("\\"))
            rest = rest[atom.end() :]
        if rest[:1] in ("*", "?", "{"):
            del atoms[-1:]  # the last one may be left out
        return "".join(atoms)


def input_topics(setting: str) -> InputTopics:
    """Read a setting such as ``topics.checkins``, which is checked already."""
    if setting.startswith("^"):
        return InputTopics(pattern=setting)
    return InputTopics(names=tuple(setting.split(","))) if setting else InputTopics()


class FeedTopics:
    """The input topics of all feeds.

    A topic that the patterns of two feeds match belongs to neither: reading it as one of them would be a guess.

    Args:
        topics: The names of all topics.
    """

    def __init__(self, topics: TopicSettings) -> None:
        read = {kind: input_topics(getattr(topics, kind.value)) for kind in INPUT_KINDS}
        self.by_kind: Mapping[Kind, InputTopics] = {kind: one for kind, one in read.items() if one != InputTopics()}
        """What each feed reads."""
        own = [name for setting, name in topics if setting not in INPUT_KINDS]
        no_input = "|".join([f"{_OF_THE_BROKERS}.*", *map(re.escape, own)])
        self._texts = {
            kind: "|".join(map(re.escape, one.names))
            if one.pattern is None
            else rf"(?!(?:{no_input})\Z)(?:{one.pattern})"
            for kind, one in self.by_kind.items()
        }
        self._kinds: dict[str, list[Kind]] = {}
        """What was found before, by topic."""
        self._compiled = {kind: re.compile(rf"(?:{text})\Z") for kind, text in self._texts.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The topics that have names in the settings: they must exist."""
        return tuple(name for one in self.by_kind.values() for name in one.names)

    def kinds_of(self, topic: str) -> list[Kind]:
        """Return the feeds whose names or pattern fit a topic."""
        if topic not in self._kinds:
            self._kinds[topic] = [kind for kind, fits in self._compiled.items() if fits.match(topic)]
        return self._kinds[topic]

    def feed_of(self, topic: str) -> Kind:
        """Return the feed of a topic that is read."""
        (kind,) = self.kinds_of(topic)
        return kind

    def kind_of(self, topic: str) -> Kind | None:
        """Return the feed to which a topic belongs; None if it is none or two."""
        kinds = self.kinds_of(topic)
        return kinds[0] if len(kinds) == 1 else None

    def of(self, existing: Iterable[str]) -> dict[Kind, list[str]]:
        """Return the input topics of each feed among topics that exist, sorted."""
        found: dict[Kind, list[str]] = {kind: [] for kind in self.by_kind}
        for topic in sorted(existing):
            if (kind := self.kind_of(topic)) is not None:
                found[kind].append(topic)
        return found

    def in_two_feeds(self, existing: Iterable[str]) -> list[str]:
        """Return the topics that fit two feeds, sorted: they are not read."""
        return sorted(topic for topic in existing if len(self.kinds_of(topic)) > 1)

    def subscription(self) -> dict[str, Any]:
        """Return the arguments of a consumer's ``subscribe``: names, or one pattern for all feeds."""
        if all(one.pattern is None for one in self.by_kind.values()):
            return {"topics": list(self.names)}
        alternatives = [
            "".join(rf"(?{'=' if own == kind else '!'}(?:{text})\Z)" for own, text in self._texts.items())
            for kind in self._texts
        ]
        return {"pattern": "|".join(alternatives)}
