"""Replay: the service's own code on files, without Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from core.models.common.plan import Plan
from core.models.measures import measure_window
from core.models.registry import family_of
from core.places.meaning import Taxonomy
from core.records.record import Kind, Rows
from core.release.attacks.risk import worst
from core.utility.window_measures import MeasureInputs, MeasureOptions
from core.utility.workload import Workload
from core.windows.history import Roster
from core.windows.seal import Seal
from stream.feeds.feed import Feed
from stream.formats.files.record_file import RecordFile
from stream.formats.release.result import WindowResult
from stream.replay.file_windows import FileWindows
from stream.replay.results.formats import FORMATS, open_results
from stream.replay.results.part_files import PartFiles
from stream.replay.results.results import WindowMessages
from stream.replay.summary import Means, Summary
from stream.windows.latest_extracts import LatestExtracts
from stream.windows.releasing import link, release_parts

__all__ = ["Replay"]


class Replay:
    """One run over some files of one kind.

    Args:
        feed: How to read and release the records.
        files: The files, read side by side.
        now_ms: The present, Unix milliseconds.
        max_bytes: Longest message of a release.
        measure: Also compare each release with its raw window. The files written stay the same. The figures are only
            in the summary, because they may reveal something about single people.
        workload: With ``measure``: the queries that are also asked of the window and of its release.

    Raises:
        SettingsError: ``measure`` is given, and the files of ``privacy.taxonomy`` do not fit.
    """

    def __init__(
        self,
        feed: Feed,
        files: Sequence[RecordFile],
        *,
        now_ms: int,
        max_bytes: int,
        measure: MeasureOptions | None = None,
        workload: Workload | None = None,
    ) -> None:
        self.summary = Summary(measures=None if measure is None else Means())
        self._measure, self._workload = measure, workload
        self._taxonomy: Taxonomy | None = None
        if measure is not None and family_of(feed.plan.model).measures_meaning:
            self._taxonomy = feed.taxonomy()
        self._feed, self._max_bytes = feed, max_bytes
        self._extracts, self._linkages = LatestExtracts(), Means()
        self._faults: list[str] = []
        self._windows = FileWindows(feed, files, now_ms=now_ms, summary=self.summary)

    def run(
        self,
        output: Path,
        progress: Callable[[int], None] = lambda _: None,
        alarm: Callable[[str], None] = lambda _: None,
        *,
        formats: Collection[str] = FORMATS[:1],
    ) -> Summary:
        """Read everything and write the messages below ``output``, as files such as ``anonymized.ndjson``.

        Args:
            output: A folder; created if it is missing.
            progress: Called with the number of bytes read so far.
            alarm: Called with every fault that needs attention: a refused release, an anonymizer that failed.
            formats: Names of :data:`stream.replay.results.formats.FORMATS`.

        Raises:
            FileFormatError: A file is damaged or of another form.
            MissingExtraError: The library of a format is not installed.
        """
        begun = time.perf_counter()
        with PartFiles(output) as files:
            results = open_results(formats, files, self._feed.plan.model)
            for released in self._results():
                if self._feed.is_public(released.outcome):
                    window = WindowMessages(released.messages)
                    for one in results:
                        one.add(window)
                if released.alarm is not None:
                    alarm(released.alarm)
                progress(self._windows.position)
            for fault in self._faults:
                alarm(fault)
            for one in results:
                one.finish()
            files.complete()
        self.summary.seconds = round(time.perf_counter() - begun, 3)
        return self.summary

    def _results(self) -> Iterator[WindowResult]:
        for window in self._windows:
            plan, rosters = self._feed.plan.after(window.history), list[Roster]()
            results = list[WindowResult]()
            for rows, result in release_parts(window.seal, window.rows, plan, max_bytes=self._max_bytes):
                self._count(result)
                if self._measure is not None and result.outcome == "released":
                    self._take_measures(rows, result, replace(plan, noisy=result.noisy), self._measure)
                if result.roster is not None:
                    rosters.append(result.roster)
                results.append(replace(result, messages=()))
                yield result
            self._windows.remember(window.seal.key, rosters)
            self._link(window.seal, results, plan)

    def _link(self, seal: Seal, results: Sequence[WindowResult], plan: Plan) -> None:
        linked, extract = link(seal, results, plan, self._extracts.before(seal.key))
        self._extracts.keep(seal.key, extract)
        known = [one.alarm for one in results]
        self._faults += [one.alarm for one in linked if one.alarm is not None and one.alarm not in known]
        for risk in (one.linkage for one in linked if one.linkage is not None):
            highest = max(self.summary.highest_linkage or 0.0, round(risk.highest, 6))
            self._linkages.add({"mean": risk.mean}, risk.people)
            self.summary.highest_linkage, self.summary.mean_linkage = highest, self._linkages.as_dict()["mean"]

    def _take_measures(self, rows: Rows, result: WindowResult, plan: Plan, options: MeasureOptions) -> None:
        inputs = MeasureInputs(options=options, taxonomy=self._taxonomy, workload=self._workload)
        measures = measure_window(result.seal, rows, plan, inputs)
        figures = {} if measures is None else measures.as_dict()
        if self.summary.measures is not None:
            self.summary.measures.add(figures, len(result.messages) - 1)

    def _count(self, result: WindowResult) -> None:
        summary, account = self.summary, result.account
        summary.windows += 1
        if result.seal.kind is Kind.STOPS:
            summary.points_condensed += account.condensed or 0
            summary.stops_released += account.released
            summary.stops_suppressed += account.suppressed + account.duplicates
            summary.stops_withheld += account.withheld
            summary.stops_nowhere += account.nowhere
        else:
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
