"""The verifier of (k,l)^m-anonymity: it must see what an anonymizer could get wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.klm.guarantee import KLmDiversity
from core.models.klm.verify import KLmReport, verify_klm
from tests.oracles import klm as klm_oracles
from tests.oracles.klm import Shown, guarantees

SENSITIVE = {4, 5}


def check(crowd: Shown, guarantee: KLmDiversity) -> KLmReport:
    published = [
        [tuple("abcdef"[i] for i in sorted(label)) for label in trajectory]  # as a codec would write them
        for _, trajectory in crowd
    ]
    return verify_klm([user for user, _ in crowd], published, ["e", "f"], guarantee)


def verify(crowd: Shown, *klm: int) -> KLmReport:
    k, l, m = klm  # noqa: E741 - the name the guarantee is known by
    return check(crowd, KLmDiversity(k=k, l=l, m=m))


def of(*trajectories: str, users: list[int] | None = None) -> Shown:
    """Write a crowd as words: ``ab|c`` is the label {a}, then the label {b, c}. One person each, unless told."""
    labels = [
        tuple(frozenset("abcdef".index(name) for name in label.split("|")) for label in t.split()) for t in trajectories
    ]
    return list(zip(users or range(len(labels)), labels, strict=True))


def crowds() -> st.SearchStrategy[Shown]:
    """Draw a few people whose labels may overlap in any way; sensitive locations stand alone."""
    label = st.sampled_from(["a", "b", "a|b", "c", "b|c", "e", "f"])
    trajectory = st.lists(label, max_size=4).map(" ".join)
    pieces = st.lists(trajectory, min_size=1, max_size=2)
    return st.lists(pieces, max_size=6).map(
        lambda people: of(
            *(piece for own in people for piece in own), users=[user for user, own in enumerate(people) for _ in own]
        )
    )


@given(crowd=crowds(), guarantee=guarantees())
def test_the_report_is_the_definition(crowd: Shown, guarantee: KLmDiversity) -> None:
    """
    Rare subtrajectories and revealing pairs, counted over what occurs, the empty subtrajectory included.
    """
    report = check(crowd, guarantee)
    assert (report.rare, report.revealing) == klm_oracles.violations(crowd, SENSITIVE, guarantee)
    if report.smallest_support is not None:
        assert (report.smallest_support < guarantee.k) == (report.rare > 0)
        assert (report.highest_share > Fraction(1, guarantee.l)) == (report.revealing > 0)


@given(crowd=crowds(), guarantee=guarantees(most=2))
def test_what_holds_holds_against_whoever_knows_locations(crowd: Shown, guarantee: KLmDiversity) -> None:
    """
    Where the check passes, no m true locations leave too few people, or too many of them at one place, by whatever
    labels they may be hidden.
    """
    # Each person twice: then few releases fail for too few people.
    crowd = [(2 * user + again, trajectory) for user, trajectory in crowd for again in (0, 1)]
    if check(crowd, guarantee).holds:
        assert klm_oracles.raw_violations(crowd, SENSITIVE, 4, guarantee) == 0


FOUR = ("a b e", "a b", "a b", "a b e")
"""Four people alike, half of whom were at e."""


def test_people_alike_pass() -> None:
    """
    k = 4 and l = 2 hold exactly: the smallest support is 4 and the highest share 1/2.
    """
    assert verify(of(*FOUR), 4, 2, 2) == KLmReport(
        smallest_support=4, rare=0, highest_share=Fraction(1, 2), revealing=0, blurred=0, overlapping=0
    )
    assert verify(of(*FOUR), 4, 2, 2).holds


def test_one_person_too_few_is_seen() -> None:
    """
    k = 5: the empty subtrajectory, a, b, and a with b have a support of 4.
    """
    report = verify(of(*FOUR), 5, 2, 2)
    assert (report.rare, report.revealing, report.holds) == (4, 0, False)


def test_one_person_too_many_at_a_place_is_seen() -> None:
    """
    l = 3 is broken by the same four; and l = 2 by a third person at e.
    """
    assert verify(of(*FOUR), 4, 3, 2).revealing == 4
    report = verify(of("a b e", "a b", "e a b", "a b e"), 4, 2, 2)
    assert (report.rare, report.revealing, report.highest_share) == (0, 4, Fraction(3, 4))


def test_places_are_counted_one_by_one() -> None:
    """
    Half at e and the other half at f: the share of each is 1/2, that everybody was somewhere is not counted.
    """
    assert verify(of("a e", "a f", "e a", "a f"), 4, 2, 1).holds


def test_a_place_counts_wherever_it_stands_in_a_persons_trajectories() -> None:
    """
    Before or after, or in another trajectory of the same person, and once however often.
    """
    assert verify(of("a", "e", "a", "a", "e e", users=[0, 0, 1, 2, 2]), 3, 2, 1).highest_share == Fraction(2, 3)


def test_to_know_nothing_but_presence_counts() -> None:
    """
    Nobody who was at e has a nonsensitive visit: only the empty subtrajectory reveals that three of five were.
    """
    report = verify(of("a", "a", "e", "e", "e"), 2, 2, 1)
    assert (report.rare, report.revealing, report.highest_share) == (0, 1, Fraction(3, 5))


def test_too_few_people_with_sensitive_visits_alone_are_seen() -> None:
    """
    Two people at two places: each share is 1/2, but they are fewer than k = 3.
    """
    assert verify(of("e", "f"), 3, 2, 1).rare == 1


def test_a_sensitive_location_that_is_generalized_is_seen() -> None:
    """
    It is released as it is or not at all: in a label with others nobody counts it.
    """
    for label in ("a|e", "e|f"):
        report = verify(of(label, label, "d", "d"), 2, 2, 1)
        assert (report.rare, report.revealing, report.blurred, report.holds) == (0, 0, 1, False)


def test_overlapping_labels_of_one_person_are_seen() -> None:
    """
    a with b here and b with c there: who knows b finds {1, 2, 3}, two of whom were at e, though both labels are safe.
    """
    crowd = of("a|b e", "a|b b|c", "b|c e", "d", "d")
    report = verify(crowd, 2, 2, 1)
    assert (report.rare, report.revealing, report.overlapping, report.holds) == (0, 0, 1, False)
    assert klm_oracles.raw_violations(crowd, SENSITIVE, 4, KLmDiversity(k=2, l=2, m=1)) > 0
    assert verify(of("a|b", "b|c", "a|b", "b|c"), 2, 2, 1).holds  # of different people


def test_labels_are_sets_of_names() -> None:
    """
    The order of members does not make another label.
    """
    guarantee = KLmDiversity(k=2, l=2, m=1)
    assert verify_klm([0, 1], [[("a", "b")], [("b", "a")]], [], guarantee).holds
    assert not verify_klm([0, 1], [[("a", "b")], [("a",)]], [], guarantee).holds


@pytest.mark.parametrize("crowd", [[], of("", "")])
def test_an_empty_release_holds(crowd: Shown) -> None:
    """
    Where nothing is released nobody is found.
    """
    report = verify(crowd, 2, 2, 2)
    assert report.smallest_support is None
    assert report.holds


def test_each_trajectory_needs_a_user() -> None:
    """
    Columns of different lengths are a mistake of the caller, never cut to fit.
    """
    with pytest.raises(ValueError, match="1 users for 2 trajectories"):
        verify_klm([0], [[("a",)], [("a",)]], [], KLmDiversity(k=2, l=2, m=1))
