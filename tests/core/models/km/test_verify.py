"""The verifier of k^m-anonymity: it must see what an anonymizer could get wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.km.guarantee import KmAnonymity
from core.models.km.verify import KmReport, verify_km
from tests.budgets import examples
from tests.oracles import km as oracles
from tests.oracles.km import Crowd, crowds


def verify(crowd: Crowd, k: int, m: int) -> KmReport:
    return verify_km([user for user, _ in crowd], [t for _, t in crowd], KmAnonymity(k=k, m=m))


@settings(deadline=None, max_examples=examples(200))
@given(crowd=crowds(n_locations=4), k=st.integers(2, 4), m=st.integers(1, 4))
def test_the_report_is_the_definition(crowd: Crowd, k: int, m: int) -> None:
    """
    Violations are the subtrajectories below k, the smallest support is over all that occur.
    """
    supports = [
        oracles.support(part, crowd) for size in range(1, m + 1) for part in oracles.all_subtrajectories(crowd, size)
    ]
    report = verify(crowd, k, m)
    assert report.violations == sum(count < k for count in supports)
    assert report.smallest_support == min(supports, default=None)
    assert report.holds == oracles.is_km_anonymous(crowd, k, m)


@settings(deadline=None, max_examples=examples(50))
@given(crowd=crowds(n_locations=4), k=st.integers(2, 4), m=st.integers(1, 4), at_once=st.integers(0, 5))
def test_searching_in_parts_changes_nothing(crowd: Crowd, k: int, m: int, at_once: int) -> None:
    """
    The report is the same however few visits are searched together.
    """
    whole = verify(crowd, k, m)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("core.models.km.occurrences._VISITS_AT_ONCE", at_once)
        assert verify(crowd, k, m) == whole


ALIKE: Crowd = [(user, (0, 1, 2)) for user in range(3)]


def test_k_people_alike_pass() -> None:
    """
    Equal trajectories of k people hold the guarantee for every m.
    """
    assert verify(ALIKE, 3, 3) == KmReport(smallest_support=3, violations=0)
    assert verify(ALIKE, 3, 3).holds


def test_one_person_too_few_is_seen() -> None:
    """
    The same crowd fails k + 1 in each of its three locations, three pairs and one triple.
    """
    assert verify(ALIKE, 4, 3) == KmReport(smallest_support=3, violations=7)


@pytest.mark.parametrize(
    ("planted", "violations"),
    [
        ((0, 1, 2, 3), 1 + 3),  # a place of one's own, and its pairs with the three before
        ((0, 2, 1), 1),  # an order of one's own: (2, 1)
        ((0, 0, 1, 2), 1),  # coming twice: (0, 0)
        ((2, 1, 0), 3),  # the way back: (2, 1), (2, 0), (1, 0)
    ],
)
def test_a_planted_violation_is_counted(planted: tuple[int, ...], violations: int) -> None:
    """
    One trajectory that differs among many that do not is found, and each of its rare subtrajectories counts.
    """
    report = verify([*ALIKE, (3, planted)], 2, 2)
    assert report == KmReport(smallest_support=1, violations=violations)
    assert not report.holds


def test_what_only_m_locations_reveal_is_found_at_m() -> None:
    """
    Every pair has two supporters here and the triple (0, 1, 2) has one: 2^2-anonymous, not 2^3-anonymous.
    """
    crowd: Crowd = [(0, (0, 1, 2)), (1, (0, 1)), (1, (1, 2)), (1, (0, 2))]
    assert verify(crowd, 2, 2).holds
    assert verify(crowd, 2, 3) == KmReport(smallest_support=1, violations=1)


def test_a_persons_trajectories_count_once() -> None:
    """
    k trajectories of one person are one supporter.
    """
    assert verify([(7, (0,)), (7, (0,)), (7, (0,))], 2, 1) == KmReport(smallest_support=1, violations=1)


def test_a_subtrajectory_never_spans_two_trajectories() -> None:
    """
    The pair (0, 1) does not occur where 0 and 1 stand in different trajectories.
    """
    crowd: Crowd = [(0, (0,)), (0, (1,)), (1, (0,)), (1, (1,))]
    assert verify(crowd, 2, 2) == KmReport(smallest_support=2, violations=0)
    assert verify([*crowd, (2, (0, 1))], 2, 2) == KmReport(smallest_support=1, violations=1)


def test_locations_are_compared_as_published() -> None:
    """
    Any hashable is a location: equal sets of names are one location, and sets that differ are two.
    """
    same = [[("a", "b"), "c"], [("a", "b"), "c"]]
    assert verify_km([0, 1], same, KmAnonymity(k=2, m=2)).holds
    differ = [[("a", "b"), "c"], [("a",), "c"]]
    assert verify_km([0, 1], differ, KmAnonymity(k=2, m=2)).violations == 4


@pytest.mark.parametrize("crowd", [[], [(0, ()), (1, ())]])
def test_an_empty_release_holds(crowd: Crowd) -> None:
    """
    Where nothing occurs nothing can be violated, and there is no smallest support.
    """
    report = verify(crowd, 2, 2)
    assert report.smallest_support is None
    assert report.holds


def test_a_long_trajectory_is_checked_whole() -> None:
    """
    A thousand visits to two locations differ from another such thousand in one pair only.
    """
    crowd: Crowd = [(0, (0, 1) * 500), (1, (0,) * 500 + (1,) * 500)]
    # With m = 2 the second person never goes from 1 to 0.
    assert verify(crowd, 2, 2) == KmReport(smallest_support=1, violations=1)


def test_each_trajectory_needs_a_user() -> None:
    """
    Columns of different lengths are a mistake of the caller, never cut to fit.
    """
    with pytest.raises(ValueError, match="1 users for 2 trajectories"):
        verify_km([0], [[1], [1]], KmAnonymity(k=2, m=1))
