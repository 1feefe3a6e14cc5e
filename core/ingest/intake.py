"""Intake: validate, locate and shard a batch of records. Stateless: repeating a batch gives the same chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, cast

import numpy as np

from core.ingest.shard import Sharder
from core.ingest.validate import Elements, Rules, validate_checkins, validate_fragments
from core.places.locate import Locator
from core.records.arrays import FloatArray
from core.records.demands import NO_DEMANDS, DefaultDemands
from core.records.profile import Profile
from core.records.record import VISIT, CheckIn, Chunk, Fragment, Kind, Reason, Rejected, Rows, Source

__all__ = ["CheckInIntake", "FragmentIntake", "Intake", "Taken"]

Record = CheckIn | Fragment


class Taken(NamedTuple):
    """The result of a batch of records."""

    chunks: list[Chunk]
    """The valid records, one chunk for each shard."""

    rejected: list[Rejected]
    left_out: Mapping[Reason, int] = {}
    """Number of points left out of valid records, by reason."""


class Intake(Protocol):
    """Converts the records of one kind of feed to chunks."""

    def run(
        self,
        records: Sequence[tuple[int, Record]],
        *,
        source: Source,
        n_partitions: int,
        now_ms: int,
        log_id: str = "",
        elements: Elements | None = None,
    ) -> Taken:
        """Convert decoded records of one source to chunks, one for each shard, and rejections.

        Args:
            records: Source offset and record, offsets ascending, all of this intake's kind.
            source: The source of the records.
            n_partitions: Partitions of the source's topic.
            now_ms: The present, Unix milliseconds.
            log_id: Id of the log that the source's offsets belong to.
            elements: Number of each record in the list of its message; None if every message is one record.
        """
        ...


class CheckInIntake:
    """Check-ins become visits to locations of a vocabulary, with the attributes of their person."""

    def __init__(
        self, rules: Rules, locator: Locator, sharder: Sharder, *, vocabulary: str, profile: Profile | None = None
    ) -> None:
        self._rules, self._locator, self._sharder, self._vocabulary = rules, locator, sharder, vocabulary
        self._profile = profile

    def run(
        self,
        records: Sequence[tuple[int, Record]],
        *,
        source: Source,
        n_partitions: int,
        now_ms: int,
        log_id: str = "",
        elements: Elements | None = None,
    ) -> Taken:
        """See :meth:`Intake.run`."""
        locator = self._locator
        valid, rejected = validate_checkins(
            cast("Sequence[tuple[int, CheckIn]]", records),
            self._rules,
            source=source,
            now_ms=now_ms,
            needs_position=locator.needs_position,
            reads_category=locator.reads_category,
            profile=self._profile,
            elements=elements,
        )
        locations, found = locator.locate(valid.lat_deg, valid.lon_deg, valid.venues, valid.categories)
        reason, detail = locator.refusal
        rejected += [
            Rejected(
                reason=reason,
                detail=detail,
                source=source,
                offset=int(valid.offsets[i]),
                element=None if elements is None else elements[int(valid.numbers[i])],
            )
            for i in np.flatnonzero(~found).tolist()
        ]
        rows = np.empty(int(found.sum()), dtype=VISIT)
        rows["offset"], rows["user"] = valid.offsets[found], valid.users[found]
        rows["ts_ms"], rows["location"] = valid.ts_ms[found], locations[found]
        rows["profile"] = valid.profiles[found]
        if locator.needs_position:
            lat, lon = valid.lat_deg[found], valid.lon_deg[found]
        else:
            _, lat, lon = locator.describe(rows["location"])
        whole = _unsharded(Kind.CHECKINS, rows, source, n_partitions, self._vocabulary, log_id)
        return Taken(_by_shard(whole, lat, lon, self._sharder), rejected)


class FragmentIntake:
    """Fragments become GPS points with their positions; demands that they do not state are filled in.

    Args:
        rules: Rules for accepting records.
        sharder: Divides the points into shards.
        vocabulary: Digest of the settings that decide how records are read.
        demands: Default demands.
        kind: Kind of the chunks: trajectories or stops are released of them.
    """

    def __init__(
        self,
        rules: Rules,
        sharder: Sharder,
        *,
        vocabulary: str,
        demands: DefaultDemands = NO_DEMANDS,
        kind: Kind = Kind.FRAGMENTS,
    ) -> None:
        self._rules, self._sharder, self._vocabulary, self._demands = rules, sharder, vocabulary, demands
        self._kind = kind

    def run(
        self,
        records: Sequence[tuple[int, Record]],
        *,
        source: Source,
        n_partitions: int,
        now_ms: int,
        log_id: str = "",
        elements: Elements | None = None,
    ) -> Taken:
        """See :meth:`Intake.run`."""
        rows, rejected, left_out = validate_fragments(
            cast("Sequence[tuple[int, Fragment]]", records),
            self._rules,
            source=source,
            now_ms=now_ms,
            demands=self._demands,
            elements=elements,
        )
        whole = _unsharded(self._kind, rows, source, n_partitions, self._vocabulary, log_id)
        return Taken(_by_shard(whole, rows["lat"], rows["lon"], self._sharder), rejected, left_out)


def _unsharded(kind: Kind, rows: Rows, source: Source, n_partitions: int, vocabulary: str, log_id: str) -> Chunk:
    """Return the rows of a batch as one chunk without a shard."""
    return Chunk(
        kind=kind,
        shard="",
        source=source,
        n_partitions=n_partitions,
        vocabulary=vocabulary,
        rows=rows,
        log_id=log_id,
    )


def _by_shard(chunk: Chunk, lat_deg: FloatArray, lon_deg: FloatArray, sharder: Sharder) -> list[Chunk]:
    """Split a chunk without a shard into one chunk for each shard."""
    if not len(chunk.rows):
        return []
    numbers, names = sharder.shard(chunk.rows["user"], lat_deg, lon_deg)
    if len(names) == 1:
        return [replace(chunk, shard=names[0])]
    return [replace(chunk, shard=name, rows=chunk.rows[numbers == i]) for i, name in enumerate(names)]
