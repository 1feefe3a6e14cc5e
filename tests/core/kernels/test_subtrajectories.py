from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.checkins import subtrajectories
from core.kernels.oracles import subtrajectories as oracle
from tests.budgets import examples
from tests.oracles.km import Crowd, as_sequences, crowds


@settings(max_examples=examples(200))
@given(crowd=crowds(), m=st.integers(1, 6))
def test_subtrajectories_and_supporters_are_those_of_the_oracle(crowd: Crowd, m: int) -> None:
    """
    All columns, with several trajectories of a person and empty ones.
    """
    window = as_sequences(crowd)
    args = (window.locations, window.starts, window.users, 6, m)
    expected = oracle.count_subtrajectories(*args)
    for count in (subtrajectories.count_subtrajectories.definition, subtrajectories.count_subtrajectories):
        found = count(*args)
        assert [column.tolist() for column in found] == [column.tolist() for column in expected]
        assert [column.dtype for column in found] == [column.dtype for column in expected]
