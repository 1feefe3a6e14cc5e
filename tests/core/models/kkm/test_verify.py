"""The verifier of (k,k^m)-anonymity: it must see what an anonymizer could get wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.verify import KKmReport, verify_kkm
from tests.budgets import examples

Record = tuple[int, str, frozenset[str], frozenset[str]]
"""User, attributes, nonsensitive and sensitive locations; every location is released intact."""


def verify(records: Sequence[Record], k: int, m: int, l: int | None = None) -> KKmReport:  # noqa: E741
    return verify_kkm(
        [user for user, *_ in records],
        [attributes for _, attributes, *_ in records],
        [[(name,) for name in visited] for *_, visited, _ in records],
        KKmAnonymity(k=k, m=m, l=l),
        sensitive=[its for *_, its in records] if l is not None else None,
    )


RECORDS = st.lists(
    st.tuples(st.sampled_from("uv"), st.frozensets(st.sampled_from("abc")), st.frozensets(st.sampled_from("xy"))),
    max_size=8,
).map(lambda rows: [(user, *row) for user, row in enumerate(rows)])


@settings(deadline=None, max_examples=examples(300))
@given(records=RECORDS, k=st.integers(2, 4), m=st.integers(1, 3), one_in=st.integers(2, 4))
def test_the_report_is_the_definition(records: list[Record], k: int, m: int, one_in: int) -> None:
    """
    Groups, supports and shares are those of Definition 2 and of section 5, counted one by one; single sensitive
    locations stand for their combinations, which are tried as well.
    """
    small = rare = revealing = 0
    supports, shares, sizes = [], [0.0], []
    holds = True
    for values in {attributes for _, attributes, *_ in records}:
        group = [record for record in records if record[1] == values]
        sizes.append(len(group))
        small += len(group) < k
        for known in (frozenset(c) for size in range(m + 1) for c in combinations("abc", size)):
            behind = [record for record in group if known <= record[2]]
            if not behind:
                continue
            if known:
                supports.append(len(behind))
                rare += len(behind) < k
            for secret in ({"x"}, {"y"}, {"x", "y"}):
                count = sum(secret <= record[3] for record in behind)
                holds &= count * one_in <= len(behind)
                if len(secret) == 1 and count:
                    shares.append(count / len(behind))
                    revealing += count * one_in > len(behind)
    report = verify(records, k, m, one_in)
    assert (report.small_groups, report.rare_sets, report.revealing_sets) == (small, rare, revealing)
    assert report.smallest_group == min(sizes, default=None)
    assert report.smallest_support == min(supports, default=None)
    assert report.largest_share == max(shares)
    assert report.ambiguous == report.repeated == 0
    assert report.holds == (holds and not small and not rare)
    assert report.violations == small + rare + revealing


A, AB, NONE = frozenset("a"), frozenset("ab"), frozenset[str]()
ALIKE: list[Record] = [(user, "u", AB, NONE) for user in range(3)]


def test_k_people_alike_pass() -> None:
    """
    Equal records of k people hold the guarantee for every m, and one more asked for does not.
    """
    assert verify(ALIKE, 3, 3).holds
    assert verify(ALIKE, 3, 3).smallest_group == verify(ALIKE, 3, 3).smallest_support == 3
    short = verify(ALIKE, 4, 2)
    assert (short.small_groups, short.rare_sets, short.violations) == (1, 3, 4)


def test_groups_are_counted_apart() -> None:
    """
    Six people who visited the same do not hide one another where their attributes differ (Fig. 1b of the paper).
    """
    records: list[Record] = [(user, "u" if user < 3 else "v", A, NONE) for user in range(6)]
    assert verify(records, 3, 1).holds
    assert verify(records, 4, 1).violations == 4


def test_who_visits_nothing_counts_in_the_group_alone() -> None:
    """
    A record without locations is one of its group's people, and behind no location.
    """
    report = verify([*ALIKE[:2], (2, "u", NONE, NONE)], 3, 1)
    assert (report.smallest_group, report.small_groups, report.rare_sets) == (3, 0, 2)


def test_what_is_known_without_locations_reveals_as_well() -> None:
    """
    Attributes alone tell that two in three were at x, though no location has a share above one in two.
    """
    x = frozenset("x")
    report = verify([(0, "u", NONE, x), (1, "u", NONE, x), (2, "u", NONE, NONE)], 2, 1, 2)
    assert (report.revealing_sets, report.largest_share) == (1, 2 / 3)


def test_a_share_of_exactly_one_in_l_is_allowed() -> None:
    """
    The probability is bounded by 1/l, that included.
    """
    records: list[Record] = [(0, "u", A, frozenset("x")), (1, "u", A, NONE)]
    assert verify(records, 2, 1, 2).holds
    assert verify(records, 2, 1, 3).revealing_sets == 2  # with nothing known, and with a


def test_a_person_with_two_records_is_one_person() -> None:
    """
    k records of one person are one supporter, and that there are several is a violation of its own.
    """
    report = verify([(7, "u", A, NONE), (7, "u", A, NONE)], 2, 1)
    assert (report.smallest_group, report.small_groups, report.rare_sets, report.repeated) == (1, 1, 1, 1)


def test_a_person_in_two_groups_is_seen() -> None:
    """
    A second record elsewhere breaks no count, and is a violation.
    """
    records: list[Record] = [*ALIKE, (0, "v", A, NONE), (8, "v", A, NONE)]
    report = verify(records, 2, 2)
    assert (report.repeated, report.violations) == (1, 1)


def test_a_location_generalized_in_two_ways_is_ambiguous() -> None:
    """
    Where a stands in (a, b) and in (a, c), who knows a finds more than was counted; in another group it may.
    """
    places = [[("a", "b"), ("a", "c")]] * 2
    assert verify_kkm([0, 1], ["u", "u"], places, KKmAnonymity(k=2, m=1)).ambiguous == 1
    apart = [[("a", "b")]] * 2 + [[("a", "c")]] * 2
    assert verify_kkm([0, 1, 2, 3], ["u", "u", "v", "v"], apart, KKmAnonymity(k=2, m=1)).holds


def test_a_sensitive_location_among_the_others_is_ambiguous() -> None:
    """
    What is sensitive in one record must not be shown, alone or generalized, as a location that may be known.
    """
    report = verify_kkm(
        [0, 1, 2],
        ["u"] * 3,
        [[("a", "x")]] * 3,
        KKmAnonymity(k=2, m=1, l=3),
        sensitive=[["x"], [], []],
    )
    assert (report.ambiguous, report.violations) == (1, 1)


def test_an_empty_release_holds() -> None:
    """
    Where nobody is released nothing can be violated.
    """
    report = verify([], 2, 2, 2)
    assert report.holds
    assert report.smallest_group is report.smallest_support is None


def test_each_record_needs_everything() -> None:
    """
    Columns of different lengths, and l without sensitive locations, are mistakes of the caller.
    """
    with pytest.raises(ValueError, match="2 users, 1 attributes"):
        verify_kkm([0, 1], ["u"], [[], []], KKmAnonymity(k=2, m=1))
    with pytest.raises(ValueError, match="no sensitive locations are given"):
        verify_kkm([0], ["u"], [[]], KKmAnonymity(k=2, m=1, l=2))
