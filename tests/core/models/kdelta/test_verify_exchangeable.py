"""Offsets that depend on who is who are found; offsets that are chance are not."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.kdelta.anonymize import wait4me
from core.models.kdelta.anonymize.translation import Translated, translate_exchangeable
from core.models.kdelta.verify_exchangeable import MOST_DEVIATIONS, _positions_at, deviations_from_chance
from core.records.arrays import FloatArray
from core.release.outcome import Release, ReleaseRefused
from core.trajectories.trajectory import PointTrajectories
from tests.builders.windows import point_plan, points, release

STAMPS = np.arange(3) * 30_000
PLACES = [(37.8, -122.4), (70.0, 25.0), (-16.5, 179.9999), (-45.0, -180.0)]


def deviations(
    true_m: FloatArray, offsets_m: FloatArray, order: tuple[int, ...] | None = None, *, place: tuple[float, float]
) -> float:
    """Compare sets of people at true positions with offsets, both ``(sets, s, m, 2)``, given away in an order."""
    n_sets, s = true_m.shape[:2]
    lat, lon = place
    given = offsets_m if order is None else offsets_m[:, list(order)]
    flat = given.reshape(n_sets * s, len(STAMPS), 2)
    east = flat[..., 0] / 111_195 / np.cos(np.radians(lat))
    return deviations_from_chance(
        sets=np.repeat(np.arange(n_sets), s).tolist(),
        users=list(range(n_sets * s)),
        t_ms=[STAMPS] * (n_sets * s),
        lat_deg=list(lat + flat[..., 1] / 111_195),
        lon_deg=list((lon + east + 180) % 360 - 180),
        true_users=np.repeat(np.arange(n_sets * s), len(STAMPS)),
        true_t_ms=np.tile(STAMPS, n_sets * s),
        true_xy_m=true_m.reshape(-1, 2),
    )


def drawn(seed: int, n_sets: int, s: int) -> FloatArray:
    return np.random.default_rng(seed).normal(0, 100, (n_sets, s, len(STAMPS), 2))


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from(PLACES))
def test_mean_and_variance_are_those_of_all_ways_to_give_trajectories_away(
    seed: int, s: int, place: tuple[float, float]
) -> None:
    true_m, offsets_m = drawn(seed, 1, s), drawn(seed + 1, 1, s)
    found = [deviations(true_m, offsets_m, order, place=place) for order in permutations(range(s))]
    assert np.mean(found) == pytest.approx(0, abs=1e-6)
    assert np.mean(np.square(found)) == pytest.approx(1, rel=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_chance_is_not_refused(seed: int, s: int) -> None:
    assert abs(deviations(drawn(seed, 60, s), drawn(seed + 1, 60, s), place=PLACES[0])) < MOST_DEVIATIONS


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_little_of_the_truth_is_found(place: tuple[float, float], sign: int) -> None:
    """
    A fifth of each true offset is in the published one.
    """
    true_m = drawn(1, 200, 5)
    offsets_m = drawn(2, 200, 5) + sign * true_m / 5
    assert sign * deviations(true_m, offsets_m, place=place) > MOST_DEVIATIONS


def test_people_at_one_place_and_sets_of_one_tell_nothing() -> None:
    assert deviations(np.zeros((3, 4, 3, 2)), drawn(2, 3, 4), place=PLACES[0]) == 0
    assert deviations(drawn(1, 3, 1), drawn(2, 3, 1), place=PLACES[0]) == 0


def test_without_a_release_there_is_nothing_to_compare() -> None:
    nobody = np.empty(0, np.int64)
    found = deviations_from_chance(
        [], [], [], [], [], true_users=nobody, true_t_ms=nobody, true_xy_m=np.empty((0, 2), np.float64)
    )
    assert found == 0


@given(st.data())
def test_people_are_where_a_straight_line_between_their_points_puts_them(data: st.DataObject) -> None:
    times = data.draw(
        st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=5, unique=True), min_size=1, max_size=4)
    )
    tracks = [(sorted(own), np.random.default_rng(i).normal(0, 9, (len(own), 2))) for i, own in enumerate(times)]
    asked = data.draw(st.lists(st.tuples(st.integers(0, len(times) - 1), st.integers(-10, 60)), max_size=8))
    found = _positions_at(
        np.array([user for user, _ in asked], np.int64),
        np.array([t_ms for _, t_ms in asked], np.int64),
        np.repeat(np.arange(len(times)), [len(own) for own in times]),
        np.concatenate([own for own, _ in tracks]),
        np.concatenate([xy_m for _, xy_m in tracks]),
    )
    expected = [[np.interp(t_ms, tracks[user][0], axis) for axis in tracks[user][1].T] for user, t_ms in asked]
    assert found == pytest.approx(np.array(expected).reshape(-1, 2))


def people(n: int) -> Any:
    """Groups of four who walk side by side, groups far apart."""
    rng = np.random.default_rng(3)
    rows = []
    for user in range(n):
        lat, lon = 48.0 + user // 4 * 0.02 + rng.uniform(0, 0.002), 16.0 + rng.uniform(0, 0.002)
        rows += [(user, i * 30, lat + i * 1e-4, lon) for i in range(8)]
    return points(*rows)


def towards_their_owners(*args: Any, **options: Any) -> list[Translated]:
    """The usual translation, but the members of a set choose in turn which published trajectory is nearest to them."""
    return [_chosen(args[0], honest) for honest in translate_exchangeable(*args, **options)]


def _chosen(trajectories: PointTrajectories, honest: Translated) -> Translated:
    left, chosen = list(range(len(honest.members))), []
    for member in honest.members.tolist():
        own = trajectories.xy_m[trajectories.starts[member] : trajectories.starts[member + 1]].mean(axis=0)
        best = min(left, key=lambda i: float(np.hypot(*(honest.xy_m[i].mean(axis=0) - own))))
        left.remove(best)
        chosen.append(best)
    return replace(honest, xy_m=honest.xy_m[chosen])


def test_a_release_whose_offsets_tell_who_is_who_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, plan = people(480), point_plan(k=3, delta_m=500.0)
    assert isinstance(release(rows, plan), Release)
    monkeypatch.setattr(wait4me, "translate_exchangeable", towards_their_owners)
    outcome = release(rows, plan)
    assert isinstance(outcome, ReleaseRefused)
    assert "who is who" in outcome.finding
