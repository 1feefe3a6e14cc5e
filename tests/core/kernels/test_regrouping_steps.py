"""Steps of regrouping against their oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.fragments import regrouping_steps as kernels
from core.kernels.fragments.distances import Data
from core.kernels.fragments.regrouping import value_pairs
from core.kernels.oracles import regrouping_steps as oracles
from core.models.kdelta.anonymize.distance.distances import Euclidean
from core.records.arrays import BoolArray, IntArray
from core.trajectories.trajectory import PointTrajectories
from tests.budgets import examples
from tests.core.kernels.test_regrouping import Drawn


class Search(Drawn):
    """Clusters whose tracks have users, demands, and places on a line for the radius."""

    def __init__(self, seed: int, c: int) -> None:
        super().__init__(seed, c)
        rng = np.random.default_rng(seed + 1)
        n = len(self.apart)
        self.users = np.sort(rng.integers(0, n, n))
        self.k, self.moments = rng.integers(1, 3, n), rng.integers(1, 9, n)
        self.delta_m = rng.integers(1, 4, n) / 10.0
        at_m = rng.integers(0, 6, n).astype(np.float64)
        points = PointTrajectories(
            users=self.users,
            starts=np.arange(n + 1),
            t_ms=np.zeros(n, np.int64),
            xy_m=np.column_stack((at_m, at_m * 0)),
        )
        self.data: Data = Euclidean(points).data
        self.near: BoolArray = np.abs(at_m[:, None] - at_m) <= 4
        self.pivots = np.array([rng.choice(its) for its in self.members])
        cluster = np.full(n, -1)
        for number, its in enumerate(self.members):
            cluster[its] = number
        counts = np.array([100, 0])
        self.state = cluster, self.pivots.copy(), np.zeros(c, np.int64), counts, np.zeros(3, np.int64)

    def demands(self, scale: float) -> kernels.MemberData:
        """What the members demand, as kernels take it."""
        return self.users, self.k, self.delta_m, self.moments, scale

    def linked(self) -> list[list[int]]:
        """The members of each cluster, in the order of the lists."""
        first, following = self.groups[:2]
        lists = []
        for start in first.tolist():
            its, i = [], start
            while i >= 0:
                its.append(i)
                i = int(following[i])
            lists.append(its)
        return lists


RADIUS = 4_000


@st.composite
def steps(draw: st.DrawFn, case: Search) -> IntArray:
    """Draw a move, an exchange, a ring, or one of them that leads to a cluster without a member."""
    which = draw(st.permutations(range(len(case.members))))[: draw(st.integers(2, 3))]
    passes = [draw(st.sampled_from(case.members[c])) for c in which]
    if draw(st.booleans()):
        passes[-1] = -1  # a path: the last cluster passes nothing on
    return np.array([(c, passes[at], passes[at - 1]) for at, c in enumerate(which)])


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32), st.integers(3, 4), st.sampled_from([0.0, 1.5]), st.data())
def test_a_step_is_taken_or_refused_as_the_oracle_says(seed: int, c: int, scale: float, data: st.DataObject) -> None:
    """
    A refused step leaves everything as it was; one that is taken leaves sorted lists, new pivots and sums.
    """
    case, other = Search(seed, c), Search(seed, c)
    step = data.draw(steps(case))
    saved_mm = data.draw(st.sampled_from([np.inf, 0.0, 500.0, -1e9]))
    listed = {int(row[0]): (int(row[1]), int(row[2])) for row in step}
    expected = oracles.after_step(
        case.members,
        case.pivots.tolist(),
        listed,
        saved_mm,
        users=case.users,
        k=case.k,
        delta_m=case.delta_m,
        moments=case.moments,
        scale=scale,
        apart=case.apart,
        near=case.near,
    )
    for one, take in ((case, kernels.take_step), (other, kernels.take_step.definition)):
        value_pairs(one.tracks, one.groups, one.pairs)
        before = [array.copy() for array in (*one.groups[:4], *one.state[:3])]
        taken = take(one.data, one.tracks, one.demands(scale), one.groups, one.pairs, one.state, step, saved_mm, RADIUS)
        assert taken == (expected is not None)
        assert one.state[3].tolist() == [99, int(taken)]
        if expected is None:
            assert all((a == b).all() for a, b in zip(before, (*one.groups[:4], *one.state[:3]), strict=True))
            assert one.linked() == one.members
            continue
        after, pivots = expected
        assert one.linked() == after
        assert one.state[1].tolist() == pivots
        assert [np.flatnonzero(one.state[0] == number).tolist() for number in range(c)] == after
        assert [number for number in range(c) if one.state[2][number]] == sorted(listed)
        _check_sums(one, after, listed)


def _check_sums(case: Search, after: list[list[int]], changed: Any) -> None:
    for number in changed:
        its = after[number]
        n_users = len(set(case.users[its].tolist()))
        sums = case.apart[np.ix_(its, its)].sum(axis=1)
        spare = n_users < len(its) or n_users > int(case.k[its].min())
        assert case.groups[2][its].tolist() == sums.tolist()
        assert case.groups[3][number].tolist() == [len(its), sums.sum() / 2, float(spare)]


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.integers(2, 4))
def test_the_nearest_to_all_is_within_the_radius_of_all(seed: int, c: int) -> None:
    """
    Of equal ones the first; -1 if every member is too far from another one.
    """
    case = Search(seed, c)
    for number, its in enumerate(case.members):
        expected = oracles.nearest_to_all(case.apart, case.near, its)
        for find in (kernels.nearest_to_all, kernels.nearest_to_all.definition):
            assert find(case.data, case.tracks, case.groups, number, RADIUS) == expected


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(0, 30))
def test_the_best_steps_are_taken_until_nothing_saves_anything_or_no_try_is_left(seed: int, c: int, tries: int) -> None:
    """
    Compiled and interpreted alike; afterwards every cluster has the users that its members demand.
    """
    compiled, written = Search(seed, c), Search(seed, c)
    for case, run in ((compiled, kernels.take_best_steps), (written, kernels.take_best_steps.definition)):
        case.state[3][0] = tries
        kernels.measure_groups(case.tracks, case.demands(1.5), case.groups)
        value_pairs(case.tracks, case.groups, case.pairs)
        fine = [len(set(case.users[its].tolist())) >= case.k[its].max() for its in case.members]
        run(case.data, case.tracks, case.demands(1.5), case.groups, case.pairs, case.state, RADIUS)
        assert case.state[3][0] == 0 or case.pairs[5][case.pairs[3]].max(initial=-1) == -1 or case.pairs[3].max() == -1
        for number, its in enumerate(case.linked()):
            assert not fine[number] or len(set(case.users[its].tolist())) >= case.k[its].max()
    assert compiled.linked() == written.linked()
    assert compiled.state[1].tolist() == written.state[1].tolist()
