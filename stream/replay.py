"""Replay: the service's own code on files, without Kafka.

Every file is a source of its own. The one whose event time is furthest behind is read next, so that no record comes
late only because its file was read late.
"""

from __future__ import annotations

import heapq
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path

from core.figures import Figures
from core.generalize import Taxonomy
from core.measure_attributes import measure_attributes
from core.measure_clusters import measure_clusters
from core.measure_pairs import measure_pairs
from core.measure_patterns import measure_patterns
from core.measure_points import measure_points
from core.measure_sequences import MeasureOptions, measure_sequences
from core.measure_sets import measure_sets
from core.partition import Partition, ReleaseWindow, WriteSeal
from core.plan import AttributePlan, ClusterPlan, PairPlan, PatternPlan, PointPlan, SequencePlan, SetPlan
from core.records import CheckIn, Fragment, Reason, Rows, Source
from core.risk import worst
from core.seal import Seal
from core.utility import RangeQueryOptions
from stream.files import Entry, RecordFile
from stream.rejections import Rejections
from stream.releasing import WindowResult, release
from stream.wiring import Feed

__all__ = ["FileWindows", "Replay", "Summary"]

_BATCH = 5_000
_CLOCK_MS = 0  # nothing is ever idle here: a file says when it is at its end


@dataclass(slots=True)
class Means:
    """Weighted means of figures, one value a window."""

    _sums: dict[str, float] = field(default_factory=dict)
    _weights: dict[str, int] = field(default_factory=dict)

    def add(self, figures: Mapping[str, float], weight: int) -> None:
        """Take in the figures of a window; NaN counts for nothing.

        Args:
            figures: Values by name.
            weight: The trajectories that were released.
        """
        for name, value in figures.items():
            known = not math.isnan(value)
            self._sums[name] = self._sums.get(name, 0.0) + (value * weight if known else 0.0)
            self._weights[name] = self._weights.get(name, 0) + (weight if known else 0)

    def as_dict(self) -> dict[str, float | None]:
        """Return the means to six decimals by name; None where no window had a value."""
        return {
            name: round(total / self._weights[name], 6) if self._weights[name] else None
            for name, total in self._sums.items()
        }


@dataclass(slots=True)
class Summary:
    """Where everything went.

    ``records = rejected + late + duplicates + withheld_records + points_released + points_suppressed`` where every
    record is one row, as a check-in and a CSV line are. A fragment of ``n`` points counts ``n`` times on the right;
    then ``rows`` takes the place of ``records - rejected``.
    """

    records: int = 0
    rejected: int = 0
    late: int = 0
    duplicates: int = 0
    withheld_records: int = 0
    windows: int = 0
    windows_released: int = 0
    windows_withheld: int = 0
    windows_refused: int = 0
    trajectories_released: int = 0
    points_released: int = 0
    points_suppressed: int = 0
    highest_risk: float | None = None
    """Largest probability of finding a person that a simulated attack on a release came to: to compare with 1/k. None
    where none was simulated."""

    seconds: float = 0.0
    rows: int = 0
    """Rows of the records that were not rejected."""

    points_left_out: int = 0
    """Points without a position, of fragments that were not rejected; they are no rows."""

    reasons: Counter[str] = field(default_factory=Counter)
    """Rejected records, points left out, and withheld windows, by reason."""

    rejections: Rejections = field(default_factory=Rejections)
    """What was wrong with rejected records, and where."""

    measures: Means | None = None
    """Means over the released windows, weighted by their trajectories; None where nothing was to be measured."""

    def as_dict(self) -> dict[str, object]:
        """Return the counts as plain data, and the measures if there are any."""
        counts = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "measures"}
        counts["reasons"] = dict(sorted(self.reasons.items()))
        counts["rejections"] = [one.as_dict() for one in self.rejections.sorted()]
        return counts if self.measures is None else counts | {"measures": self.measures.as_dict()}

    @property
    def complaint(self) -> str | None:
        """Say why nothing came of the files, where every one of their records was rejected; else None."""
        if not self.records or self.rejected < self.records:
            return None
        most = self.rejections.sorted()[0]
        return (
            f"no record was accepted: {most.records} of {self.records} were rejected for {most.reason}: {most.detail} "
            f"(first: {most.place})"
        )


class FileWindows:
    """The sealed windows of some files of one kind, one after the other, none kept.

    Args:
        feed: How to treat the records.
        files: The files, read side by side.
        now_ms: The present, Unix milliseconds.
        summary: What counts the records, and what became of those that are in no window.
    """

    def __init__(self, feed: Feed, files: Sequence[RecordFile], *, now_ms: int, summary: Summary) -> None:
        self._feed, self._files, self._now_ms, self._summary = feed, files, now_ms, summary
        # No limit on open windows: it would seal some before a file that is read later comes to them.
        policy = replace(feed.policy, max_open=sys.maxsize)
        self._partition = Partition({feed.kind: policy}, partial(feed.plan.seal, writer="replay"))
        self._offset = 0

    @property
    def position(self) -> int:
        """Bytes of the files read so far."""
        return sum(file.position for file in self._files)

    def __iter__(self) -> Iterator[ReleaseWindow]:
        """Read everything and yield each window with its first seal.

        Raises:
            FileFormatError: A file is damaged or of another form.
        """
        entries = [iter(file) for file in self._files]
        behind = [(float("-inf"), i) for i in range(len(entries))]
        while behind:
            newest_ms, i = heapq.heappop(behind)
            batch = list(islice(entries[i], _BATCH))
            source = Source("replay", i)
            if batch:
                heapq.heappush(behind, (max(newest_ms, self._take(source, batch)), i))
            else:
                self._partition.retire(self._feed.kind, source)
            yield from self._due()

    def _take(self, source: Source, batch: Sequence[tuple[int, Entry]]) -> float:
        """Take in a batch, entries by their numbers in the file, and return its newest event time."""
        records: list[tuple[int, CheckIn | Fragment]] = []
        for number, entry in batch:
            if isinstance(entry, tuple):
                self._reject(*entry, source.partition, number)
            else:
                records.append((number, entry))
        chunks, rejected, left_out = self._feed.intake.run(
            records, source=source, n_partitions=len(self._files), now_ms=self._now_ms
        )
        self._summary.records += len(batch)
        for one in rejected:
            self._reject(one.reason, one.detail, source.partition, one.offset)
        self._summary.points_left_out += sum(left_out.values())
        self._summary.reasons.update(left_out)
        newest_ms = float("-inf")
        for chunk in chunks:
            accepted = self._partition.accept(chunk, self._offset, clock_ms=_CLOCK_MS)
            self._offset += 1
            self._summary.rows += len(chunk.rows)
            self._summary.late += accepted.late
            self._summary.duplicates += accepted.duplicates
            newest_ms = max(newest_ms, float(chunk.rows["ts_ms"].max()))
        return newest_ms

    def _reject(self, reason: Reason, detail: str, nth_file: int, number: int) -> None:
        self._summary.rejected += 1
        self._summary.reasons[reason] += 1
        self._summary.rejections.add(reason, detail, self._files[nth_file], nth_file, number)

    def _due(self) -> Iterator[ReleaseWindow]:
        while action := self._partition.next_action(clock_ms=_CLOCK_MS):
            if isinstance(action, WriteSeal):
                self._summary.late += self._partition.apply_seal(action.seal)
            elif isinstance(action, ReleaseWindow):
                yield action
                self._partition.released(action.seal)
            else:
                self._partition.completed(action)


class Replay:
    """One run over some files of one kind.

    Args:
        feed: How to treat the records.
        files: The files, read side by side.
        now_ms: The present, Unix milliseconds.
        max_bytes: Longest message of a release.
        measure: Also compare each release with its raw window. What is written stays the same; the figures, which
            may tell of single people, are in the summary alone.

    Raises:
        SettingsError: Something is to be measured, and the files of ``privacy.taxonomy`` do not fit.
    """

    def __init__(
        self,
        feed: Feed,
        files: Sequence[RecordFile],
        *,
        now_ms: int,
        max_bytes: int,
        measure: MeasureOptions | None = None,
    ) -> None:
        self.summary = Summary(measures=None if measure is None else Means())
        self._measure = measure
        self._taxonomy: Taxonomy | None = None
        if measure is not None and isinstance(feed.plan, SequencePlan):
            self._taxonomy = feed.taxonomy()
        self._feed, self._max_bytes = feed, max_bytes
        self._windows = FileWindows(feed, files, now_ms=now_ms, summary=self.summary)

    def run(
        self,
        output: Path,
        progress: Callable[[int], None] = lambda _: None,
        alarm: Callable[[str], None] = lambda _: None,
    ) -> Summary:
        """Read everything and write ``anonymized.ndjson`` and ``windows.ndjson`` below ``output``.

        Args:
            output: A folder; made where it is missing.
            progress: Called with the bytes read so far.
            alarm: Called with what somebody must look at: a refused release, an anonymizer that failed.

        Raises:
            FileFormatError: A file is damaged or of another form.
        """
        begun = time.perf_counter()
        output.mkdir(parents=True, exist_ok=True)
        # Results get their names at the end, so that half of them is never taken for the whole.
        paths = {topic: output / f"{topic}.ndjson" for topic in ("anonymized", "windows")}
        parts = {topic: path.with_suffix(".ndjson.part") for topic, path in paths.items()}
        with ExitStack() as stack:
            files = {topic: stack.enter_context(part.open("wb")) for topic, part in parts.items()}
            for result in self._results():
                for message in result.messages:
                    files[message.topic].write(message.value + b"\n")
                if result.alarm is not None:
                    alarm(result.alarm)
                progress(self._windows.position)
        for topic, part in parts.items():
            part.replace(paths[topic])
        self.summary.seconds = round(time.perf_counter() - begun, 3)
        return self.summary

    def _results(self) -> Iterator[WindowResult]:
        for window in self._windows:
            result = release(window.seal, window.rows, self._feed.plan, max_bytes=self._max_bytes)
            self._count(result)
            if self._measure is not None and result.outcome == "released":
                self._take_measures(window.seal, window.rows, result, self._measure)
            yield result

    def _take_measures(self, seal: Seal, rows: Rows, result: WindowResult, options: MeasureOptions) -> None:
        plan = self._feed.plan
        measures: Figures | None
        match plan:
            case SequencePlan():
                measures = measure_sequences(seal, rows, plan, self._taxonomy or self._feed.taxonomy(), options)
            case ClusterPlan():
                measures = measure_clusters(rows, plan)
            case PatternPlan():
                measures = measure_patterns(rows, plan)
            case PairPlan():
                measures = measure_pairs(seal, rows, plan)
            case AttributePlan():
                measures = measure_attributes(rows, plan)
            case SetPlan():
                measures = measure_sets(seal, rows, plan)
            case PointPlan():
                measures = measure_points(seal, rows, plan, RangeQueryOptions(n=options.queries))
        figures = {} if measures is None else measures.as_dict()
        if self.summary.measures is not None:
            self.summary.measures.add(figures, len(result.messages) - 1)

    def _count(self, result: WindowResult) -> None:
        summary, account = self.summary, result.account
        summary.windows += 1
        summary.duplicates += account.duplicates
        summary.withheld_records += account.withheld
        summary.points_released += account.released
        summary.points_suppressed += account.suppressed
        summary.trajectories_released += len(result.messages) - 1
        if result.outcome == "released":
            summary.windows_released += 1
            if result.risks:
                summary.highest_risk = max(summary.highest_risk or 0.0, round(worst(result.risks), 6))
            return
        summary.reasons[str(result.facts["reason"])] += 1
        if result.outcome == "refused":
            summary.windows_refused += 1
        else:
            summary.windows_withheld += 1
