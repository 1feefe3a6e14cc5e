"""Who gets which signature: entries stay equal, the remembered keep theirs, and few are left out."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.lkc.anonymize.roles import balanced, returning
from core.models.lkc.signature import NONE, UNPROTECTED, Signature, SignedRole, entries_needed, label_of, role_of_label
from core.records.arrays import UserHashes
from core.records.record import Kind
from core.windows.history import History, Roster
from core.windows.window import WindowKey
from tests.budgets import examples

KEY = WindowKey(20, Kind.CHECKINS, "all", 10)

VALUES = st.frozensets(st.integers(0, 2), max_size=2)
SIGNATURES: tuple[Signature, ...] = ((), (0, NONE), (1, NONE), (0, 1), (0, NONE, NONE))


def hashes(n: int) -> UserHashes:
    return np.arange(10, 10 + 7 * n, 7, dtype=np.uint64)


def roles_of(
    carried: list[frozenset[int]], known: dict[int, SignedRole], size: int, present: list[int] | None = None
) -> dict[int, SignedRole]:
    users = list(range(len(carried))) if present is None else present
    generator = np.random.default_rng(1)
    return balanced(users, hashes(len(carried)), carried, known, size=size, generator=generator)


@st.composite
def memories(draw: st.DrawFn) -> tuple[list[frozenset[int]], dict[int, SignedRole]]:
    """People with values, some of whom have a role that is true of them."""
    carried = draw(st.lists(VALUES, max_size=14))
    known: dict[int, SignedRole] = {}
    for user, values in enumerate(carried):
        fitting = [
            (signature, entry)
            for signature in SIGNATURES
            for entry in range(len(signature))
            if (signature[entry] in values if values else signature[entry] == NONE)
        ]
        fitting += [] if values else [UNPROTECTED]
        chosen = draw(st.none() | st.sampled_from(fitting)) if fitting else None
        if chosen is not None:
            known[user] = chosen
    return carried, known


@settings(deadline=None, max_examples=examples(400, least=60))
@given(drawn=memories(), size=st.integers(2, 4))
def test_entries_are_true_of_equally_many_and_the_remembered_keep_their_role(
    drawn: tuple[list[frozenset[int]], dict[int, SignedRole]], size: int
) -> None:
    """
    A role is true, new signatures are long enough, and only people without a value are unprotected.
    """
    carried, known = drawn
    found = roles_of(carried, known, size)
    counts = Counter(found.values())
    for user, (signature, entry) in found.items():
        if not signature:
            assert not carried[user]
            continue
        assert signature[entry] in carried[user] if carried[user] else signature[entry] == NONE
        assert len({counts[signature, i] for i in range(len(signature))}) == 1
        if user in known:
            assert known[user] == (signature, entry)
        elif signature not in {one for one, _ in known.values()}:
            assert len(signature) == size
            assert all(signature.count(code) == 1 for code in signature if code != NONE)
    assert all(user in found for user, role in known.items() if role == UNPROTECTED)
    new_and_free = [user for user, values in enumerate(carried) if user not in known and not values]
    assert all(user in found for user in new_and_free)


@settings(deadline=None, max_examples=examples(200, least=40))
@given(carried=st.lists(st.frozensets(st.integers(0, 2), max_size=1), max_size=20), size=st.integers(2, 4))
def test_nobody_new_is_left_out_if_enough_people_have_no_value(carried: list[frozenset[int]], size: int) -> None:
    """
    With size - 1 people without a value for each with one; and each value then has a signature of its own.
    """
    carriers = sum(map(bool, carried))
    found = roles_of(carried, {}, size)
    if carriers * size <= len(carried):
        assert len(found) == len(carried)
        assert all(len(signature) - signature.count(NONE) <= 1 for signature, _ in found.values())


@settings(deadline=None, max_examples=examples(200, least=40))
@given(counts=st.lists(st.integers(0, 6), min_size=3, max_size=3), n_none=st.integers(0, 6), size=st.integers(2, 3))
def test_few_carriers_are_left_out_if_no_value_is_too_frequent(counts: list[int], n_none: int, size: int) -> None:
    """
    Xiao and Tao 2007, Section 4: if no value has more than one in `size` of the people, fewer than `size` are left out.
    """
    carried = [frozenset({code}) for code, count in enumerate(counts) for _ in range(count)]
    carried += [frozenset[int]()] * n_none
    found = roles_of(carried, {}, size)
    if max(counts) * size <= len(carried):
        assert len(carried) - len(found) < size


@settings(deadline=None, max_examples=examples(100))
@given(drawn=memories(), size=st.integers(2, 3), data=st.data())
def test_somebody_new_who_serves_would_serve_again(
    drawn: tuple[list[frozenset[int]], dict[int, SignedRole]], size: int, data: st.DataObject
) -> None:
    """
    New people serve in the order of their hashes: the same people without history get the same roles.
    """
    carried, _ = drawn
    found = roles_of(carried, {}, size)
    assert roles_of(carried, {}, size) == found
    serving = [user for user, (signature, entry) in found.items() if signature and signature[entry] == NONE]
    free = [user for user, role in found.items() if role == UNPROTECTED]
    assert not serving or not free or max(serving) < min(free)


def remembered(
    labels: list[str], groups: list[int], carried: list[frozenset[int]], *, size: int = 2
) -> dict[int, SignedRole | None]:
    """What is known of people 0, 1, ... who were in these groups of the one earlier window."""
    users = hashes(len(carried))
    roster = Roster(key=KEY, users=users[: len(groups)], groups=np.array(groups, np.int64), labels=tuple(labels))
    return returning(History(rosters=(roster,)), users, carried, {"flu": 0, "gout": 1}, size=size)


FLU_OR_NONE = '[["flu",null],1]'


@pytest.mark.parametrize(
    ("carried", "expected"),
    [
        (frozenset[int](), ((0, NONE), 1)),
        (frozenset({0}), ((0, NONE), 0)),
        (frozenset({0, 1}), ((0, NONE), 0)),
        (frozenset({1}), None),
    ],
)
def test_a_role_follows_a_change_of_values_inside_its_signature_only(
    carried: frozenset[int], expected: SignedRole | None
) -> None:
    """
    Whoever has another value than the signature says cannot be released.
    """
    assert remembered([FLU_OR_NONE], [0], [carried, frozenset({1})]) == {0: expected}


def test_who_was_unprotected_cannot_carry_a_value_nor_hide_others() -> None:
    """
    Somebody who serves as "none" after having been shown without a signature would hide nobody.
    """
    assert remembered(["[[],0]"], [0, 0], [frozenset(), frozenset({0})]) == {0: UNPROTECTED, 1: None}
    found = roles_of([frozenset({0}), frozenset()], {1: UNPROTECTED}, 2)
    assert found == {1: UNPROTECTED}


def test_signatures_of_other_settings_keep_people_out() -> None:
    """
    Entries that are too few for a smaller share now, or groups that no label explains; unprotected people stay.
    """
    flu = [frozenset({0}), frozenset[int]()]
    assert remembered([FLU_OR_NONE, "[[],0]"], [0, 1], flu, size=3) == {0: None, 1: UNPROTECTED}
    assert remembered([], [0, 1], flu) == {0: None, 1: None}


def test_roles_are_written_by_names() -> None:
    """
    A label survives that the values are listed in another order; a value that is gone makes it unreadable.
    """
    role: SignedRole = ((0, 1, NONE), 2)
    label = label_of(role, ["flu", "gout"])
    assert role_of_label(label, {"flu": 0, "gout": 1}) == role
    assert role_of_label(label, {"flu": 1, "gout": 0}) == ((1, 0, NONE), 2)
    assert role_of_label(label, {"flu": 0}) is None
    assert [entries_needed(c) for c in (0.5, 0.34, 0.29, 0.1, 0.99)] == [2, 3, 4, 10, 2]
