"""What a change costs is compared with what it may, and shown as a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.kubernetes.changes.changes import Change, Cost
from tests.kubernetes.changes.fleet import Wanted
from tests.kubernetes.changes.run import Row, table

FREE = Change("k", "`privacy.k` 5 to 10", lambda _, wanted: wanted)
COSTLY = replace(
    FREE, cost=Cost(frozenset({"settings_changed"}), frozenset({"settings_changed"}), is_told_twice=True, is_late=True)
)
ROW = Row(FREE, 12.0, 4000, Counter(released=7), Counter(), 0, Counter(), 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (replace(ROW, withheld=Counter(settings_changed=2)), "2 windows are withheld: settings_changed"),
        (replace(ROW, rejected=Counter(settings_changed=5)), "5 records are turned away: settings_changed"),
        (replace(ROW, late=3), "3 records are late"),
        (replace(ROW, kept_and_rejected=4), "4 records are in a window and turned away"),
    ],
)
def test_a_change_costs_what_it_may(row: Row, says: str) -> None:
    """What one change may cost is too much for another."""
    assert row.too_much() == [says]
    assert replace(row, change=COSTLY).too_much() == []


@pytest.mark.parametrize("row", [replace(ROW, lost=1), replace(ROW, counted_twice=1), replace(ROW, faults=["a fault"])])
def test_no_change_may_lose_a_record(row: Row) -> None:
    """Lost records, records in two windows and workers that fail are too much for every change."""
    assert ROW.too_much() == []
    assert len(replace(row, change=COSTLY).too_much()) == 1


def test_a_reason_that_the_change_does_not_have_is_too_much() -> None:
    """A change that may withhold windows for one reason may not for another."""
    row = replace(ROW, change=COSTLY, withheld=Counter(settings_changed=2, records_missing=1))
    assert row.too_much() == ["1 windows are withheld: records_missing"]


def test_the_table_names_reasons() -> None:
    """A line for each change; nothing is shown for a reason without a count."""
    row = replace(ROW, withheld=Counter(settings_changed=2, too_large=0), rejected=Counter(settings_changed=1300))
    *_, line = table([replace(row, kept_and_rejected=9)])
    assert line == (
        "| `privacy.k` 5 to 10 | 12 | 4,000 | 7 | 2 (`settings_changed`) | "
        "1,300 (`settings_changed`), 9 of them released | 0 |"
    )


def test_what_is_wanted_is_laid_over_what_is() -> None:
    """A changed setting keeps the others, and a secret is never shown."""
    wanted = Wanted().having(privacy__k=10).having(location__cell_m=1600)
    assert wanted.values() == {"privacy.k": 10, "location.cell_m": 1600, "privacy.secret": wanted.secret}
    assert wanted.secret not in repr(wanted)
