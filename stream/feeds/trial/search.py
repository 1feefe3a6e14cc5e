"""The search for settings that read a source: all presets, then names and types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from core.records.record import Kind
from stream.feeds.feed import Feed
from stream.feeds.inputs import mapping_options
from stream.feeds.trial.findings import Findings, RecordSource, findings
from stream.feeds.trial.guessing.guess import Guess, guess_documents
from stream.feeds.trial.guessing.looks import FRAMED_AVRO, FRAMED_PROTOBUF
from stream.feeds.trial.guessing.refinement import Refinement
from stream.feeds.trial.guessing.tables import guess_table
from stream.feeds.trial.guessing.written import NEEDS_USER
from stream.feeds.trial.more_settings import with_more
from stream.feeds.trial.sample import Sample
from stream.formats.files.record_file import FileFormatError
from stream.formats.input.paths import alternatives_in, path_from
from stream.formats.presets.registry import PRESETS, preset_settings
from stream.settings.errors import SettingsError
from stream.settings.model import Settings
from stream.settings.secret import new_secret

__all__ = ["Proposal", "SettingsSearch", "TrialSource"]

_TO_TRY = {"time.zone": "UTC", "fields.user": "=somebody", "input.degrees_per_unit": 1e-7}
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


class SettingsSearch:
    """Looks for settings that read a source as one kind of feed."""

    def __init__(self, source: TrialSource, settings: Settings, kind: Kind, most: int, feed: Feed) -> None:
        self._source, self._settings, self._kind = source, settings, kind
        self._most, self._feed = most, feed
        self.sample = source.sample(settings, kind)
        table = self.sample.lines
        self.guess = guess_table(table, kind) if table else guess_documents(self.sample, kind)
        own, found = settings.for_kind(kind), {} if self.guess is None else self.guess.settings | self.guess.needs
        unsigned = [
            getattr(own.fields, field)
            for field, name in (("lat", "latitude_sign"), ("lon", "longitude_sign"))
            if f"input.{name}" in found and getattr(own.input, name) is None
        ]
        self._lacks_signs = bool(unsigned)
        paths = {str(found.get(name)).casefold() for name in ("fields.lat", "fields.lon")}
        self.misreads_signs = any(path.casefold() in paths for one in unsigned for path in alternatives_in(one))
        """Whether the settings in force read numbers whose signs are in other fields, which they do not name."""
        self._by_preset: dict[str, Findings] = {}

    def best(self, now: Findings) -> Proposal | None:
        """Return the best proposal; None if nothing is better than the settings in force."""
        if self.misreads_signs:
            now = Findings(self._kind)
        # Where signs are in fields of their own, a preset that reads the numbers alone reads other places.
        proposals: list[Proposal] = [*(() if self._lacks_signs else self._presets()), *self._guessed()]
        most = max((one.findings.understood for one in proposals if one.findings is not None), default=0)
        has_person = self.guess is not None and "fields.user" in self.guess.settings

        def rank(one: Proposal) -> tuple[bool, bool, int, int, bool, int]:
            found = one.findings or Findings(self._kind)
            # A preset that leaves out what its source does not mean is better than a guess that reads it all.
            is_whole = found.rejected == 0 and 2 * found.understood >= most
            is_known = one.preset is not None and not (has_person and self._is_of_file(one.preset))
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
            # Settings for messages in another encoding read their records as JSON, too; those for JSON are meant.
            encoding = preset_settings(name, self._kind).get("input", {}).get("encoding", "json")
            if self.sample.is_text and encoding != "json":
                continue
            chosen = {"input.preset": name}
            if (found := self._findings(chosen)) is None:
                continue
            self._by_preset[name] = found
            remarks = [preset.note] if preset.note else []
            yield Proposal(self._kind, self._named(chosen), preset=name, remarks=remarks, findings=found)
            if found.rejected and (guess := self._refinement(name)) is not None:
                guess.settings = chosen | guess.settings
                guess.remarks = remarks + guess.remarks
                yield self._proposal(guess, preset=name)

    def _refinement(self, name: str) -> Guess | None:
        """Return what a preset that reads not everything leaves open."""
        stated = [f"{section}.{key}" for section, keys in preset_settings(name, self._kind).items() for key in keys]
        has_fields = any(one.startswith("fields.") for one in stated)
        is_envelope = bool(PRESETS[name].known_by) and not has_fields
        if not (has_fields or is_envelope or self.sample.lines):
            return None  # the columns of a table are no sign that records of another form come from the same source
        with suppress(SettingsError, FileFormatError):
            more = with_more(self._settings, self._kind, {"input.preset": name})
            feed = Feed(more, self._kind, secret=new_secret(), like=self._feed)
            options = mapping_options(more, feed)
            refinement = Refinement(
                self._kind,
                options,
                stated,
                is_text=bool(self.sample.lines),
                is_envelope=is_envelope,
                may_name_person=self.guess is None or not self.guess.has_position,
            )
            for _ in islice(self._source.entries(more, feed, refinement.observe), self._most):
                pass
            guess = refinement.guess()
            if guess is not None:
                guess.settings = _different(guess.settings, more, self._kind)
            return guess
        return None

    def _guessed(self) -> Iterator[Proposal]:
        guess = self.guess
        if guess is None or not guess.has_position:
            return
        if "fields.user" not in guess.settings:
            guess.needs.setdefault("fields.user", NEEDS_USER)
        guess.settings = _different(guess.settings, self._settings, self._kind)
        yield self._proposal(guess)

    def _proposal(self, guess: Guess, preset: str | None = None) -> Proposal:
        to_try = {name: _TO_TRY[name] for name in guess.needs if name in _TO_TRY} | guess.to_try
        found = self._findings(guess.settings | to_try)
        if found is not None and guess.to_try:  # what would be rejected names what must not be shown
            found.rejections, found.fields, found.refusal = [], [], None
        return Proposal(self._kind, self._named(guess.settings), preset, dict(guess.needs), list(guess.remarks), found)

    def _of_registry(self) -> Proposal | None:
        """Return a proposal for messages of a schema registry whose schema is not known yet."""
        now = self._settings.for_kind(self._kind).input.encoding
        for looks, encoding in ((FRAMED_AVRO, "avro"), (FRAMED_PROTOBUF, "protobuf")):
            if now != encoding and 2 * self.sample.looks.get(looks, 0) > self.sample.looks.total():
                needs = {} if self._settings.registry.url is not None else {"registry.url": _NEEDS_REGISTRY}
                return Proposal(self._kind, self._named({"input.encoding": encoding}), needs=needs)
        return None

    def _named(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {f"{self._kind.value}.{name}": value for name, value in settings.items()}

    def _findings(self, settings: Mapping[str, Any]) -> Findings | None:
        with suppress(SettingsError):
            more = with_more(self._settings, self._kind, settings)
            return findings(self._source, more, self._kind, self._most, self._feed)
        return None

    def _is_of_file(self, preset: str) -> bool:
        """Whether a preset takes each file for one person: a field with a person's id is then better."""
        return preset_settings(preset, self._kind).get("fields", {}).get("user") == "file:name"

    def _knows(self, path: str) -> bool:
        find = path_from(path)
        return any(find(document, origin) is not None for document, origin in self._documents())

    def _documents(self) -> Iterator[tuple[Any, Any]]:
        return zip(self.sample.documents, self.sample.origins, strict=True)


def _different(settings: Mapping[str, Any], now: Settings, kind: Kind) -> dict[str, Any]:
    """Return the settings that are not in force already."""
    own = now.for_kind(kind)
    in_force = {f"{name}.{key}": value for name in ("fields", "input", "time") for key, value in getattr(own, name)}
    return {name: value for name, value in settings.items() if in_force[name] != value}
