"""Journeys: cut into windows, and turned into sequences and points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.trajectories.journeys import Journeys
from tests.budgets import examples

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(0, 4)), min_size=1, max_size=30)


def journeys(rows: list[tuple[int, int, int]]) -> Journeys:
    """Return one journey for each person, of rows of person, time and place."""
    rows = sorted(set(rows))
    people = sorted({person for person, _, _ in rows})
    sizes = [sum(person == one for one, _, _ in rows) for person in people]
    return Journeys(
        users=np.arange(len(people)),
        windows_ms=np.zeros(len(people), np.int64),
        starts=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        t_ms=np.array([t for _, t, _ in rows]),
        xy=np.array([(place, -place) for _, _, place in rows], np.float64),
        labels=tuple((str(place),) for place in range(5)),
        label_of=np.array([place for _, _, place in rows]),
    )


@settings(max_examples=examples(100))
@given(rows=ROWS, size=st.integers(1, 20))
def test_windows_hold_what_happened_in_them(rows: list[tuple[int, int, int]], size: int) -> None:
    """
    A journey is the visits of one person in one window, in time order; no visit is lost, and windows do not nest.
    """
    whole = journeys(rows)
    cut = whole.in_windows(size)
    people = sorted({person for person, _, _ in rows})
    found = set()
    for n in range(len(cut)):
        at = slice(int(cut.starts[n]), int(cut.starts[n + 1]))
        assert cut.t_ms is not None
        assert cut.label_of is not None
        assert (np.diff(cut.t_ms[at]) >= 0).all()
        assert (cut.t_ms[at] // size * size == cut.windows_ms[n]).all()
        found |= {
            (people[int(cut.users[n])], t, place)
            for t, place in zip(cut.t_ms[at].tolist(), cut.label_of[at].tolist(), strict=True)
        }
    assert found == set(rows)
    pairs = list(zip(cut.users.tolist(), cut.windows_ms.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert cut.n_visits == whole.n_visits


def test_some_journeys_become_sequences_and_points() -> None:
    """
    Labels get the numbers that are given; of two points at one instant the first stays, and points without a place go.
    """
    whole = journeys([(0, 1, 2), (0, 1, 3), (0, 5, 4), (2, 3, 1)])
    sequences = whole.only(np.array([1])).sequences([9, 8, 7, 6, 5])
    assert (sequences.locations.tolist(), sequences.users.tolist(), sequences.starts.tolist()) == ([8], [0], [0, 1])
    assert whole.xy is not None
    xy_m = whole.xy.copy()
    xy_m[3] = np.nan
    points = whole.points(xy_m)
    assert (points.t_ms.tolist(), points.users.tolist()) == ([1, 5], [0])


def test_columns_must_fit() -> None:
    """
    A column of another length is refused, and so is a question that the journeys have no column for.
    """
    with pytest.raises(ValueError, match="each column"):
        Journeys(users=np.array([0]), windows_ms=np.array([0]), starts=np.array([0, 2]), t_ms=np.array([1]))
    bare = Journeys(users=np.array([0]), windows_ms=np.array([0]), starts=np.array([0, 2]))
    for ask in (lambda: bare.in_windows(1), bare.sequences, lambda: bare.points(np.zeros((2, 2)))):
        with pytest.raises(ValueError, match="have no"):
            ask()
    assert "1" not in repr(bare)
