"""The rejections of a run over files: how many records each fault rejected, and where the first of them is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from core.records.record import Reason
from stream.formats.files.record_file import Place, RecordFile

__all__ = ["Rejection", "Rejections", "fault_key", "within"]

_INDEX = re.compile(r"\[\d+\]")


@dataclass(slots=True)
class Rejection:
    """One fault, and the records that it rejected."""

    reason: Reason
    detail: str
    """What is wrong with the first record; contains no value of it."""

    file: str
    nth_file: int
    """Number of the file in the run; the first is 0."""

    unit: str
    """What ``number`` counts; see :attr:`RecordFile.unit`."""

    number: int
    """Number of the first record's line or element in its file."""

    element: int | None = None
    """Number of the first record in the list that the line or element holds, if it holds one."""

    records: int = 0

    @property
    def place(self) -> str:
        """Where the first record is."""
        return f"{self.file}, {self.unit} {self.number}{within(self.element)}"

    def as_dict(self) -> dict[str, object]:
        """Return the fault as plain data."""
        place: dict[str, object] = {"file": self.file, self.unit: self.number}
        if self.element is not None:
            place["record"] = self.element
        return {
            "reason": self.reason.value,
            "detail": self.detail,
            "records": self.records,
            **place,
        }


@dataclass(slots=True)
class Rejections:
    """All faults of a run; their number stays small, however many records are rejected."""

    _by_fault: dict[tuple[Reason, str], Rejection] = field(default_factory=dict)

    def add(self, reason: Reason, detail: str, file: RecordFile, nth_file: int, place: Place) -> None:
        """Count a rejected record."""
        key = fault_key(reason, detail)
        number, element = place
        found = self._by_fault.get(key)
        if found is None or (nth_file, number, element or 0) < (found.nth_file, found.number, found.element or 0):
            n = 0 if found is None else found.records
            found = Rejection(reason, detail, str(file.path), nth_file, file.unit, number, element, n)
            self._by_fault[key] = found
        found.records += 1

    def sorted(self) -> list[Rejection]:
        """Return the faults, those with most records first; equal ones in the order of their first record."""
        return sorted(self._by_fault.values(), key=lambda one: (-one.records, one.nth_file, one.number, one.detail))


def fault_key(reason: Reason, detail: str) -> tuple[Reason, str]:
    """Return what makes two rejections the same fault: that it is at another point of a fragment is no difference."""
    return reason, _INDEX.sub("[]", detail) if "[" in detail else detail


def within(element: int | None) -> str:
    """Return in words where a record stands in a list, to follow the place of the list; empty if there is none.

    >>> within(2), within(None)
    (', record 2 of its list', '')
    """
    return "" if element is None else f", record {element} of its list"
