"""Regions: compared with the rule, cell by cell; and what the parts of a divided window promise."""

from __future__ import annotations

from collections import defaultdict

import h3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.common.plan import Plan
from core.pipeline import divide_window, release_window
from core.places.locate import H3Cells
from core.places.regions import NOWHERE, Regions
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


def by_the_rule(rows: list[Row], regions: Regions, k: int) -> list[str | None]:
    """The name of each row's region: level by level, whoever is enough leaves; the rest joins the smallest."""
    names: list[str | None] = [None] * len(rows)

    def parent(i: int, resolution: int) -> str:
        return str(h3.cell_to_parent(h3.latlng_to_cell(*h3.cell_to_latlng(rows[i][1]), regions.finest), resolution))

    def people(members: list[int]) -> int:
        return len({rows[i][0] for i in members})

    for resolution in range(regions.finest, regions.coarsest - 1, -1):
        together = defaultdict(list)
        for i, name in enumerate(names):
            if name is None:
                together[parent(i, resolution)].append(i)
        for cell, members in together.items():
            if people(members) >= k:
                for i in members:
                    names[i] = cell
    for cell in {parent(i, regions.coarsest) for i in range(len(rows))}:
        inside = [i for i in range(len(rows)) if parent(i, regions.coarsest) == cell]
        there = {name for i in inside if (name := names[i]) is not None}
        left = [i for i in inside if names[i] is None]
        if left and there:
            size = {name: people([i for i in inside if names[i] == name]) for name in there}
            smallest = min(there, key=lambda name: (size[name], name))
            for i in inside:
                if names[i] in (None, smallest):
                    names[i] = cell
    return names


@given(rows=crowds, k=st.integers(1, 4), finest=st.integers(3, 6), coarsest=st.integers(2, 5))
def test_regions_are_those_of_the_rule(rows: list[Row], k: int, finest: int, coarsest: int) -> None:
    """
    And each has at least k people, whatever order the rows come in.
    """
    regions = Regions(finest=max(finest, coarsest), coarsest=coarsest)
    region, names = regions.divide(*columns(rows), k=k)
    expected = by_the_rule(rows, regions, k)
    assert [None if number == NOWHERE else names[number] for number in region.tolist()] == expected
    assert len(set(names)) == len(names)
    for number in range(len(names)):
        assert len({rows[i][0] for i in np.flatnonzero(region == number).tolist()}) >= k


@given(rows=crowds, k=st.integers(1, 4))
def test_people_are_nowhere_only_where_fewer_than_k_are_in_the_largest_cell(rows: list[Row], k: int) -> None:
    """
    Where a region of the largest cell is released, everybody in the cell is in some region.
    """
    regions = Regions(finest=6, coarsest=3)
    region, _ = regions.divide(*columns(rows), k=k)
    crowd = defaultdict(set)
    for user, cell in rows:
        crowd[h3.cell_to_parent(cell, 3)].add(user)
    left = {h3.cell_to_parent(rows[i][1], 3) for i in np.flatnonzero(region == NOWHERE).tolist()}
    assert all(len(crowd[cell]) < k for cell in left)
    assert left == {cell for cell, people in crowd.items() if len(people) < k}


@pytest.mark.parametrize(("finest", "coarsest"), [(4, 5), (16, 3), (3, -1)])
def test_resolutions_must_ascend(finest: int, coarsest: int) -> None:
    with pytest.raises(ValueError, match="must be ascending, from 0 to 15"):
        Regions(finest=finest, coarsest=coarsest)


# What becomes of a window


def checkin_window(rows: list[Row]) -> tuple[Rows, Plan]:
    locator = H3Cells(7)
    made = visits(*((user, START_MS + i, 0) for i, (user, _) in enumerate(rows)))
    _, lat, lon = columns(rows)
    made["location"], _ = locator.locate(lat, lon, [None] * len(rows))
    return made, sequence_plan(k=3, locator=locator, regions=Regions(finest=6, coarsest=3))


def point_window(rows: list[Row]) -> tuple[Rows, Plan]:
    _, lat, lon = columns(rows)
    where = zip(lat.tolist(), lon.tolist(), strict=True)
    made = points(
        *((user, START_MS + 60_000 * i, *at) for i, ((user, _), at) in enumerate(zip(rows, where, strict=True)))
    )
    return made, point_plan(k=3, regions=Regions(finest=6, coarsest=3))


@pytest.mark.parametrize("window", [checkin_window, point_window])
@given(rows=crowds)
def test_the_parts_of_a_window_are_the_window(window: object, rows: list[Row]) -> None:
    """
    Each row is in one part; parts have names and release ids of their own; only the last may have fewer than k people.
    """
    made, plan = window(rows)  # type: ignore[operator]
    seal = seal_of(made, plan)
    parts = list(divide_window(seal, made, plan))
    assert sorted(row for _, its in parts for row in its.tolist()) == sorted(made.tolist())
    assert all(part.n_rows == len(its) and part.digest == seal.digest for part, its in parts)
    assert len({part.release_id for part, _ in parts}) == len({part.shard for part, _ in parts}) == len(parts)
    for part, its in parts:
        is_region = part.shard.startswith(f"{seal.shard}/")
        assert is_region == (len(set(its["user"].tolist())) >= 3)
        if not is_region:
            assert part.release_id == seal.release_id
            outcome = release_window(part, its, plan)
            assert not isinstance(outcome, Release)


def test_regions_are_released_alone_and_who_is_left_is_withheld() -> None:
    """
    Two crowds in cells of one region, three people scattered around them, and one in another region.
    """
    here, there = LEAVES[0], LEAVES[-1]
    far = h3.latlng_to_cell(10.0, 10.0, 6)
    scattered = list({h3.cell_to_parent(cell, 4): cell for cell in LEAVES[1:-1]}.values())[:3]
    rows = [(user, here) for user in range(4)] + [(user, there) for user in range(4, 8)]
    rows += [(8 + i, cell) for i, cell in enumerate(scattered)] + [(11, far)]
    made, plan = checkin_window(rows)
    outcomes = {
        part.shard: release_window(part, its, plan) for part, its in divide_window(seal_of(made, plan), made, plan)
    }
    released = {shard: one for shard, one in outcomes.items() if isinstance(one, Release)}
    assert released.keys() == {f"all/{here}", f"all/{there}", f"all/{CENTRE}"}
    assert [one.account.released for one in released.values()] == [3, 4, 4]
    (left,) = (one for shard, one in outcomes.items() if shard == "all")
    assert not isinstance(left, Release)
    assert (left.reason, left.account.withheld) == (WithholdReason.TOO_FEW_PEOPLE, 1)


def test_a_window_that_is_withheld_whole_is_not_divided() -> None:
    """
    One that lacks records, or was sealed under other settings, tells nothing of its regions.
    """
    made, plan = checkin_window([(user, LEAVES[0]) for user in range(5)])
    seal = seal_of(made, plan)
    for rows, sealed in ((made[1:], seal), (made, seal_of(made, sequence_plan(k=3, settings="others")))):
        ((part, its),) = divide_window(sealed, rows, plan)
        assert part == sealed
        assert its is rows
