"""Assemble: rows become trajectories whatever their order, and every row is in exactly one count."""

from __future__ import annotations

from itertools import groupby, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.kdelta.assemble import PointWindow, assemble_points
from core.models.kdelta.guarantee import KDelta
from core.places.locate import Venues
from core.records.arrays import FloatArray, IntArray
from core.records.record import POINT, VISIT, Rows
from core.trajectories.assemble import SequenceWindow, affordable_length, assemble_sequences
from core.trajectories.joining import Joining
from tests.builders import strategies
from tests.builders.strategies import shuffled
from tests.builders.windows import PLACES, START_MS, VENUES, hash_of, limits, points, visits

PROMISE = KDelta(k=3, delta_m=300.0)
BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)
HERE = (52.5, 13.4)
THERE = (52.51, 13.41)


def sequences(rows: Rows, **curbs: int) -> SequenceWindow:
    return assemble_sequences(rows, VENUES, limits(**curbs))


def named(window: SequenceWindow) -> list[tuple[int, list[str]]]:
    """User number and names of the locations of each trajectory."""
    bounds = pairwise(window.sequences.starts.tolist())
    return [
        (user, [window.vocabulary.names[i] for i in window.sequences.locations[start:end].tolist()])
        for user, (start, end) in zip(window.sequences.users.tolist(), bounds, strict=True)
    ]


def by_hash(*users: int) -> list[int]:
    """Users in the order of their hashes, which is the order of their trajectories."""
    return sorted(users, key=hash_of)


# ---------------------------------------------------------------- check-ins


def test_a_users_visits_become_one_sequence_in_time_order() -> None:
    """
    Rows may arrive in any order, from any number of records.
    """
    #  u1   park(5)  station(9)
    #  u2   bakery(7)
    window = sequences(visits((1, 9, STATION), (2, 7, BAKERY), (1, 5, PARK)))
    expected = {1: ["park", "station"], 2: ["bakery"]}
    assert named(window) == [(i, expected[user]) for i, user in enumerate(by_hash(1, 2))]
    assert (window.n_users, window.duplicates, window.suppressed) == (2, 0, 0)


def test_only_the_same_user_place_and_instant_is_a_duplicate() -> None:
    """
    Two places at one instant are two visits, by name; the same place later is another visit.
    """
    window = sequences(visits((1, 5, PARK), (1, 5, PARK), (1, 5, MARKET), (1, 6, PARK), (1, 5, PARK)))
    assert named(window) == [(0, ["market", "park", "park"])]
    assert window.duplicates == 2


def test_a_window_knows_only_the_places_it_visits() -> None:
    """
    The vocabulary is what occurs, in the order of names.
    """
    window = sequences(visits((1, 0, STATION), (2, 0, BAKERY), (3, 0, STATION)))
    assert window.vocabulary.names == ("bakery", "station")
    assert window.vocabulary.lat_deg.tolist() == [VENUES.lat_deg[BAKERY], VENUES.lat_deg[STATION]]
    assert window.vocabulary.xy_m.shape == (2, 2)


def test_ids_follow_names_even_where_the_vocabulary_numbers_otherwise() -> None:
    """
    A grid's ids need not sort like its names; ids inside a window always do, so ties are broken by names.
    """

    class Backwards(Venues):
        def describe(self, locations: IntArray) -> tuple[list[str], FloatArray, FloatArray]:
            return super().describe(len(PLACES) - 1 - locations)

    backwards = Backwards(PLACES, VENUES.lat_deg, VENUES.lon_deg)
    window = assemble_sequences(visits((1, 0, 0), (1, 1, 5)), backwards, limits())
    assert window.vocabulary.names == ("bakery", "station")
    assert window.sequences.locations.tolist() == [1, 0]


def test_a_long_sequence_is_cut_and_its_pieces_stay_one_user() -> None:
    """
    Seven visits cut at three are three trajectories of one person.
    """
    #  [bakery cinema market][museum park station][bakery]
    rows = visits(*((1, i, i % 6) for i in range(7)), (2, 0, PARK))
    window = sequences(rows, trajectory_length=3)
    number = by_hash(1, 2).index(1)
    assert [names for user, names in named(window) if user == number] == [
        ["bakery", "cinema", "market"],
        ["museum", "park", "station"],
        ["bakery"],
    ]
    assert window.sequences.n_users == window.n_users == 2
    assert window.suppressed == 0


@pytest.mark.parametrize("n_visits", [3, 6])
def test_a_cut_leaves_no_empty_piece(n_visits: int) -> None:
    """
    A sequence exactly as long as the limit, or twice, is not followed by an empty one.
    """
    window = sequences(visits(*((1, i, PARK) for i in range(n_visits))), trajectory_length=3)
    assert np.diff(window.sequences.starts).tolist() == [3] * (n_visits // 3)


def test_later_visits_of_a_busy_user_are_suppressed() -> None:
    """
    One user cannot stop a shard: the first visits stay, duplicates not counted, and others are not touched.
    """
    #  u1   bakery bakery' cinema market | museum park
    rows = visits((1, 0, BAKERY), (1, 0, BAKERY), *((1, i, i) for i in range(1, 5)), (2, 9, STATION))
    window = sequences(rows, points_per_user=3)
    expected = {1: ["bakery", "cinema", "market"], 2: ["station"]}
    assert named(window) == [(i, expected[user]) for i, user in enumerate(by_hash(1, 2))]
    assert (window.suppressed, window.duplicates, window.n_users) == (2, 1, 2)


@given(rows=strategies.visit_rows(), per_user=st.integers(1, 6), length=st.integers(1, 4))
def test_sequences_are_what_a_dictionary_would_make(rows: Rows, per_user: int, length: int) -> None:
    """
    Against the slow way: distinct visits by user, sorted by time and name, the first few, cut in pieces.
    """
    window = sequences(rows, points_per_user=per_user, trajectory_length=length)
    distinct = sorted({(int(r["user"]), int(r["ts_ms"]), PLACES[r["location"]]) for r in rows})
    expected = []
    kept = 0
    for number, (_, its) in enumerate(groupby(distinct, key=lambda visit: visit[0])):
        names = [name for _, _, name in its][:per_user]
        kept += len(names)
        expected += [(number, names[at : at + length]) for at in range(0, len(names), length)]
    assert named(window) == expected
    assert window.duplicates == len(rows) - len(distinct)
    assert window.suppressed == len(distinct) - kept
    assert window.n_users == len({user for user, _, _ in distinct})


@given(both=shuffled(strategies.visit_rows()), per_user=st.integers(1, 6))
def test_the_order_of_check_ins_changes_nothing(both: tuple[Rows, Rows], per_user: int) -> None:
    """
    Permuted rows give the same columns, byte for byte.
    """
    one, other = (sequences(rows, points_per_user=per_user, trajectory_length=3) for rows in both)
    assert one.vocabulary.names == other.vocabulary.names
    assert one.vocabulary.xy_m.tobytes() == other.vocabulary.xy_m.tobytes()
    for column in ("users", "starts", "locations"):
        assert getattr(one.sequences, column).tobytes() == getattr(other.sequences, column).tobytes()
    assert (one.duplicates, one.suppressed, one.n_users) == (other.duplicates, other.suppressed, other.n_users)


# ---------------------------------------------------------------- fragments


def fused(rows: Rows, guarantee: KDelta = PROMISE, **curbs: int) -> PointWindow:
    return assemble_points(rows, guarantee, limits(**curbs))


def test_fragments_of_a_user_are_joined_by_time() -> None:
    """
    Points of several fragments make one trajectory, in time order, whichever came first.
    """
    #  fragment 2        fragment 1
    #  0s   30s          60s   90s
    window = fused(points((1, 60, *HERE), (1, 90, *THERE), (1, 0, *THERE), (1, 30, *HERE), (2, 0, *HERE)))
    at = by_hash(1, 2).index(1)
    start, end = window.trajectories.starts[at : at + 2]
    assert ((window.trajectories.t_ms[start:end] - START_MS) // 1000).tolist() == [0, 30, 60, 90]
    lat, _ = window.projection.to_degrees(window.trajectories.xy_m[start:end])
    assert lat.round(6).tolist() == [52.51, 52.5, 52.5, 52.51]
    assert window.trajectories.n_users == 2


def test_one_instant_has_one_point() -> None:
    """
    Two positions at one instant: the southern one stays, then the western one, wherever it stood in the rows.
    """
    window = fused(points((1, 0, 52.51, 13.4), (1, 0, 52.5, 13.5), (1, 0, 52.5, 13.4), (1, 1, 52.6, 13.4)))
    lat, lon = window.projection.to_degrees(window.trajectories.xy_m)
    assert (lat.round(6).tolist(), lon.round(6).tolist()) == ([52.5, 52.6], [13.4, 13.4])
    assert (window.duplicates, window.suppressed) == (2, 0)


@pytest.mark.parametrize(
    ("k", "delta_m", "stays"),
    [
        (0, np.inf, True),
        (2, np.inf, True),
        (3, np.inf, True),
        (4, np.inf, False),
        (1_000_000, np.inf, False),
        (0, 301.0, True),
        (0, 300.0, True),
        (0, 299.99, False),
        (3, 300.0, True),
        (4, 299.0, False),
    ],
)
def test_who_demands_more_than_is_given_is_left_out_and_counted(k: int, delta_m: float, stays: bool) -> None:
    """
    A larger k or a smaller delta than (3, 300 m): all of that user's points are suppressed, also those without
    demands; the user still counts as somebody in the window.
    """
    rows = points((1, 0, *HERE, k, delta_m), (1, 30, *HERE), (1, 30, *HERE), (2, 0, *HERE))
    window = fused(rows)
    assert window.trajectories.n_users == (2 if stays else 1)
    assert window.suppressed == (0 if stays else 2)
    assert (window.duplicates, window.n_users) == (1, 2)


@pytest.mark.parametrize("delta_m", [299.99, 123.456, 0.1 + 300.2, 9_999_999.0])
def test_a_demand_for_exactly_what_is_given_is_met(delta_m: float) -> None:
    """
    Rows store a demand in 32 bits; a guarantee of the same number of metres meets it all the same.
    """
    guarantee = KDelta(k=3, delta_m=delta_m)
    assert fused(points((1, 0, *HERE, 3, delta_m)), guarantee).suppressed == 0


def test_a_demand_counts_even_in_a_duplicate() -> None:
    """
    A point that is left out as a duplicate still says what its user demands.
    """
    for rows in ([(1, 0, *HERE), (1, 0, *HERE, 5, np.inf)], [(1, 0, *HERE, 5, np.inf), (1, 0, *HERE)]):
        window = fused(points(*rows))  # type: ignore[arg-type]
        assert (window.trajectories.n_users, window.suppressed, window.duplicates) == (0, 1, 1)


def test_under_a_personal_guarantee_everybody_stays_with_what_they_demand() -> None:
    """
    The strictest of a user's records counts, duplicates too, for each of their pieces; nobody is given less than the
    guarantee, and a demand that its 32 bits round up from the guarantee is none.
    """
    rows = points(
        *((1, 0, *HERE, 4, np.inf), (1, 30, *HERE, 0, 200.5), (1, 900, *HERE)),
        *((2, 0, *HERE, 2, 9000.0), (2, 0, *HERE, 7, np.inf)),
        *((3, 0, *HERE, 2, 300.1),),
        *((4, 0, *HERE),),
    )
    guarantee = KDelta(k=3, delta_m=300.1, personal=True)
    window = assemble_points(rows, guarantee, limits(), Joining(max_gap_ms=60_000))
    of_user = {1: (4, 200.5), 2: (7, 300.1), 3: (3, 300.1), 4: (3, 300.1)}
    order = by_hash(1, 2, 3, 4)
    expected = [of_user[order[user]] for user in window.trajectories.users.tolist()]
    assert list(zip(window.demands.k.tolist(), window.demands.delta_m.tolist(), strict=True)) == expected
    assert len(expected) == 5
    assert (window.n_users, window.n_demanding, window.suppressed, window.duplicates) == (4, 2, 0, 1)


def test_without_a_personal_guarantee_all_who_stay_are_alike() -> None:
    """
    Who demands more is counted and left out, and everybody else is given what the guarantee says.
    """
    window = fused(points((1, 0, *HERE, 4, np.inf), (2, 0, *HERE, 2, 9000.0), (3, 0, *HERE)))
    assert (window.demands.k.tolist(), window.demands.delta_m.tolist()) == ([3, 3], [300.0, 300.0])
    assert (window.n_users, window.n_demanding) == (3, 1)


def test_later_points_of_a_busy_user_are_suppressed() -> None:
    """
    The first points stay, duplicates not counted.
    """
    rows = points((1, 0, *HERE), (1, 0, *HERE), (1, 30, *HERE), (1, 60, *HERE), (1, 90, *HERE), (2, 0, *HERE))
    window = fused(rows, points_per_user=2)
    assert (window.suppressed, window.duplicates) == (2, 1)
    assert ((window.trajectories.t_ms - START_MS) // 1000).max() == 30


@given(rows=strategies.point_rows(), per_user=st.integers(1, 6))
def test_trajectories_are_what_a_dictionary_would_make(rows: Rows, per_user: int) -> None:
    """
    Against the slow way: users without unmet demands, their first point of each instant, the first few of those.
    """
    window = fused(rows, points_per_user=per_user)
    demanding = {int(r["user"]) for r in rows if r["k"] > 3 or r["delta_m"] < 300}
    first: dict[tuple[int, int], tuple[float, float]] = {}
    for r in rows:
        at, where = (int(r["user"]), int(r["ts_ms"])), (float(r["lat"]), float(r["lon"]))
        first[at] = min(where, first.get(at, where))
    expected = []
    for user, its in groupby(sorted(first), key=lambda at: at[0]):
        if user not in demanding:
            expected.append([(ts_ms, first[user, ts_ms]) for _, ts_ms in its][:per_user])

    found = window.trajectories
    assert found.users.tolist() == list(range(len(expected)))
    assert found.starts.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert found.t_ms.tolist() == [ts_ms for its in expected for ts_ms, _ in its]
    lat, lon = window.projection.to_degrees(found.xy_m)
    positions = [where for its in expected for _, where in its]
    assert list(zip(lat.round(9), lon.round(9), strict=True)) == [(round(a, 9), round(b, 9)) for a, b in positions]
    assert window.duplicates == len(rows) - len(first)
    assert len(rows) == window.duplicates + window.suppressed + len(found.t_ms)
    assert window.n_users == len(set(rows["user"].tolist()))


@given(both=shuffled(strategies.point_rows()), per_user=st.integers(1, 6))
def test_the_order_of_points_changes_nothing(both: tuple[Rows, Rows], per_user: int) -> None:
    """
    Permuted rows give the same columns, byte for byte.
    """
    one, other = (fused(rows, points_per_user=per_user) for rows in both)
    for column in ("users", "starts", "t_ms", "xy_m"):
        assert getattr(one.trajectories, column).tobytes() == getattr(other.trajectories, column).tobytes()
    assert (one.duplicates, one.suppressed, one.n_users) == (other.duplicates, other.suppressed, other.n_users)


def test_a_window_without_rows_is_empty() -> None:
    """
    Nothing to assemble is no error.
    """
    no_visits = sequences(np.empty(0, dtype=VISIT))
    assert (named(no_visits), no_visits.n_users, no_visits.sequences.n_users) == ([], 0, 0)
    no_points = fused(np.empty(0, dtype=POINT))
    assert (no_points.trajectories.starts.tolist(), no_points.n_users) == ([0], 0)


@pytest.mark.parametrize("m", range(1, 11))
def test_an_affordable_length_keeps_subtrajectories_countable(m: int) -> None:
    """
    As long as possible up to 100 locations, with at most 170,000 subtrajectories of size 1 to m.
    """

    def subtrajectories(n: int) -> int:
        return sum(comb(n, size) for size in range(1, m + 1))

    length = affordable_length(m)
    assert 1 <= length <= 100
    assert subtrajectories(length) <= 170_000
    assert length == 100 or subtrajectories(length + 1) > 170_000
