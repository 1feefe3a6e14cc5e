"""Joining: jumps that nobody can make are dropped, gaps cut, and every point is still in exactly one count."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod, Transformer

from core.models.kdelta.anonymize.sets import AnonymitySets
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions, wait4me
from core.models.kdelta.assemble import PointWindow, assemble_points
from core.models.kdelta.guarantee import KDelta
from core.places.geo import geocentric
from core.records.record import Rows
from core.release.outcome import Release, ReleaseRefused
from core.trajectories.joining import Joining, after_gap, reachable, resample
from core.trajectories.trajectory import PointTrajectories
from tests.builders import strategies
from tests.builders.strategies import positions, shuffled
from tests.builders.windows import START_MS, limits, point_plan, points, release, released

GROUND = Geod(ellps="WGS84")
SPACE = Transformer.from_crs("EPSG:4979", "EPSG:4978", always_xy=True)
PROMISE = KDelta(k=3, delta_m=300.0)
BERLIN = (52.5, 13.4)
SYDNEY = (-33.9, 151.2)

Place = tuple[float, float]
Visit = tuple[int, Place]
"""Milliseconds and a place."""


def staying(*users: list[Visit], speed_m_s: float = 100.0) -> list[list[bool]]:
    """Tell of the points of each user which stay."""
    starts = np.cumsum([0, *map(len, users)])
    flat = [visit for its in users for visit in its]
    t_ms = np.array([at for at, _ in flat], dtype=np.int64)
    lat, lon = np.array([place for _, place in flat], dtype=np.float64).reshape(-1, 2).T
    stays = reachable(starts, t_ms, lat, lon, speed_m_s)
    return [stays[start:end].tolist() for start, end in pairwise(starts.tolist())]


def away_mm(one: Place, other: Place) -> int:
    """Measure a straight line by another program."""
    here, there = (np.array(SPACE.transform(lon, lat, 0.0)) for lat, lon in (one, other))
    return round(1000 * math.dist(here, there))


def most_of_one_journey(visits: list[Visit], speed_m_s: float) -> list[bool]:
    """Try every choice of points: the first possible one of the largest size, in the order of their times."""
    n = len(visits)
    can = {
        (i, j): away_mm(visits[i][1], visits[j][1]) <= speed_m_s * (visits[j][0] - visits[i][0])
        for i, j in combinations(range(n), 2)
    }
    for size in range(n, 0, -1):
        for chosen in combinations(range(n), size):
            if all(can[pair] for pair in pairwise(chosen)):
                return [i in chosen for i in range(n)]
    return []


# ---------------------------------------------------------------- speed

PLACES: st.SearchStrategy[Place] = st.sampled_from(
    [(52.5, 13.4), (52.501, 13.4), (52.5, 13.402), (52.52, 13.45), (0.0, 180.0), (0.001, -179.999), (90.0, 0.0)]
) | st.tuples(strategies.LATITUDES, strategies.LONGITUDES)


@given(
    users=st.lists(
        st.dictionaries(st.integers(0, 60).map(lambda s: 1000 * s), PLACES, max_size=7, min_size=1), max_size=3
    ),
    speed_m_s=st.sampled_from([1.0, 12.5, 100.0, 3e5]),
)
def test_the_most_points_of_one_journey_stay(users: list[dict[int, Place]], speed_m_s: float) -> None:
    """
    Against every choice of points, for each user alone: the largest possible one, of several the one with the
    earliest points.
    """
    visits = [sorted(its.items()) for its in users]
    assert staying(*visits, speed_m_s=speed_m_s) == [most_of_one_journey(its, speed_m_s) for its in visits]


@given(
    wrong=st.sets(st.integers(0, 19), max_size=9),
    speed_m_s=st.sampled_from([20.0, 100.0]),
    begin=st.sampled_from([BERLIN, (0.0, 179.9995), (89.9995, 0.0), (-89.9999, 77.0)]),
)
def test_planted_jumps_are_dropped_wherever_they_stand(wrong: set[int], speed_m_s: float, begin: Place) -> None:
    """
    A walk of twenty points, some of which were replaced by places that are far from all others: those are dropped,
    the first point too, also where the walk goes over a pole or the antimeridian.
    """
    visits: list[Visit] = []
    lon, lat, azimuth = begin[1], begin[0], 80.0
    for i in range(20):
        far = (-45.0 + 4 * i, -60.0) if i % 2 else (-45.0 + 4 * i, 75.0)  # 400 km and more from one another
        visits.append((10_000 * i, far if i in wrong else (lat, lon)))
        lon, lat, back = GROUND.fwd(lon, lat, azimuth, 150.0)
        azimuth = back + 180.0  # straight on
    assert staying(visits, speed_m_s=speed_m_s) == [[i not in wrong for i in range(20)]]


def test_of_two_points_that_cannot_both_be_right_the_first_stays() -> None:
    """
    There is no majority, so the earlier one is believed; a user who is never too fast is not touched.
    """
    two, slow = [(0, BERLIN), (1000, SYDNEY)], [(0, BERLIN), (1000, BERLIN)]
    assert staying(two, slow, two) == [[True, False], [True, True], [True, False]]


def test_two_users_are_never_one_journey() -> None:
    """
    The last point of one and the first of the next are not compared.
    """
    assert staying([(0, BERLIN)], [(0, SYDNEY)], [(0, BERLIN)]) == [[True], [True], [True]]
    assert staying() == []


@pytest.mark.parametrize(
    ("one", "other"),
    [(BERLIN, (52.51, 13.4)), ((10.0, 179.999), (10.0, -179.999)), ((89.999, 0.0), (89.999, 180.0)), (BERLIN, SYDNEY)],
    ids=["city", "antimeridian", "pole", "around the earth"],
)
def test_exactly_the_limit_is_no_jump(one: Place, other: Place) -> None:
    """
    What takes a second of the limit's speed is reached in a second, and not one millimetre further.
    """
    limit = away_mm(one, other) / 1000
    assert staying([(0, one), (1000, other)], speed_m_s=limit) == [[True, True]]
    assert staying([(0, one), (1000, other)], speed_m_s=limit - 0.001) == [[True, False]]


@given(st.tuples(strategies.LATITUDES, strategies.LONGITUDES), st.tuples(strategies.LATITUDES, strategies.LONGITUDES))
def test_who_keeps_to_the_limit_on_the_ground_loses_nothing(one: Place, other: Place) -> None:
    """
    Distances are never longer than over the ground: a point is dropped only where nobody could have been.
    """
    _, _, ground_m = GROUND.inv(one[1], one[0], other[1], other[0])
    least_ms = math.ceil(10 * ground_m) + 1  # at 100 m/s
    assert staying([(0, one), (least_ms, other)]) == [[True, True]]


@given(positions())
def test_positions_in_space_are_those_of_another_program(drawn: tuple[npt.NDArray[np.float64], ...]) -> None:
    """
    Micrometres from what PROJ says, at the poles and on the antimeridian too.
    """
    lat, lon = drawn
    expected = np.column_stack(SPACE.transform(lon, lat, np.zeros(len(lat))))
    assert np.abs(geocentric(lat, lon) - expected).max() < 1e-6


# ---------------------------------------------------------------- gaps


def test_a_gap_is_longer_than_the_longest() -> None:
    """
    Exactly the longest gap does not cut; the first point has no predecessor.
    """
    assert after_gap(np.array([0, 10, 20, 31]), 10).tolist() == [False, False, False, True]
    assert after_gap(np.array([5]), 10).tolist() == [False]
    assert after_gap(np.array([], dtype=np.int64), 10).tolist() == []


@pytest.mark.parametrize(
    ("limit", "value"),
    [("max_speed_m_s", 0.0), ("max_speed_m_s", -1.0), ("max_speed_m_s", math.nan), ("max_gap_ms", 0), ("step_ms", 0)],
)
def test_a_limit_out_of_its_range_is_refused(limit: str, value: float) -> None:
    """
    Nobody stands still for ever, and every point comes after its predecessor.
    """
    with pytest.raises(ValueError, match=f"{limit} is {value}: it must be"):
        Joining(**{limit: value})  # type: ignore[arg-type]


# ---------------------------------------------------------------- a common step

Points = list[tuple[int, float, float]]
"""Milliseconds and metres of the points of a trajectory."""


def trajectories_of(*drawn: Points) -> PointTrajectories:
    """Build trajectories of one user each."""
    flat = np.array([point for its in drawn for point in its], dtype=np.float64).reshape(-1, 3)
    return PointTrajectories(
        users=np.arange(len(drawn), dtype=np.int64),
        starts=np.cumsum([0, *map(len, drawn)]),
        t_ms=flat[:, 0].astype(np.int64),
        xy_m=flat[:, 1:],
    )


def resampled(its: Points, step_ms: int) -> tuple[Points, list[int]]:
    """Interpolate a trajectory in fractions, and look for the nearest of all new points for each given one."""
    first_ms, last_ms = its[0][0], its[-1][0]
    times = [at for at in range(first_ms, last_ms + 1) if at % step_ms == 0]
    if not times:
        times = [max(at for at in range(first_ms - step_ms, first_ms + 1) if at % step_ms == 0)]
    new: Points = []
    for at in times:
        before = [point for point in its if point[0] <= at] or its
        after = [point for point in its if point[0] >= at] or its
        (t0, *here), (t1, *there) = (before[-1], after[0]) if first_ms <= at <= last_ms else (its[0], its[0])
        share = Fraction(at - t0, t1 - t0) if t1 > t0 else Fraction(0)
        x_m, y_m = (float(Fraction(a) + share * (Fraction(b) - Fraction(a))) for a, b in zip(here, there, strict=True))
        new.append((at, x_m, y_m))
    nearest = [min(times, key=lambda at: (abs(at - t_ms), at)) for t_ms, _, _ in its]
    return new, [nearest.count(at) for at in times]


COORDINATES = st.floats(-1e5, 1e5)
DRAWN = st.lists(
    st.dictionaries(st.integers(-50, 150), st.tuples(COORDINATES, COORDINATES), min_size=1, max_size=8).map(
        lambda its: [(at, x, y) for at, (x, y) in sorted(its.items())]
    ),
    max_size=4,
)


@given(drawn=DRAWN, step_ms=st.integers(1, 60))
def test_resampling_is_what_fractions_say(drawn: list[Points], step_ms: int) -> None:
    """
    Against the slow way: the multiples of the step between first and last point, positions on straight lines, and
    every given point counted at the nearest new one. A trajectory between two multiples becomes one point.
    """
    found, stands_for = resample(trajectories_of(*drawn), step_ms)
    expected = [resampled(its, step_ms) for its in drawn]
    flat = [point for new, _ in expected for point in new]
    assert found.users.tolist() == list(range(len(drawn)))
    assert found.starts.tolist() == np.cumsum([0, *(len(new) for new, _ in expected)]).tolist()
    assert found.t_ms.tolist() == [at for at, _, _ in flat]
    assert found.xy_m.ravel().tolist() == pytest.approx([metres for _, *xy_m in flat for metres in xy_m], abs=1e-6)
    assert stands_for.tolist() == [n for _, counts in expected for n in counts]
    assert stands_for.sum() == sum(map(len, drawn))


@given(drawn=DRAWN, step_ms=st.integers(1, 60))
def test_resampled_points_stay_in_a_window_of_whole_steps(drawn: list[Points], step_ms: int) -> None:
    """
    From the multiple before the first point up to the last one: a point just before a window's end stays in it.
    """
    found, _ = resample(trajectories_of(*drawn), step_ms)
    for its, (start, end) in zip(drawn, pairwise(found.starts.tolist()), strict=True):
        assert its[0][0] - step_ms < found.t_ms[start] <= found.t_ms[end - 1] <= its[-1][0]


def test_times_since_1970_lose_no_digits() -> None:
    """
    Positions are exact to a micrometre in today's milliseconds.
    """
    found, _ = resample(
        trajectories_of([(START_MS + 1, 10_000.0, 0.0), (START_MS + 60_001, 10_600.0, 60_000.0)]), 7_500
    )
    assert found.xy_m[:, 1].tolist() == pytest.approx([7_500.0 * i - 1 for i in range(1, 9)], abs=1e-6)


# ---------------------------------------------------------------- windows


def joined(rows: Rows, joining: Joining, **curbs: int) -> PointWindow:
    return assemble_points(rows, PROMISE, limits(**curbs), joining)


def pieces(window: PointWindow) -> list[tuple[int, list[int]]]:
    """User number and seconds of the points of each trajectory."""
    found = window.trajectories
    times = ((found.t_ms - START_MS) // 1000).tolist()
    bounds = pairwise(found.starts.tolist())
    return [(user, times[start:end]) for user, (start, end) in zip(found.users.tolist(), bounds, strict=True)]


def test_a_long_gap_cuts_and_the_pieces_stay_one_person() -> None:
    """
    No point is lost by a cut; both pieces have their user's number.
    """
    #  0  30  60 |           300  330
    rows = points(*((1, at_s, *BERLIN) for at_s in (330, 0, 60, 300, 30)))
    window = joined(rows, Joining(max_gap_ms=60_000))
    assert pieces(window) == [(0, [0, 30, 60]), (0, [300, 330])]
    assert (window.trajectories.n_users, window.n_users, window.suppressed, window.curbed.tolist()) == (
        1,
        1,
        0,
        [False],
    )


def test_a_dropped_jump_may_leave_a_gap() -> None:
    """
    Gaps are those between points that stay.
    """
    rows = points((1, 0, *BERLIN), (1, 30, *BERLIN), (1, 60, *SYDNEY), (1, 90, *BERLIN))
    window = joined(rows, Joining(max_speed_m_s=100.0, max_gap_ms=30_000))
    assert pieces(window) == [(0, [0, 30]), (0, [90])]
    assert (window.suppressed, window.curbed.tolist()) == (1, [True])


def test_the_first_points_are_taken_before_any_are_compared() -> None:
    """
    How many points a user may have bounds how many are compared: a jump among the first costs one of them.
    """
    rows = points((1, 0, *BERLIN), (1, 30, *SYDNEY), (1, 60, *BERLIN), (1, 90, *BERLIN), (2, 0, *BERLIN))
    window = joined(rows, Joining(max_speed_m_s=100.0), points_per_user=3)
    assert sorted(len(its) for _, its in pieces(window)) == [1, 2]
    assert (window.suppressed, sorted(window.curbed.tolist())) == (2, [False, True])


JOININGS = st.builds(
    Joining,
    max_speed_m_s=st.sampled_from([None, 0.5, 1.0, 2.0, 100.0]),
    max_gap_ms=st.sampled_from([None, 30_000, 60_000]),
)
RESAMPLING = st.builds(replace, JOININGS, step_ms=st.sampled_from([None, 1_000, 30_000, 45_000, 100_000]))
"""The times of drawn rows are multiples of 30 seconds."""


@given(rows=strategies.point_rows(), joining=JOININGS, per_user=st.integers(1, 8))
def test_windows_are_what_trying_every_choice_would_make(rows: Rows, joining: Joining, per_user: int) -> None:
    """
    Against the slow way: of the first points of each user the most of one journey, cut where the time between two is
    too long; who lost a point is told, and every row is in exactly one count.
    """
    window = joined(rows, joining, points_per_user=per_user)
    demanding = {int(r["user"]) for r in rows if r["k"] > 3 or r["delta_m"] < 300}
    at: dict[int, dict[int, Place]] = {}
    for r in rows:
        its, where = at.setdefault(int(r["user"]), {}), (float(r["lat"]), float(r["lon"]))
        its[int(r["ts_ms"])] = min(where, its.get(int(r["ts_ms"]), where))
    expected: list[tuple[int, list[int]]] = []
    curbed: list[bool] = []
    for user in sorted(at.keys() - demanding):
        visits = sorted(at[user].items())[:per_user]
        stays = [True] * len(visits)
        if joining.max_speed_m_s is not None:
            stays = most_of_one_journey(visits, joining.max_speed_m_s)
        before_ms = None
        for (t_ms, _), stay in zip(visits, stays, strict=True):
            if not stay:
                continue
            if before_ms is None or (joining.max_gap_ms is not None and t_ms - before_ms > joining.max_gap_ms):
                expected.append((len(curbed), []))
            expected[-1][1].append((t_ms - START_MS) // 1000)
            before_ms = t_ms
        curbed.append(sum(stays) < len(at[user]))
    assert pieces(window) == expected
    assert window.curbed.tolist() == curbed
    assert window.trajectories.n_users == len(curbed)
    assert window.n_users == len(at)
    assert window.duplicates == len(rows) - sum(map(len, at.values()))
    assert len(rows) == window.duplicates + window.suppressed + len(window.trajectories.t_ms)


@given(rows=strategies.point_rows(), joining=JOININGS, step_ms=st.sampled_from([1_000, 30_000, 45_000, 100_000]))
def test_resampling_leaves_rows_and_people_in_their_counts(rows: Rows, joining: Joining, step_ms: int) -> None:
    """
    Every trajectory stays its user's, and stands for as many rows as it had points; what is left out is the same.
    """
    before, after = (joined(rows, one) for one in (joining, replace(joining, step_ms=step_ms)))
    assert before.stands_for.tolist() == [1] * len(before.trajectories.t_ms)
    assert after.trajectories.users.tolist() == before.trajectories.users.tolist()
    bounds = pairwise(after.trajectories.starts.tolist())
    rows_of_each = [int(after.stands_for[start:end].sum()) for start, end in bounds]
    assert rows_of_each == np.diff(before.trajectories.starts).tolist()
    assert not (after.trajectories.t_ms % step_ms).any()
    for name in ("duplicates", "suppressed", "n_users"):
        assert getattr(before, name) == getattr(after, name)
    assert after.curbed.tolist() == before.curbed.tolist()
    assert len(rows) == after.duplicates + after.suppressed + after.stands_for.sum()


@given(both=shuffled(strategies.point_rows()), joining=RESAMPLING)
def test_the_order_of_points_decides_nothing(both: tuple[Rows, Rows], joining: Joining) -> None:
    """
    Permuted rows give the same columns, byte for byte, and the same counts.
    """
    one, other = (joined(rows, joining) for rows in both)
    for column in ("users", "starts", "t_ms", "xy_m"):
        assert getattr(one.trajectories, column).tobytes() == getattr(other.trajectories, column).tobytes()
    assert one.stands_for.tolist() == other.stands_for.tolist()
    assert one.curbed.tolist() == other.curbed.tolist()
    assert (one.duplicates, one.suppressed, one.n_users) == (other.duplicates, other.suppressed, other.n_users)


# ---------------------------------------------------------------- releases


def crowd(n_users: int, jumping: int) -> Rows:
    """People who walk side by side for five minutes; one position of some of them is in Sydney."""
    return points(
        *(
            (user, 30 * i, *(SYDNEY if i == 4 and user < jumping else (52.5 + 0.0001 * i, 13.4 + 0.00001 * user)))
            for user in range(n_users)
            for i in range(10)
        )
    )


@pytest.mark.parametrize("jumping", range(7))
@pytest.mark.parametrize("step_ms", [None, 10_000, 60_000])
def test_how_many_jumps_there_were_is_told_of_k_people_or_of_none(jumping: int, step_ms: int | None) -> None:
    """
    A jump is suppressed and counted; the windows message tells the number unless fewer than k people stand behind it.
    """
    found = released(crowd(8, jumping), point_plan(joining=Joining(max_speed_m_s=100.0, step_ms=step_ms)))
    lost = 80 - found.account.released
    assert found.account.released + found.account.suppressed == 80
    assert found.account.suppressed == lost == jumping
    assert found.points_suppressed == (lost if jumping == 0 or jumping >= 3 else None)
    assert found.people == 8


@given(
    rows=strategies.point_rows(max_users=8, max_rows=60, demands=False),
    joining=RESAMPLING,
    per_user=st.integers(1, 9),
    minimal=st.booleans(),
)
def test_who_lost_a_row_is_counted_whatever_lost_it(rows: Rows, joining: Joining, per_user: int, minimal: bool) -> None:
    """
    Suppressed rows are told when none or at least k people lost one: to the limits of a user or of speed, to the
    trash, or to editing; a point that stands for no row costs nobody anything.
    """
    results = []

    def spy(*given_: Any) -> AnonymitySets:
        results.append(wait4me(*given_))
        return results[-1]

    options = Wait4MeOptions(translation="minimal" if minimal else "exchangeable")
    plan = point_plan(joining=joining, limits=limits(points_per_user=per_user), options=options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.models.kdelta.algorithms.wait4me", spy)
        outcome = release(rows, plan)
    if not isinstance(outcome, Release):
        return
    window = assemble_points(rows, plan.guarantee, plan.limits, joining)
    owners = np.repeat(window.trajectories.users, np.diff(window.trajectories.starts))
    kept = results[0].kept
    lost = 0
    for number, user in enumerate(np.unique(rows["user"])):
        instants = len(np.unique(rows["ts_ms"][rows["user"] == user]))
        lost += int(window.stands_for[kept & (owners == number)].sum()) < instants
    n_suppressed = len(rows) - outcome.account.duplicates - outcome.account.released
    assert outcome.account.suppressed == n_suppressed
    assert outcome.points_suppressed == (n_suppressed if lost == 0 or lost >= 3 else None)


def test_a_deleted_point_that_stands_for_no_row_hides_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Of all eight people points are deleted that were interpolated between two rows. The one row that is suppressed is
    the jump of one person, so its number is not told.
    """
    joining = Joining(max_speed_m_s=100.0, step_ms=10_000)
    rows = crowd(8, 1)
    stands_for = joined(rows, joining).stands_for
    assert set(stands_for.tolist()) == {0, 1}

    def delete(*given_: Any) -> AnonymitySets:
        return replace(wait4me(*given_), kept=stands_for > 0)

    monkeypatch.setattr("core.models.kdelta.algorithms.wait4me", delete)
    found = released(rows, point_plan(joining=joining))
    assert (found.account.released, found.account.suppressed) == (79, 1)
    assert found.points_suppressed is None


@given(rows=strategies.point_rows(max_users=8, max_rows=60), joining=RESAMPLING, minimal=st.booleans())
def test_pieces_never_fill_one_anothers_k(rows: Rows, joining: Joining, minimal: bool) -> None:
    """
    However trajectories are cut and thinned, a release is verified or withheld, never refused, and counts add up.
    """
    options = Wait4MeOptions(translation="minimal" if minimal else "exchangeable")
    outcome = release(rows, point_plan(joining=joining, options=options))
    account = outcome.account
    assert not isinstance(outcome, ReleaseRefused)
    assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
