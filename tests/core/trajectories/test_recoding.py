"""Local recoding: labels of visits, and how far they are from what was visited."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.places.vocabulary import Vocabulary
from core.trajectories.recoding import Label, Recoding
from core.trajectories.trajectory import Sequences
from core.utility.distance import dataset_distance, expected_distance
from core.utility.locations import location_statistics
from core.utility.published import published_loss, published_recoding_loss
from core.utility.recoded import expected_recoded_distance, label_statistics, recoded_distance, recoded_visit_distance
from tests.oracles.km import Crowd, Point, as_sequences, crowds, maps, positions

N = 6
GROUPS = st.lists(st.integers(0, 2), min_size=N, max_size=N)


def recoding(labels: list[Label], label_of: list[int]) -> Recoding:
    return Recoding(labels=tuple(labels), label_of=np.array(label_of, np.int64))


def globally(crowd: Crowd, groups: list[int], kept: list[bool]) -> tuple[np.typing.NDArray[np.int64], Recoding]:
    """Write a global recoding both ways."""
    group_of = np.array([groups.index(group) for group in groups])
    labels = [tuple(x for x in range(N) if groups[x] == group) for group in groups]
    label_of = np.where(kept, as_sequences(crowd).locations, -1)
    return group_of, Recoding.of(labels, label_of)


@pytest.mark.parametrize(
    ("labels", "label_of", "what"),
    [
        ([(1, 0)], [0], "do not ascend: sort them"),
        ([(0, 0)], [0], "do not ascend: sort them"),
        ([()], [0], "is empty"),
        ([(1,), (0,)], [0, 1], "the labels do not ascend"),
        ([(0,), (0,)], [0, 1], "the labels do not ascend"),
        ([(0,), (1,)], [0, 0], "2 labels, 1 used"),
        ([(0,)], [0, 1], "1 labels, 2 used"),
        ([(0,)], [0, -2], "1 labels, 2 used"),
    ],
)
def test_a_recoding_is_written_in_one_way(labels: list[Label], label_of: list[int], what: str) -> None:
    """
    Members and labels ascend, each once; every label is used, and -1 is the only other value.
    """
    with pytest.raises(ValueError, match=what):
        recoding(labels, label_of)


def test_any_labels_are_brought_into_order() -> None:
    """
    Equal labels become one, unused ones go, the visits follow.
    """
    found = Recoding.of([(2, 3), (0,), (1,), (2, 3)], np.array([3, -1, 1, 0]))
    assert (found.labels, found.label_of.tolist()) == (((0,), (2, 3)), [1, -1, 0, 1])
    assert found.kept.tolist() == [True, False, True, True]
    assert found.named("abcd") == [("a",), ("c", "d")]


def test_it_applies_to_trajectories() -> None:
    """
    What is suppressed is left out, and a trajectory may be left empty.
    """
    found = recoding([(0,), (1, 2)], [1, -1, 0, -1]).apply(as_sequences([(0, (1, 1, 0)), (1, (2,))]))
    assert (found.users.tolist(), found.starts.tolist(), found.locations.tolist()) == ([0, 1], [0, 2, 2], [1, 0])


def test_nothing_released_is_a_recoding() -> None:
    """
    No label, every visit suppressed: distances are NaN, and there is no generalized location.
    """
    window, xy_m = as_sequences([(0, (1, 0))]), np.zeros((2, 2))
    empty = Recoding.of([], np.array([-1, -1]))
    assert empty.labels == ()
    assert math.isnan(recoded_distance(window, xy_m, empty))
    assert math.isnan(expected_recoded_distance(window, xy_m, empty))
    assert label_statistics(xy_m, empty).generalized == 0


@given(crowd=crowds(), points=maps(), groups=GROUPS, data=st.data())
def test_a_global_recoding_is_as_far_as_its_groups(
    crowd: Crowd, points: list[Point], groups: list[int], data: st.DataObject
) -> None:
    """
    Where each location has one label, distances and statistics are those of the generalization.
    """
    window, xy_m = as_sequences(crowd), positions(points)
    n_visits = len(window.locations)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=n_visits, max_size=n_visits)), np.bool_)
    group_of, found = globally(crowd, groups, kept.tolist())
    arguments = window, xy_m, group_of, kept
    assert recoded_distance(window, xy_m, found) == pytest.approx(dataset_distance(*arguments), nan_ok=True)
    assert expected_recoded_distance(window, xy_m, found) == pytest.approx(expected_distance(*arguments), nan_ok=True)
    held = np.flatnonzero(np.isin(group_of, group_of[window.locations[kept]]))
    if len(held):
        ours, theirs = label_statistics(xy_m, found), location_statistics(xy_m[held], group_of[held])
        assert (ours.original, ours.generalized) == (theirs.original, theirs.generalized)
        assert ours.mean_size == pytest.approx(theirs.mean_size, nan_ok=True)
        assert ours.mean_distance_share == pytest.approx(theirs.mean_distance_share, nan_ok=True)


def test_each_visit_is_as_far_as_its_own_label() -> None:
    """
    The same location under two labels: as it is, and with one 4 m away.
    """
    window, xy_m = as_sequences([(0, (0, 0, 1)), (1, (1,))]), np.array([(0.0, 0.0), (4.0, 0.0)])
    found = recoding([(0,), (0, 1)], [0, 1, 1, -1])
    assert recoded_visit_distance(window, xy_m, found).tolist() == pytest.approx([0, 2, 2, math.nan], nan_ok=True)
    assert recoded_distance(window, xy_m, found) == pytest.approx(4 / 3)
    assert label_statistics(xy_m, found).mean_distance_share == 1.0


def test_a_label_without_the_location_is_a_mistake() -> None:
    """
    A recoding of another window is refused.
    """
    with pytest.raises(ValueError, match="does not contain its location"):
        recoded_visit_distance(as_sequences([(0, (0,))]), np.zeros((2, 2)), recoding([(1,)], [0]))


def test_what_is_published_of_a_global_recoding_is_what_was() -> None:
    """
    The figures of a windows message, by either description of the same release.
    """
    crowd: Crowd = [(0, (0, 1, 2, 5)), (1, (3, 4)), (1, (2,))]
    kept = [True] * 6 + [False]
    group_of, found = globally(crowd, [0, 0, 0, 1, 2, 2], kept)
    lat, lon = np.linspace(52.5, 52.6, N), np.linspace(13.3, 13.5, N)
    vocabulary = Vocabulary(
        ids=np.arange(N), names=tuple("abcdef"), lat_deg=lat, lon_deg=lon, xy_m=np.column_stack((lon, lat))
    )
    window: Sequences = as_sequences(crowd)
    ours = published_recoding_loss(window, vocabulary, found)
    assert ours == published_loss(window, vocabulary, group_of, np.array(kept))
    assert ours["generalized_locations"] == 2
