"""Heat maps, trips, lengths and radii: each by its definition, slowly, and on cases that can be seen at a glance."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.trajectories.trajectory import PointTrajectories
from core.utility.mobility import Histogram, MobilityProfile, cells_of, jensen_shannon, mean_shift
from core.utility.paired import translation
from tests.budgets import examples

KINDS = st.lists(st.integers(0, 5), min_size=1, max_size=30)
VALUES = st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=20)
POSITIONS = st.lists(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=6), max_size=5)


def rows(kinds: list[int]) -> Histogram:
    return Histogram.of(np.array(kinds, np.int64)[:, None])


@settings(max_examples=examples(150))
@given(one=KINDS, other=KINDS)
def test_divergence_is_that_of_shares(one: list[int], other: list[int]) -> None:
    """
    By the formula over a dictionary of shares; it is symmetric, 0 for the same shares and 1 if nothing is shared.
    """
    p, q = ({kind: n / len(ones) for kind, n in Counter(ones).items()} for ones in (one, other))
    slow = 0.0
    for kind in p.keys() | q.keys():
        middle = (p.get(kind, 0) + q.get(kind, 0)) / 2
        slow += sum(share[kind] * math.log2(share[kind] / middle) / 2 for share in (p, q) if kind in share)
    found = jensen_shannon(rows(one), rows(other))
    assert found == pytest.approx(slow, abs=1e-12)
    assert found == pytest.approx(jensen_shannon(rows(other), rows(one)), abs=1e-12)
    assert jensen_shannon(rows(one), rows(one * 3)) == pytest.approx(0, abs=1e-12)
    assert jensen_shannon(rows(one), rows([kind + 10 for kind in other])) == pytest.approx(1)
    assert math.isnan(jensen_shannon(rows(one), rows([])))


@settings(max_examples=examples(150))
@given(one=VALUES, times=st.integers(1, 3), by=st.floats(-1e6, 1e6, allow_nan=False))
def test_shift_is_what_was_moved(one: list[float], times: int, by: float) -> None:
    """
    Values that all move by the same distance have moved by it, however often each occurs; of equally many values the
    mean distance of those of equal rank.
    """
    before, after = np.array(one), np.array(one * times) + by
    assert mean_shift(before, after) == pytest.approx(abs(by), abs=1e-6)
    other = before[::-1] * 0.5
    assert mean_shift(before, other) == pytest.approx(np.abs(np.sort(before) - np.sort(other)).mean(), abs=1e-6)
    assert math.isnan(mean_shift(before, np.empty(0)))


@settings(max_examples=examples(150))
@given(journeys=POSITIONS, data=st.data())
def test_a_profile_is_that_of_each_journey(journeys: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    """
    Journey by journey, in whatever pieces the visits come: a trip needs two visits, a radius one.
    """
    visits = [(number, point) for number, one in enumerate(journeys) for point in one]
    of_piece = data.draw(st.lists(st.integers(0, 3), min_size=len(visits), max_size=len(visits)))
    # Time goes on from piece to piece: a later visit of a journey is in the same piece or a later one.
    latest: dict[int, int] = {}
    pieces: dict[int, list[tuple[int, tuple[int, int]]]] = {}
    for (number, point), piece in zip(visits, of_piece, strict=True):
        latest[number] = max(latest.get(number, 0), piece)
        pieces.setdefault(latest[number], []).append((number, point))
    profile = MobilityProfile(2.0)
    for piece in sorted(pieces):
        profile.add(
            np.array([number for number, _ in pieces[piece]]), np.array([xy for _, xy in pieces[piece]], np.float64)
        )
    trips = [one for one in journeys if len(one) >= 2]
    lengths = [sum(math.dist(a, b) for a, b in pairwise(one)) for one in trips]
    assert profile.lengths_m.tolist() == pytest.approx(lengths)
    radii = [
        math.sqrt(np.mean([math.dist(point, np.mean(one, axis=0)) ** 2 for point in one])) for one in journeys if one
    ]
    assert profile.radii_m.tolist() == pytest.approx(radii, abs=1e-6)
    ends = Counter(tuple(math.floor(v / 2) for v in (*one[0], *one[-1])) for one in trips)
    assert dict(zip(map(tuple, profile.trips.things.tolist()), profile.trips.counts.tolist(), strict=True)) == ends
    cells = Counter(tuple(math.floor(v / 2) for v in point) for _, point in visits)
    heat = profile.heat_map
    assert dict(zip(map(tuple, heat.things.tolist()), heat.counts.tolist(), strict=True)) == cells


def test_a_cell_has_a_side() -> None:
    """
    A side of 0 is refused; negative positions have cells of their own.
    """
    assert cells_of(np.array([[-0.5, 0.5]]), 1.0).tolist() == [[-1, 0]]
    with pytest.raises(ValueError, match="cell_m is 0"):
        cells_of(np.zeros((1, 2)), 0)


def trajectories(people: dict[int, list[tuple[int, float, float]]]) -> PointTrajectories:
    points = [point for user in sorted(people) for point in people[user]]
    return PointTrajectories(
        users=np.array(sorted(people)),
        starts=np.concatenate(([0], np.cumsum([len(people[user]) for user in sorted(people)]))).astype(np.int64),
        t_ms=np.array([t for t, _, _ in points]),
        xy_m=np.array([(x, y) for _, x, y in points]).reshape(-1, 2),
    )


def test_translation_of_points_that_keep_their_number() -> None:
    """
    Person 0 moves 3 m and 2 s at each of two points, person 1 stays, person 2 is in the trash with one point. Person 1
    at time 5 is half-way.
    """
    raw = trajectories({0: [(0, 0, 0), (10_000, 0, 0)], 1: [(0, 0, 0), (5_000, 1, 0), (10_000, 2, 0)], 2: [(0, 9, 9)]})
    released = trajectories({0: [(2_000, 3, 0), (12_000, 3, 0)], 1: [(0, 0, 0), (10_000, 2, 0)]})
    found = translation(raw, released)
    assert (found.people, found.people_missing, found.points_trashed) == (2, 1, 1)
    assert (found.points_created, found.points_deleted) == (0, 1)
    assert found.mean_space_m == pytest.approx(6 / 5)
    assert found.mean_time_s == pytest.approx(4 / 5)
    assert found.mean_at_time_m == pytest.approx(3 / 4)  # of person 0 only 10 s is covered


def test_a_person_has_one_trajectory() -> None:
    """
    Several trajectories of a person cannot be paired.
    """
    twice = PointTrajectories(
        users=np.array([0, 0]), starts=np.array([0, 1, 2]), t_ms=np.array([0, 1]), xy_m=np.zeros((2, 2))
    )
    with pytest.raises(ValueError, match="several trajectories"):
        translation(twice, twice)
