"""Profiles: what is told of a person survives the packing, and what one code a person is made of."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.profile import (
    NOT_GIVEN,
    AttributeValue,
    Categorical,
    Numeric,
    Profile,
    common_profiles,
    distinct_profiles,
)
from core.trajectories.assemble import assemble_sequences
from tests.builders.windows import VENUES, hash_of, limits, visits

AGE = Numeric("age", 18, 99)
PLAN = Categorical("plan", ("basic", "plus", "7", "true"))
WARD = Categorical("ward", ("oncology", "surgery"), others=True)


def code_of(attribute: Numeric | Categorical, value: AttributeValue) -> tuple[int, int, int]:
    """The code of one value, and whether it is missing or wrong."""
    told = Profile((attribute,)).encode([[value]])
    return int(told.codes[0]), int(told.missing[0]), int(told.wrong[0])


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Draw profiles, up to the largest that fit."""
    attributes: list[Numeric | Categorical] = []
    room = 2**32
    for i in range(draw(st.integers(0, 4))):
        if room < 2:
            break
        n = draw(st.integers(1, room - 1) | st.integers(1, min(room - 1, 5)) | st.just(room - 1))
        optional = draw(st.booleans())
        if n <= 6 and draw(st.booleans()):
            texts = st.lists(st.text(max_size=3), min_size=n, max_size=n, unique=True)
            attributes.append(Categorical(f"a{i}", tuple(draw(texts)), optional, draw(st.booleans())))
        else:
            low = draw(st.integers(0, 2**53 - n))
            attributes.append(Numeric(f"a{i}", low, low + n - 1, optional))
        room //= n + 1
    return Profile(tuple(attributes))


@st.composite
def told(draw: st.DrawFn) -> tuple[Profile, list[list[AttributeValue]], list[list[int]]]:
    """Draw a profile, columns of what records say of it, and what that is after encoding and decoding."""
    profile, n = draw(profiles()), draw(st.integers(0, 5))
    columns: list[list[AttributeValue]] = []
    expected: list[list[int]] = []
    for attribute in profile.attributes:
        if isinstance(attribute, Numeric):
            numbers = draw(st.lists(st.none() | st.integers(attribute.low, attribute.high), min_size=n, max_size=n))
            forms = draw(st.lists(st.sampled_from([int, float, str]), min_size=n, max_size=n))
            columns.append([None if v is None else form(v) for v, form in zip(numbers, forms, strict=True)])
            expected.append([NOT_GIVEN if v is None else v for v in numbers])
        else:
            chosen = draw(st.lists(st.none() | st.sampled_from(attribute.values), min_size=n, max_size=n))
            columns.append(list(chosen))
            expected.append([NOT_GIVEN if v is None else attribute.values.index(v) for v in chosen])
    return profile, columns, expected


@given(told())
def test_what_is_told_survives_the_round_trip(
    case: tuple[Profile, list[list[AttributeValue]], list[list[int]]],
) -> None:
    """
    Decoding gives what was encoded, and what is missing is known by the first attribute that must not be.
    """
    profile, columns, expected = case
    encoded = profile.encode(columns)
    codes, missing, wrong = encoded.codes, encoded.missing, encoded.wrong
    assert codes.dtype == np.uint32
    assert [column.tolist() for column in profile.decode(codes)] == expected
    assert (wrong == -1).all()
    needed = [i for i, attribute in enumerate(profile.attributes) if attribute.needed]
    for row in range(len(codes)):
        lacking = [i for i in needed if columns[i][row] is None]
        assert missing[row] == (lacking[0] if lacking else -1)


@given(profiles(), st.data())
def test_every_code_has_its_values_and_every_value_its_code(profile: Profile, data: st.DataObject) -> None:
    """
    Back: the codes below ``n_codes`` are those of something, each of something else, and none is beyond.
    """
    codes = np.array(data.draw(st.lists(st.integers(0, profile.n_codes - 1), max_size=5)), dtype=np.uint32)
    columns: list[list[AttributeValue]] = []
    for attribute, decoded in zip(profile.attributes, profile.decode(codes), strict=True):
        values = attribute.values if isinstance(attribute, Categorical) else None
        columns.append([None if v == NOT_GIVEN else values[v] if values else v for v in decoded.tolist()])
    if profile.attributes:
        assert profile.encode(columns).codes.tolist() == codes.tolist()
    assert profile.n_codes <= 2**32
    if profile.n_codes < 2**32:
        with pytest.raises(ValueError, match=f"beyond the {profile.n_codes}"):
            profile.decode(np.array([0, profile.n_codes], dtype=np.uint32))


ANYTHING: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(
        ["18", "99", "100", "7", "true", "basic", 7, 7.0, 18.0, 10**400, -(10**400), "9" * 5000, "٤٢", "+20"]
    )
)


@given(st.lists(st.tuples(ANYTHING, ANYTHING, ANYTHING), max_size=6))
def test_whatever_is_told_is_encoded_record_by_record(rows: list[tuple[Any, Any, Any]]) -> None:
    """
    No value stops a batch, and what one record says changes nothing for another. What is wrong counts as not given.
    """
    profile = Profile((AGE, PLAN, WARD))
    columns = [[row[i] for row in rows] for i in range(3)]
    encoded = profile.encode(columns)
    codes, missing, wrong = encoded.codes, encoded.missing, encoded.wrong
    singles = [profile.encode([[value] for value in row]) for row in rows]
    assert codes.tolist() == [int(one.codes[0]) for one in singles]
    assert list(zip(missing, wrong, strict=True)) == [(one.missing[0], one.wrong[0]) for one in singles]
    assert (wrong < 2).all(), "of an attribute that may hold others no value is wrong"
    decoded = profile.decode(codes)
    for i in (0, 1):
        assert (decoded[i][(missing == i) | (wrong == i)] == NOT_GIVEN).all()


@pytest.mark.parametrize("value", [41, 41.0, "41", "041"])
def test_a_whole_number_counts_however_it_is_written(value: AttributeValue) -> None:
    """
    Files of text and other programs' JSON mean the same.
    """
    assert code_of(AGE, value) == (41 - 18 + 1, -1, -1)


@pytest.mark.parametrize(
    "value",
    [17, 100, -1, 41.5, "41.5", "", " 41", "4_1", "+41", "٤٢", "9" * 5000, True, math.nan, math.inf, 1e300, 10**400],
)
def test_what_is_no_whole_number_of_the_range_is_wrong(value: AttributeValue) -> None:
    """
    True is no number, and digits of other scripts are none that a feed means.
    """
    assert code_of(AGE, value) == (0, -1, 0)
    assert code_of(Numeric("age", 0, 1), True) == (0, -1, 0)


@pytest.mark.parametrize(("value", "index"), [("basic", 0), ("plus", 1), (7, 2), (7.0, 2), ("7", 2), (True, 3)])
def test_a_value_counts_as_json_writes_it(value: AttributeValue, index: int) -> None:
    """
    A hierarchy is text; the feed may have a number or a bool for it.
    """
    assert code_of(PLAN, value) == (index + 1, -1, -1)


@pytest.mark.parametrize("value", ["gold", "basics", 1, False, 10**400, -(10**4000)])
def test_another_value_is_wrong_unless_others_may_be_there(value: AttributeValue) -> None:
    """
    The set of values is closed; where only some matter, every other is as good as none.
    """
    assert code_of(PLAN, value) == (0, -1, 0)
    assert code_of(WARD, value) == (0, -1, -1)


@pytest.mark.parametrize("value", ["Basic", "basic ", "\ufeffBASIC", "ｂasic"])
def test_a_value_counts_in_any_spelling(value: AttributeValue) -> None:
    """
    A value that is sensitive stays sensitive, however a program spells it.
    """
    assert code_of(PLAN, value) == (1, -1, -1)


@pytest.mark.parametrize("value", ["", " ", "null", "N/A", math.nan])
def test_a_word_for_nothing_is_no_value(value: AttributeValue) -> None:
    """
    It counts as missing where the attribute is needed.
    """
    assert code_of(PLAN, value) == (0, 0, -1)
    assert code_of(WARD, value) == (0, -1, -1)


def test_a_value_of_any_length_is_wrong_at_once() -> None:
    """
    A text that is longer than any value is not normalized, which would take hours; as another value it may be there.
    """
    long = "x" + "\u0301\u0327" * 1_000_000
    assert Categorical("plan", ("basic", "plus")).digits([long, " PLUS "]).tolist() == [-1, 2]
    assert Categorical("plan", ("basic", "plus"), others=True).digits([long, " PLUS "]).tolist() == [0, 2]


def test_only_what_is_needed_is_missing() -> None:
    """
    An attribute may be optional, or of a kind where most records hold nothing that matters.
    """
    assert code_of(AGE, None) == (0, 0, -1)
    assert code_of(PLAN, None) == (0, 0, -1)
    assert code_of(WARD, None) == (0, -1, -1)
    assert code_of(Numeric("age", 18, 99, optional=True), None) == (0, -1, -1)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Numeric("age", 5, 4), "age is from 5 to 4: it must be a range"),
        (lambda: Numeric("age", -1, 4), "begins at 0"),
        (lambda: Numeric("age", 0, 2**60), "ends at 9007199254740992 at most"),
        (lambda: Categorical("plan", ()), "plan needs at least one value"),
        (lambda: Categorical("plan", ("a", "b", "a")), "every value only once"),
        (lambda: Profile((AGE, Numeric("age", 0, 1))), "two attributes share a name"),
        (lambda: Profile((Numeric("age", 0, 2**32 - 1),)), "have 4294967297 combinations"),
        (lambda: Profile((Numeric("a", 0, 65534), Numeric("b", 0, 65535))), "have 4295032832 combinations"),
    ],
)
def test_a_profile_that_cannot_be_says_why(make: Any, says: str) -> None:
    """
    The sentence of too many combinations says how many there are and how many are allowed.
    """
    with pytest.raises(ValueError, match=says) as fault:
        make()
    if "combinations" in says:
        assert "4294967296 are allowed; use coarser ranges, fewer values" in str(fault.value)


def test_the_largest_profile_fits() -> None:
    """
    All 32 bits can be used.
    """
    profile = Profile((Numeric("a", 1, 2**16 - 1), Numeric("b", 1, 2**16 - 1)))
    assert profile.n_codes == 2**32
    assert profile.encode([[2**16 - 1], [2**16 - 1]]).codes.tolist() == [2**32 - 1]


@given(told(), st.data())
def test_a_part_tells_the_same_of_fewer_attributes(
    case: tuple[Profile, list[list[AttributeValue]], list[list[int]]], data: st.DataObject
) -> None:
    """
    As if the others had never been asked for.
    """
    profile, columns, expected = case
    chosen = data.draw(st.lists(st.sampled_from(profile.names), unique=True) if profile.names else st.just([]))
    part, codes = profile.part(profile.encode(columns).codes, chosen)
    assert part.names == tuple(name for name in profile.names if name in chosen)
    own = [column for name, column in zip(profile.names, expected, strict=True) if name in chosen]
    assert [column.tolist() for column in part.decode(codes)] == own


# One code a person

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3) | st.just(2**32 - 1)), max_size=30)


def columns_of(rows: list[tuple[int, int]]) -> tuple[Any, Any]:
    """Users and codes as the columns of rows have them."""
    return (
        np.array([hash_of(user) for user, _ in rows], dtype=np.uint64),
        np.array([code for _, code in rows], dtype=np.uint32),
    )


@given(ROWS, st.randoms(use_true_random=False))
def test_a_person_has_the_most_frequent_code(rows: list[tuple[int, int]], random: Any) -> None:
    """
    Of equals the smallest, in whatever order the rows arrived.
    """
    counts: dict[int, Counter[int]] = {}
    for user, code in rows:
        counts.setdefault(hash_of(user), Counter())[code] += 1
    expected = [(user, min(counts[user], key=lambda code: (-counts[user][code], code))) for user in sorted(counts)]
    random.shuffle(rows)
    users, codes = common_profiles(*columns_of(rows))
    assert list(zip(users.tolist(), codes.tolist(), strict=True)) == expected
    assert (users.dtype.name, codes.dtype.name) == ("uint64", "uint32")


@given(ROWS, st.randoms(use_true_random=False))
def test_a_person_has_the_set_of_their_codes(rows: list[tuple[int, int]], random: Any) -> None:
    """
    Each once, ascending, without 0; who has none is there with an empty set.
    """
    expected: dict[int, set[int]] = {}
    for user, code in rows:
        expected.setdefault(hash_of(user), set()).update({code} - {0})
    random.shuffle(rows)
    users, starts, codes = distinct_profiles(*columns_of(rows))
    assert users.tolist() == sorted(expected)
    sets = [codes[begin:end].tolist() for begin, end in pairwise(starts)]
    assert sets == [sorted(expected[user]) for user in users.tolist()]
    assert starts[-1] == len(codes)


def test_people_are_numbered_as_in_the_window() -> None:
    """
    The n-th code is that of the user whom the sequences know by n.
    """
    rows = visits((3, 0, 1, 30), (1, 0, 2, 10), (2, 9, 0, 20), (1, 5, 2, 10), (3, 0, 1, 30))
    users, codes = common_profiles(rows["user"], rows["profile"])
    window = assemble_sequences(rows, VENUES, limits())
    assert len(users) == window.sequences.n_users == window.n_users
    length_of = dict(zip(codes.tolist(), np.diff(window.sequences.starts).tolist(), strict=True))
    assert length_of == {10: 2, 20: 1, 30: 1}
