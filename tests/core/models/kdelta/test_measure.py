"""Measuring a window of trajectories against what is released of it."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from core.models.kdelta.algorithms import AnonymizedTrajectories, NeverWalkAlone, SegmentedWaitForMe, WaitForMe
from core.models.kdelta.anonymize.never_walk_alone import NeverWalkAloneOptions
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions
from core.models.kdelta.assemble import PointWindow, assemble_points
from core.models.kdelta.measure import PointMeasures, compare
from core.models.kdelta.plan import KDeltaPlan
from core.models.kdelta.ranges import RangeQueryOptions, draw_range_queries, range_query_distortion
from core.records.keys import keyed_generator
from core.records.record import Rows
from core.release.outcome import Release
from core.trajectories.trajectory import PointTrajectories
from tests.budgets import examples
from tests.builders.windows import SECRET, anonymized, point_plan, points, release, released, seal_of, window_message
from tests.core.models.kdelta.test_algorithms import Case, cases

QUERIES = RangeQueryOptions(n=20, smallest_radius_m=20.0, largest_radius_m=200.0, shortest_ms=0, longest_ms=90_000)
OF_RANGES = ("range_distortion_possibly", "range_distortion_definitely")
METRES_A_DEGREE = 111_267.0
"""Of latitude, in Berlin."""


def measured(rows: Rows, plan: KDeltaPlan, options: RangeQueryOptions = QUERIES) -> PointMeasures | None:
    window, result = anonymized(rows, plan)
    if window.n_users < plan.guarantee.k or not len(result.sets.sources):
        return None
    return compare(seal_of(rows, plan), window, result, plan, options)


def figures(rows: Rows, plan: KDeltaPlan, options: RangeQueryOptions = QUERIES) -> dict[str, float]:
    """Measures of a window that is released."""
    found = measured(rows, plan, options)
    assert found is not None
    return found.as_dict()


def result_of(rows: Rows, plan: KDeltaPlan) -> tuple[PointWindow, AnonymizedTrajectories]:
    """What a release is made of."""
    window = assemble_points(rows, plan.guarantee, plan.limits, plan.joining)
    rng = keyed_generator(SECRET, seal_of(rows, plan).release_id)
    return window, plan.algorithm.anonymize(window, plan.guarantee, rng)


WALKERS = points(
    *((user, 30 * step + user, 52.5 + 0.0004 * step, 13.4 + 0.0002 * user) for user in range(1, 9) for step in range(8))
)
"""Eight people who walk north side by side, 13 m apart, each a second after the one before."""


# ---------------------------------------------------------------- against what is published


@settings(max_examples=examples(120))
@given(case=cases())
def test_what_is_measured_is_what_was_released(case: Case) -> None:
    """
    There are measures where there is a release, and what is published of them is the same to two digits.
    """
    outcome, found = release(case.rows, case.plan), measured(case.rows, case.plan)
    assert (found is not None) == isinstance(outcome, Release)
    if found is None:
        return
    its, loss = found.as_dict(), window_message(outcome)["information_loss"]
    for name in ("mean_space_translation_m", "mean_time_translation_s"):
        assert loss[name] is None or loss[name] == pytest.approx(its[name], rel=0.05, abs=0.051), name


@settings(max_examples=examples(60))
@given(case=cases())
def test_measures_are_those_of_the_sets(case: Case) -> None:
    """
    Counted once more: points and trajectories in the trash, squared sizes of sets, and translation over all points that
    have a counterpart.
    """
    found = measured(case.rows, case.plan)
    if found is None:
        return
    _, made = result_of(case.rows, case.plan)
    its, sets = made.trajectories, made.sets
    n_points = np.diff(its.starts).tolist()
    trash = [i for i in range(len(n_points)) if i not in sets.sources.tolist()]
    sizes = [sets.sets.tolist().count(number) for number in set(sets.sets.tolist())]
    counterparts = len(sets.t_ms) - found.points_created
    assert found.trash == len(trash)
    assert found.points_trashed == sum(n_points[i] for i in trash)
    assert found.points_deleted == sum(n_points) - found.points_trashed - int(sets.kept.sum())
    assert found.discernibility == sum(size**2 for size in sizes) + len(trash) * len(n_points)
    for mean, whole in (
        (found.mean_space_translation_m, found.space_translation_m),
        (found.mean_time_translation_s, found.time_translation_s),
    ):
        assert mean * counterparts == pytest.approx(whole)
        assert whole >= 0


@settings(max_examples=examples(60))
@given(case=cases(["nwa"]))
def test_total_distortion_is_translation_and_trash(case: Case) -> None:
    """
    Recounted for NWA, whose points move in space alone: each from where its trajectory was at that time, and for each
    point in the trash the largest such distance (Theodosopoulos 2013, section 5), in whole millimetres.
    """
    found = measured(case.rows, case.plan)
    if found is None:
        return
    _, made = result_of(case.rows, case.plan)
    its, sets = made.trajectories, made.sets
    moved_mm = []
    for number, source in enumerate(sets.sources.tolist()):
        own, at = slice(*its.starts[source : source + 2]), slice(*sets.starts[number : number + 2])
        for t, (x, y) in zip(sets.t_ms[at].tolist(), sets.xy_m[at].tolist(), strict=True):
            was_x, was_y = (float(np.interp(t, its.t_ms[own], axis)) for axis in its.xy_m[own].T)
            moved_mm.append(1000 * math.hypot(x - was_x, y - was_y))
    assert found.space_translation_m == pytest.approx(sum(moved_mm) / 1000, abs=1e-6)
    whole = sum(map(round, moved_mm)) + found.points_trashed * max(map(round, moved_mm))
    assert found.total_distortion_m == pytest.approx(whole / 1000, abs=0.001 * (1 + found.points_trashed))
    assert (found.time_translation_s, found.points_created) == (0, 0)


def test_total_distortion_by_hand() -> None:
    """
    Three people walk 30 m in 30 s, the third ten seconds later and 200 m to the north; two are far away. Under minimal
    translation, within 300 m less the margin of half a metre, the third is moved 50.25 m and 10 s at two points. All
    walk at 1 m/s, so that 10 s are 10 m: 120.5 m in all, and for each of the four points in the trash 60.25 m.
    """
    rows = [
        (user, at_s + later_s, 52.5 + (north_m + at_s) / METRES_A_DEGREE, 13.4)
        for user, later_s, north_m in ((1, 0, 0.0), (2, 0, 0.0), (3, 10, 200.0), (8, 0, 90_000.0), (9, 0, -90_000.0))
        for at_s in (0, 30)
    ]
    options = Wait4MeOptions(translation="minimal", max_radius_m=500.0, trash_share=1.0)
    found = figures(points(*rows), point_plan(options=options))
    assert found["space_translation_m"] == pytest.approx(100.5, rel=0.002)
    assert found["time_translation_s"] == pytest.approx(20.0)
    assert found["mean_space_translation_m"] == pytest.approx(16.75, rel=0.002)
    assert found["mean_time_translation_s"] == pytest.approx(20 / 6)
    assert found["total_distortion_m"] == pytest.approx(120.5 + 4 * 60.25, rel=0.002)
    counts = ("points_created", "points_deleted", "points_trashed", "trash", "discernibility")
    assert [found[name] for name in counts] == [0, 0, 4, 2, 3**2 + 2 * 5]


# ---------------------------------------------------------------- range queries


@settings(max_examples=examples(80))
@given(case=cases())
def test_range_distortion_is_that_of_the_release(case: Case) -> None:
    """
    Queries about the raw window, drawn by the secret and the release id apart from all other chance; half of the delta
    that everybody is given is the uncertainty; people are those of the trajectories, however many pieces they have.
    """
    found = measured(case.rows, case.plan)
    if found is None:
        return
    window, made = result_of(case.rows, case.plan)
    raw, sets = window.trajectories, made.sets
    assert [field.name for field in fields(found)][-2:] == list(OF_RANGES)
    out = PointTrajectories(
        users=made.trajectories.users[sets.sources], starts=sets.starts, t_ms=sets.t_ms, xy_m=sets.xy_m
    )
    chance = keyed_generator(SECRET, seal_of(case.rows, case.plan).release_id, "measures")
    expected = range_query_distortion(
        raw, out, draw_range_queries(raw, chance, QUERIES), uncertainty_m=case.plan.guarantee.delta_m / 2
    )
    np.testing.assert_equal([found.as_dict()[name] for name in OF_RANGES], [expected.psi, expected.dai])


def test_what_is_nearly_raw_is_answered_nearly_alike() -> None:
    """
    Eight people in one place, released in discs of a metre around it: discs of 20 m and more answer alike. Discs of
    300 m across, in which anybody may be anywhere, tell less.
    """
    rows = points(*((user, 30 * i, 52.5, 13.4) for user in range(8) for i in range(10)))
    narrow = figures(rows, point_plan(delta_m=1.5))
    assert [narrow[name] for name in OF_RANGES] == [0.0, 0.0]
    spread = points(*((user, 30 * i, 52.5, 13.4 + 0.002 * user) for user in range(8) for i in range(10)))
    assert figures(spread, point_plan())["range_distortion_possibly"] > 0


def test_without_queries_there_is_no_range_distortion() -> None:
    """
    NaN where there is nothing to measure; all other figures are as they are with queries.
    """
    without, usual = figures(WALKERS, point_plan(), RangeQueryOptions(n=0)), figures(WALKERS, point_plan())
    assert all(math.isnan(without[name]) for name in OF_RANGES)
    changed = {name for name in usual if usual[name] != without[name]}
    assert changed == set(OF_RANGES)


# ---------------------------------------------------------------- what it leaves alone


def test_measuring_changes_no_release() -> None:
    """
    The rows are as they were, the release is the same before and after, and the same figures come again.
    """
    plan, before = point_plan(), WALKERS.tobytes()
    frozen = np.frombuffer(before, dtype=WALKERS.dtype)
    one = released(frozen, plan)
    found = figures(frozen, plan)
    again = released(frozen, plan)
    assert window_message(one) == window_message(again)
    np.testing.assert_equal(figures(frozen, plan), found)
    assert WALKERS.tobytes() == before


def test_another_secret_measures_another_release() -> None:
    """
    The release is made once more as its plan makes it, with its own chance.
    """
    plan = point_plan()
    other = replace(plan, secret=SECRET[::-1])
    assert figures(WALKERS, plan)["space_translation_m"] != figures(WALKERS, other)["space_translation_m"]


@pytest.mark.parametrize(
    "plan",
    [
        point_plan(),
        point_plan(options=Wait4MeOptions(translation="minimal")),
        point_plan(algorithm=NeverWalkAlone(options=NeverWalkAloneOptions(time_step_ms=30_000))),
        point_plan(algorithm=WaitForMe(personal=True)),
        point_plan(algorithm=SegmentedWaitForMe()),
    ],
    ids=lambda plan: f"{plan.model} {plan.parameters['translation']}",
)
def test_every_figure_of_a_crowd_is_a_number(plan: KDeltaPlan) -> None:
    """
    Where people walk side by side there is something to measure of everything, with as many queries as meet somebody
    whatever their chance.
    """
    found = figures(WALKERS, plan, RangeQueryOptions(n=2_000))
    assert list(found) == [field.name for field in fields(PointMeasures)]
    assert all(type(value) is float and math.isfinite(value) and value >= 0 for value in found.values())
    assert all(found[name] <= 1 for name in OF_RANGES)


@pytest.mark.parametrize(
    ("changes", "kept"),
    [({}, 2), ({"k": 9}, 8), ({"delta_m": 10.0}, 8)],
    ids=["too few people", "all demand more people", "all demand less distance"],
)
def test_what_is_withheld_has_no_measures(changes: dict[str, Any], kept: int) -> None:
    """
    Too few people, or none who can be given what they demand: nothing is released, and nothing is measured.
    """
    rows = WALKERS[np.isin(WALKERS["user"], np.unique(WALKERS["user"])[:kept])]
    for name, value in changes.items():
        rows[name] = value
    for plan in (point_plan(), point_plan(algorithm=NeverWalkAlone())):
        assert measured(rows, plan) is None
    assert measured(rows[:0], point_plan()) is None
