from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.checkins import local_repair
from core.kernels.checkins.subtrajectories import count_subtrajectories
from core.kernels.oracles import local_repair as oracle
from tests.budgets import examples
from tests.oracles.km import Crowd, as_sequences, crowds


@settings(max_examples=examples(300))
@given(
    crowd=st.one_of(crowds(n_locations=3), crowds()),
    m=st.integers(1, 3),
    k=st.integers(2, 4),
    prices_m=st.sampled_from([(1.0, 1.0), (1e-9, 1.0), (3.0, 0.7), (50.0, 1.0)]),
    most_suppressions=st.sampled_from([0, 2, 6, 99]),
    most_splits=st.sampled_from([0, 1, 99]),
    effort=st.sampled_from([30, 10**6]),
    at_once=st.sampled_from([1, 3, 1000]),
)
def test_repairs_are_those_of_the_oracle(
    crowd: Crowd,
    m: int,
    k: int,
    prices_m: tuple[float, float],
    most_suppressions: int,
    most_splits: int,
    effort: int,
    at_once: int,
) -> None:
    """
    Step by step: the same visits, splits and effort, and the same end.
    """
    window = as_sequences(crowd)
    columns = (window.locations, window.starts, window.users)
    _, prefixes, lasts, starts, users = count_subtrajectories(*columns, 6, m)
    expected = oracle.repair_people(
        *columns, m, k, prices_m[0], prices_m[1], most_suppressions, most_splits, effort=effort, at_once=at_once
    )
    for repair in (local_repair.repair_people.definition, local_repair.repair_people):
        finished, left, kept, splits = repair(
            *columns,
            prefixes,
            lasts,
            starts,
            users,
            k,
            prices_m[0],
            prices_m[1],
            most_suppressions,
            most_splits,
            effort,
            at_once,
        )
        assert (finished, left) == expected[:2]
        assert (kept.tolist(), splits.tolist()) == (expected[2].tolist(), expected[3].tolist())
