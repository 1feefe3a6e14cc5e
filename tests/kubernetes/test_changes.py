"""Pods on a real Kafka are changed while records arrive: each change costs no more than it may."""

from __future__ import annotations

import pytest

from tests.kubernetes.changes.changes import CHANGES, Change
from tests.kubernetes.changes.run import Row, Run

pytestmark = pytest.mark.cluster

_OTHERS = [one for one in CHANGES if not one.is_of_vocabulary]  # those are in test_changes_of_vocabulary.py


@pytest.mark.parametrize("change", _OTHERS, ids=[one.name for one in _OTHERS])
def test_a_change_costs_what_it_may(run: Run, rows: list[Row], change: Change) -> None:
    """
    Every record is in one count, nothing is released twice, no worker fails, and windows are withheld and records
    turned away only for the reasons that the change may have.
    """
    row = run.make(change)
    rows.append(row)
    assert row.too_much() == []
    assert row.windows["released"] > 0
