"""The verifier of pattern-preserving k-anonymity: it must see what an anonymizer could get wrong."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.p2ka.guarantee import PatternPreservingK
from core.models.p2ka.verify import PatternReport, verify_patterns
from tests.budgets import examples
from tests.oracles import km as oracles
from tests.oracles.km import Crowd, crowds

SMALL = crowds(n_locations=3, max_users=5, max_pieces=2, max_length=4)


def verify(before: Crowd, after: Crowd, k: int, *, alike: bool = False) -> PatternReport:
    return verify_patterns(
        [user for user, _ in before], [t for _, t in before],
        [user for user, _ in after], [t for _, t in after],
        PatternPreservingK(k=k, alike=alike),
    )  # fmt: skip


@settings(deadline=None, max_examples=examples(300))
@given(before=SMALL, after=SMALL, k=st.integers(2, 3), alike=st.booleans())
def test_the_report_is_the_definition(before: Crowd, after: Crowd, k: int, alike: bool) -> None:
    """
    Supports of released sequences are counted in the original, crowds in the release, and sequences for each person.
    """
    left = [(user, sequence) for user, sequence in after if sequence]
    supports = [oracles.support(sequence, before) for sequence in {sequence for _, sequence in left}]
    crowd_sizes = [len({user for user, other in left if other == sequence}) for sequence in {s for _, s in left}]
    has, may_have = Counter(user for user, _ in left), Counter(user for user, _ in before)
    report = verify(before, after, k, alike=alike)
    assert report == PatternReport(
        smallest_support=min(supports, default=None),
        violations=sum(support < k for support in supports),
        surplus=sum(max(0, has[user] - may_have[user]) for user in has),
        smallest_crowd=min(crowd_sizes, default=None),
        lone=sum(size < k for size in crowd_sizes) if alike else 0,
    )
    assert report.holds == (not report.violations and not report.surplus and not report.lone)


@settings(deadline=None, max_examples=examples(300))
@given(before=SMALL, after=SMALL, k=st.integers(2, 3))
def test_what_it_counts_is_all_of_the_definition(before: Crowd, after: Crowd, k: int) -> None:
    """
    Without a violation, no subtrajectory that occurs in the release has a support in 0..k - 1 in the original, and so
    the k-frequent patterns of the release are some of the original's; with one, some sequence itself has.
    """
    report = verify(before, after, k)
    occurring = {part for size in range(1, 5) for part in oracles.all_subtrajectories(after, size)}
    rare = {part for part in occurring if oracles.support(part, before) < k}
    assert (report.violations == 0) == (not rare)
    if not report.violations:
        frequent = {part for part in occurring if oracles.support(part, after) >= k}
        assert all(oracles.support(part, before) >= k for part in frequent)


WINDOW: Crowd = [(0, (0, 1, 2)), (1, (0, 3, 1, 2)), (2, (0, 2)), (2, (1,))]


@pytest.mark.parametrize(
    ("released", "report"),
    [
        ([(0, (0, 1, 2))], (2, 0, 0, 1)),  # a supporter with a gap counts
        ([(2, (0, 1))], (2, 0, 0, 1)),  # 2 has both, in two trajectories
        ([(0, (0, 1, 2, 2))], (0, 1, 0, 1)),  # nobody comes twice
        ([(0, (2, 1))], (0, 1, 0, 1)),  # the other way round
        ([(0, (3,)), (1, (3,))], (1, 1, 0, 2)),  # one violation, whoever is behind it
        ([(0, (0, 2)), (0, (0,))], (3, 0, 1, 1)),  # two of one trajectory
        ([(2, (0, 2)), (2, (0,))], (3, 0, 0, 1)),  # two of two
        ([(9, (0,))], (3, 0, 1, 1)),  # of somebody who is not in the window
        ([(0, (7,))], (0, 1, 0, 1)),  # a place that nobody was at
    ],
)
def test_a_planted_violation_is_counted(released: Crowd, report: tuple[int, int, int, int]) -> None:
    """
    k = 2: support in the original, violations, surplus, and smallest crowd of small releases.
    """
    found = verify(WINDOW, released, 2)
    assert (found.smallest_support, found.violations, found.surplus, found.smallest_crowd) == report
    assert found.holds == (report[1] == report[2] == 0)


def test_a_sequence_of_one_person_is_seen_where_k_are_asked_for() -> None:
    """
    Alike: two sequences of one person are no crowd of two; without it that is not promised.
    """
    before: Crowd = [(0, (0,)), (0, (0,)), (1, (0,))]
    alone: Crowd = [(0, (0,)), (0, (0,))]
    assert verify(before, alone, 2).holds
    found = verify(before, alone, 2, alike=True)
    assert (found.lone, found.smallest_crowd, found.holds) == (1, 1, False)
    assert verify(before, before, 2, alike=True).holds


@pytest.mark.parametrize("after", [[], [(0, ()), (1, ())]])
def test_an_empty_release_holds(after: Crowd) -> None:
    """
    Where nothing is published nothing can be violated.
    """
    report = verify(WINDOW, after, 2, alike=True)
    assert (report.smallest_support, report.smallest_crowd, report.holds) == (None, None, True)


def test_locations_are_compared_as_published() -> None:
    """
    Any hashable is a location.
    """
    window = [[("a", "b"), "c"], [("a", "b"), "c"]]
    guarantee = PatternPreservingK(k=2)
    assert verify_patterns([0, 1], window, [0], [[("a", "b"), "c"]], guarantee).holds
    assert verify_patterns([0, 1], window, [0], [[("a",), "c"]], guarantee).violations == 1


def test_each_trajectory_needs_a_user() -> None:
    """
    Columns of different lengths are a mistake of the caller, never cut to fit, before and after.
    """
    guarantee = PatternPreservingK(k=2)
    with pytest.raises(ValueError, match="1 users for 2 trajectories"):
        verify_patterns([0], [[1], [1]], [], [], guarantee)
    with pytest.raises(ValueError, match="2 users for 1 trajectories"):
        verify_patterns([0], [[1]], [0, 1], [[1]], guarantee)
