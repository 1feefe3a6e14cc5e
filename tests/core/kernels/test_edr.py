from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.fragments import edr as kernels
from core.kernels.oracles import edr as oracles
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories
from tests.budgets import examples
from tests.oracles.kdelta import Point, data_sets, points, trajectories_of

SPACES_M = st.sampled_from([0.0, 1.0, 3.0])
TIMES_MS = st.sampled_from([0, 500, 2000, 30_000, 1 << 61])
NO_LIMIT = 1 << 60

PIECES = st.lists(
    st.tuples(st.sampled_from([1, 2, 30, 61, 62, 63]), st.sampled_from([0.0, 9.0]), st.sampled_from([0, 5000, 90_000])),
    min_size=1,
    max_size=4,
)


@st.composite
def long_ones(draw: st.DrawFn) -> list[Point]:
    """Draw points a second apart in pieces: each piece stands at one of two places, after a pause or none.

    Pieces end inside a word of bits, at its end and behind it.
    """
    its: list[Point] = []
    t_ms = 0
    for length, x_m, pause_ms in draw(PIECES):
        t_ms += pause_ms
        its += [(t_ms + 1000 * i, x_m, 0.0) for i in range(length)]
        t_ms += 1000 * length
    return its


PAIRS = st.tuples(points(max_size=12, extent_m=4), points(max_size=12, extent_m=4)) | st.tuples(
    long_ones(), long_ones()
)


def columns(one: list[Point], other: list[Point]) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    first, second = trajectories_of((0, one)), trajectories_of((0, other))
    return first.t_ms, first.xy_m, second.t_ms, second.xy_m


@settings(max_examples=examples(300))
@given(PAIRS, SPACES_M, TIMES_MS)
def test_points_that_match_any_are_counted(pair: tuple[list[Point], list[Point]], space_m: float, time_ms: int) -> None:
    """
    The kernel finds as many as the whole table of matches, and the first and last of them.
    """
    both = columns(*pair)
    found = np.flatnonzero(oracles.matches(*both, space_m, time_ms).any(axis=1)).tolist()
    expected = (len(found), found[0], found[-1]) if found else (0, -1, -1)
    assert kernels.matched(*both, space_m, time_ms) == expected
    assert kernels.matched.definition(*both, space_m, time_ms) == expected


@settings(max_examples=examples(300))
@given(PAIRS, SPACES_M, TIMES_MS)
def test_edits_are_those_of_the_table(pair: tuple[list[Point], list[Point]], space_m: float, time_ms: int) -> None:
    """
    Without a limit the kernel counts the edits that the table counts.
    """
    both = columns(*pair)
    expected = oracles.edits(oracles.matches(*both, space_m, time_ms))
    assert kernels.edits(*both, space_m, time_ms, NO_LIMIT) == expected
    assert kernels.edits.definition(*both, space_m, time_ms, NO_LIMIT) == expected


@settings(max_examples=examples(300))
@given(PAIRS, SPACES_M, TIMES_MS, st.data())
def test_above_a_limit_a_bound_is_enough(
    pair: tuple[list[Point], list[Point]], space_m: float, time_ms: int, data: st.DataObject
) -> None:
    """
    Up to the limit the kernel counts all edits; above it, its number is above the limit, but not above the edits.
    """
    both = columns(*pair)
    expected = oracles.edits(oracles.matches(*both, space_m, time_ms))
    limit = data.draw(st.integers(max(expected - 5, 0), expected + 1) | st.integers(0, sum(map(len, pair))))
    found = kernels.edits(*both, space_m, time_ms, limit)
    assert found == expected if expected <= limit else limit < found <= expected
    assert kernels.edits.definition(*both, space_m, time_ms, limit) == found


@settings(max_examples=examples(300))
@given(PAIRS, SPACES_M, TIMES_MS)
def test_the_script_is_the_preferred_one(pair: tuple[list[Point], list[Point]], space_m: float, time_ms: int) -> None:
    """
    Of several cheapest scripts, the kernel writes the one that the stated order of choices gives.
    """
    both = columns(*pair)
    matching = oracles.matches(*both, space_m, time_ms)
    for run in (kernels.script, kernels.script.definition):
        own, pivot = np.full((2, sum(map(len, pair))), -7)
        n_steps, n_edits = run(*both, space_m, time_ms, own, pivot)
        unused = len(own) - n_steps
        assert list(zip(own[unused:], pivot[unused:], strict=True)) == oracles.script(matching, both[0], both[2])
        assert own[:unused].tolist() == pivot[:unused].tolist() == [-7] * unused
        assert n_edits == oracles.edits(matching)


@settings(max_examples=examples(100))
@given(data_sets(max_size=6, extent_m=6), SPACES_M, TIMES_MS, st.data())
def test_pairs_are_those_of_each_script(
    trajectories: PointTrajectories, space_m: float, time_ms: int, data: st.DataObject
) -> None:
    """
    Of a cluster, the kernel returns the pairs that the script of each member holds; those of the pivot with itself too.
    """
    starts, t_ms, xy_m = trajectories.starts, trajectories.t_ms, trajectories.xy_m
    numbers = st.integers(0, len(starts) - 2)
    pivot, members = data.draw(numbers), sorted(data.draw(st.sets(numbers, min_size=1)))
    theirs = slice(*starts[pivot : pivot + 2])
    expected = []
    for row, member in enumerate(members):
        its = slice(*starts[member : member + 2])
        matching = oracles.matches(t_ms[its], xy_m[its], t_ms[theirs], xy_m[theirs], space_m, time_ms)
        steps = oracles.script(matching, t_ms[its], t_ms[theirs])
        expected += [(row, starts[member] + own, at) for own, at in steps if own >= 0 and at >= 0]
    for run in (kernels.pairs_with_pivot, kernels.pairs_with_pivot.definition):
        rows, own, at = np.full((3, len(t_ms) + len(members) * len(t_ms)), -7)
        n = run(starts, t_ms, xy_m, np.array(members), pivot, space_m, time_ms, rows, own, at)
        assert list(zip(rows[:n], own[:n], at[:n], strict=True)) == expected


@settings(max_examples=examples(100))
@given(data_sets(max_size=6, extent_m=6), SPACES_M, TIMES_MS, st.data())
def test_edits_a_point_are_edits_over_the_longer_length(
    trajectories: PointTrajectories, space_m: float, time_ms: int, data: st.DataObject
) -> None:
    """
    Whole millionths, rounded down; above a limit a number between both.
    """
    starts = trajectories.starts
    one, other = data.draw(st.tuples(*[st.integers(0, len(starts) - 2)] * 2))
    its, theirs = slice(*starts[one : one + 2]), slice(*starts[other : other + 2])
    t_ms, xy_m = trajectories.t_ms, trajectories.xy_m
    matching = oracles.matches(t_ms[its], xy_m[its], t_ms[theirs], xy_m[theirs], space_m, time_ms)
    expected = oracles.edits(matching) * 1_000_000 // max(matching.shape)
    limit = data.draw(
        st.sampled_from([expected - 1, expected, expected + 1, 0, 500_000, NO_LIMIT]).map(lambda x: max(x, 0))
    )
    for measure in (kernels.edits_a_point, kernels.edits_a_point.definition):
        found = measure(starts, trajectories.t_ms, trajectories.xy_m, one, other, space_m, time_ms, limit)
        assert found == expected if expected <= limit else limit < found <= expected


@pytest.mark.parametrize("m", [0, 1, 62, 63])
@pytest.mark.parametrize("n", [0, 1, 62, 63])
def test_an_empty_trajectory_takes_an_edit_a_point(m: int, n: int) -> None:
    """
    Against no points there are as many edits as points; lengths around the end of a word are no exception.
    """
    #  own      . . . . .        every second, all at one place
    #  pivot    . . .
    both = columns([(1000 * i, 0.0, 0.0) for i in range(m)], [(1000 * i, 0.0, 0.0) for i in range(n)])
    own, pivot = np.empty((2, m + n), dtype=np.int64)
    assert kernels.script(*both, 1.0, 0, own, pivot) == (max(m, n), abs(m - n))
    assert kernels.edits(*both, 1.0, 0, NO_LIMIT) == abs(m - n)
    assert kernels.edits(*both, 1.0, 1 << 61, NO_LIMIT) == abs(m - n)
