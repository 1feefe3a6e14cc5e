"""The verifier of LKC-privacy: it must see what an anonymizer could get wrong."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.verify import LKCReport, Pair, verify_lkc
from tests.budgets import examples
from tests.oracles.km import all_subtrajectories, is_subtrajectory

SENSITIVE = (0, 1)


class Row(NamedTuple):
    """One trajectory as it would be published, and whose it is."""

    user: int
    pairs: tuple[int, ...]
    values: frozenset[int]


def published(pair: int) -> Pair:
    """Three slots with two places each; the order of numbers is that of slots, then names."""
    return pair // 2, "ab"[pair % 2]


def verify(rows: list[Row], known: int, k: int, c: str) -> LKCReport:
    return verify_lkc(
        [row.user for row in rows],
        [[published(pair) for pair in row.pairs] for row in rows],
        [row.values for row in rows],
        LKCPrivacy(l=known, k=k, c=float(c)),
        sensitive=SENSITIVE,
    )


ROWS = st.lists(
    st.builds(
        Row,
        st.integers(0, 4),
        st.lists(st.integers(0, 5), max_size=4).map(tuple)
        | st.frozensets(st.integers(0, 5), max_size=4).map(lambda pairs: tuple(sorted(pairs))),
        st.frozensets(st.integers(0, 2), max_size=2),
    ),
    max_size=8,
)
"""Any rows, in any order, pairs out of order and twice, values that differ between trajectories of one person."""


@settings(deadline=None, max_examples=examples(300))
@given(rows=ROWS, known=st.integers(1, 3), k=st.integers(2, 3), c=st.sampled_from(["0.25", "0.3", "0.5", "0.6", "1.0"]))
def test_the_report_is_the_definition(rows: list[Row], known: int, k: int, c: str) -> None:
    """
    Support over people; shares over people, who carry what any of their trajectories shows, and over trajectories.
    """
    crowd = [(row.user, row.pairs) for row in rows]
    supports, too_sure, highest = [], 0, Fraction(0)
    for size in range(1, known + 1):
        for part in all_subtrajectories(crowd, size):
            matching = [row for row in rows if is_subtrajectory(part, row.pairs)]
            people = {row.user for row in matching}
            supports.append(len(people))
            shares = [Fraction(0)]
            for value in SENSITIVE:
                carriers = {row.user for row in rows if value in row.values} & people
                shares.append(Fraction(len(carriers), len(people)))
                shares.append(Fraction(sum(value in row.values for row in matching), len(matching)))
            too_sure += max(shares) > Fraction(c)
            highest = max(highest, *shares)
    report = verify(rows, known, k, c)
    assert report.smallest_support == min(supports, default=None)
    assert report.too_few == sum(support < k for support in supports)
    assert report.too_sure == too_sure
    assert report.highest_confidence == pytest.approx(float(highest))
    assert report.disordered == sum(row.pairs != tuple(sorted(set(row.pairs))) for row in rows)
    assert report.holds == (report.too_few == report.too_sure == report.disordered == 0)


NOTHING: frozenset[int] = frozenset()
ALIKE = [Row(user, (0, 2, 4), NOTHING) for user in range(3)]


def test_k_people_alike_pass_and_one_too_few_is_seen() -> None:
    """
    Equal trajectories of three people hold k = 3, and fail k = 4 in three pairs and three sequences of two.
    """
    assert verify(ALIKE, 2, 3, "1.0").holds
    assert verify(ALIKE, 2, 4, "1.0") == LKCReport(
        smallest_support=3, highest_confidence=0.0, too_few=6, too_sure=0, disordered=0
    )


def test_one_carrier_too_many_is_seen() -> None:
    """
    One of three is a third; two of three exceed a half in each sequence.
    """
    rows = [ALIKE[0]._replace(values=frozenset({0})), *ALIKE[1:]]
    assert verify(rows, 1, 2, "0.5").holds
    rows[1] = rows[1]._replace(values=frozenset({0, 2}))
    report = verify(rows, 1, 2, "0.5")
    assert (report.too_sure, report.too_few) == (3, 0)
    assert not report.holds


def test_a_share_that_is_exactly_c_is_allowed() -> None:
    """
    29 of 100 people are 0.29, which floats would take for more.
    """
    rows = [Row(user, (0,), frozenset({0} if user < 29 else {})) for user in range(100)]
    assert 29 > 0.29 * 100
    assert verify(rows, 1, 2, "0.29").holds
    rows[29] = rows[29]._replace(values=frozenset({0}))
    assert not verify(rows, 1, 2, "0.29").holds


def test_what_only_l_pairs_reveal_is_found_at_l() -> None:
    """
    A value is spread over each pair, and certain for whoever knows two.
    """
    sick = frozenset({0})
    rows = [Row(0, (0, 2), sick), Row(1, (0, 2), sick), Row(2, (0,), NOTHING), Row(3, (0,), NOTHING)]
    rows += [Row(4, (2,), NOTHING), Row(5, (2,), NOTHING)]
    assert verify(rows, 1, 2, "0.5").holds
    report = verify(rows, 2, 2, "0.5")
    assert (report.too_sure, report.highest_confidence) == (1, 1.0)


def test_a_persons_trajectories_count_once_for_k() -> None:
    """
    Two trajectories of one person are one supporter.
    """
    rows = [Row(7, (0,), NOTHING), Row(7, (0,), NOTHING)]
    report = verify(rows, 1, 2, "1.0")
    assert (report.smallest_support, report.too_few) == (1, 1)


def test_a_value_shown_by_another_trajectory_is_the_persons_all_the_same() -> None:
    """
    Two people match, of whom one is shown to carry the value elsewhere: half of them.
    """
    rows = [Row(0, (0,), NOTHING), Row(1, (0,), NOTHING), Row(0, (2,), frozenset({0})), Row(1, (2,), NOTHING)]
    assert verify(rows, 1, 2, "0.5").holds
    assert verify(rows, 1, 2, "0.49").too_sure == 2


@pytest.mark.parametrize("pairs", [(2, 0), (1, 0), (0, 0)])
def test_an_order_that_tells_more_than_slots_is_seen(pairs: tuple[int, ...]) -> None:
    """
    Times that go back, two places of a slot not by name, and a pair twice, even where k people share it.
    """
    report = verify([Row(user, pairs, NOTHING) for user in range(3)], 2, 3, "1.0")
    assert (report.too_few, report.disordered) == (0, 3)
    assert not report.holds


@pytest.mark.parametrize("rows", [[], [Row(0, (), frozenset({0})), Row(1, (), frozenset({0}))]])
def test_an_empty_release_holds(rows: list[Row]) -> None:
    """
    Where nothing occurs nothing can be known.
    """
    report = verify(rows, 2, 2, "0.1")
    assert report == LKCReport(smallest_support=None, highest_confidence=0.0, too_few=0, too_sure=0, disordered=0)
    assert report.holds


def test_each_trajectory_needs_a_user_and_values() -> None:
    """
    Columns of different lengths are a mistake of the caller, never cut to fit.
    """
    guarantee = LKCPrivacy(l=1, k=2, c=0.5)
    with pytest.raises(ValueError, match="1 users and 2 values for 2 trajectories"):
        verify_lkc([0], [[(0, "a")], [(0, "a")]], [(), ()], guarantee, sensitive=())
    with pytest.raises(ValueError, match="2 users and 1 values for 2 trajectories"):
        verify_lkc([0, 1], [[(0, "a")], [(0, "a")]], [()], guarantee, sensitive=())
