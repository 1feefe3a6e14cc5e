"""Assemble with times: rows become location-time pairs whatever their order, and every row is in exactly one count."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.lkc.assemble import VALUE, PairCandidate, PairWindow, assemble_visits
from core.models.lkc.pairs import DAY_MS, Cycle, Slots
from core.records.record import Rows
from tests.builders import strategies
from tests.builders.strategies import shuffled
from tests.builders.windows import PLACES, START_MS, VENUES, hash_of, limits, visits

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)
TWO_SECONDS = Slots(granularity_ms=2000)


def facts(*rows: tuple[int, int]) -> npt.NDArray[np.void]:
    """User and code of a value."""
    return np.array([(hash_of(user), code) for user, code in rows], VALUE)


def assembled(
    rows: Rows, values: npt.NDArray[np.void] | None = None, slots: Slots = TWO_SECONDS, **curbs: int
) -> PairWindow:
    return assemble_visits(
        rows, facts() if values is None else values, VENUES, limits(**curbs), slots, start_ms=START_MS
    )


def all_of(window: PairWindow) -> PairCandidate:
    return window.candidate(np.ones(len(window.sequences.locations), np.bool_))


def by_user(window: PairWindow, *users: int) -> dict[int, list[tuple[int, str]]]:
    """The trajectory of each of the window's users."""
    hashes = sorted(users, key=hash_of)
    found = all_of(window)
    return {hashes[user]: list(pairs) for user, pairs in zip(found.users, found.trajectories, strict=True)}


def test_slots_count_from_the_start_of_the_window_and_are_half_open() -> None:
    """
    The first instant of a slot belongs to it, the last one before the next as well.
    """
    #  slot   0        1        2
    #         [0  1    [2  3    [4
    window = assembled(visits((1, 4, PARK), (1, 0, STATION), (1, 2, BAKERY), (2, 3, BAKERY), (2, 1, STATION)))
    assert by_user(window, 1, 2) == {
        1: [(0, "station"), (1, "bakery"), (2, "park")],
        2: [(0, "station"), (1, "bakery")],
    }
    assert TWO_SECONDS.of(np.array([START_MS + 1999, START_MS + 2000]), start_ms=START_MS).tolist() == [0, 1]


def test_two_places_in_one_slot_stand_in_the_order_of_names() -> None:
    """
    Whoever went first would tell more than the slot; both ways are one sequence.
    """
    window = assembled(visits((1, 0, PARK), (1, 1, BAKERY), (2, 0, BAKERY), (2, 1, PARK)))
    assert by_user(window, 1, 2) == {user: [(0, "bakery"), (0, "park")] for user in (1, 2)}


def test_a_place_visited_again_in_a_slot_is_one_pair_of_several_rows() -> None:
    """
    The pair stands for both rows; at the same instant the second is a duplicate.
    """
    window = assembled(visits((1, 0, PARK), (1, 1, PARK), (1, 1, PARK), (1, 2, PARK)))
    assert by_user(window, 1) == {1: [(0, "park"), (1, "park")]}
    assert window.stands_for.tolist() == [2, 1]
    assert (window.duplicates, window.suppressed, window.curbed.tolist()) == (1, 0, [False])


def test_slots_of_a_day_lay_days_over_one_another() -> None:
    """
    The same place at the same hour of two days is one pair; midnight is that of the clock that is asked for.
    """
    hour_s, day_s = 3600, 86_400
    # The window starts at 21:00 UTC, 22:00 by a clock that is one hour ahead.
    rows = visits((1, 0, PARK), (1, day_s, PARK), (1, 2 * hour_s, STATION), (1, hour_s, BAKERY))
    utc = Slots(granularity_ms=3_600_000, cycle=Cycle.DAY)
    assert by_user(assembled(rows, slots=utc), 1) == {1: [(21, "park"), (22, "bakery"), (23, "station")]}
    assert assembled(rows, slots=utc).stands_for.tolist() == [2, 1, 1]
    ahead = Slots(granularity_ms=3_600_000, cycle=Cycle.DAY, utc_offset_ms=3_600_000)
    assert by_user(assembled(rows, slots=ahead), 1) == {1: [(0, "station"), (22, "park"), (23, "bakery")]}


def test_of_a_curbed_user_the_first_rows_and_pairs_stay() -> None:
    """
    First rows are curbed, then pairs, by when they were first visited; nobody is cut into several trajectories.
    """
    rows = visits(*((1, at, at % 6) for at in range(6)), (2, 0, PARK))
    window = assembled(rows, points_per_user=5, trajectory_length=3)
    assert by_user(window, 1, 2)[1] == [(0, "bakery"), (0, "cinema"), (1, "market")]
    assert len(window.sequences.users) == window.n_users == 2
    assert window.suppressed == 3
    assert window.curbed.sum() == 1
    hours = Slots(granularity_ms=3_600_000, cycle=Cycle.DAY)
    late = visits((1, 0, PARK), (1, 3600, PARK), (1, 3 * 3600, PARK))  # 21:00, 22:00 and 0:00
    assert by_user(assembled(late, slots=hours, trajectory_length=2), 1) == {1: [(21, "park"), (22, "park")]}


def test_a_user_carries_each_of_their_values_once() -> None:
    """
    Several values, none, the same fact twice, and people who are not there.
    """
    values = facts((1, 7), (9, 3), (1, 2), (1, 7), (3, 2))
    window = assembled(visits((1, 0, PARK), (2, 0, PARK), (3, 0, PARK)), values)
    hashes = sorted((1, 2, 3), key=hash_of)
    carried = {hashes[user]: its for user, its in zip(all_of(window).users, all_of(window).values, strict=True)}
    assert carried == {1: (2, 7), 2: (), 3: (2,)}
    with pytest.raises(ValueError, match="negative"):
        assembled(visits((1, 0, PARK)), facts((1, -1)))


def test_what_is_suppressed_is_not_published() -> None:
    """
    Visit by visit; who has none left is not there, nor are their values.
    """
    window = assembled(visits((1, 0, PARK), (1, 2, STATION), (2, 0, PARK)), facts((1, 4), (2, 5)))
    first, second = sorted((1, 2), key=hash_of)
    of_park = window.pairs.locations[window.sequences.locations] == window.vocabulary.names.index("park")
    left = window.candidate(~of_park)
    assert left.trajectories == [((1, "station"),)]
    assert left.values == [(4,)]
    assert left.users == [(first, second).index(1)]


@settings(deadline=None)
@given(
    both=shuffled(strategies.visit_rows()),
    points_per_user=st.integers(1, 6),
    trajectory_length=st.integers(1, 6),
    granularity_s=st.integers(1, 4),
)
def test_every_row_counts_once_and_the_order_of_arrival_does_not_matter(
    both: tuple[Rows, Rows], points_per_user: int, trajectory_length: int, granularity_s: int
) -> None:
    """
    Duplicates, suppressed rows and rows that a pair stands for are all rows; pairs are those of the kept rows.
    """
    rows, others = both
    slots = Slots(granularity_ms=1000 * granularity_s)
    window, again = (
        assembled(one, slots=slots, points_per_user=points_per_user, trajectory_length=trajectory_length)
        for one in (rows, others)
    )
    assert window.duplicates + window.suppressed + window.stands_for.sum() == len(rows)
    assert all_of(window) == all_of(again)

    expected: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    read: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    curbed = set()
    names = dict(enumerate(PLACES))
    for _, user, ts_ms, location, _ in sorted(rows.tolist(), key=lambda row: (row[1], row[2], names[row[3]])):
        visit, pair = (ts_ms, location), ((ts_ms - START_MS) // (1000 * granularity_s), names[location])
        if visit in read[user]:
            continue
        if len(read[user]) < points_per_user and (pair in expected[user] or len(expected[user]) < trajectory_length):
            expected[user] += [] if pair in expected[user] else [pair]
        else:
            curbed.add(user)
        read[user].append(visit)
    users = sorted(expected)
    assert all_of(window).trajectories == [tuple(sorted(expected[user])) for user in users]
    assert window.curbed.tolist() == [user in curbed for user in users]
    assert window.n_users == len(users)


@pytest.mark.parametrize(
    "given_",
    [
        {"granularity_ms": 999},
        {"granularity_ms": 7_000_000, "cycle": Cycle.DAY},
        {"granularity_ms": 3_600_000, "cycle": Cycle.DAY, "utc_offset_ms": DAY_MS},
        {"granularity_ms": 3_600_000, "utc_offset_ms": 1},
    ],
)
def test_slots_out_of_range_are_refused(given_: dict[str, object]) -> None:
    """
    A second at least; what divides a day where days are laid over one another; an offset only there.
    """
    with pytest.raises(ValueError, match="must"):
        Slots(**given_)  # type: ignore[arg-type]


def test_a_window_without_rows_is_empty() -> None:
    """
    Nobody, nothing, and no error.
    """
    window = assembled(visits())
    assert (window.n_users, len(window.sequences.locations), all_of(window).users) == (0, 0, [])
