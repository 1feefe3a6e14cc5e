"""The cells of a shard: compared with the rule, cell by cell; and what the parts of a divided window promise."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import h3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.common.plan import Plan
from core.pipeline import divide_window, release_window
from core.places.locate import H3Cells
from core.places.shard_cells import ShardCells
from core.records.record import Rows
from core.release.outcome import Release, WithholdReason
from tests.builders.windows import START_MS, hash_of, point_plan, points, seal_of, sequence_plan, visits

CENTRE = h3.latlng_to_cell(48.2, 16.4, 3)
LEAVES = sorted(h3.cell_to_children(CENTRE, 6))[::9]
"""Cells of three levels below one cell: some are brothers, some only cousins."""

Row = tuple[int, str]
"""A person, and the cell that the person was in."""

crowds = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(LEAVES) | st.sampled_from(sorted(h3.grid_disk(LEAVES[0], 2)))),
    max_size=40,
)


def columns(rows: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    at = np.array([h3.cell_to_latlng(cell) for _, cell in rows]).reshape(-1, 2)
    return np.array([hash_of(user) for user, _ in rows], np.uint64), at[:, 0], at[:, 1]


def by_the_rule(rows: list[Row], shard_cells: ShardCells, k: int) -> list[str | None]:
    """The cell with which each row is released: level by level, whoever is enough leaves; the shard takes the rest."""
    cells: list[str | None] = [None] * len(rows)
    _, lat, lon = columns(rows)
    finest = [h3.latlng_to_cell(*at, shard_cells.finest) for at in zip(lat.tolist(), lon.tolist(), strict=True)]

    def people(members: list[int]) -> int:
        return len({rows[i][0] for i in members})

    for resolution in range(shard_cells.finest, shard_cells.coarsest, -1):
        together = defaultdict(list)
        for i, cell in enumerate(cells):
            if cell is None:
                together[h3.cell_to_parent(finest[i], resolution)].append(i)
        for cell, members in together.items():
            if people(members) >= k:
                for i in members:
                    cells[i] = cell
    sizes = {cell: people([i for i in range(len(rows)) if cells[i] == cell]) for cell in cells if cell is not None}
    if sizes and people([i for i, cell in enumerate(cells) if cell is None]) < k:
        fewest = min(sizes, key=lambda cell: (sizes[cell], cell))
        cells = [None if cell == fewest else cell for cell in cells]
    return cells


@given(rows=crowds, k=st.integers(1, 4), finest=st.integers(3, 6), coarsest=st.integers(2, 5))
def test_cells_are_those_of_the_rule(rows: list[Row], k: int, finest: int, coarsest: int) -> None:
    """
    Each row is in one part, and each part has at least k people if the shard has.
    """
    shard_cells = ShardCells(finest=max(finest, coarsest), coarsest=coarsest)
    found: list[str | None] = [""] * len(rows)
    divided = shard_cells.divide(*columns(rows), k=k)
    for cell, its in divided:
        assert its.tolist() == sorted(its.tolist())
        assert len({rows[i][0] for i in its.tolist()}) >= min(k, len({user for user, _ in rows}))
        for i in its.tolist():
            assert found[i] == ""
            found[i] = cell
    assert found == by_the_rule(rows, shard_cells, k)
    assert [cell for cell, _ in divided] == [None, *sorted({cell for cell in found if cell is not None})]


@given(rows=crowds, k=st.integers(1, 4), seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(rows: list[Row], k: int, seed: int) -> None:
    """
    Rows arrive as the network likes.
    """
    shard_cells = ShardCells(finest=6, coarsest=3)
    order = np.random.default_rng(seed).permutation(len(rows))
    straight = [(cell, sorted(its.tolist())) for cell, its in shard_cells.divide(*columns(rows), k=k)]
    shuffled = shard_cells.divide(*columns([rows[i] for i in order.tolist()]), k=k)
    assert [(cell, sorted(order[its].tolist())) for cell, its in shuffled] == straight


@pytest.mark.parametrize(("finest", "coarsest"), [(4, 5), (16, 3), (3, -1)])
def test_resolutions_must_ascend(finest: int, coarsest: int) -> None:
    with pytest.raises(ValueError, match="must be ascending, from 0 to 15"):
        ShardCells(finest=finest, coarsest=coarsest)


# What becomes of a window


def checkin_window(rows: list[Row]) -> tuple[Rows, Plan]:
    locator = H3Cells(7)
    made = visits(*((user, START_MS + i, 0) for i, (user, _) in enumerate(rows)))
    _, lat, lon = columns(rows)
    made["location"], _ = locator.locate(lat, lon, [None] * len(rows))
    return made, sequence_plan(k=3, locator=locator, shard_cells=ShardCells(finest=6, coarsest=3))


def point_window(rows: list[Row]) -> tuple[Rows, Plan]:
    _, lat, lon = columns(rows)
    where = zip(lat.tolist(), lon.tolist(), strict=True)
    made = points(
        *((user, START_MS + 60_000 * i, *at) for i, ((user, _), at) in enumerate(zip(rows, where, strict=True)))
    )
    return made, point_plan(k=3, shard_cells=ShardCells(finest=6, coarsest=3))


@pytest.mark.parametrize("window", [checkin_window, point_window])
@given(rows=crowds)
def test_the_parts_of_a_window_are_the_window(window: object, rows: list[Row]) -> None:
    """
    Each row is in one part; parts have names and release ids of their own, but for the first, which is the shard's.
    """
    made, plan = window(rows)  # type: ignore[operator]
    seal = seal_of(made, plan)
    parts = list(divide_window(seal, made, plan))
    assert sorted(row for _, its in parts for row in its.tolist()) == sorted(made.tolist())
    assert all(part.n_rows == len(its) and part.digest == seal.digest for part, its in parts)
    assert len({part.release_id for part, _ in parts}) == len({part.shard for part, _ in parts}) == len(parts)
    assert [part.release_id == seal.release_id for part, _ in parts] == [True] + [False] * (len(parts) - 1)
    assert [part.shard.startswith(f"{seal.shard}/") for part, _ in parts] == [False] + [True] * (len(parts) - 1)


SCATTERED = list({h3.cell_to_parent(cell, 4): cell for cell in LEAVES[1:-1]}.values())[:3]
"""Each in another large cell."""

HERE, THERE = LEAVES[0], LEAVES[-1]
CROWDS = [(user, HERE) for user in range(5)] + [(user, THERE) for user in range(5, 9)]


@pytest.mark.parametrize(
    ("others", "released"),
    [
        ([], {"all": 4, f"all/{HERE}": 5}),
        ([(9, SCATTERED[0])], {"all": 5, f"all/{HERE}": 5}),
        ([(9 + i, cell) for i, cell in enumerate(SCATTERED)], {"all": 3, f"all/{HERE}": 5, f"all/{THERE}": 4}),
        ([(9, h3.latlng_to_cell(10.0, 10.0, 6))], {"all": 5, f"all/{HERE}": 5}),
    ],
    ids=["nobody", "one", "three", "one whose cell lies elsewhere"],
)
def test_cells_are_released_alone_and_the_rest_joins(others: list[Row], released: dict[str, int]) -> None:
    """
    Whether nobody or too few are left shows in no name: the cell with the fewest people is the shard's in both cases.
    """
    made, plan = checkin_window(CROWDS + others)
    outcomes = [release_window(part, its, plan) for part, its in divide_window(seal_of(made, plan), made, plan)]
    assert {one.key.shard: one.account.released for one in outcomes} == released
    assert all(isinstance(one, Release) for one in outcomes)


def test_a_shard_with_too_few_people_is_withheld() -> None:
    """
    However its rows are spread.
    """
    made, plan = checkin_window([(0, HERE), (1, THERE), (1, HERE)])
    ((part, its),) = divide_window(seal_of(made, plan), made, plan)
    outcome = release_window(part, its, plan)
    assert not isinstance(outcome, Release)
    assert (outcome.reason, outcome.account.withheld) == (WithholdReason.TOO_FEW_PEOPLE, 3)


def test_a_window_that_is_withheld_whole_is_not_divided() -> None:
    """
    One that lacks records, or was sealed under other settings or with another history, tells nothing of its cells.
    """
    made, plan = checkin_window([(user, LEAVES[0]) for user in range(5)])
    seal = seal_of(made, plan)
    lost = replace(seal, history="0123456789abcdef")
    for rows, sealed in ((made[1:], seal), (made, seal_of(made, sequence_plan(k=3, settings="others"))), (made, lost)):
        ((part, its),) = divide_window(sealed, rows, plan)
        assert part == sealed
        assert its is rows
