"""The finished parts of a comparison, in its output folder: a later run with the same settings and files reads them.

Like the results they are sums over windows: no id, no position. A part is found by a digest of everything that decides
it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from core.models.frontier import Tally
from stream.replay.comparison.one_combination import CombinationResult
from stream.replay.summary import Summary

__all__ = ["Finished", "ReadingCounts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingCounts:
    """What became of the records that one reading of the files found."""

    records: int
    filtered: int
    rejected: int
    late: int
    duplicates: int
    windows: int
    people: int
    """Distinct people in all windows."""

    rejections: list[dict[str, Any]]
    """What was wrong with rejected records, and where first."""

    complaint: str | None
    """The most frequent reason, if every record was rejected; else None."""

    @classmethod
    def of(cls, summary: Summary, *, windows: int, people: int) -> ReadingCounts:
        """Take what is needed from the summary of a reading."""
        return cls(
            records=summary.records,
            filtered=summary.filtered,
            rejected=summary.rejected,
            late=summary.late,
            duplicates=summary.duplicates,
            windows=windows,
            people=people,
            rejections=[one.as_dict() for one in summary.rejections.sorted()],
            complaint=summary.complaint,
        )


@dataclass(frozen=True, slots=True)
class Finished:
    """The finished parts in one folder.

    Args:
        folder: Where they are; created with the first one.
    """

    folder: Path

    def evaluation(self, digest: str) -> CombinationResult | None:
        """Return the evaluation of a combination; None if it is not finished."""
        kept = self._read(digest)
        return None if kept is None else CombinationResult(tally=Tally(**kept["tally"]), cpu_s=kept["cpu_s"])

    def keep_evaluation(self, digest: str, evaluation: CombinationResult) -> None:
        """Keep an evaluation that is complete and without a fault or an alarm: these must be seen in every run."""
        if evaluation.fault is None and not evaluation.alarms:
            self._write(digest, {"tally": asdict(evaluation.tally), "cpu_s": evaluation.cpu_s})

    def reading(self, digest: str) -> ReadingCounts | None:
        """Return the counts of a reading; None if it is not finished."""
        kept = self._read(digest)
        return None if kept is None else ReadingCounts(**kept)

    def keep_reading(self, digest: str, counts: ReadingCounts) -> None:
        """Keep the counts of a reading."""
        self._write(digest, asdict(counts))

    def _read(self, digest: str) -> Any:
        try:
            return msgspec.json.decode((self.folder / f"{digest}.json").read_bytes())
        except (OSError, msgspec.DecodeError):  # a damaged one is made again
            return None

    def _write(self, digest: str, content: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f"{digest}.json.part"
        part.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1))
        part.replace(self.folder / f"{digest}.json")
