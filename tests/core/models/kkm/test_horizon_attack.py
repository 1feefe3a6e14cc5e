"""The attack that intersects attributes: it works on windows that are released alone, and not over a horizon."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.models.kkm.anonymize.result import RTOptions
from core.models.registry import family_of
from core.pipeline import release_window
from core.records.record import Rows
from core.release.outcome import Release
from core.windows.history import History, Roster
from tests.benchmarks.attribute_attacks import Intersections, ReleasedAttributes, intersect_over_windows
from tests.builders.windows import START_MS, WINDOW_MS, attribute_plan, hash_of, profile_code, seal_of, visits

N_PEOPLE, N_WINDOWS, K = 60, 12, 4
PLANS = ("basic", "gold", "plus")


def feed(seed: int) -> tuple[list[Rows], dict[int, tuple[int, str]]]:
    """Windows of people who keep their age and plan, come to half of them, and go anywhere; and who they are."""
    rng = np.random.default_rng(seed)
    ages, plans = rng.integers(18, 100, N_PEOPLE).tolist(), rng.choice(PLANS, N_PEOPLE).tolist()
    told = {user: (ages[user], plans[user]) for user in range(N_PEOPLE)}
    windows = []
    for number in range(N_WINDOWS):
        rows = visits(
            *(
                (user, 300 * at, int(rng.integers(6)), profile_code(age=ages[user], plan=plans[user]))
                for user in np.flatnonzero(rng.random(N_PEOPLE) < 0.5).tolist()
                for at in range(2)
            )
        )
        rows["ts_ms"] += number * WINDOW_MS
        windows.append(rows)
    return windows, {hash_of(user): its for user, its in told.items()}


def attacked(seed: int, options: RTOptions, horizon: int, runs_of: int) -> Intersections:
    """Release the windows under a horizon, and attack runs of them."""
    windows, told = feed(seed)
    plan = attribute_plan(k=K, m=1, options=options)
    plan = replace(plan, guarantee=replace(plan.guarantee, horizon=horizon))
    family, rosters, released = family_of(plan.model), list[Roster](), list[ReleasedAttributes]()
    for number, rows in enumerate(windows):
        start_ms = START_MS + number * WINDOW_MS
        since_ms = start_ms - (horizon - 1) * WINDOW_MS
        own = plan.after(History(rosters=tuple(one for one in rosters if one.key.start_ms >= since_ms)))
        seal = seal_of(rows, own, start_ms=start_ms)
        outcome = release_window(seal, rows, own)
        if not isinstance(outcome, Release):  # the bound of the loss is not met
            continue
        rosters += [outcome.roster] if outcome.roster is not None else []
        window = family.assemble(seal, rows, own)
        candidate = family.candidate(window, family.anonymize(seal, window, own), own)
        assert candidate is not None
        users = window.visits.hashes[list(candidate.users)].tolist()
        released.append(ReleasedAttributes(number=number, values=dict(zip(users, candidate.attributes, strict=True))))
    return intersect_over_windows(released, told, plan.schema, runs_of=runs_of, k=K)


RUM, TUM = RTOptions(bound="ncp", delta=0.35), RTOptions(bound="ul", delta=0.9)


@pytest.mark.parametrize("options", [RUM, TUM], ids=["rum-bound", "tum-bound"])
def test_attributes_of_windows_that_are_released_alone_find_people(options: RTOptions) -> None:
    """
    One window fits k people; of several together, fewer fit for a good share of the people, some of them alone.
    """
    for seed in (1, 2):
        two, eight = attacked(seed, options, 1, 2), attacked(seed, options, 1, 8)
        assert two.share > 0.05
        assert eight.share > 0.25
        assert eight.fewest == 1


@pytest.mark.parametrize("options", [RUM, TUM], ids=["rum-bound", "tum-bound"])
@pytest.mark.parametrize("horizon", [2, 4, 8])
def test_attributes_of_a_horizon_always_fit_k_people(horizon: int, options: RTOptions) -> None:
    """
    Whatever record is a person's in each window: never fewer than k people of the feed fit all of them.
    """
    for seed in (1, 2):
        found = attacked(seed, options, horizon, horizon)
        assert len(found.people) > N_PEOPLE / 2
        assert found.found == set()
        assert found.fewest is not None
        assert found.fewest >= K
