"""Flows with noise: a person changes few counts, by one each, and a release says nothing but the noisy counts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.common.noise import LaplaceNoise
from core.models.common.settings import Context, ModelSettingsError, PlanInputs
from core.models.flows.flows import CountedFlow, FlowCandidate
from core.models.flows.guarantee import KAnonymousFlows
from core.models.flows.plan import FlowPlan, make_plan
from core.models.flows.settings import FlowSettings, check_budget, windows_of_a_day
from core.models.flows.verify import verify_noisy_flows
from core.pipeline import count_window
from core.places.constraints import ListedConstraints
from core.records.record import Rows
from core.release.outcome import Release, Withheld, WithholdReason
from core.trajectories.joining import Joining
from tests.budgets import examples
from tests.builders.windows import (
    flow_plan,
    hash_of,
    measured,
    messages,
    release,
    released,
    seal_of,
    visits,
    window_message,
)
from tests.core.models.flows.test_divide import CELLS, GRID, windows

NOISE = LaplaceNoise(epsilon=1.0, delta=1e-6, most_counts=2)


def noisy_plan(most_counts: int = 2, **changes: Any) -> FlowPlan:
    noise = replace(NOISE, most_counts=most_counts)
    plan: FlowPlan = replace(flow_plan(k=2, locator=GRID), noise=noise, **changes)
    return plan


def counts_of(rows: Rows, plan: FlowPlan) -> dict[tuple[str, ...], int]:
    return dict(count_window(seal_of(rows, plan), rows, plan))


@settings(max_examples=examples(300), deadline=None)
@given(rows=windows(CELLS), user=st.integers(1, 8), most=st.integers(1, 4))
def test_one_person_changes_few_counts_by_one(rows: Rows, user: int, most: int) -> None:
    """
    The attack that the promise is about: of two windows that differ by one person, at most ``most_counts`` counts
    differ, each by 1. Which flows of the others count does not depend on that person.
    """
    plan = noisy_plan(most)
    with_person, without = counts_of(rows, plan), counts_of(rows[rows["user"] != hash_of(user)], plan)
    changed = [with_person.get(flow, 0) - without.get(flow, 0) for flow in with_person.keys() | without.keys()]
    assert sum(changed) <= most
    assert set(changed) <= {0, 1}


def test_a_person_with_few_flows_counts_in_all() -> None:
    """Only people above the bound lose flows; they keep as many as are allowed, others in other releases."""
    rows = visits(*((1, at, CELLS[at]) for at in range(10)), (2, 0, CELLS[0]), (2, 1, CELLS[1]))
    assert sum(counts_of(rows, noisy_plan(9)).values()) == 10
    assert sum(counts_of(rows, noisy_plan(3)).values()) == 4
    plan = noisy_plan(3)
    kept = {
        tuple(sorted(count_window(seal_of(rows, plan, shard=shard), rows, plan))) for shard in ("a", "b", "c", "d", "e")
    }
    assert len(kept) > 1


def test_without_noise_there_is_nothing_to_count_and_without_counts_nothing_to_release() -> None:
    """Both are mistakes of the caller."""
    rows = visits((1, 0, CELLS[0]), (1, 1, CELLS[1]))
    with pytest.raises(ValueError, match="adds no noise"):
        counts_of(rows, flow_plan(k=2, locator=GRID))
    with pytest.raises(ValueError, match="draw them first"):
        release(rows, noisy_plan())


TABLE = {("r0c0", "r0c1"): 40, ("r0c1", "r0c0"): NOISE.threshold, ("r0c0", "r3c3"): 1}


@settings(max_examples=examples(100), deadline=None)
@given(user=st.integers(1, 60), place=st.sampled_from(CELLS))
def test_a_release_depends_on_the_noisy_counts_alone(user: int, place: int) -> None:
    """
    With the same noisy counts, a window without one person, or with another visit of one, gives the same bytes.
    """
    ways = [(CELLS[0], CELLS[1], CELLS[0]), (CELLS[0], CELLS[15])]
    rows = visits(*((one, at, cell) for one in range(1, 60) for at, cell in enumerate(ways[one % 2])))
    less = rows[rows["user"] != hash_of(user)]
    other = visits(
        *((one, at, cell) for one in range(1, 60) for at, cell in enumerate(ways[one % 2])), (user, 5, place)
    )
    plan = noisy_plan(noisy=TABLE)
    sent = {tuple(messages(release(window, plan))) for window in (rows, less, other)}
    assert len(sent) == 1


def test_no_exact_number_is_published_beside_noisy_ones() -> None:
    """No people, population, points suppressed or trips; the smallest support is k."""
    rows = visits(*((one, at, cell) for one in range(50) for at, cell in enumerate((CELLS[0], CELLS[1], CELLS[0]))))
    plan = noisy_plan(noisy={flow: people for flow, people in TABLE.items() if people > 1})
    outcome = released(rows, plan)
    assert [one.content() for one in outcome.trajectories] == [
        {"origin": "r0c0", "destination": "r0c1", "people": 40},
        {"origin": "r0c1", "destination": "r0c0", "people": NOISE.threshold},
    ]
    told = window_message(outcome)
    exact = ("population", "people", "points_suppressed")
    assert [told[name] for name in exact] == [None] * 3
    assert (told["smallest_support"], told["points_released"]) == (2, 40 + NOISE.threshold)
    assert told["information_loss"]["trips_released"] is told["information_loss"]["trips_suppressed"] is None
    assert told["parameters"]["threshold"] == NOISE.threshold
    assert measured(rows, plan).trips_kept_share == 1.0


def test_whether_a_window_is_released_depends_on_the_noisy_counts_alone() -> None:
    """One person is not too few, and without a count that is large enough nothing is left."""
    one = visits((1, 0, CELLS[0]), (1, 1, CELLS[1]))
    assert isinstance(release(one, noisy_plan(noisy={("r0c0", "r0c1"): 99})), Release)
    outcome = release(one, noisy_plan(noisy={}))
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.NOTHING_LEFT


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"people": 29}, "1 flows have a noisy number below 30"),
        ({"trips": 40}, "1 exact figures are published"),
        ({"origin": "elsewhere"}, "1 flows have a place that is no location of the window"),
    ],
)
def test_the_verifier_finds_what_is_not_promised(changes: dict[str, Any], says: str) -> None:
    """Numbers below the threshold, exact numbers, and places that are not there."""
    flow = replace(CountedFlow(origin="a", destination="b", people=40, trips=None), **changes)
    candidate = FlowCandidate(users=(), places=(), flows=(flow,), trips_released=None, trips_suppressed=None)
    assert verify_noisy_flows(["a", "b"], candidate, KAnonymousFlows(k=2), 30) == says
    twice = replace(candidate, flows=(CountedFlow(origin="a", destination="b", people=40, trips=None),) * 2)
    assert verify_noisy_flows(["a", "b"], twice, KAnonymousFlows(k=2), 30) == "1 flows are published twice"


@given(epsilon=st.floats(0.01, 20), delta=st.floats(1e-12, 0.01), most=st.integers(1, 50))
def test_the_threshold_bounds_what_one_person_adds(epsilon: float, delta: float, most: int) -> None:
    """
    The chance that any of a person's own flows reaches the threshold is at most delta, and the threshold is not far
    larger than that needs.
    """
    noise = LaplaceNoise(epsilon=epsilon, delta=delta, most_counts=most)

    def chance(threshold: int) -> float:
        falling = math.exp(-1 / noise.scale)
        return most * falling ** (threshold - 1) / (1 + falling)

    assert LaplaceNoise(epsilon=1.0, delta=1e-6, most_counts=4).threshold == 63  # the README says so
    assert chance(noise.threshold) <= delta
    assert chance(noise.threshold - 3 - math.ceil(noise.scale)) > delta
    assert most / noise.scale <= epsilon


@pytest.mark.parametrize(
    ("window_ms", "n"), [(3_600_000, 24), (86_400_000, 1), (604_800_000, 1), (25_200_000, 5), (90_000_000, 2)]
)
def test_the_windows_of_a_day_are_counted_from_above(window_ms: int, n: int) -> None:
    """Windows that do not fit a day can share it with one more."""
    assert windows_of_a_day(window_ms) == n


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"epsilon_per_day": 1.0}, "privacy.epsilon is not set: privacy.noise laplace needs it; such as 1.0"),
        ({"epsilon": 1.0}, "privacy.epsilon_per_day is not set: privacy.noise laplace needs it; such as 1.0"),
        (
            {"epsilon": 0.5, "epsilon_per_day": 6.0},
            "privacy.epsilon is 0.5: the records of a day are in up to 24 windows of 1h, so with "
            "privacy.epsilon_per_day 6 it must be at most 0.25; or choose a longer window.size",
        ),
        ({"epsilon": 0.25, "epsilon_per_day": 6.0}, None),
        ({"noise": "none", "epsilon": 9.0, "epsilon_per_day": 1.0}, None),
    ],
)
def test_a_budget_that_is_exceeded_stops_the_start(given_: dict[str, Any], says: str | None) -> None:
    """The sentence says what is allowed."""
    settings_ = FlowSettings.model_validate({"noise": "laplace"} | given_)
    context = Context(model="flows", k=5, window_ms=3_600_000, has_constraints=False)
    if says is None:
        check_budget(settings_, context)
        return
    with pytest.raises(ModelSettingsError) as fault:
        check_budget(settings_, context)
    assert str(fault.value) == says


def test_noise_without_an_epsilon_is_no_plan() -> None:
    """Whoever makes a plan without the check above gets no exact counts instead."""
    plan = flow_plan(locator=GRID)
    inputs = PlanInputs(
        model="flows",
        k=5,
        m=2,
        l=2,
        delta_m=500.0,
        limits=plan.limits,
        secret=plan.secret,
        locator=GRID,
        profile=None,
        attributes=(),
        sensitive_field=None,
        hierarchies={},
        joining=Joining(max_speed_m_s=None, max_gap_ms=None, step_ms=None),
        window_ms=3_600_000,
        taxonomy=lambda: plan.taxonomy,
        constraints=lambda: ListedConstraints({}, "all", "none"),
        sensitive_locations=frozenset,
    )
    with pytest.raises(ModelSettingsError, match="epsilon is not set"):
        make_plan(FlowSettings(noise="laplace"), inputs)


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0.0}, {"epsilon": math.inf}, {"delta": 0.0}, {"delta": 1.0}, {"most_counts": 0}]
)
def test_noise_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    """The error names the parameter."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(NOISE, **wrong)
