"""Attacks on files: windows one by one, people by their ids, and what a file lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream.replay.evaluation.attacks import AttackOptions, attack
from stream.replay.evaluation.itemsets import ItemRows
from stream.replay.evaluation.known_visits import KnownVisits
from stream.replay.evaluation.sources import read_source

DAY_MS = 86_400_000


def points(path: Path, rows: list[tuple[str, int, int]]) -> Path:
    """Write rows of person, hour and place; places are 0.1 degrees apart."""
    path.write_text(
        "uid,lat,lon,ts\n"
        + "".join(f"{who},{50 + place / 10},10,{1_599_955_200 + 3600 * hour}\n" for who, hour, place in rows)
    )
    return path


def test_the_risk_is_the_highest_of_all_windows(tmp_path: Path) -> None:
    """
    On the first day both people are at the same places, on the second day each is elsewhere; over both days the order
    of all visits tells them apart as well.
    """
    rows = [("a", 0, 1), ("a", 1, 2), ("b", 0, 1), ("b", 1, 2), ("a", 24, 3), ("b", 24, 4)]
    journeys = read_source(points(tmp_path / "points.csv", rows)).journeys
    first_day = read_source(points(tmp_path / "first.csv", rows[:4])).journeys
    found = attack(journeys.in_windows(DAY_MS), KnownVisits.SEQUENCE, AttackOptions())
    assert found is not None
    assert found.risks.tolist() == [1, 1]
    found = attack(first_day.in_windows(DAY_MS), KnownVisits.SEQUENCE, AttackOptions())
    assert found is not None
    assert (found.risks.tolist(), found.highest, found.mean, found.above) == ([0.5, 0.5], 0.5, 0.5, 1)


def test_people_are_followed_by_their_own_places(tmp_path: Path) -> None:
    """
    Each of three people goes to a place of their own every day: all are found the next day, by chance one in three is.
    """
    rows = [(who, 24 * day + hour, place) for place, who in enumerate("abc") for day in range(3) for hour in range(2)]
    journeys = read_source(points(tmp_path / "points.csv", rows)).journeys.in_windows(DAY_MS)
    found = attack(journeys, KnownVisits.LINKING, AttackOptions())
    assert found is not None
    assert found.risks.tolist() == [1, 1, 1]
    assert found.chance == pytest.approx(1 / 3)


def test_random_points_of_people_who_are_alone_are_unique(tmp_path: Path) -> None:
    """
    The same place at another hour is another point; all draws are unique.
    """
    rows = [(who, 2 * hour + i, 1) for i, who in enumerate("ab") for hour in range(4)]
    journeys = read_source(points(tmp_path / "points.csv", rows)).journeys
    found = attack(journeys, KnownVisits.UNIQUENESS, AttackOptions(known=2))
    assert found is not None
    assert [found.mean, found.unique] == pytest.approx([1, 1])
    alike = attack(journeys, KnownVisits.UNIQUENESS, AttackOptions(known=2, slot_ms=DAY_MS))
    assert alike is not None
    assert [alike.mean, alike.unique] == pytest.approx([0.5, 0])


def test_people_who_met_are_found_by_whom_they_met(tmp_path: Path) -> None:
    """
    b met a and c, who met nobody else: only b met both.
    """
    rows = [("a", 0, 1), ("b", 0, 1), ("b", 5, 2), ("c", 5, 2), ("d", 9, 1)]
    journeys = read_source(points(tmp_path / "points.csv", rows)).journeys
    found = attack(journeys, KnownVisits.CO_LOCATION, AttackOptions(known=2))
    assert found is not None
    assert found.risks.tolist() == [0.5, 1, 0.5, 0]


@pytest.mark.parametrize("kind", KnownVisits)
def test_attacks_need_their_data(kind: KnownVisits, tmp_path: Path) -> None:
    """
    Rows of sets have neither times nor an order, nor windows: only what is left is attacked.
    """
    (tmp_path / "sets.csv").write_text("a|b\na|b|c\n")
    journeys = read_source(tmp_path / "sets.csv", items=ItemRows(form="sets")).journeys
    found = attack(journeys, kind, AttackOptions())
    lacks = {
        KnownVisits.SEQUENCE,
        KnownVisits.LOCATION_TIME,
        KnownVisits.UNIQUENESS,
        KnownVisits.CO_LOCATION,
        KnownVisits.LINKING,
    }
    assert (found is None) is (kind in lacks)
