from __future__ import annotations

import math
from typing import Any, Literal
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.oracles.greedy import greedy_round
from core.models.kdelta.anonymize.distance.distances import Euclidean
from core.models.kdelta.anonymize.never_walk_alone import NeverWalkAloneOptions, never_walk_alone
from core.models.kdelta.anonymize.sets import AnonymitySets
from core.models.kdelta.guarantee import KDelta
from core.trajectories.trajectory import Demands, PointTrajectories
from tests.budgets import examples
from tests.oracles.kdelta import (
    Point,
    a_region,
    data_sets,
    points_of,
    position_at,
    trajectories_of,
    verified,
)

Translation = Literal["exchangeable", "minimal"]
BOTH = st.sampled_from(["exchangeable", "minimal"])
KS = st.integers(2, 4)
PLACES = st.sampled_from([(37.8, -122.4), (70.0, 25.0), (-16.5, 179.9999), (0.0, 0.0), (89.99, 10.0)])
GRANULARITY_MS, STEP_MS = 10_000, 5_000
MULTIPLES_MS = range(-50_000, 100_000, GRANULARITY_MS)


def run_personal(
    trajectories: PointTrajectories,
    demands: Demands,
    translation: Translation = "exchangeable",
    *,
    seed: int = 1,
    **options: Any,
) -> AnonymitySets:
    defaults = {"granularity_ms": GRANULARITY_MS, "time_step_ms": STEP_MS, "max_radius_m": 50.0}
    return never_walk_alone(
        trajectories,
        demands,
        NeverWalkAloneOptions(translation=translation, **{**defaults, **options}),
        np.random.default_rng(seed),
    )


def run(
    trajectories: PointTrajectories,
    translation: Translation = "exchangeable",
    *,
    k: int = 2,
    delta_m: float = 20.5,
    **options: Any,
) -> AnonymitySets:
    demands = Demands.alike(len(trajectories.users), k=k, delta_m=delta_m)
    return run_personal(trajectories, demands, translation, **options)


VARIED = ((0, 1), (0, 1), (0, 0), (0, 2), (-1, 1), (2, 1))
"""First and last multiple; nothing lies between the last two."""


@st.composite
def crowds(
    draw: st.DrawFn, *, extent_m: int = 40, fewest: int = 0, intervals: tuple[tuple[int, int], ...] = VARIED
) -> PointTrajectories:
    """Draw data sets in which intervals are shared, users have several trajectories, and some span no multiple."""
    coordinate, half_seconds = st.integers(0, extent_m).map(float), st.integers(0, 19)
    rows: list[tuple[int, list[Point]]] = []
    for _ in range(draw(st.integers(fewest, 12))):
        user = rows[-1][0] + draw(st.sampled_from([0, 1, 1])) if rows else 0
        begin, end = draw(st.sampled_from(intervals))
        if begin <= end:
            first = begin * GRANULARITY_MS - 500 * draw(half_seconds)
            last = end * GRANULARITY_MS + 500 * draw(half_seconds)
        else:  # between two multiples
            first = end * GRANULARITY_MS + 500 * draw(st.integers(1, 9))
            last = first + 500 * draw(half_seconds) // 2
        inner = draw(st.sets(st.integers(first // 500, last // 500).map(lambda t: 500 * t), max_size=3))
        times = sorted(t for t in {first, last, *inner} if first <= t <= last)
        rows.append((user, [(t, draw(coordinate), draw(coordinate)) for t in times]))
    return trajectories_of(*rows)


def interval_of(its: list[Point]) -> tuple[int, int] | None:
    """First and last multiple of the granularity that a trajectory spans."""
    spanned = [t for t in MULTIPLES_MS if its[0][0] <= t <= its[-1][0]]
    return (spanned[0], spanned[-1]) if spanned else None


def classes_of(trajectories: PointTrajectories) -> dict[tuple[int, int], list[int]]:
    """Trajectories of each interval, intervals in their order."""
    classes: dict[tuple[int, int], list[int]] = {}
    for i in range(len(trajectories.users)):
        interval = interval_of(points_of(trajectories, i))
        if interval is not None:
            classes.setdefault(interval, []).append(i)
    return dict(sorted(classes.items()))


def people(trajectories: PointTrajectories, numbers: list[int]) -> int:
    return len(set(trajectories.users[numbers].tolist()))


def sets_of(result: AnonymitySets) -> list[list[int]]:
    """Rows of the result in each set."""
    return [np.flatnonzero(result.sets == number).tolist() for number in sorted(set(result.sets.tolist()))]


def stamps_of(result: AnonymitySets, row: int) -> list[int]:
    return [int(t) for t in result.t_ms[slice(*result.starts[row : row + 2])]]


def positions_of(result: AnonymitySets, row: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    positions: np.ndarray[tuple[int, int], np.dtype[np.float64]] = result.xy_m[slice(*result.starts[row : row + 2])]
    return positions


def own_positions_of(
    trajectories: PointTrajectories, result: AnonymitySets, row: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Where a released trajectory really was at its published time stamps."""
    its = points_of(trajectories, int(result.sources[row]))
    return np.array([position_at(its, t) for t in stamps_of(result, row)])


# ---------------------------------------------------------------- worked by hand

#             0    5    10   15   20   25   30   35   40 s
#  0          .    .    [-------------------]              at (t, 0), seen at 1, 5 and 31 s
#  1                    [-------------------]    .         from (10, 0) to (30, 40), then far away at 38 s
#  2                    [---------]    .                   at (t, 1), seen at 10 and 25 s: alone in its interval
#  3                     . . . .                           at (t, 0), seen at 11 and 19 s: spans no multiple of 10 s
EXAMPLE = trajectories_of(
    (0, [(1_000, 1.0, 0.0), (5_000, 5.0, 0.0), (31_000, 31.0, 0.0)]),
    (1, [(10_000, 10.0, 0.0), (30_000, 30.0, 40.0), (38_000, 500.0, 500.0)]),
    (2, [(10_000, 10.0, 1.0), (25_000, 25.0, 1.0)]),
    (3, [(11_000, 11.0, 0.0), (19_000, 19.0, 0.0)]),
)


def check_example(result: AnonymitySets) -> None:
    """What is the same for both translations: 0 and 1 are a set from 10 to 30 s, 2 and 3 trash."""
    assert result.sources.tolist() == [0, 1]
    assert result.sets.tolist() == [0, 0]
    assert result.starts.tolist() == [0, 5, 10]
    assert result.t_ms.tolist() == [10_000, 15_000, 20_000, 25_000, 30_000] * 2
    assert result.trash.tolist() == [2, 3]
    # The point at 1 s neither bounds the interval nor lies inside it; nor does the one at 38 s.
    assert result.kept.tolist() == [False, True, True, True, True, False, *[False] * 4]
    assert (result.distortion.points_deleted, result.distortion.points_trashed) == (2, 4)
    assert result.created.tolist() == [0, 0]
    assert result.distortion.time_translation_s == 0
    assert result.distortion.discernibility == 2 * 2 + 2 * 4
    assert result.radius == 50


def test_minimal_worked_by_hand() -> None:
    """
    Both are halfway from their mean, which moves from (10, 0) to (30, 20): 0, 5, 10, 15 and 20 m away. Discs have a
    radius of 10 m, so that the last two points of each go to their border.
    """
    result = run(EXAMPLE, "minimal", delta_m=20.5, margin_m=0.5)
    check_example(result)
    np.testing.assert_allclose(positions_of(result, 0), [(10, 0), (15, 0), (20, 0), (25, 5), (30, 10)])
    np.testing.assert_allclose(positions_of(result, 1), [(10, 0), (15, 10), (20, 20), (25, 25), (30, 30)])
    assert result.distortion.points_translated == 4
    assert result.distortion.space_translation_m == pytest.approx(5 + 10 + 5 + 10)
    assert (result.distortion.translation_mm, result.distortion.largest_translation_mm) == (30_000, 10_000)


def test_exchangeable_worked_by_hand() -> None:
    """
    Chance says half the radius, east: 5 m east of the mean, both of them.
    """
    chance = mock.create_autospec(np.random.Generator, instance=True)
    chance.random.side_effect = lambda n: np.repeat([0.25, 0.0], n // 2)
    result = never_walk_alone(
        EXAMPLE,
        Demands.alike(4, k=2, delta_m=20.5),
        NeverWalkAloneOptions(granularity_ms=GRANULARITY_MS, time_step_ms=STEP_MS, max_radius_m=50.0, margin_m=0.5),
        chance,
    )
    check_example(result)
    for row in (0, 1):
        np.testing.assert_allclose(positions_of(result, row), [(15, 0), (20, 5), (25, 10), (30, 15), (35, 20)])
    assert result.distortion.points_translated == 10
    moved_m = [math.hypot(5, off) for off in (0, 5, 10, 15, 20)]
    assert result.distortion.space_translation_m == pytest.approx(2 * sum(moved_m))


# ---------------------------------------------------------------- the promise


@settings(max_examples=examples(60))
@given(
    st.one_of(crowds(extent_m=300), data_sets(extent_m=300)),
    BOTH,
    st.booleans(),
    KS,
    st.sampled_from([1.5, 20.0, 500.0]),
    PLACES,
)
def test_every_release_is_kdelta_anonymous_as_published(
    trajectories: PointTrajectories,
    translation: Translation,
    refined: bool,
    k: int,
    delta_m: float,
    place: tuple[float, float],
) -> None:
    """
    The verifier, which shares no code with this, finds the promise kept in rounded degrees: far north, beside the
    pole and across the antimeridian as well.
    """
    result = run(trajectories, translation, k=k, delta_m=delta_m, refined=refined)
    report = verified(trajectories, result, KDelta(k=k, delta_m=delta_m), place)
    assert report.holds, report
    assert (report.smallest_set is None) == (not len(result.sources))


@settings(max_examples=examples(60))
@given(crowds(extent_m=300), BOTH, st.booleans(), st.data(), PLACES)
def test_every_set_keeps_what_its_most_demanding_members_demand(
    trajectories: PointTrajectories,
    translation: Translation,
    refined: bool,
    data: st.DataObject,
    place: tuple[float, float],
) -> None:
    """
    As published, each set has its members' largest k in distinct users and keeps their smallest delta; who demands
    more people than share the interval, or less than the margin, is in the trash.
    """
    n = len(trajectories.users)
    ks = data.draw(st.lists(st.sampled_from([2, 2, 3, 4, 50]), min_size=n, max_size=n))
    deltas_m = data.draw(st.lists(st.sampled_from([0.3, 1.5, 20.0, 500.0]), min_size=n, max_size=n))
    demands = Demands(k=np.array(ks, dtype=np.int64), delta_m=np.array(deltas_m, dtype=np.float64))
    result = run_personal(trajectories, demands, translation, refined=refined)
    report = verified(trajectories, result, KDelta(k=2, delta_m=500.0), place, demands)
    assert report.holds, report
    for its in classes_of(trajectories).values():
        fit = {i for i in its if deltas_m[i] > 0.5}
        while unfit := {i for i in fit if ks[i] > people(trajectories, sorted(fit))}:
            fit -= unfit
        assert set(its) - fit <= set(result.trash.tolist())


@pytest.mark.parametrize("translation", ["exchangeable", "minimal"])
@pytest.mark.parametrize("place", [(37.8, -122.4), (70.0, 25.0), (-16.5, 179.9999)])
def test_the_margin_is_enough_a_hundred_kilometres_from_the_projections_centre(
    translation: Translation, place: tuple[float, float]
) -> None:
    """
    A city's worth of projection error and the rounding of degrees stay inside the margin, though discs are full.
    """
    trajectories = a_region()
    result = run(trajectories, translation, k=10, delta_m=500.0)
    report = verified(trajectories, result, KDelta(k=10, delta_m=500.0), place)
    assert report.holds
    assert report.largest_distance_m > 450  # the discs are used


@settings(max_examples=examples(50))
@given(crowds(), BOTH, st.booleans(), KS)
def test_time_stamps_are_multiples_of_the_step_inside_every_members_span(
    trajectories: PointTrajectories, translation: Translation, refined: bool, k: int
) -> None:
    """
    A set's members have the same time stamps: all multiples of the step in their interval, which is the same for all;
    they lie inside the span of each, and nothing shifts in time or is created.
    """
    result = run(trajectories, translation, k=k, refined=refined, max_radius_m=8.0)
    for rows in sets_of(result):
        spans = [points_of(trajectories, int(result.sources[row])) for row in rows]
        intervals = {interval_of(its) for its in spans}
        assert len(intervals) == 1
        (interval,) = intervals
        assert interval is not None
        for row, its in zip(rows, spans, strict=True):
            assert stamps_of(result, row) == list(range(interval[0], interval[1] + 1, STEP_MS))
            assert its[0][0] <= stamps_of(result, row)[0] <= stamps_of(result, row)[-1] <= its[-1][0]
    assert result.distortion.time_translation_s == 0
    assert result.points_created == 0


@settings(max_examples=examples(50))
@given(crowds(), BOTH, st.booleans(), KS)
def test_whoever_shares_an_interval_with_enough_people_is_released(
    trajectories: PointTrajectories, translation: Translation, refined: bool, k: int
) -> None:
    """
    With no share for the trash, and all demanding the same, it has exactly those who span no multiple of the
    granularity and those whose interval fewer than k people share, however many trajectories these have.
    """
    result = run(trajectories, translation, k=k, refined=refined, max_radius_m=8.0, trash_share=0.0)
    enough = [its for its in classes_of(trajectories).values() if people(trajectories, its) >= k]
    assert sorted(result.sources.tolist()) == sorted(i for its in enough for i in its)
    for rows in sets_of(result):
        assert people(trajectories, result.sources[rows].tolist()) >= k


@settings(max_examples=examples(50))
@given(crowds(), BOTH, st.booleans(), KS, st.sampled_from([0.0, 0.3, 1.0]))
def test_every_input_point_is_either_released_or_suppressed(
    trajectories: PointTrajectories, translation: Translation, refined: bool, k: int, trash_share: float
) -> None:
    """
    The account adds up: trajectories are released or trash, points are kept, deleted or trash. Kept are those inside
    the interval, the last before and the first after it.
    """
    result = run(trajectories, translation, k=k, refined=refined, trash_share=trash_share, max_radius_m=8.0)
    n = len(trajectories.users)
    assert sorted([*result.sources.tolist(), *result.trash.tolist()]) == list(range(n))
    for i in range(n):
        kept = result.kept[slice(*trajectories.starts[i : i + 2])].tolist()
        its = points_of(trajectories, i)
        interval = interval_of(its)
        if i in result.trash or interval is None:
            assert not any(kept)
            continue
        first = max(t for t, _, _ in its if t <= interval[0])
        last = min(t for t, _, _ in its if t >= interval[1])
        assert kept == [first <= t <= last for t, _, _ in its]
    assert result.distortion.points_trashed == sum(len(points_of(trajectories, i)) for i in result.trash.tolist())
    n_suppressed = result.distortion.points_deleted + result.distortion.points_trashed
    assert n_suppressed + result.kept.sum() == len(trajectories.t_ms)
    assert result.starts[-1] == len(result.t_ms) == len(result.xy_m)
    assert len(result.starts) == len(result.sources) + 1
    assert result.distortion.discernibility == sum(len(rows) ** 2 for rows in sets_of(result)) + len(result.trash) * n


@settings(max_examples=examples(50))
@given(crowds(), BOTH, st.booleans(), KS)
def test_translation_is_measured_from_where_everyone_was(
    trajectories: PointTrajectories, translation: Translation, refined: bool, k: int
) -> None:
    """
    The counterpart of a published point is the trajectory's own position at that time, on the straight line between
    the points around it.
    """
    result = run(trajectories, translation, k=k, refined=refined)
    moved_m = [
        math.dist(published, own)
        for row in range(len(result.sources))
        for published, own in zip(
            positions_of(result, row).tolist(), own_positions_of(trajectories, result, row).tolist(), strict=True
        )
    ]
    assert result.distortion.space_translation_m == pytest.approx(math.fsum(moved_m))
    assert result.distortion.points_translated == sum(moved > 0 for moved in moved_m)
    assert result.distortion.largest_translation_mm == pytest.approx(1000 * max(moved_m, default=0.0), abs=0.51)
    assert result.distortion.translation_mm == pytest.approx(1000 * math.fsum(moved_m), abs=0.51 * max(len(moved_m), 1))


# ---------------------------------------------------------------- the algorithm


@settings(max_examples=examples(100))
@given(crowds(extent_m=60, fewest=6, intervals=((0, 1), (0, 1), (0, 2))), KS, st.sampled_from([5.0, 20.0, 60.0]))
def test_unrefined_and_minimal_it_is_the_published_algorithm(
    trajectories: PointTrajectories, k: int, max_radius_m: float
) -> None:
    """
    Interval by interval: one round of greedy clustering on all distances at equal times, then each point goes the
    shortest way into the disc around the mean of its set.
    """
    result = run(trajectories, "minimal", k=k, delta_m=20.5, max_radius_m=max_radius_m, trash_share=1.0, refined=False)
    wanted: list[list[int]] = []
    for (from_ms, to_ms), its in classes_of(trajectories).items():
        stamps = range(from_ms, to_ms + 1, STEP_MS)
        equal = trajectories_of(*((0, [(t, *position_at(points_of(trajectories, i), t)) for t in stamps]) for i in its))
        distances, n = Euclidean(equal), len(its)
        means_m = equal.xy_m.reshape(n, len(stamps), 2).mean(axis=1)
        cluster, pivots = greedy_round(
            trajectories.users[its].tolist(),
            np.rint(np.hypot(*(means_m - means_m.mean(axis=0)).T) * 1000).astype(int).tolist(),
            np.array([distances.between(pivot, np.arange(n)) for pivot in range(n)]),
            k,
            round(max_radius_m * 1000),
        )
        wanted += [[i for i, c in zip(its, cluster, strict=True) if c == number] for number in range(len(pivots))]
    assert [result.sources[rows].tolist() for rows in sets_of(result)] == wanted
    check_shortest_way(trajectories, result, 10.0)


@pytest.mark.parametrize(("refined", "sets"), [(False, [[4, 5, 6], [0, 1, 2, 3]]), (True, [[3, 4, 5, 6], [0, 1, 2]])])
def test_sets_are_refined_where_wanted(refined: bool, sets: list[list[int]]) -> None:
    """
    The outermost two are the first pivots, and 3 is nearer to the left one; the middle of the right set is nearer.
    """
    #  x:  0 1 2 ........ 14 .. 19 20 ........ 30     k=3
    whole = trajectories_of(*((u, [(0, x, 0.0), (10_000, x, 0.0)]) for u, x in enumerate([0.0, 1, 2, 14, 19, 20, 30])))
    result = run(whole, k=3, refined=refined)
    assert [result.sources[rows].tolist() for rows in sets_of(result)] == sets


def check_shortest_way(trajectories: PointTrajectories, result: AnonymitySets, radius_m: float) -> None:
    """Who is inside the disc is where they were; who is outside goes to the border, straight to the centre."""
    for rows in sets_of(result):
        own_m = np.array([own_positions_of(trajectories, result, row) for row in rows])
        for j, centre in enumerate(own_m.mean(axis=0)):
            for row, own in zip(rows, own_m[:, j], strict=True):
                published, away_m = positions_of(result, row)[j], math.dist(own, centre)
                if away_m < radius_m - 1e-9:
                    assert published.tolist() == own.tolist()
                else:
                    share = min(radius_m / away_m, 1.0)
                    np.testing.assert_allclose(published, centre + (own - centre) * share, atol=1e-6)


@settings(max_examples=examples(50))
@given(crowds(extent_m=60), KS, st.booleans(), st.sampled_from([(20.5, 0.5), (12.0, 2.0), (7.0, 0.0)]))
def test_minimal_leaves_who_is_inside_the_disc_exactly_where_they_were(
    trajectories: PointTrajectories, k: int, refined: bool, sizes_m: tuple[float, float]
) -> None:
    """
    Nobody moves farther than needed, whatever delta and margin: to the last bit, those inside do not move at all.
    """
    delta_m, margin_m = sizes_m
    result = run(trajectories, "minimal", k=k, refined=refined, delta_m=delta_m, margin_m=margin_m)
    check_shortest_way(trajectories, result, (delta_m - margin_m) / 2)


@settings(max_examples=examples(50))
@given(crowds(extent_m=60), KS, st.booleans(), st.integers(0, 2**32))
def test_exchangeable_points_lie_in_the_disc_around_the_mean(
    trajectories: PointTrajectories, k: int, refined: bool, seed: int
) -> None:
    """
    All members' points are drawn from the same disc, around the mean of where they were.
    """
    result = run(trajectories, k=k, refined=refined, delta_m=20.5, margin_m=0.5, seed=seed)
    for rows in sets_of(result):
        centre_m = np.mean([own_positions_of(trajectories, result, row) for row in rows], axis=0)
        for row in rows:
            assert np.hypot(*(positions_of(result, row) - centre_m).T).max() <= 10 + 1e-9


@given(st.integers(0, 2**32), st.floats(-20, 20), st.floats(-20, 20))
def test_where_one_really_was_moves_all_members_alike(seed: int, east_m: float, north_m: float) -> None:
    """
    Exchangeable: one of five somewhere else moves the published points of all five by a fifth of that; so neither its
    own nor the others' say which one it was.
    """
    rows = [(user, [(0, 3.0 * user, 0.0), (20_000, 3.0 * user, 50.0)]) for user in range(5)]
    moved = [(u, [(t, x + east_m * (u == 1), y + north_m * (u == 1)) for t, x, y in its]) for u, its in rows]
    before, after = (run(trajectories_of(*which), k=5, seed=seed, max_radius_m=1000.0) for which in (rows, moved))
    assert before.t_ms.tolist() == after.t_ms.tolist()
    np.testing.assert_allclose(
        after.xy_m - before.xy_m, np.tile([east_m / 5, north_m / 5], (len(before.xy_m), 1)), atol=1e-6
    )


def test_exchangeable_points_fill_the_whole_disc_alike_for_every_member() -> None:
    """
    Uniform: a quarter of them lies within half the radius, around the centre, wherever their true points were.
    """
    ends_ms = (0, 4000 * STEP_MS)
    rows = [(user, [(t, 9.0 * (user == 0), 0.0) for t in ends_ms]) for user in range(3)]
    result = run(trajectories_of(*rows), k=3, delta_m=20.5, margin_m=0.5, seed=3)
    by_member = result.xy_m.reshape(3, 4001, 2) - [3.0, 0.0]
    radius_m = np.hypot(*np.moveaxis(by_member, -1, 0))
    assert 9.9 < radius_m.max() < 10
    np.testing.assert_allclose((radius_m < 5).mean(axis=1), 0.25, atol=0.04)
    np.testing.assert_allclose(by_member.mean(axis=1), 0, atol=0.4)


@pytest.mark.parametrize("translation", ["exchangeable", "minimal"])
def test_every_set_has_a_delta_of_its_own(translation: Translation) -> None:
    """
    The smallest delta of a set is the diameter of its discs, and of no other set's.
    """
    #  around x = 0: 20.5, 100.5, 100.5 m      around x = 1000: 60.5, 60.5, 60.5 m; each set 300 m wide
    ends_ms = (0, 2000 * STEP_MS)
    rows = [(u, [(t, 1000.0 * (u > 2), 150.0 * (u % 3 - 1)) for t in ends_ms]) for u in range(6)]
    demands = Demands(k=np.full(6, 3), delta_m=np.array([20.5, 100.5, 100.5, 60.5, 60.5, 60.5]))
    result = run_personal(trajectories_of(*rows), demands, translation, max_radius_m=400.0)
    assert sorted(result.sources.tolist()) == [0, 1, 2, 3, 4, 5]
    for row, user in enumerate(result.sources.tolist()):
        away_m = np.hypot(*(positions_of(result, row) - [1000.0 * (user > 2), 0.0]).T)
        radius_m = 10 if user < 3 else 30
        assert away_m.max() <= radius_m + 1e-9
        if translation == "exchangeable" or user % 3 != 1:
            assert away_m.max() > 0.99 * radius_m


# ---------------------------------------------------------------- who is together


@pytest.mark.parametrize("translation", ["exchangeable", "minimal"])
def test_people_of_different_intervals_never_share_a_set(translation: Translation) -> None:
    """
    Beside one another all the time, but one pair is seen a little longer: two sets, and who is seen longer still is
    in none.
    """
    #       0         10        20        30 s
    #  0 1  [---------] .                         to 19.999 s
    #  2 3  [-------------------]                 to 20 s
    #  4    [-----------------------------]       to 30 s
    ends_ms = (19_999, 19_999, 20_000, 20_000, 30_000)
    whole = trajectories_of(
        *((user, [(0, 1.0 * user, 0.0), (end, 1.0 * user, 9.0)]) for user, end in enumerate(ends_ms))
    )
    result = run(whole, translation, trash_share=0.0)
    assert [result.sources[rows].tolist() for rows in sets_of(result)] == [[0, 1], [2, 3]]
    assert [stamps_of(result, row)[-1] for row in range(4)] == [10_000, 10_000, 20_000, 20_000]
    assert result.trash.tolist() == [4]


@pytest.mark.parametrize(("last_ms", "n_stamps"), [(19_999, 0), (20_000, 1), (29_999, 1), (30_000, 3)])
def test_a_trajectory_between_two_multiples_is_trash(last_ms: int, n_stamps: int) -> None:
    """
    Seen from just after 10 s: up to the next multiple nothing is released, from it on that very moment.
    """
    whole = trajectories_of(*((user, [(10_001, 0.0, 0.0), (last_ms, 5.0, 0.0)]) for user in range(3)))
    result = run(whole, k=3)
    assert result.starts.tolist() == [0, n_stamps, 2 * n_stamps, 3 * n_stamps][: 4 if n_stamps else 1]
    assert result.trash.tolist() == ([] if n_stamps else [0, 1, 2])


def test_a_single_point_is_released_where_it_is_at_a_multiple() -> None:
    """
    A trajectory of one point spans a moment: before and after the year 1970 alike.
    """
    for t_ms in (-20_000, 0, 1_700_000_000_000):
        assert run(trajectories_of(*((u, [(t_ms, 0.0, 0.0)]) for u in range(2)))).t_ms.tolist() == [t_ms] * 2
        assert not len(run(trajectories_of(*((u, [(t_ms + 1, 0.0, 0.0)]) for u in range(2)))).t_ms)


def test_several_trajectories_of_one_person_count_once() -> None:
    """
    Five pieces of two people are no set for three, but they are one for two, in which all five are.
    """
    whole = trajectories_of(
        *((user, [(0, 1.0 * i, 0.0), (10_000, 1.0 * i, 0.0)]) for i, user in enumerate([0, 0, 0, 1, 1]))
    )
    assert run(whole, k=3).trash.tolist() == [0, 1, 2, 3, 4]
    two = run(whole, k=2, trash_share=0.0)
    assert two.trash.tolist() == []
    for rows in sets_of(two):
        assert people(whole, two.sources[rows].tolist()) == 2


def test_who_demands_more_people_than_share_the_interval_is_trash() -> None:
    """
    Six people there are, three in each interval: who demands four is left out, who demands three is not.
    """
    rows = [(u, [(0, 1.0 * u, 0.0), (10_000 if u < 3 else 20_000, 1.0 * u, 0.0)]) for u in range(6)]
    demands = Demands(k=np.array([4, 2, 2, 3, 2, 2]), delta_m=np.full(6, 50.0))
    result = run_personal(trajectories_of(*rows), demands, trash_share=0.0)
    assert [result.sources[rows].tolist() for rows in sets_of(result)] == [[1, 2], [3, 4, 5]]
    assert result.trash.tolist() == [0]
    assert result.radius == 50  # it does not let the radius grow


def test_trash_that_cannot_be_helped_does_not_let_the_radius_grow() -> None:
    """
    Only who could be in a set counts against the share: neither lone intervals, nor short trajectories, nor deltas
    that leave no disc.
    """
    rows = [(u, [(0, 1.0 * u, 0.0), (10_000, 1.0 * u, 0.0)]) for u in range(2)]
    rows += [(u, [(0, 0.0, 0.0), (10_000 * u, 0.0, 0.0)]) for u in range(2, 6)]
    rows += [(u, [(1, 0.0, 0.0)]) for u in range(6, 9)]
    rows += [(u, [(0, 0.0, 0.0), (10_000, 0.0, 0.0)]) for u in range(9, 12)]
    demands = Demands(k=np.full(12, 2), delta_m=np.array([20.0] * 9 + [0.5] * 3))
    result = run_personal(trajectories_of(*rows), demands, trash_share=0.0, margin_m=0.5)
    assert result.sources.tolist() == [0, 1]
    assert result.radius == 50


def test_a_margin_that_leaves_no_disc_releases_nobody() -> None:
    """
    Discs of no size would make all members' points equal to the centre: suppress rather than publish it.
    """
    three = trajectories_of(*((user, [(0, 0.0, 0.0)]) for user in range(3)))
    assert run(three, delta_m=2.0, margin_m=2.0).trash.tolist() == [0, 1, 2]
    assert run(three, delta_m=2.1, margin_m=2.0).trash.tolist() == []


@pytest.mark.parametrize("translation", ["exchangeable", "minimal"])
@pytest.mark.parametrize(
    ("rows", "released"),
    [
        ([], 0),
        ([(0, [(0, 0.0, 0.0)])], 0),  # fewer users than k
        ([(user, [(7, 1.0, 1.0)]) for user in range(6)], 0),  # nobody spans a multiple
        ([(user, [(10_000 * user, 0.0, 0.0)]) for user in range(6)], 0),  # nobody shares an interval
        ([(user, [(0, 1.0, 1.0)]) for user in range(6)], 6),  # all identical, one point each
        ([(user, [(0, 10.0**user, 0.0), (10_000, 0.0, 10.0**user)]) for user in range(6)], 6),  # all far apart
        ([(user // 3, [(0, 1.0 * user, 0.0), (11_000, 0.0, 2.0)]) for user in range(9)], 9),
    ],
)
def test_awkward_inputs_end_and_keep_the_promise(
    translation: Translation, rows: list[tuple[int, list[Point]]], released: int
) -> None:
    """
    Nothing to release, nothing to choose from and everything far apart all come to an end.
    """
    trajectories = trajectories_of(*rows)
    result = run(trajectories, translation, k=3, trash_share=0.0)
    assert len(result.sources) == released
    assert verified(trajectories, result, KDelta(k=3, delta_m=20.5), (0.0, 0.0)).holds
    if not released:
        assert not result.kept.any()


# ---------------------------------------------------------------- repetition, options


@settings(max_examples=examples(50))
@given(crowds(), BOTH, st.booleans(), KS, st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_bytes(
    trajectories: PointTrajectories, translation: Translation, refined: bool, k: int, seed: int
) -> None:
    """
    A window that is rebuilt after a crash is the same release; minimal translation leaves nothing to chance at all.
    """
    seeds = (seed, seed if translation == "exchangeable" else seed + 1)
    one, again = (run(trajectories, translation, k=k, refined=refined, seed=its) for its in seeds)
    for name in ("sources", "sets", "starts", "t_ms", "xy_m", "kept", "trash", "created"):
        assert getattr(one, name).tobytes() == getattr(again, name).tobytes()


@pytest.mark.parametrize("granularity_ms", [0, -60_000, 15_000, 45_000, 60_001])
def test_a_granularity_that_is_no_multiple_of_the_step_is_an_error(granularity_ms: int) -> None:
    """
    Intervals begin and end at published time stamps, so the step divides the granularity.
    """
    with pytest.raises(ValueError, match=f"granularity_ms is {granularity_ms}.*30000"):
        NeverWalkAloneOptions(granularity_ms=granularity_ms, time_step_ms=30_000)


@pytest.mark.parametrize(
    "wrong",
    [
        {"translation": "other"},
        {"time_step_ms": 0},
        {"max_radius_m": 0.0},
        {"max_radius_m": float("nan")},
        {"trash_share": 1.5},
        {"trash_share": float("nan")},
        {"margin_m": -0.1},
        {"margin_m": float("inf")},
    ],
)
def test_options_out_of_range_are_named(wrong: dict[str, Any]) -> None:
    """
    A bad value stops with its name.
    """
    with pytest.raises(ValueError, match=next(iter(wrong))):
        NeverWalkAloneOptions(**wrong)


@pytest.mark.parametrize("time_step_ms", [1, 20_000, 60_000])
def test_the_step_may_be_any_divisor_of_the_granularity(time_step_ms: int) -> None:
    """
    From a millisecond to the granularity itself.
    """
    assert NeverWalkAloneOptions(time_step_ms=time_step_ms).granularity_ms == 60_000


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_trajectory_without_points_is_an_error(empty: int) -> None:
    """
    It spans no time, so it is refused rather than put into the trash.
    """
    rows: list[tuple[int, list[Point]]] = [(user, [(0, 0.0, 0.0)] * (user != empty)) for user in range(3)]
    with pytest.raises(ValueError, match="without points"):
        run(trajectories_of(*rows))
