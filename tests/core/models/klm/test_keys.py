"""Keys, their order, and the frequent subtrajectories behind them, against definitions."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefixspan import PrefixSpan

from core.models.klm.anonymize.keys import gray_order, location_keys, subtrajectory_keys, z_order
from core.support.table import support, supporters
from core.support.top import top_subtrajectories
from tests.oracles import km as oracles
from tests.oracles.km import Crowd, as_sequences, crowds

METRES = st.integers(0, 2**31 - 1) | st.integers(0, 9)


def gray_number(bits: str) -> int:
    """What a Gray code stands for: each bit is the parity of those up to it."""
    return int("0" + "".join(str(bits[: i + 1].count("1") % 2) for i in range(len(bits))), 2)


@given(keys=st.integers(0, 7).flatmap(lambda n: st.lists(st.text("01", min_size=n, max_size=n), max_size=12)))
def test_gray_order_sorts_by_the_number_that_a_key_stands_for(keys: list[str]) -> None:
    """
    Ties stay as they are given.
    """
    n_bits = len(keys[0]) if keys else 0
    ones = [[i for i, bit in enumerate(key) if bit == "1"] for key in keys]
    assert gray_order(ones, n_bits).tolist() == sorted(range(len(keys)), key=lambda i: gray_number(keys[i]))


def test_neighbours_in_gray_order_differ_in_one_bit() -> None:
    """
    What the order is taken for.
    """
    keys = [[i for i in range(4) if number >> i & 1] for number in range(16)]
    for before, after in pairwise(gray_order(keys, 4).tolist()):
        assert len({*keys[before]} ^ {*keys[after]}) == 1


@given(points=st.lists(st.tuples(METRES, METRES), max_size=8))
def test_z_order_sorts_by_interleaved_bits(points: list[tuple[int, int]]) -> None:
    """
    Of whole metres from the smallest coordinates, y before x; ties by id.
    """
    west, south = min((x for x, _ in points), default=0), min((y for _, y in points), default=0)

    def z_value(location: int) -> int:
        x, y = points[location]
        return int("".join(b + a for a, b in zip(f"{x - west:031b}", f"{y - south:031b}", strict=True)), 2)

    expected = sorted(range(len(points)), key=z_value)
    assert z_order(np.array(points, np.float64).reshape(-1, 2)).tolist() == expected


@given(crowd=crowds(), order=st.permutations(range(6)))
def test_the_key_of_a_person_tells_the_locations_of_all_their_trajectories(crowd: Crowd, order: list[int]) -> None:
    """
    Definition 1, over people; the first of the order is the least significant bit.
    """
    window = as_sequences(crowd)
    expected = []
    for person in range(window.n_users):
        visited = {location for user, trajectory in crowd if user == person for location in trajectory}
        expected.append([bit for bit, location in enumerate(reversed(order)) if location in visited])
    assert location_keys(window, np.array(order)) == expected


@given(crowd=crowds(), parts=st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple), max_size=5))
def test_the_key_of_a_person_tells_what_any_of_their_trajectories_contains(
    crowd: Crowd, parts: list[tuple[int, ...]]
) -> None:
    """
    Definition 1, over people; the first is the least significant bit.
    """
    window = as_sequences(crowd)
    expected = [
        [
            bit
            for bit, part in enumerate(reversed(parts))
            if any(user == person and oracles.is_subtrajectory(part, trajectory) for user, trajectory in crowd)
        ]
        for person in range(window.n_users)
    ]
    assert subtrajectory_keys(window, parts) == expected


@given(crowd=crowds(), part=st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple))
def test_supporters_are_those_whom_the_support_counts(crowd: Crowd, part: tuple[int, ...]) -> None:
    """
    Everybody with a trajectory that contains it, once, ascending.
    """
    window = as_sequences(crowd)
    found = supporters(part, window).tolist()
    assert found == sorted({user for user, trajectory in crowd if oracles.is_subtrajectory(part, trajectory)})
    assert len(found) == support(part, window)


@given(crowd=crowds(max_length=4), n=st.integers(0, 40))
def test_the_top_subtrajectories_are_those_with_the_largest_supports(crowd: Crowd, n: int) -> None:
    """
    Of all that occur, however long, by support and then by ids.
    """
    parts = {part for _, t in crowd for size in range(1, len(t) + 1) for part in combinations(t, size)}
    ranked = sorted((-oracles.support(part, crowd), part) for part in parts)
    assert top_subtrajectories(as_sequences(crowd), n) == [(part, -negative) for negative, part in ranked[:n]]


@pytest.mark.parametrize("n", [1, 10, 100])
def test_the_top_subtrajectories_are_those_of_prefixspan(n: int) -> None:
    """
    The same supports as by the reference miner, which counts trajectories, one a person here.
    """
    chance = np.random.default_rng(3)
    crowd: Crowd = [(user, tuple(chance.integers(0, 8, chance.integers(1, 9)).tolist())) for user in range(200)]
    theirs = sorted((count for count, _ in PrefixSpan([list(t) for _, t in crowd]).topk(n)), reverse=True)
    assert [count for _, count in top_subtrajectories(as_sequences(crowd), n)] == theirs
