"""Kernels of regrouping against their oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.fragments import regrouping as kernels
from core.kernels.oracles import regrouping as oracles
from core.kernels.oracles.tracks import distances_mm
from core.models.kdelta.anonymize.cluster.regrouping import pairs_of_clusters
from core.records.arrays import FloatArray
from tests.budgets import examples
from tests.core.kernels.test_tracks import drawn


class Drawn:
    """Clusters of two to four tracks in which all are pairs."""

    def __init__(self, seed: int, c: int) -> None:
        rng = np.random.default_rng(seed)
        sizes = rng.integers(2, 4, c, endpoint=True)
        n = int(sizes.sum())
        self.tracks = drawn(seed, n)
        self.apart: FloatArray = distances_mm(self.tracks, np.arange(n), np.arange(n))
        parts = np.split(rng.permutation(n), np.cumsum(sizes)[:-1])
        self.members = [sorted(part.tolist()) for part in parts]
        following, own = np.full(n, -1), np.zeros(n)
        for its in self.members:
            following[its[:-1]] = its[1:]
            own[its] = self.apart[np.ix_(its, its)].sum(axis=1)
        self.spare = rng.random(c) < 0.6
        inside = [own[its].sum() / 2 for its in self.members]
        state = np.column_stack((sizes.astype(np.float64), inside, self.spare.astype(np.float64)))
        self.groups: kernels.Groups = (
            np.array([its[0] for its in self.members]),
            following,
            own,
            state,
            np.full(len(own), -7.0),
        )
        self.pairs = pairs_of_clusters(np.tile(np.arange(c), (c, 1)))


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.integers(2, 4))
def test_the_best_step_is_that_of_all_steps_that_saves_most(seed: int, c: int) -> None:
    """
    After a refusal the next best one is taken, until none saves anything.
    """
    case = Drawn(seed, c)
    both, worth, code, refused_worth, refused_code = (case.pairs[at] for at in (0, 4, 5, 6, 7))
    for number in range(c):
        kernels.value_pairs_of(case.tracks, case.groups, case.pairs, number)
    for pair, (a, b) in enumerate(both.tolist()):
        spare = bool(case.spare[a]), bool(case.spare[b])
        listed = {
            code: saved
            for saved, code, _, _ in oracles.steps(case.apart, case.members[a], case.members[b], (a, b), spare)
        }
        last, tried = np.inf, set[int]()
        while code[pair] >= 0:
            step = int(code[pair])
            tried.add(step)
            assert abs(worth[pair] - listed[step]) < 1e-6
            assert 0 < worth[pair] <= last
            last = refused_worth[pair] = worth[pair]
            refused_code[pair] = step
            kernels.value_pair(case.tracks, case.groups, case.pairs, pair)
        assert {step for step, saved in listed.items() if saved > 1e-6} <= tried
    for number in range(c):
        kernels.value_pairs_of(case.tracks, case.groups, case.pairs, number)
    best = max(range(len(both)), key=lambda pair: (worth[pair], -code[pair]))
    assert kernels.best_pair(case.pairs) == (best if worth[best] > 0 else -1)


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32), st.integers(2, 5))
def test_what_is_compiled_computes_what_is_written(seed: int, c: int) -> None:
    """
    To the last bit.
    """
    compiled, written = Drawn(seed, c), Drawn(seed, c)
    for pair in range(len(compiled.pairs[0])):
        kernels.value_pair(compiled.tracks, compiled.groups, compiled.pairs, pair)
        kernels.value_pair.definition(written.tracks, written.groups, written.pairs, pair)
    for one, other in zip(compiled.pairs, written.pairs, strict=True):
        assert (one == other).all()


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(1, 4))
def test_chains_are_the_most_promising_ones(seed: int, c: int, each: int) -> None:
    """
    Of equal ones the first; and the first chain that is tried is the first one that saves something.
    """
    case = Drawn(seed, c)
    for pair in range(len(case.pairs[0])):
        kernels.value_pair(case.tracks, case.groups, case.pairs, pair)
    both, promised = case.pairs[0].tolist(), case.pairs[8]
    passes = {(a, b): float(promised[pair, 0]) for pair, (a, b) in enumerate(both)}
    passes |= {(b, a): float(promised[pair, 1]) for pair, (a, b) in enumerate(both)}
    expected = oracles.chains(passes, case.spare.tolist(), each)
    promises, found = kernels.chains(case.groups, case.pairs, each)
    assert promises.tolist() == [promise for promise, _ in expected]
    assert found[:, [0, 1, 2, 6]].tolist() == [chain for _, chain in expected]
    saves = [saved(case, chain) for chain in found.tolist()]
    at, most = kernels.first_chain(case.tracks, case.groups, found, np.zeros(c, dtype=np.bool_), 0)
    assert all(other < 1e-6 for other in saves[:at])
    assert at == len(found) or abs(most - saves[at]) < 1e-6
    everywhere = np.ones(c, dtype=np.bool_)
    assert kernels.first_chain(case.tracks, case.groups, found, everywhere, 0) == (len(found), 0.0)


def saved(case: Drawn, chain: list[int]) -> float:
    """What the three clusters cost before, less what they cost after."""
    total = 0.0
    for which in range(3):
        its = case.members[chain[which]]
        leaves, joins = chain[3 + which], chain[3 + (which + 2) % 3]
        after = [i for i in [*its, joins] if i not in (leaves, -1)]
        total += oracles.cost_mm(case.apart, its) - oracles.cost_mm(case.apart, after)
    return total


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32))
def test_a_track_is_as_far_from_a_cluster_as_from_its_members_on_average(seed: int) -> None:
    """
    For each of the clusters asked for.
    """
    case = Drawn(seed, 3)
    found = kernels.mean_distances_mm(case.tracks, case.groups, 0, np.array([2, 0]))
    assert found.tolist() == [case.apart[0, case.members[c]].sum() / len(case.members[c]) for c in (2, 0)]
