from __future__ import annotations

from typing import Any, Literal
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.kdelta.anonymize import translation
from core.models.kdelta.anonymize.sets import AnonymitySets
from core.models.kdelta.anonymize.translation import translate_minimal
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions, wait4me
from core.models.kdelta.guarantee import KDelta
from core.trajectories.trajectory import Demands, PointTrajectories
from tests.budgets import examples
from tests.oracles.kdelta import Point, a_region, data_sets, points_of, trajectories_of, verified

Translation = Literal["exchangeable", "minimal"]
BOTH = st.sampled_from(["exchangeable", "minimal"])
PLACES = st.sampled_from([(37.8, -122.4), (70.0, 25.0), (-16.5, 179.9999), (0.0, 0.0), (89.99, 10.0)])


def run(
    trajectories: PointTrajectories,
    translation: Translation = "exchangeable",
    *,
    k: int = 2,
    delta_m: float = 20.0,
    seed: int = 1,
    **options: Any,
) -> AnonymitySets:
    return wait4me(
        trajectories,
        Demands.alike(len(trajectories.users), k=k, delta_m=delta_m),
        Wait4MeOptions(translation=translation, **{"time_step_ms": 5_000, "max_radius_m": 50.0, **options}),
        np.random.default_rng(seed),
    )


@settings(max_examples=examples(150))
@given(data_sets(extent_m=300), BOTH, st.integers(2, 4), st.sampled_from([1.5, 20.0, 500.0]), PLACES)
def test_every_release_is_kdelta_anonymous_as_published(
    trajectories: PointTrajectories,
    translation: Translation,
    k: int,
    delta_m: float,
    place: tuple[float, float],
) -> None:
    """
    The verifier, which shares no code with this, finds the promise kept in rounded degrees: far north, beside the
    pole and across the antimeridian as well.
    """
    result = run(trajectories, translation, k=k, delta_m=delta_m)
    report = verified(trajectories, result, KDelta(k=k, delta_m=delta_m), place)
    assert report.holds, report
    assert (report.smallest_set is None) == (trajectories.n_users < k)


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


@given(data_sets(), BOTH, st.integers(2, 4), st.sampled_from([0.0, 0.3, 1.0]))
def test_every_input_point_is_either_released_or_suppressed(
    trajectories: PointTrajectories, translation: Translation, k: int, trash_share: float
) -> None:
    """
    The account adds up: released and suppressed trajectories are all there are; suppressed points are those of the
    trash and the deleted ones; published points are created ones and ones with a counterpart.
    """
    result = run(trajectories, translation, k=k, trash_share=trash_share, max_radius_m=8.0)
    n = len(trajectories.users)
    assert sorted([*result.sources.tolist(), *result.trash.tolist()]) == list(range(n))
    owner = np.repeat(np.arange(n), np.diff(trajectories.starts))
    in_trash = np.isin(owner, result.trash)
    assert not result.kept[in_trash].any()
    assert np.count_nonzero(~result.kept) == in_trash.sum() + result.distortion.points_deleted
    assert set(owner[result.kept].tolist()) <= set(result.sources.tolist())
    assert result.starts[-1] == len(result.t_ms) == len(result.xy_m)
    assert len(result.starts) == len(result.sources) + 1
    assert 0 <= result.distortion.points_translated <= len(result.t_ms) - result.points_created
    if translation == "minimal":
        assert len(result.t_ms) == result.points_created + result.kept.sum()
    sizes = np.bincount(result.sets) if len(result.sets) else np.zeros(0, dtype=int)
    assert result.distortion.discernibility == (sizes**2).sum() + len(result.trash) * n


@given(data_sets(), BOTH, st.integers(2, 4), st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_bytes(
    trajectories: PointTrajectories, translation: Translation, k: int, seed: int
) -> None:
    """
    A window that is rebuilt after a crash is the same release.
    """
    one, again = (run(trajectories, translation, k=k, seed=seed) for _ in range(2))
    for name in ("sources", "sets", "starts", "t_ms", "xy_m", "kept", "trash"):
        assert getattr(one, name).tobytes() == getattr(again, name).tobytes()


def neighbours(rng: np.random.Generator, size: int = 5, length: int = 12) -> list[tuple[int, list[Point]]]:
    """People on the same road, a few metres apart, seen at times of their own."""
    times = np.sort(rng.choice(600, (size, length)), axis=1) * 100 + np.arange(length)
    return [
        (user, [(int(t), t / 100 + rng.normal(0, 2), 5.0 * user) for t in times[user].tolist()]) for user in range(size)
    ]


@given(data_sets(extent_m=200, min_size=6), st.sampled_from([1, 7, 100]))
def test_how_many_points_are_computed_at_once_changes_nothing(trajectories: PointTrajectories, at_once: int) -> None:
    """
    Sets are translated a few at a time, so that memory does not grow with the window; chance goes on from one to the
    next.
    """
    expected = run(trajectories, delta_m=500.0)
    with mock.patch.object(translation, "_POINTS_AT_ONCE", at_once):
        found = run(trajectories, delta_m=500.0)
    assert found.xy_m.tobytes() == expected.xy_m.tobytes()
    assert (found.t_ms.tolist(), found.kept.tolist()) == (expected.t_ms.tolist(), expected.kept.tolist())
    assert found.distortion == expected.distortion


@given(st.integers(0, 2**32), st.integers(2, 6))
def test_exchangeable_publishes_nothing_raw(seed: int, size: int) -> None:
    """
    No raw position leaves, of the pivot neither, and time stamps are on the grid.
    """
    trajectories = trajectories_of(*neighbours(np.random.default_rng(seed), size))
    result = run(trajectories, k=size, seed=seed)
    assert len(result.sources) == size
    assert (result.t_ms % 5_000 == 0).all()
    raw = trajectories.xy_m.round(3).tolist()
    assert not [xy for xy in result.xy_m.round(3).tolist() if xy in raw]


@given(st.integers(0, 2**32), st.floats(-20, 20), st.floats(-20, 20))
def test_a_members_raw_points_move_nothing_but_the_discs_by_one_part_in_their_number(
    seed: int, east_m: float, north_m: float
) -> None:
    """
    Exchangeable: where one of five really was changes the published points of all five alike, by a fifth of it; so
    neither its own published points nor the others' say which one it was.
    """
    rng = np.random.default_rng(seed)
    rows = [(user, [(t * 1000, 0.0, float(user))]) for user in range(5) for t in [int(rng.integers(0, 5))]]
    # Nobody moves, so that matching stays the same; user 4 is outermost, the pivot.
    rows[4] = (4, [(0, 500.0, 0.0)])
    moved = [
        (user, [(t, x + east_m * (user == 1), y + north_m * (user == 1)) for t, x, y in its]) for user, its in rows
    ]
    before, after = (run(trajectories_of(*which), k=5, seed=seed, max_radius_m=10_000.0) for which in (rows, moved))
    assert before.t_ms.tolist() == after.t_ms.tolist()
    np.testing.assert_allclose(
        after.xy_m - before.xy_m, np.tile([east_m / 5, north_m / 5], (len(before.xy_m), 1)), atol=1e-6
    )


def test_published_points_are_drawn_from_the_whole_disc_alike_for_every_member() -> None:
    """
    Exchangeable: all members' points fill the same disc evenly, wherever their true points were.
    """
    stamps = range(0, 4000 * 5000, 5000)
    rows = [(user, [(t, 9.0 * (user == 0), 0.0) for t in (stamps[0], stamps[-1])]) for user in range(3)]
    result = run(trajectories_of(*rows), k=3, delta_m=20.5, margin_m=0.5, seed=3)
    by_member = result.xy_m.reshape(3, len(stamps), 2) - [3.0, 0.0]
    radius_m = np.hypot(*np.moveaxis(by_member, -1, 0))
    assert radius_m.max() < 10
    # Uniform: a quarter of the area lies within half the radius; the centre of mass is the disc's centre.
    np.testing.assert_allclose((radius_m < 5).mean(axis=1), 0.25, atol=0.04)
    np.testing.assert_allclose(by_member.mean(axis=1), 0, atol=0.4)


def test_time_stamps_run_from_the_median_start_to_the_median_end() -> None:
    """
    The span is the members' common one, not the pivot's; grid times, rounded down.
    """
    #  0    5    10   15   20   25 s
    #  [-------------------------]     0 .. 25
    #       [ ------------- ]          7 .. 21
    #        [--------]                8 .. 17   medians 7 and 21
    spans = [(0, 25), (7, 21), (8, 17)]
    rows = [(user, [(a * 1000, 0.0, 0.0), (b * 1000, 1.0, 0.0)]) for user, (a, b) in enumerate(spans)]
    result = run(trajectories_of(*rows), k=3)
    assert result.t_ms.tolist() == [5_000, 10_000, 15_000, 20_000] * 3
    # Before 7 and 8 s, and after 17 s, two members have no counterpart to publish.
    assert result.points_created == 3


def test_what_lies_before_and_after_the_released_span_is_deleted() -> None:
    """
    An input point that the release draws nothing from is suppressed, not released.
    """
    #  0 ........ 40 ----- 60 ........ 100 s, a point every 5 s
    spans = [(0, 100), (40, 60), (40, 60)]
    rows = [(user, [(t * 1000, 0.0, 1.0 * user) for t in range(a, b + 1, 5)]) for user, (a, b) in enumerate(spans)]
    trajectories = trajectories_of(*rows)
    result = run(trajectories, k=3)
    assert (trajectories.t_ms[~result.kept] // 1000).tolist() == [*range(0, 40, 5), *range(65, 101, 5)]
    assert result.distortion.points_deleted == 16


@given(data_sets(min_size=2, extent_m=100), st.integers(2, 3))
def test_minimal_leaves_the_pivot_untouched_and_moves_others_no_farther_than_needed(
    trajectories: PointTrajectories, k: int
) -> None:
    """
    The published rule: one member of a set is published as it was, and everyone is within half of delta of it.
    """
    result = run(trajectories, "minimal", k=k, delta_m=20.5, margin_m=0.5)
    parts = [slice(*result.starts[row : row + 2]) for row in range(len(result.sources))]
    for number in set(result.sets.tolist()):
        rows = np.flatnonzero(result.sets == number).tolist()
        centres = [
            result.xy_m[parts[row]]
            for row in rows
            if [(t, *xy) for t, xy in zip(result.t_ms[parts[row]], result.xy_m[parts[row]].tolist(), strict=True)]
            == points_of(trajectories, int(result.sources[row]))
        ]
        assert any(
            all(np.hypot(*(result.xy_m[parts[row]] - centre).T).max() <= 10 + 1e-9 for row in rows)
            for centre in centres
        )


def test_minimal_follows_the_script_point_by_point() -> None:
    """
    Inside the disc stays, outside goes to its border, what only the pivot has is created, what only the other has is
    deleted, and times become the pivot's.
    """
    #          0 s         5 s        10 s         20 s
    #  pivot   (0,0)                  (0,100)      (0,200)
    #  other   (3,0)       far off    (30,100) at 12 s
    pivot = [(0, 0.0, 0.0), (10_000, 0.0, 100.0), (20_000, 0.0, 200.0)]
    other = [(0, 3.0, 0.0), (5_000, 500.0, 9000.0), (12_000, 30.0, 100.0)]
    one = translate_minimal(
        trajectories_of((0, other), (1, pivot)),
        np.array([0, 1]),
        1,
        diameter_m=20.0,
        space_tolerance_m=50.0,
        time_tolerance_s=5.0,
        rng=np.random.default_rng(2),
    )
    assert one.t_ms.tolist() == [0, 10_000, 20_000]
    assert one.xy_m[1].tolist() == [list(xy) for _, *xy in pivot]
    np.testing.assert_allclose(one.xy_m[0, :2], [[3.0, 0.0], [10.0, 100.0]])
    assert np.hypot(*(one.xy_m[0, 2] - [0.0, 200.0])) < 10
    assert one.created.tolist() == [[False, False, True], [False, False, False]]
    np.testing.assert_allclose(one.moved_m, [[0, 20, 0], [0, 0, 0]])
    assert one.shifted_s.tolist() == [[0, 2, 0], [0, 0, 0]]
    assert one.taking_part.tolist() == [0, 2, 3, 4, 5]


@pytest.mark.parametrize("translation", ["exchangeable", "minimal"])
@pytest.mark.parametrize(
    ("rows", "released"),
    [
        ([], 0),
        ([(0, [(0, 0.0, 0.0)])], 0),  # fewer users than k
        ([(0, [(t, 0.0, 0.0)]) for t in range(30)], 0),  # one user, many pieces
        ([(user, [(7, 1.0, 1.0)]) for user in range(6)], 6),  # all identical, one point each
        ([(user, [(10**9 * user, 10.0**user, 0.0)]) for user in range(6)], 6),  # all far apart in space and time
        ([(user // 3, [(user, 1.0 * user, 0.0), (user + 9, 0.0, 2.0)]) for user in range(9)], 9),
    ],
)
def test_awkward_inputs_end_and_keep_the_promise(
    translation: Translation, rows: list[tuple[int, list[Point]]], released: int
) -> None:
    """
    Nothing to release, nothing to choose from and everything far apart all come to an end.
    """
    trajectories = trajectories_of(*rows)
    result = run(trajectories, translation, k=3)
    assert len(result.sources) == released
    assert verified(trajectories, result, KDelta(k=3, delta_m=20.0), (0.0, 0.0)).holds
    if not released:
        assert not result.kept.any()


@settings(max_examples=examples(100))
@given(data_sets(extent_m=300), st.integers(1, 4))
def test_begin_and_end_of_a_set_tell_no_more_than_their_step(trajectories: PointTrajectories, n_steps: int) -> None:
    """
    Sets span whole steps, from that in which the members begin in the median to that in which they end.
    """
    span_ms = n_steps * 5_000
    result = run(trajectories, span_step_ms=span_ms)
    for number in np.unique(result.sets).tolist():
        members = result.sources[result.sets == number]
        first = int(np.flatnonzero(result.sets == number)[0])
        t_ms = result.t_ms[result.starts[first] : result.starts[first + 1]]
        begin, end = (
            int(np.median(bounds) // span_ms * span_ms)
            for bounds in (
                trajectories.t_ms[trajectories.starts[members]],
                trajectories.t_ms[trajectories.starts[members + 1] - 1],
            )
        )
        assert t_ms.tolist() == list(range(begin, end + span_ms, 5_000))


@pytest.mark.parametrize(
    "wrong",
    [
        {"translation": "other"},
        {"time_step_ms": 0},
        {"span_step_ms": 0},
        {"span_step_ms": 45_000},
        {"max_radius_m": 0.0},
        {"max_radius_m": float("nan")},
        {"trash_share": 1.5},
        {"time_tolerance_s": -1.0},
        {"space_tolerance_m": float("inf")},
        {"margin_m": -0.1},
    ],
)
def test_options_out_of_range_are_named(wrong: dict[str, Any]) -> None:
    """
    A bad value stops with its name.
    """
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Wait4MeOptions(**wrong)


def test_a_margin_that_leaves_no_disc_releases_nobody() -> None:
    """
    Discs of no size would make all members' points equal to the centre: suppress rather than publish it.
    """
    three = trajectories_of(*((user, [(0, 0.0, 0.0)]) for user in range(3)))
    assert run(three, delta_m=2.0, margin_m=2.0).trash.tolist() == [0, 1, 2]
    assert run(three, delta_m=2.1, margin_m=2.0).trash.tolist() == []


# ---------------------------------------------------------------- personal demands


def run_personal(
    trajectories: PointTrajectories, demands: Demands, translation: Translation = "exchangeable", **options: Any
) -> AnonymitySets:
    return wait4me(
        trajectories,
        demands,
        Wait4MeOptions(translation=translation, **{"time_step_ms": 5_000, "max_radius_m": 50.0, **options}),
        np.random.default_rng(1),
    )


@settings(max_examples=examples(100))
@given(data_sets(extent_m=300), BOTH, st.data(), PLACES)
def test_every_set_keeps_what_its_most_demanding_members_demand(
    trajectories: PointTrajectories, translation: Translation, data: st.DataObject, place: tuple[float, float]
) -> None:
    """
    As published, each set has its members' largest k in distinct users and keeps their smallest delta; nobody is in
    the trash for certain but who demands more than can be had.
    """
    n = len(trajectories.users)
    ks = data.draw(st.lists(st.sampled_from([2, 2, 3, 4, 50]), min_size=n, max_size=n))
    deltas_m = data.draw(st.lists(st.sampled_from([0.3, 1.5, 20.0, 500.0]), min_size=n, max_size=n))
    demands = Demands(k=np.array(ks), delta_m=np.array(deltas_m))
    result = run_personal(trajectories, demands, translation)
    report = verified(trajectories, result, KDelta(k=2, delta_m=500.0), place, demands)
    assert report.holds, report
    impossible = (demands.delta_m <= 0.5) | (demands.k > trajectories.n_users)
    assert set(np.flatnonzero(impossible).tolist()) <= set(result.trash.tolist())


def test_every_set_has_a_delta_of_its_own() -> None:
    """
    The smallest delta of a set is the diameter of its discs, and of no other set's.
    """
    #  around x = 0: 20.5, 100.5, 100.5 m      around x = 1000: 60.5, 60.5, 60.5 m
    stamps = range(0, 2000 * 5000, 5000)
    rows = [(user, [(t, 1000.0 * (user > 2), 0.0) for t in (stamps[0], stamps[-1])]) for user in range(6)]
    demands = Demands(k=np.full(6, 3), delta_m=np.array([20.5, 100.5, 100.5, 60.5, 60.5, 60.5]))
    result = run_personal(trajectories_of(*rows), demands)
    assert result.sources.tolist() == [0, 1, 2, 3, 4, 5]
    by_member = result.xy_m.reshape(6, len(stamps), 2) - [[[1000.0 * (user > 2), 0.0]] for user in range(6)]
    radius_m = np.hypot(*np.moveaxis(by_member, -1, 0)).max(axis=1)
    np.testing.assert_allclose(radius_m, [10, 10, 10, 30, 30, 30], rtol=0.01)
