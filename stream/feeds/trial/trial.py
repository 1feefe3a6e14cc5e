"""A trial: what the settings in force make of a source and, if it is not everything, settings that make more of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.records.record import Kind
from stream.feeds.feed import Feed
from stream.feeds.trial.findings import Findings, RecordSource, findings
from stream.feeds.trial.guess import Guess, guess_documents
from stream.feeds.trial.looks import FRAMED_AVRO, FRAMED_PROTOBUF
from stream.feeds.trial.more_settings import with_more
from stream.feeds.trial.sample import Sample
from stream.feeds.trial.tables import guess_table
from stream.formats.input.paths import path_from
from stream.formats.presets.registry import PRESETS
from stream.settings.errors import SettingsError
from stream.settings.model import Settings
from stream.settings.secret import new_secret

__all__ = ["Proposal", "Trial", "TrialSource", "try_source"]

_TO_TRY = {"time.zone": "UTC", "fields.user": "=somebody"}
"""What stands for a setting that only the owner of the data can choose, to see whether the rest fits."""


_NEEDS_REGISTRY = "the messages name their schema by an id: set registry.url to the address of the registry"


class TrialSource(RecordSource, Protocol):
    """A source of which documents can be seen as they are."""

    def sample(self, settings: Settings, kind: Kind) -> Sample:
        """Return its first documents."""
        ...


@dataclass(slots=True)
class Proposal:
    """Settings that read more of a source than those in force."""

    kind: Kind
    settings: dict[str, Any]
    """By dotted name."""

    preset: str | None = None
    needs: dict[str, str] = field(default_factory=dict)
    """Settings that only the owner of the data can choose, and why."""

    remarks: list[str] = field(default_factory=list)
    findings: Findings | None = None
    """What would be read; None if that cannot be seen before the settings are complete."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "preset": self.preset,
            "settings": self.settings,
            "needs": self.needs,
            "remarks": self.remarks,
            "records": None if self.findings is None else self.findings.counts(),
            "rejections": [] if self.findings is None else [one.as_dict() for one in self.findings.rejections],
        }


@dataclass(slots=True)
class Trial:
    """The result."""

    source: str
    form: str
    in_force: Findings
    also: Kind | None = None
    """Another kind of feed as which as many records can be read."""

    looks: dict[str, int] = field(default_factory=dict)
    proposal: Proposal | None = None
    remarks: list[str] = field(default_factory=list)
    presets: list[dict[str, Any]] = field(default_factory=list)
    """The presets that understand something, best first."""

    @property
    def has_result(self) -> bool:
        """Whether something was understood, or settings are proposed."""
        return self.in_force.understood > 0 or self.proposal is not None

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data, without any value of a record."""
        return {
            "source": self.source,
            "form": self.form,
            "looks_like": self.looks,
            **self.in_force.as_dict(),
            "also": None if self.also is None else self.also.value,
            "remarks": self.remarks,
            "presets": self.presets,
            "proposal": None if self.proposal is None else self.proposal.as_dict(),
        }


def try_source(source: TrialSource, settings: Settings, kind: Kind | None, most: int) -> Trial:
    """Try to read the first records of a source.

    Args:
        source: The source.
        settings: The settings in force.
        kind: What it holds; None to find out.
        most: Number of records.

    Raises:
        SettingsError: The settings in force do not fit one another.
    """
    kinds = [kind] if kind is not None else list(Kind)
    feeds = {one: Feed(settings, one, secret=new_secret()) for one in kinds}
    in_force = {one: findings(source, settings, one, most, feeds[one]) for one in kinds}
    form = source.form()
    done = next((one for one in in_force.values() if one.is_all_understood), None)
    if done is not None:
        others = (one for one in in_force.values() if one is not done and one.is_all_understood)
        return Trial(source.name, form, done, also=next((one.kind for one in others), None))
    search = {one: _Search(source, settings, one, most, feeds[one]) for one in kinds}
    found = {one: (search[one].best(in_force[one]), in_force[one]) for one in kinds}

    def rank(one: Kind) -> tuple[int, ...]:
        proposal, now = found[one]
        best = now if proposal is None else proposal.findings
        return (proposal is not None and best is None, *((0, 0) if best is None else best.rank))

    chosen = max(kinds, key=rank)
    proposal, now = found[chosen]
    also = next((one for one in kinds if one is not chosen and rank(one) == rank(chosen) > (False, 0, 0)), None)
    guess = search[chosen].guess
    remarks = [] if guess is None or proposal is not None else guess.remarks
    return Trial(
        source.name,
        form,
        now,
        also=also,
        looks=dict(search[chosen].sample.looks),
        proposal=proposal,
        remarks=list(remarks),
        presets=search[chosen].ranking(),
    )


class _Search:
    """Looks for settings that read a source as one kind of feed."""

    def __init__(self, source: TrialSource, settings: Settings, kind: Kind, most: int, feed: Feed) -> None:
        self._source, self._settings, self._kind = source, settings, kind
        self._most, self._feed = most, feed
        self.sample = source.sample(settings, kind)
        table = self.sample.lines
        self.guess = guess_table(table) if table else guess_documents(self.sample, kind)
        self._by_preset: dict[str, Findings] = {}

    def best(self, now: Findings) -> Proposal | None:
        """Return the best proposal; None if nothing is better than the settings in force."""
        proposals = [*self._presets(), *self._guessed(self.guess)]
        most = max((one.findings.understood for one in proposals if one.findings is not None), default=0)

        def rank(one: Proposal) -> tuple[bool, bool, int, int, bool, int]:
            found = one.findings or Findings(self._kind)
            # A preset that leaves out what its source does not mean is better than a guess that reads it all.
            is_whole = found.rejected == 0 and 2 * found.understood >= most
            is_known = one.preset is not None
            return is_whole, is_whole and is_known, *found.rank, is_known, -len(one.needs)

        best = max(proposals, key=rank, default=None)
        if (
            best is not None
            and best.findings is not None
            and best.findings.rank > now.rank
            and best.findings.understood
        ):
            return best
        return self._of_registry() if not now.understood else None

    def ranking(self) -> list[dict[str, Any]]:
        """Return the presets that understand something, with their counts, best first."""
        found = sorted(self._by_preset.items(), key=lambda item: item[1].rank, reverse=True)
        return [{"preset": name, **one.counts()} for name, one in found if one.understood]

    def _presets(self) -> Iterator[Proposal]:
        for name, preset in PRESETS.items():
            if preset.known_by and not self._knows(preset.known_by):
                continue
            chosen = {"input.preset": name}
            if (found := self._findings(chosen)) is not None:
                self._by_preset[name] = found
                remarks = [preset.note] if preset.note else []
                yield Proposal(self._kind, self._named(chosen), preset=name, remarks=remarks, findings=found)

    def _guessed(self, guess: Guess | None) -> Iterator[Proposal]:
        if guess is None or not guess.has_position:
            return
        needs = dict(guess.needs)
        if "fields.user" not in guess.settings:
            needs["fields.user"] = (
                "no field looks like a person's id: set fields.user to the one that is, or to file:name if every file "
                "is one person"
            )
        settings = self._different(guess.settings)
        to_try = {name: _TO_TRY[name] for name in needs if name in _TO_TRY}
        found = self._findings(settings | to_try)
        if found is not None:
            yield Proposal(self._kind, self._named(settings), needs=needs, remarks=list(guess.remarks), findings=found)

    def _of_registry(self) -> Proposal | None:
        """Return a proposal for messages of a schema registry whose schema is not known yet."""
        now = self._settings.for_kind(self._kind).input.encoding
        for looks, encoding in ((FRAMED_AVRO, "avro"), (FRAMED_PROTOBUF, "protobuf")):
            if now != encoding and 2 * self.sample.looks.get(looks, 0) > self.sample.looks.total():
                needs = {} if self._settings.registry.url is not None else {"registry.url": _NEEDS_REGISTRY}
                return Proposal(self._kind, self._named({"input.encoding": encoding}), needs=needs)
        return None

    def _different(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that are not in force already."""
        own = self._settings.for_kind(self._kind)
        now = {f"{name}.{key}": value for name in ("fields", "input", "time") for key, value in getattr(own, name)}
        return {name: value for name, value in settings.items() if now[name] != value}

    def _named(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {f"{self._kind.value}.{name}": value for name, value in settings.items()}

    def _findings(self, settings: Mapping[str, Any]) -> Findings | None:
        with suppress(SettingsError):
            more = with_more(self._settings, self._kind, settings)
            return findings(self._source, more, self._kind, self._most, self._feed)
        return None

    def _knows(self, path: str) -> bool:
        find = path_from(path)
        return any(find(document, origin) is not None for document, origin in self._documents())

    def _documents(self) -> Iterator[tuple[Any, Any]]:
        return zip(self.sample.documents, self.sample.origins, strict=True)
