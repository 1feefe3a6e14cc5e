"""The attack by multiplied shares: it works on windows that are released alone, and not over a horizon."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from core.models.lkc.pairs import Cycle
from core.models.registry import family_of
from core.pipeline import release_window
from core.records.record import Rows
from core.release.outcome import Release
from core.windows.history import History, Roster
from tests.benchmarks.horizon_attacks import Inferences, ReleasedWindow, attack_over_windows
from tests.builders.windows import START_MS, WINDOW_MS, pair_plan, profile_code, seal_of, visits

N_PEOPLE, N_WINDOWS = 80, 16
WARDS = [profile_code(), profile_code(ward="surgery"), profile_code(ward="oncology")]


def feed(seed: int, *, by_place: bool) -> list[Rows]:
    """Windows of people who keep one of two values or none, mostly come, and mostly go to a place of their own."""
    rng = np.random.default_rng(seed)
    wards, homes = rng.integers(3, size=N_PEOPLE), rng.integers(4, size=N_PEOPLE)
    if by_place:
        homes = np.where(rng.random(N_PEOPLE) < 0.5, wards, homes)
    windows = []
    for number in range(N_WINDOWS):
        rows = []
        for user in np.flatnonzero(rng.random(N_PEOPLE) < 0.7).tolist():
            for slot in range(3):
                place = int(homes[user]) if rng.random() < 0.7 else int(rng.integers(4))
                rows.append((user, 300 * slot, place, WARDS[wards[user]]))
        its = visits(*rows)
        its["ts_ms"] += number * WINDOW_MS
        windows.append(its)
    return windows


def feed_of_one_place(seed: int) -> list[Rows]:
    """Windows of people of whom a tenth carry a value, and four of five of these live at one of six places."""
    rng = np.random.default_rng(seed)
    carries = rng.random(240) < 0.1
    homes = rng.integers(6, size=240)
    homes = np.where(carries & (rng.random(240) < 0.8), 0, homes)
    windows = []
    for number in range(N_WINDOWS):
        rows = []
        for user in np.flatnonzero(rng.random(240) < 0.7).tolist():
            for slot in range(3):
                place = int(homes[user]) if rng.random() < 0.7 else int(rng.integers(6))
                rows.append((user, 300 * slot, place, WARDS[int(carries[user])]))
        its = visits(*rows)
        its["ts_ms"] += number * WINDOW_MS
        windows.append(its)
    return windows


def attacked(windows: list[Rows], horizon: int, runs_of: int) -> dict[str, Inferences]:
    """Release the windows under a horizon, and attack runs of them."""
    plan = pair_plan(k=3, m=2, c=0.5, cycle=Cycle.WINDOW)
    plan = replace(plan, guarantee=replace(plan.guarantee, horizon=horizon))
    family, rosters, released = family_of("lkc"), list[Roster](), list[ReleasedWindow]()
    for number, rows in enumerate(windows):
        since = START_MS + (number - horizon + 1) * WINDOW_MS
        own = plan.after(History(rosters=tuple(one for one in rosters if one.key.start_ms >= since)))
        seal = seal_of(rows, own, start_ms=START_MS + number * WINDOW_MS)
        outcome = release_window(seal, rows, own)
        assert isinstance(outcome, Release)
        rosters += [outcome.roster] if outcome.roster is not None else []
        window = family.assemble(seal, rows, own)
        candidate = family.candidate(window, family.anonymize(seal, window, own), own)
        assert candidate is not None
        users = window.hashes[candidate.users].tolist()
        released.append(ReleasedWindow(number=number, users=users, candidate=candidate))
    return attack_over_windows(released, runs_of=runs_of, known=2, c=Fraction(1, 2))


@pytest.mark.parametrize("by_place", [False, True])
def test_shares_of_windows_that_are_released_alone_multiply(by_place: bool) -> None:
    """
    One window keeps to a half; eight together find people by their values, mostly rightly.
    """
    windows = feed(1, by_place=by_place)
    assert attacked(windows, 1, 1)["signatures"].made == 0
    found = attacked(windows, 1, 8)["signatures"]
    assert len(found.found) > len(found.carriers) / 5
    assert found.right > found.made / 2
    assert found.highest > 0.8


@pytest.mark.parametrize("by_place", [False, True])
@pytest.mark.parametrize("horizon", [2, 4, 8])
def test_shares_of_a_horizon_stay_flat(horizon: int, by_place: bool) -> None:
    """
    Bayes' rule never exceeds a half, and other rules are not right in more than a half of what they claim.
    """
    for seed in (1, 2):
        attacks = attacked(feed(seed, by_place=by_place), horizon, horizon)
        exact, naive = attacks["signatures"], attacks["values"]
        assert exact.carriers
        assert (exact.made, exact.found) == (0, set())
        assert exact.highest <= 0.5
        # The runs of one person are right or wrong together.
        assert len(naive.found) <= len(naive.claimed) / 2 + sqrt(len(naive.claimed))


def test_places_say_something_about_who_serves_as_none() -> None:
    """
    Not promised: adversaries who know everybody's signature, and learn where carriers go, are right in 13 of 20 claims.

    Four of five carriers live at one place of six here. Released alone, the same windows state every value.
    """
    found = [attacked(feed_of_one_place(seed), 8, 8)["places"] for seed in range(1, 5)]
    made, right = sum(one.made for one in found), sum(one.right for one in found)
    assert made > 1000
    assert 0.55 * made < right < 0.7 * made
