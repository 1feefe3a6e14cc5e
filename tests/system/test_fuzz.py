"""Whatever comes in: a short run of what ``make fuzz`` does at length."""

from __future__ import annotations

from tests.fuzz.run import run


def test_mutated_files_and_messages_are_refused_or_counted() -> None:
    """
    No exception but the one that refuses a file, and every record and message in exactly one count.
    """
    report = run(6_000, seed=7)
    assert report.faults == []
    assert report.counts["messages forwarded"] > 500
    assert report.counts["messages turned away"] > 500
    assert report.counts["files"] > report.counts["files refused"] > 0
