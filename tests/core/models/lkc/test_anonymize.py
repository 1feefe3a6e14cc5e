"""LKC-privacy by suppression: every step against its definition, and all of it against the verifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.lkc.anonymize.frequent import maximal_frequent
from core.models.lkc.anonymize.greedy import choose_pairs, needed
from core.models.lkc.anonymize.suppress import LKCOptions, Suppression, Utility, suppress_pairs
from core.models.lkc.anonymize.violating import Requirement, alone, minimal_violating
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.pairs import Values, allowed_carriers
from core.models.lkc.verify import verify_lkc
from core.records.arrays import IntArray
from tests.budgets import examples
from tests.oracles import lkc as oracles
from tests.oracles.km import Crowd, as_sequences, support
from tests.oracles.lkc import as_values, pair_crowds

SENSITIVE = (0, 1)
"""Of the values 0, 1 and 2."""

SHARES = st.sampled_from(["0.1", "0.25", "0.3", "0.5", "0.6", "1.0"])
CROWDS = pair_crowds()

Carried = Mapping[int, frozenset[int]]


def suppressed(
    crowd: Crowd,
    carried: Carried,
    known: int,
    k: int,
    c: str,
    **options: object,
) -> Suppression:
    return suppress_pairs(
        as_sequences(crowd),
        as_values(carried),
        LKCPrivacy(l=known, k=k, c=float(c)),
        sensitive=SENSITIVE,
        options=LKCOptions(**{"min_support_percent": 0.0, **options}),  # type: ignore[arg-type]
    )


def left_of(crowd: Crowd, result: Suppression) -> Crowd:
    kept = iter(result.kept.tolist())
    return [(user, tuple([pair for pair in trajectory if next(kept)])) for user, trajectory in crowd]


@settings(deadline=None, max_examples=examples(200))
@given(drawn=CROWDS, known=st.integers(1, 4), k=st.integers(2, 4), c=SHARES)
def test_minimal_violating_sequences_are_those_of_the_definition(
    drawn: tuple[Crowd, Carried],
    known: int,
    k: int,
    c: str,
) -> None:
    """
    Definition 4.1: those that violate and of which no part does, whatever their size up to l.
    """
    crowd, carried = drawn
    window = as_sequences(crowd)
    requirement = Requirement(window, as_values(carried), LKCPrivacy(l=known, k=k, c=float(c)), SENSITIVE)
    singles = alone(window, requirement)
    rest = as_sequences(oracles.without(crowd, singles.tolist()))
    found = [(pair,) for pair in singles.tolist()]
    for table in minimal_violating(rest, requirement, most=known):
        found += map(tuple, table.tolist())
    expected = oracles.minimal_violating(crowd, carried, known, k, Fraction(c), SENSITIVE)
    assert sorted(found) == sorted(expected)


@settings(deadline=None, max_examples=examples(200))
@given(drawn=CROWDS, min_support=st.integers(1, 5))
def test_maximal_frequent_sequences_are_those_of_the_definition(drawn: tuple[Crowd, Carried], min_support: int) -> None:
    """
    Definition 3.2, over people: frequent, and part of no larger frequent one.
    """
    crowd, _ = drawn
    found = maximal_frequent(as_sequences(crowd), min_support=min_support, most_work=10**6)
    assert found.complete
    assert sorted(tuple(row) for table in found.tables for row in table.tolist()) == sorted(
        oracles.maximal_frequent(crowd, min_support)
    )
    assert found.count == len(oracles.maximal_frequent(crowd, min_support))


@settings(deadline=None, max_examples=examples(100))
@given(drawn=CROWDS, min_support=st.integers(1, 4), most_work=st.integers(0, 40))
def test_mining_that_stops_early_stands_for_what_it_did_not_look_at(
    drawn: tuple[Crowd, Carried], min_support: int, most_work: int
) -> None:
    """
    All that is frequent up to the last size is part of what is found; what is found is frequent and no part of other.
    """
    crowd, _ = drawn
    found = maximal_frequent(as_sequences(crowd), min_support=min_support, most_work=most_work)
    rows = [tuple(row) for table in found.tables for row in table.tolist()]
    size = len(found.tables)
    frequent = [
        part for i in range(1, size + 1) for part in oracles.occurring(crowd, i) if support(part, crowd) >= min_support
    ]
    assert set(rows) <= set(frequent)
    assert all(any(set(part) <= set(row) for row in rows) for part in frequent)
    assert not any(set(a) < set(b) for a in rows for b in rows)


@pytest.mark.parametrize(("most_work", "sizes"), [(44, 1), (45, 2), (104, 2), (105, 3), (149, 3), (171, 6)])
def test_mining_looks_at_no_more_than_it_may(most_work: int, sizes: int) -> None:
    """
    Three people with six pairs each: 3 * C(6, 2) = 45 occurrences for two pairs, then 60, 45, 18, 3 and the last look.
    """
    crowd: Crowd = [(user, (0, 1, 2, 3, 4, 5)) for user in range(3)]
    found = maximal_frequent(as_sequences(crowd), min_support=3, most_work=most_work)
    assert [table.shape[1] for table in found.tables if len(table)] == [sizes]
    assert found.complete == (sizes == 6)


PARTS = st.frozensets(st.integers(0, 8), min_size=1, max_size=4).map(lambda part: tuple(sorted(part)))


def tables(parts: Sequence[tuple[int, ...]]) -> list[IntArray]:
    """A table for each size."""
    sizes = sorted({len(part) for part in parts})
    return [np.array([part for part in parts if len(part) == size], np.int64) for size in sizes]


@settings(deadline=None, max_examples=examples(300))
@given(
    bad=st.lists(PARTS.filter(lambda part: len(part) > 1), max_size=14, unique=True),
    spared=st.none() | st.lists(PARTS, max_size=10, unique=True),
    counts=st.lists(st.integers(1, 4), min_size=9, max_size=9),
)
def test_scores_kept_up_to_date_choose_as_scores_computed_anew(
    bad: list[tuple[int, ...]], spared: list[tuple[int, ...]] | None, counts: list[int]
) -> None:
    """
    Section 4.2: the highest score, then fewer instances, then the smaller id; and what is superfluous in the end.
    """
    instances = dict(enumerate(counts))
    found = choose_pairs(tables(bad), np.array(counts), frequent=None if spared is None else tables(spared))
    assert found == oracles.literal_choice(bad, instances, spared=spared)
    # Any cover has to become a minimal one, not only that which the loop finds.
    for cover in (found, sorted({pair for part in bad for pair in part})):
        left = needed(cover, tables(bad), np.array(counts))
        assert left == oracles.literal_needed(cover, bad, instances)


@pytest.mark.parametrize(("instances", "second"), [((4, 2), 2), ((2, 4), 1), ((3, 3), 1)])
def test_scores_that_have_risen_tie_like_others(instances: tuple[int, int], second: int) -> None:
    """
    Pair 8 goes first, and what 1 and 2 would cost with it: then the one with fewer instances, or the smaller id.
    """
    counts = np.array([1, *instances, 9, 9, 9, 9, 9, 9])
    bad = [(1, 2), (3, 8), (4, 8), (5, 8), (6, 8), (7, 8)]
    assert choose_pairs(tables(bad), counts, frequent=tables([(1, 8), (2, 8)])) == [8, second]


@settings(deadline=None, max_examples=examples(300))
@given(drawn=CROWDS, known=st.integers(1, 4), k=st.integers(2, 4), c=SHARES, utility=st.sampled_from(Utility))
def test_the_choice_is_that_of_the_greedy_algorithm(
    drawn: tuple[Crowd, Carried],
    known: int,
    k: int,
    c: str,
    utility: Utility,
) -> None:
    """
    Scores kept up to date choose what scores computed anew choose, in the same order, ties included.
    """
    crowd, carried = drawn
    result = suppressed(crowd, carried, known, k, c, utility=utility)
    spared = k if utility is Utility.SEQUENCES else None
    expected = oracles.literal_suppression(crowd, carried, known, k, Fraction(c), SENSITIVE, min_support=spared)
    assert list(result.suppressed) == expected
    assert left_of(crowd, result) == oracles.without(crowd, expected)
    assert (result.cut, result.complete) == (0, True)


@settings(deadline=None, max_examples=examples(300))
@given(
    drawn=CROWDS,
    known=st.integers(1, 4),
    k=st.integers(2, 4),
    c=SHARES,
    utility=st.sampled_from(Utility),
    most_sequences=st.integers(1, 60),
)
def test_every_result_holds_the_guarantee_also_in_bounded_work(
    drawn: tuple[Crowd, Carried],
    known: int,
    k: int,
    c: str,
    utility: Utility,
    most_sequences: int,
) -> None:
    """
    Definition 3.1 over people, and over trajectories, and the verifier agrees; a window too large is cut, not refused.
    """
    crowd, carried = drawn
    result = suppressed(crowd, carried, known, k, c, utility=utility, most_sequences=most_sequences)
    left = left_of(crowd, result)
    assert oracles.is_lkc_private(left, carried, known, k, Fraction(c), SENSITIVE)
    published = [tuple((pair, "") for pair in trajectory) for _, trajectory in left]
    report = verify_lkc(
        [user for user, _ in left],
        published,
        [sorted(carried[user]) for user, _ in left],
        LKCPrivacy(l=known, k=k, c=float(c)),
        sensitive=SENSITIVE,
    )
    assert report.holds
    assert oracles.n_sequences(left, known) <= max(most_sequences, sum(bool(trajectory) for _, trajectory in left))


@settings(deadline=None, max_examples=examples(200))
@given(drawn=CROWDS, known=st.integers(1, 3), k=st.integers(2, 4), c=SHARES)
def test_no_suppressed_pair_could_be_put_back(
    drawn: tuple[Crowd, Carried],
    known: int,
    k: int,
    c: str,
) -> None:
    """
    Suppression is minimal: with any one of the pairs in its place again the guarantee is broken.
    """
    crowd, carried = drawn
    gone = set(suppressed(crowd, carried, known, k, c).suppressed)
    for pair in gone:
        again = oracles.without(crowd, gone - {pair})
        assert not oracles.is_lkc_private(again, carried, known, k, Fraction(c), SENSITIVE)


@settings(deadline=None, max_examples=examples(100))
@given(drawn=CROWDS, known=st.integers(1, 3), k=st.integers(2, 4), c=SHARES)
def test_the_figures_are_what_happened(
    drawn: tuple[Crowd, Carried],
    known: int,
    k: int,
    c: str,
) -> None:
    """
    Violating sequences of two pairs or more, frequent ones before, and those of them that no suppression touched.
    """
    crowd, carried = drawn
    result = suppressed(crowd, carried, known, k, c)
    bad = oracles.minimal_violating(crowd, carried, known, k, Fraction(c), SENSITIVE)
    first = [part[0] for part in bad if len(part) == 1]
    assert result.unavoidable == len(first)
    assert result.violating == len(bad) - len(first)
    frequent = oracles.maximal_frequent(oracles.without(crowd, first), k)
    assert result.frequent == len(frequent)
    assert result.frequent_kept == sum(not set(part) & set(result.suppressed) for part in frequent)


def test_a_superfluous_choice_is_put_back() -> None:
    """
    The pair in most violating sequences is chosen first, and put back when those chosen after it do its work.

    Pairs 0 to 3 are in three each and 0 has the smallest id; 1, 2 and 3 have to go for two others each.
    """
    often = [(pair,) for pair in range(10)] * 4
    rare = [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6), (2, 7), (3, 8), (3, 9)]
    crowd: Crowd = list(enumerate([*often, *rare]))
    result = suppressed(crowd, {user: frozenset() for user, _ in crowd}, 2, 2, "1.0", utility=Utility.INSTANCES)
    assert sorted(result.suppressed) == [1, 2, 3]


PIECES: Crowd = [(0, (0,)), (0, (0,)), (0, (0,)), (1, (0,)), (2, (0,))]


def test_several_trajectories_of_a_person_are_one_supporter() -> None:
    """
    Three people have five trajectories with pair 0: enough for k = 3, too few for k = 4.
    """
    nobody = {user: frozenset[int]() for user in range(3)}
    assert suppressed(PIECES, nobody, 1, 3, "1.0").kept.all()
    assert not suppressed(PIECES, nobody, 1, 4, "1.0").kept.any()


def test_confidence_is_bounded_over_people_and_over_trajectories() -> None:
    """
    One of three people carries the value, in three of five trajectories: 1/3 of people, 3/5 of what an adversary sees.
    """
    carried = {0: frozenset({0}), 1: frozenset[int](), 2: frozenset[int]()}
    assert suppressed(PIECES, carried, 1, 2, "0.6").kept.all()
    assert not suppressed(PIECES, carried, 1, 2, "0.5").kept.any()
    others = {0: frozenset[int](), 1: frozenset({0}), 2: frozenset({0})}  # 2/3 of people, 2/5 of trajectories
    assert not suppressed(PIECES, others, 1, 2, "0.6").kept.any()
    assert suppressed(PIECES, others, 1, 2, "0.7").kept.all()


@pytest.mark.parametrize(("c", "stays"), [("0.5", True), ("0.49", False)])
def test_each_value_of_a_person_counts_on_its_own(c: str, stays: bool) -> None:
    """
    Shares of different values are not added up, and a person counts for each value they carry.
    """
    crowd: Crowd = [(user, (0,)) for user in range(4)]
    carried = {0: frozenset({0, 1}), 1: frozenset({0}), 2: frozenset({1}), 3: frozenset({2})}
    assert suppressed(crowd, carried, 1, 2, c).kept.all() == stays


def test_who_carries_no_value_counts_among_those_who_match() -> None:
    """
    One carrier among four is 25 %, whether the others carry something else or nothing.
    """
    crowd: Crowd = [(user, (0,)) for user in range(4)]
    carried = {0: frozenset({0}), 1: frozenset({2}), 2: frozenset[int](), 3: frozenset[int]()}
    assert suppressed(crowd, carried, 1, 2, "0.25").kept.all()
    assert not suppressed(crowd, carried, 1, 2, "0.24").kept.any()


def test_only_sensitive_values_are_bounded() -> None:
    """
    A value that is not sensitive may be everybody's.
    """
    crowd: Crowd = [(user, (0,)) for user in range(4)]
    assert suppressed(crowd, {user: frozenset({2}) for user in range(4)}, 1, 2, "0.1").kept.all()
    assert not suppressed(crowd, {user: frozenset({1}) for user in range(4)}, 1, 2, "0.9").kept.any()


def test_a_share_is_the_decimal_number_it_is_written_as() -> None:
    """
    29 of 100 are 0.29, though 0.29 * 100 is less than 29 in floats; 30 of 100 are more.
    """
    assert int(100 * 0.29) == 28
    assert allowed_carriers(0.29, 100)[100] == 29
    crowd: Crowd = [(user, (0,)) for user in range(100)]
    for carriers, stays in ((29, True), (30, False)):
        carried = {user: frozenset({0} if user < carriers else set()) for user in range(100)}
        assert suppressed(crowd, carried, 1, 2, "0.29").kept.all() == stays


def test_a_window_too_large_keeps_the_pairs_with_most_instances() -> None:
    """
    Of four pairs each, with work for twelve sequences of up to two pairs, four people keep the two that most share.
    """
    crowd: Crowd = [(0, (0, 1, 2, 3)), (1, (0, 1, 2, 3)), (2, (1, 2, 3, 4)), (3, (1, 3, 4, 5))]
    result = suppressed(crowd, {user: frozenset() for user in range(4)}, 2, 2, "1.0", most_sequences=12)
    assert left_of(crowd, result) == [(user, (1, 3)) for user in range(4)]
    assert result.cut == 7  # and pair 5, which is one person's, goes beforehand
    assert result.suppressed == (5,)


def test_several_values_of_a_person_are_work() -> None:
    """
    The bound is over the most sensitive values that anybody carries: half as many sequences with two.
    """
    crowd: Crowd = [(user, (0, 1, 2)) for user in range(4)]
    one = {user: frozenset({user % 2}) for user in range(4)}
    assert suppressed(crowd, one, 2, 2, "0.5", most_sequences=24).cut == 0
    assert suppressed(crowd, one | {0: frozenset({0, 1})}, 2, 2, "0.9", most_sequences=24).cut == 4


def test_with_fewer_than_k_people_nothing_is_left() -> None:
    """
    Every pair is then one of too few.
    """
    crowd: Crowd = [(0, (0, 1)), (1, (0, 1))]
    result = suppressed(crowd, {0: frozenset(), 1: frozenset()}, 2, 3, "1.0")
    assert not result.kept.any()
    assert result.suppressed == (0, 1)


@pytest.mark.parametrize("trajectory", [(1, 0), (1, 1)])
def test_pairs_have_to_ascend(trajectory: tuple[int, ...]) -> None:
    """
    A sequence is counted as a set: another order, or a pair twice, is a mistake of the caller.
    """
    with pytest.raises(ValueError, match="do not ascend strictly"):
        suppressed([(0, (2,)), (1, trajectory)], {}, 2, 2, "1.0")


@pytest.mark.parametrize(
    ("users", "codes"), [([0, 0], [1, 1]), ([1, 0], [0, 0]), ([0, 0], [2, 1]), ([0], [-1]), ([0, 1], [0])]
)
def test_values_are_facts_in_order(users: list[int], codes: list[int]) -> None:
    """
    A fact twice would count a person twice.
    """
    with pytest.raises(ValueError, match=r"ascend|negative|users for"):
        Values(users=np.array(users), codes=np.array(codes))


@pytest.mark.parametrize(
    "given_",
    [
        {"l": 0, "k": 2, "c": 0.5},
        {"l": 1, "k": 1, "c": 0.5},
        {"l": 1, "k": 2, "c": 0.0},
        {"l": 1, "k": 2, "c": 1.01},
        {"l": 1, "k": 2, "c": float("nan")},
    ],
)
def test_a_guarantee_out_of_range_is_none(given_: dict[str, float]) -> None:
    """
    L is at least 1, K at least 2, C above 0 and at most 1.
    """
    with pytest.raises(ValueError, match="must be"):
        LKCPrivacy(**given_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given_", [{"min_support_percent": -1.0}, {"min_support_percent": 101.0}, {"most_sequences": 0}]
)
def test_options_out_of_range_are_refused(given_: dict[str, float]) -> None:
    """
    A share is in 0..100, and some work is needed.
    """
    with pytest.raises(ValueError, match="must be"):
        LKCOptions(**given_)  # type: ignore[arg-type]


def test_frequent_means_never_fewer_than_k() -> None:
    """
    What fewer than k people support cannot be spared.
    """
    assert LKCOptions(min_support_percent=1.0).min_support(50, 5) == 5
    assert LKCOptions(min_support_percent=1.0).min_support(1001, 5) == 11
