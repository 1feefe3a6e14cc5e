"""Findings: what the first records of a source are read as under some settings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from core.records.record import CheckIn, Fragment, Kind, Reason, Source
from stream.feeds.feed import Feed
from stream.feeds.inputs import mapping_options
from stream.feeds.trial.coverage import Coverage, FieldCoverage
from stream.formats.files.record_file import FileFormatError
from stream.formats.files.rejections import fault_key
from stream.formats.input.mapping import Entry, Observer, Skipped, Unreadable
from stream.settings.model import Settings
from stream.settings.secret import new_secret

__all__ = ["Findings", "FoundRejection", "RecordSource", "findings"]


_FEW = 10
"""Of fewer records each may well be of another person."""

_MANY_PEOPLE = 0.9
"""People in a record, from which on their ids may be those of the records."""


class RecordSource(Protocol):
    """Where records come from: a file, or messages of a topic."""

    name: str

    def entries(self, settings: Settings, feed: Feed, observer: Observer) -> Iterator[tuple[str, Entry]]:
        """Yield the records, each with its place in words.

        Args:
            settings: How it is read.
            feed: The feed of these settings.
            observer: Sees every record before it is read.

        Raises:
            FileFormatError: It cannot be read under these settings.
        """
        ...

    def form(self) -> str:
        """Return what it is, in words."""
        ...


@dataclass(slots=True)
class FoundRejection:
    """One fault, and the records that it rejected."""

    reason: Reason
    detail: str
    place: str
    """Where the first of them is."""

    records: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"reason": self.reason.value, "detail": self.detail, "records": self.records, "first": self.place}


@dataclass(slots=True)
class Findings:
    """What the first records came to; no values."""

    kind: Kind
    refusal: str | None = None
    """Why nothing, or nothing more, can be read."""

    read: int = 0
    understood: int = 0
    filtered: int = 0
    tombstones: int = 0
    rejected: int = 0
    people: int = 0
    """Number of different people among the records understood."""

    points: int = 0
    """Number of check-ins, or of points of fragments."""

    rejections: list[FoundRejection] = field(default_factory=list)
    fields: list[FieldCoverage] = field(default_factory=list)

    @property
    def is_all_understood(self) -> bool:
        """Whether there are records, and every one is understood."""
        return self.understood > 0 and self.rejected == 0 and self.refusal is None

    @property
    def rank(self) -> tuple[int, int]:
        """What makes one reading of a source better than another."""
        return self.understood, -self.rejected

    @property
    def doubt_of_person(self) -> str | None:
        """What is to be checked if there are about as many people as records, of which there are enough; else None."""
        if self.understood < _FEW or self.people < _MANY_PEOPLE * self.understood:
            return None
        which = "every record has" if self.people == self.understood else "nearly every record has"
        return (
            f"{which} another person ({self.people} people in {self.understood} records): check that fields.user is "
            "the id of the person, and not of the record"
        )

    @property
    def share_understood(self) -> float:
        """Share of the records that are understood, of those that are meant to be records."""
        return self.understood / max(self.understood + self.rejected, 1)

    def counts(self) -> dict[str, int]:
        """Return the counts by name."""
        names = ("read", "understood", "filtered", "tombstones", "rejected", "people", "points")
        return {name: getattr(self, name) for name in names}

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "kind": self.kind.value,
            "refusal": self.refusal,
            "records": self.counts(),
            "rejections": [one.as_dict() for one in self.rejections],
            "fields": [one.as_dict() for one in self.fields],
        }


def findings(source: RecordSource, settings: Settings, kind: Kind, most: int, like: Feed | None = None) -> Findings:
    """Read the first records of a source.

    Args:
        source: The source.
        settings: How it is read.
        kind: What it holds.
        most: Number of records.
        like: A feed with the same locations, which are then not read again.

    Raises:
        SettingsError: The settings do not fit one another.
    """
    feed = Feed(settings, kind, secret=new_secret(), like=like)
    coverage = Coverage(kind, mapping_options(settings, feed))
    found = Findings(kind)
    faults: dict[tuple[Reason, str], FoundRejection] = {}
    records: list[tuple[int, CheckIn | Fragment]] = []
    places: list[str] = []

    def reject(reason: Reason, detail: str, place: str) -> None:
        found.rejected += 1
        faults.setdefault(fault_key(reason, detail), FoundRejection(reason, detail, place)).records += 1

    try:
        for place, entry in islice(source.entries(settings, feed, coverage.observe), most):
            found.read += 1
            if isinstance(entry, Unreadable):
                reject(entry.reason, entry.detail, place)
            elif entry is Skipped.FILTERED:
                found.filtered += 1
            elif isinstance(entry, Skipped):
                found.tombstones += 1
            else:
                records.append((len(places), entry))
                places.append(place)
    except FileFormatError as fault:
        found.refusal = str(fault)
    _take_in(found, feed, records, places, reject)
    found.rejections = sorted(faults.values(), key=lambda one: -one.records)
    found.fields = list(coverage.shown()) if coverage.records else []
    return found


def _take_in(
    found: Findings, feed: Feed, records: Sequence[tuple[int, Any]], places: Sequence[str], reject: Any
) -> None:
    """Count the records that the rules of the settings accept; the number of a record stands for its offset."""
    taken = feed.intake.run(
        records, source=Source("trial", 0), n_partitions=1, now_ms=round(time.time() * 1000), elements=None
    )
    for one in taken.rejected:
        reject(one.reason, one.detail, places[one.offset])
    found.understood = len(records) - len(taken.rejected)
    found.points = sum(len(chunk.rows) for chunk in taken.chunks)
    found.people = len({user for chunk in taken.chunks for user in chunk.rows["user"].tolist()})
