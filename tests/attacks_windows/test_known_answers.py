"""The attacks of `make attack-windows` on small releases whose answer is known."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.models.common.plan import Plan
from core.records.record import Kind
from core.release.attacks.linked_places import VisitedPlaces
from core.windows.window import WindowKey
from tests.attacks_windows import two_releases
from tests.attacks_windows.checkins import Crowds, multiplied_shares
from tests.attacks_windows.released import ReleasedWindow, people_of
from tests.attacks_windows.run import RUNS
from tests.attacks_windows.table import Line
from tests.attacks_windows.two_releases import trajectories_and_stops, two_deployments
from tests.builders.windows import START_MS, WINDOW_MS, seal_of, sequence_plan, visits
from tests.paths import DATA

PLAN = sequence_plan(k=2)
KEY = WindowKey(START_MS + WINDOW_MS, Kind.CHECKINS, "all", START_MS)


class _Candidate:
    """Sequences of letters: the members of a generalized location are the letters of a word."""

    def __init__(self, *sequences: tuple[int, list[str]], values: dict[int, tuple[int, ...]] | None = None) -> None:
        self.users = [user for user, _ in sequences]
        self.sequences = [tuple(tuple(word) for word in words) for _, words in sequences]
        self.values = [(values or {}).get(user, ()) for user in self.users]


def released(candidate: _Candidate, window: Any = None, plan: Plan = PLAN) -> ReleasedWindow:
    hashes = np.arange(100, dtype=np.uint64)
    people = [(user,) for user in candidate.users]
    extract = VisitedPlaces.of(people, candidate.sequences, hashes)
    rows = visits()
    return ReleasedWindow(key=KEY, rows=rows, plan=plan, window=window, candidate=candidate, extract=extract)


def test_a_trajectory_is_found_in_the_release_of_another_deployment() -> None:
    """
    User 1 fits one trajectory, which is theirs; user 2 fits one of somebody else; user 3 fits two.
    """
    first = released(_Candidate((1, ["ab", "c"]), (2, ["x"]), (3, ["y"])))
    second = released(_Candidate((1, ["b", "cd"]), (9, ["xz"]), (3, ["y"]), (4, ["y"])))
    assert list(two_deployments([first], [second])) == [
        Line(
            "two deployments (k=5, k=10): trajectories that fit exactly one of the other",
            "-",
            "66.7 % of 3, 50.0 % of these rightly",
        )
    ]


def test_a_crowd_is_everybody_whose_trajectory_fits() -> None:
    """
    Whoever is known to have been at the bakery and the cinema fits three trajectories, one of them generalized.
    """
    rows = visits(*((user, START_MS + at, place) for user in (1, 2, 3) for at, place in enumerate((0, 1))))
    family_window = _assembled(rows)
    names = family_window.vocabulary.names
    shown = [((names[0],), (names[1],)), ((names[1],), (names[0],)), ((names[0], "other"), (names[1],))]
    extract = VisitedPlaces.of([(0,), (1,), (2,)], shown, family_window.hashes)
    one = ReleasedWindow(key=KEY, rows=rows, plan=PLAN, window=family_window, candidate=None, extract=extract)
    crowds = Crowds.of(one, np.random.default_rng(1))
    assert sorted(crowds.people) == sorted(family_window.hashes.tolist())
    assert all(fits.tolist() == [0, 1, 2] for fits in crowds.people.values())
    assert [len(company) for company in people_of(extract)] == [1, 1, 1]


def _assembled(rows: Any) -> Any:
    from core.models.registry import family_of  # noqa: PLC0415 - one test needs it

    return family_of(PLAN.model).assemble(seal_of(rows, PLAN), rows, PLAN)


def test_shares_of_two_crowds_are_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A fifth of the people carries the value, and half of each crowd: 1/2 in one window, 4/5 in two.
    """
    # Ten people; the crowd of everybody is units 0 to 3, of which 0 and 1 carry the value.
    candidate = _Candidate(*((user, ["a"]) for user in range(10)), values={0: (0,), 1: (0,)})
    crowd = np.arange(4)
    monkeypatch.setattr(
        Crowds,
        "of",
        classmethod(lambda cls, one, rng: cls(people={0: crowd, 1: crowd}, members=people_of(one.extract))),
    )
    windows = [released(candidate) for _ in range(2)]
    (line,) = multiplied_shares(windows, frozenset({0, 1}), 0.5)
    assert line.measured == "0.0 % (H=1, 0 of 0 claims), 100.0 % (H=2, 2 of 2 claims)"
    assert math.isclose(0.25 * 4 * 4, 0.8 / 0.2)


def test_whoever_fits_a_place_and_a_stop_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Near the place are 1, 2 and 3; the stop of 1 fits the sequences of 1 and 2, that of 4 only those of 4 and 5.
    """
    crowds = Crowds(
        people={1: np.array([0, 1]), 4: np.array([2, 3])}, members=[frozenset({one}) for one in (1, 2, 4, 5)]
    )
    monkeypatch.setattr(Crowds, "of", classmethod(lambda cls, one, rng, *, most_known: crowds))
    monkeypatch.setattr(two_releases, "fitting_people", lambda one, person, rng: frozenset({1, 2, 3, person}))
    window = SimpleNamespace(hashes=np.arange(10, dtype=np.uint64))
    one = released(_Candidate((1, ["a"]), (4, ["a"])), window)
    together, alone = trajectories_and_stops([one], [one])
    assert alone.measured == "least 3 and 2"
    assert together.measured == "median 1.5 fit both, fewer than k in 50.0 %, one in 50.0 % of 2"


@pytest.mark.deep
def test_a_run_on_a_real_feed_has_a_figure_for_each_attack() -> None:
    """
    Some windows of cabs: sets are followed more often than by chance, and two known positions leave few people.
    """
    if not (DATA / "cabs_sf_20080608.csv.gz").exists():
        pytest.skip(f"the real feeds are not in {DATA}")
    lines = {line.attack: line for line in RUNS["cabs-15m"](DATA, {}, 6)}
    right, chance = lines["the right next set is named"].measured.removesuffix(" %)").split(" % (chance ")
    assert float(right) > 2 * float(chance)
    assert int(lines["  the same, one window alone"].measured.split("least ")[1]) >= 5
