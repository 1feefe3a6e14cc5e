"""Pods on a real Kafka get another vocabulary while records arrive; beside the other changes, for it takes minutes."""

from __future__ import annotations

import pytest

from tests.kubernetes.changes.changes import CHANGES, Change
from tests.kubernetes.changes.run import Row, Run

pytestmark = pytest.mark.cluster

_OF_VOCABULARY = [one for one in CHANGES if one.is_of_vocabulary]


@pytest.mark.parametrize("change", _OF_VOCABULARY, ids=[one.name for one in _OF_VOCABULARY])
def test_no_record_is_turned_away_for_having_been_located_before(run: Run, rows: list[Row], change: Change) -> None:
    """
    Waiting records are located again: none is lost, rejected or late, and no window is withheld.
    """
    row = run.make(change)
    rows.append(row)
    assert row.too_much() == []
    assert row.windows["released"] > 0
