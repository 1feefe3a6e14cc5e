"""Releasing a sealed window, whole or by its regions: what fails is withheld, and stops nothing."""

from __future__ import annotations

import pytest

from core.places.regions import Regions
from stream.windows.releasing import release_parts
from tests.builders.windows import START_MS, seal_of, sequence_plan, visits

ROWS = visits(*((user, START_MS + user, 0) for user in range(9)))


def test_a_window_that_cannot_be_divided_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With an alarm that names the fault and no data, as one that cannot be anonymized.
    """

    def fail(*_: object, **__: object) -> None:
        raise ValueError("48.2, 16.4 is in no cell")

    monkeypatch.setattr(Regions, "divide", fail)
    plan = sequence_plan(k=3, regions=Regions(finest=6, coarsest=3))
    ((rows, result),) = release_parts(seal_of(ROWS, plan), ROWS, plan, max_bytes=2**20)
    assert rows is ROWS
    assert (result.outcome, result.facts["reason"], result.account.withheld) == ("withheld", "anonymizer_failed", 9)
    assert "the anonymizer failed: ValueError at " in str(result.alarm)
    assert "48.2" not in str(result.alarm)
