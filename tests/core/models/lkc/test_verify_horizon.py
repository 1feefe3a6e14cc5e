"""The verifier of the horizon: it must see what an anonymizer could get wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.lkc.anonymize import roles
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.signature import NONE, UNPROTECTED, SignedRole
from core.models.lkc.verify_horizon import HorizonReport, Signed, verify_horizon
from core.pipeline import release_window
from core.records.record import Kind
from core.release.outcome import Release, ReleaseRefused
from core.windows.history import NO_HISTORY, History, Roster
from core.windows.window import WindowKey
from tests.budgets import examples
from tests.builders.windows import START_MS, WINDOW_MS, pair_plan, profile_code, seal_of, visits
from tests.oracles.km import is_subtrajectory

FLU, BOTH = ("flu", None), ("flu", "gout")
HALF = LKCPrivacy(l=2, k=2, c=0.5, horizon=3)


def earlier(*windows: dict[int, tuple[tuple[str | None, ...], int]]) -> History:
    """A history in which each person had a signature and an entry of it."""
    rosters = []
    for number, people in enumerate(windows):
        written = {
            user: f"[[{','.join('null' if n is None else f'{n!r}'.replace(chr(39), chr(34)) for n in names)}],{i}]"
            for user, (names, i) in people.items()
        }
        labels = sorted(set(written.values()))
        rosters.append(
            Roster(
                key=WindowKey(number + 1, Kind.CHECKINS, "all", number),
                users=np.array(sorted(people), np.uint64),
                groups=np.array([labels.index(written[user]) for user in sorted(people)], np.int64),
                labels=tuple(labels),
            )
        )
    return History(rosters=tuple(rosters))


def verify(people: list[Signed], history: History = NO_HISTORY, guarantee: LKCPrivacy = HALF) -> HorizonReport:
    """Everybody was at the same place."""
    return verify_horizon(people, [[(0, "park")]] * len(people), guarantee, history)


def ill(user: int) -> Signed:
    return Signed(user, {"flu"}, FLU, 0)


def well(user: int) -> Signed:
    return Signed(user, set(), FLU, 1)


def free(user: int) -> Signed:
    return Signed(user, set(), (), 0)


GOOD = [ill(1), well(2), free(3)]


def test_equal_entries_that_are_true_hold() -> None:
    """
    A half of two of three people may carry the value, as far as the release says.
    """
    report = verify(GOOD)
    assert report.holds
    assert report.highest_confidence == pytest.approx(1 / 3)
    assert verify([]).holds


@pytest.mark.parametrize(
    ("people", "figure"),
    [
        ([ill(1), ill(2), well(3)], "unequal"),
        ([ill(1), free(2)], "unequal"),
        ([ill(1), Signed(2, {"flu"}, FLU, 1)], "untrue"),
        ([ill(1), Signed(2, {"gout"}, FLU, 1)], "untrue"),
        ([Signed(1, set(), FLU, 0), well(2)], "untrue"),
        ([Signed(1, {"flu"}, (), 0)], "untrue"),
        ([ill(1), well(2), Signed(3, set(), FLU, 2)], "untrue"),
        ([ill(1), well(1)], "untrue"),
        ([Signed(1, {"flu"}, ("flu",), 0)], "too_short"),
        ([Signed(1, {"flu"}, ("flu", "flu", None), 0)], "too_short"),
    ],
)
def test_each_rule_by_itself_is_seen(people: list[Signed], figure: str) -> None:
    """
    Entries of unequal numbers of people, entries that are not true, people twice, values that nobody hides.
    """
    report = verify(people)
    assert getattr(report, figure) > 0
    assert not report.holds


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        ([{1: (FLU, 0)}], 0),
        ([{1: (FLU, 1)}], 0),  # a change of values inside the signature
        ([{1: (BOTH, 0)}], 1),
        ([{1: ((), 0)}], 1),
        ([{3: (FLU, 1)}], 1),
        ([{1: (BOTH, 0)}, {1: (FLU, 0)}], 1),  # the older window is in the horizon as well
        ([{7: (BOTH, 0)}], 0),
    ],
)
def test_another_signature_than_before_is_seen(
    before: list[dict[int, tuple[tuple[str | None, ...], int]]], changed: int
) -> None:
    """
    In any window of the horizon, whoever is released again must have the same one; also people without a value.
    """
    report = verify(GOOD, earlier(*before))
    assert (report.changed, report.holds) == (changed, not changed)


def test_a_person_cannot_move_between_entries_that_say_the_same() -> None:
    """
    Of two entries "none" a person is counted for one: otherwise two releases could rule others out.
    """
    three = ("flu", None, None)
    people = [Signed(1, {"flu"}, three, 0), Signed(2, set(), three, 1), Signed(3, set(), three, 2)]
    third = LKCPrivacy(l=1, k=2, c=0.34, horizon=2)
    assert verify(people, earlier({2: (three, 1)}), third).holds
    assert verify(people, earlier({2: (three, 2)}), third).changed == 1
    assert verify(people, earlier({2: (three, 2)}, {2: (three, 1)}), third).holds  # it was another value between
    assert verify(people, earlier({2: (three, 0)}), third).holds


def test_a_label_of_something_else_is_no_signature() -> None:
    """
    Nobody can be released in agreement with a group that is no signature.
    """
    roster = earlier({1: (FLU, 0)}).rosters[0]
    for labels in (("17",), ()):
        assert verify(GOOD, History(rosters=(replace(roster, labels=labels),))).changed == 1


def test_each_trajectory_needs_a_person() -> None:
    """
    Columns of different lengths are a mistake of the caller.
    """
    with pytest.raises(ValueError, match="3 people for 1 trajectories"):
        verify_horizon(GOOD, [[(0, "park")]], HALF, NO_HISTORY)


PEOPLE = st.lists(
    st.tuples(
        st.sampled_from([(), FLU, BOTH, ("flu", None, None)]),
        st.frozensets(st.integers(0, 3), min_size=1).map(lambda pairs: tuple(sorted(pairs))),
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=examples(200, least=40))
@given(people=PEOPLE, known=st.integers(1, 2), c=st.sampled_from(["0.2", "0.34", "0.5"]))
def test_shares_are_those_of_the_signatures_of_every_crowd(
    people: list[tuple[tuple[str | None, ...], tuple[int, ...]]], known: int, c: str
) -> None:
    """
    By enumerating what can be known: each entry of a signature counts as one of so many.
    """
    parts = {
        part
        for _, pairs in people
        for size in range(1, known + 1)
        for part in combinations(pairs, min(size, len(pairs)))
    }
    shares = []
    for part in parts:
        crowd = [signature for signature, pairs in people if is_subtrajectory(part, pairs)]
        shares.append(
            max(
                sum((Fraction(one.count(value), len(one)) for one in crowd if one), Fraction()) / len(crowd)
                for value in ("flu", "gout")
            )
        )
    report = verify_horizon(
        [Signed(user, set(), signature, 0) for user, (signature, _) in enumerate(people)],
        [[(pair, "park") for pair in pairs] for _, pairs in people],
        LKCPrivacy(l=known, k=2, c=float(c), horizon=2),
        NO_HISTORY,
    )
    assert report.highest_confidence == pytest.approx(float(max(shares, default=0)))
    assert report.too_sure == sum(share > Fraction(c) for share in shares)


@settings(deadline=None, max_examples=examples(200, least=40))
@given(
    people=st.lists(st.tuples(st.sampled_from([FLU, BOTH]), st.integers(0, 1)), max_size=6),
    before=st.lists(
        st.dictionaries(st.integers(0, 6), st.tuples(st.sampled_from([FLU, BOTH]), st.integers(0, 1))), max_size=3
    ),
)
def test_the_report_is_that_of_the_rules(
    people: list[tuple[tuple[str | None, ...], int]],
    before: list[dict[int, tuple[tuple[str | None, ...], int]]],
) -> None:
    """
    Counted one by one: equal numbers for each entry, and the same signature as in each earlier window.
    """
    signed = [
        Signed(user, {name for name in [names[entry]] if name is not None}, names, entry)
        for user, (names, entry) in enumerate(people)
    ]
    report = verify(signed, earlier(*before))
    counts = Counter(people)
    assert report.unequal == sum(counts[names, 0] != counts[names, 1] for names in {names for names, _ in people})
    assert report.changed == sum(
        any(window.get(user, (names, 0))[0] != names for window in before) for user, (names, _) in enumerate(people)
    )
    assert report.untrue == report.too_short == 0


SICK = profile_code(ward="surgery")
ROWS = visits((1, 0, 4, SICK), *((user, user, 4, profile_code()) for user in range(2, 9)))

BALANCED = roles.balanced


def unprotected(*given: object, **more: object) -> dict[int, SignedRole]:
    """Give nobody a signature."""
    return dict.fromkeys(BALANCED(*given, **more), UNPROTECTED)  # type: ignore[arg-type]


def alone(*given: object, **more: object) -> dict[int, SignedRole]:
    """Let nobody serve as "none"."""
    found = BALANCED(*given, **more)  # type: ignore[arg-type]
    return {user: role if role[0] and role[0][role[1]] != NONE else UNPROTECTED for user, role in found.items()}


def short(*given: object, **more: object) -> dict[int, SignedRole]:
    """Cut signatures to what is true."""
    found = BALANCED(*given, **more)  # type: ignore[arg-type]
    return {
        user: ((signature[entry],), 0) if signature and signature[entry] != NONE else UNPROTECTED
        for user, (signature, entry) in found.items()
    }


def forgetful(
    present: object, users: object, carried: object, _: object, *given: object, **more: object
) -> dict[int, SignedRole]:
    """Give signatures without regard to the earlier ones, to other people."""
    found = BALANCED(present, users, carried, {}, *given, **more)  # type: ignore[arg-type]
    serving = [user for user, (signature, entry) in found.items() if signature and signature[entry] == NONE]
    free = [user for user, role in found.items() if role == UNPROTECTED]
    swapped = dict(zip([*serving, *free[-len(serving) :]], [*free[-len(serving) :], *serving], strict=True))
    return {swapped.get(user, user): role for user, role in found.items()}


@pytest.mark.parametrize(
    ("sabotage", "finding"),
    [
        (unprotected, "1 people have an entry that is not theirs"),
        (alone, "1 have entries with unequal numbers"),
        (short, "1 signatures are too short"),
        (forgetful, "2 another signature than before"),
    ],
)
def test_a_release_that_breaks_the_promise_over_the_horizon_is_refused(
    sabotage: Callable[..., dict[int, SignedRole]], finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Whatever gave the signatures: the second of two windows is refused, and nothing of it leaves.
    """
    plan = pair_plan(m=1)
    plan = replace(plan, guarantee=replace(plan.guarantee, horizon=2))
    first = release_window(seal_of(ROWS, plan), ROWS, plan)
    assert isinstance(first, Release)
    assert first.roster is not None
    monkeypatch.setattr("core.models.lkc.anonymize.horizon.balanced", sabotage)
    own = plan.after(History(rosters=(first.roster,)))
    rows = ROWS.copy()
    rows["ts_ms"] += WINDOW_MS
    outcome = release_window(seal_of(rows, own, start_ms=START_MS + WINDOW_MS), rows, own)
    assert isinstance(outcome, ReleaseRefused)
    assert finding in outcome.finding
