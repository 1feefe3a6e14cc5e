"""The verifier of sets: every violation is found, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.km_sets.guarantee import KmSetAnonymity
from core.models.km_sets.verify import KmSetReport, verify_km_sets
from tests.budgets import examples
from tests.oracles import km_sets as oracle

A, B, C, AB = ("a",), ("b",), ("c",), ("a", "b")
VISITED = {user: {"a", "b", "c"} for user in range(9)}


def report(*sets: tuple[tuple[str, ...], ...], users: list[int] | None = None, k: int = 2, m: int = 2) -> KmSetReport:
    return verify_km_sets(users or list(range(len(sets))), sets, VISITED, KmSetAnonymity(k=k, m=m))


def test_what_keeps_the_promise_is_fine() -> None:
    """Two people for every pair; an empty release has nothing to find."""
    found = report((A, B, C), (A, B, C), (AB, C), (AB, C))
    assert found.violations == 0
    assert found.smallest_support == 2
    assert report().holds
    assert report().smallest_support is None


@pytest.mark.parametrize(
    ("sets", "users", "kind"),
    [
        (((A,), (A,), (A, C)), None, "rare"),
        (((A, C), (A, C), (A, B), (A, B), (B, C)), None, "rare"),
        (((A, B, C), (A, B, C), (A, B, C)), [0, 1, 1], "repeated"),
        (((AB, A, C), (AB, A, C)), None, "overlapping"),
        (((("d",), A, B, C), (("d",), A, B, C)), None, "untrue"),
        (((A, B, C), (A, B, C), ()), None, "untrue"),
        (((A, B, C), (A, B, C), (A, B)), None, "untold"),
    ],
)
def test_each_violation_is_counted(
    sets: tuple[tuple[tuple[str, ...], ...], ...], users: list[int] | None, kind: str
) -> None:
    """By its kind; a person with two messages is one person."""
    found = report(*sets, users=users)
    assert getattr(found, kind) > 0
    assert not found.holds


@settings(max_examples=examples(300))
@given(
    sets=st.lists(st.sets(st.sampled_from([A, B, C, AB]), min_size=1), max_size=7),
    k=st.integers(2, 3),
    m=st.integers(1, 3),
)
def test_rare_sets_are_those_of_the_definition(sets: list[set[tuple[str, ...]]], k: int, m: int) -> None:
    """There is none exactly if the definition holds."""
    found = report(*(tuple(sorted(one)) for one in sets), k=k, m=m)
    assert (found.rare == 0) == oracle.is_km([frozenset(one) for one in sets], k=k, m=m)
