"""A feed of which nothing is released, because k is above the crowd, is noticed."""

from __future__ import annotations

from structlog.testing import capture_logs

from core.records.record import Kind
from core.release.outcome import WithholdReason
from stream.observe.crowds import SmallCrowds

FEW = WithholdReason.TOO_FEW_PEOPLE


def test_three_windows_in_a_row_with_too_few_people_are_reported() -> None:
    """
    The line names k and what to change; a release, of any shard of the feed, begins the count anew.
    """
    crowds = SmallCrowds({Kind.CHECKINS: 50})
    with capture_logs() as logs:
        for outcome, reason in [("withheld", FEW)] * 2 + [("released", None)] + [("withheld", FEW)] * 2:
            crowds.note(Kind.CHECKINS, outcome, reason)
        assert logs == []
        crowds.note(Kind.CHECKINS, "withheld", FEW)
    (line,) = logs
    assert (line["event"], line["k"], line["windows_in_a_row"]) == ("too_few_people", 50, 3)
    assert "smaller privacy.k" in line["action"]


def test_other_reasons_and_other_feeds_do_not_count() -> None:
    """
    A window that is withheld for another reason says nothing of the number of people.
    """
    crowds = SmallCrowds({Kind.CHECKINS: 5, Kind.FRAGMENTS: 5})
    with capture_logs() as logs:
        for _ in range(2):
            crowds.note(Kind.CHECKINS, "withheld", FEW)
            crowds.note(Kind.FRAGMENTS, "withheld", FEW)
            crowds.note(Kind.CHECKINS, "withheld", WithholdReason.SETTINGS_CHANGED)
    assert logs == []
