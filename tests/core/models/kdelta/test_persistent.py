"""privacy.across persistent: at least k people share a person's sets over an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.common.settings import Context, ModelSettingsError
from core.models.kdelta import release as release_steps
from core.models.kdelta.algorithms import BoundedWaitForMe, WaitForMe
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions
from core.models.kdelta.guarantee import KDelta, Persistent
from core.models.kdelta.plan import KDeltaPlan, check
from core.models.kdelta.settings import KDeltaSettings
from core.models.kdelta.verify_persistent import broken_persistence, without_companions
from core.pipeline import divide_window, release_window
from core.places.shard_cells import ShardCells
from core.records.record import Kind, Rows
from core.release.outcome import Outcome, Release, ReleaseRefused
from core.windows.history import History, Roster
from core.windows.window import WindowKey
from tests.budgets import examples
from tests.builders.windows import START_MS, WINDOW_MS, hash_of, messages, point_plan, points, seal_of
from tests.oracles.persistent import fewest_companions, largest_share

HORIZON = 3
OPTIONS = Wait4MeOptions(max_radius_m=1_500.0, time_step_ms=60_000)

Person = tuple[int, int, int, int]
"""User, places to the north and to the east, and the k that the user demands."""


def plan_of(*, k: int, personal: bool = False, **changes: Any) -> KDeltaPlan:
    plan = point_plan(k=k, delta_m=500.0, options=OPTIONS, personal=personal, **changes)
    across = Persistent(horizon=HORIZON, window_ms=WINDOW_MS)
    values: dict[str, Any] = {name: getattr(plan, name) for name in ("limits", "secret", "settings", "algorithm")}
    guarantee = KDelta(k=k, delta_m=500.0, personal=plan.guarantee.personal, across=across)
    return KDeltaPlan(guarantee=guarantee, shard_cells=plan.shard_cells, **values)


def rows_of(number: int, people: Sequence[Person]) -> Rows:
    """Each person has two points in the window with this number, a minute apart."""
    return points(
        *(
            (user, 900 * number + at_s, 52.5 + 0.003 * north, 13.4 + 0.003 * east, k, np.inf)
            for user, north, east, k in people
            for at_s in (60, 120)
        )
    )


def run(windows: Sequence[Sequence[Person]], plan: KDeltaPlan) -> tuple[list[Roster | None], list[list[Outcome]]]:
    """Release windows one after the other, each with the history that a worker would give it."""
    rosters: list[Roster | None] = []
    outcomes: list[list[Outcome]] = []
    for number, people in enumerate(windows):
        rows = rows_of(number, people)
        history = History(rosters=tuple(one for one in rosters[-(HORIZON - 1) :] if one is not None))
        now = plan.after(history)
        seal = seal_of(rows, now, start_ms=START_MS + number * WINDOW_MS)
        parts = [release_window(part, its, now) for part, its in divide_window(seal, rows, now)]
        found = [one.roster for one in parts if isinstance(one, Release) and one.roster is not None]
        rosters.append(Roster.of_cells(seal.key, found) if found else None)
        outcomes.append(parts)
    return rosters, outcomes


def worst_of(windows: Sequence[Sequence[Person]], rosters: Sequence[Roster | None], k: int) -> int:
    """Return by how many companions the promise is exceeded at least, in any window of any epoch."""
    worst = 1_000
    for number, roster in enumerate(rosters):
        if roster is not None:
            epoch = [one for one in rosters[number - number % HORIZON : number + 1] if one is not None]
            demanded = {hash_of(user): its_k for user, _, _, its_k in windows[number]}
            worst = min(worst, fewest_companions(epoch, demanded, k=k))
    return worst


def crowds(*, most: int = 14, demands: bool = False) -> st.SearchStrategy[list[list[Person]]]:
    """Draw successive windows of people who come, go, and stay near where they were."""
    person = st.tuples(
        st.integers(1, most),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from([0, 0, 4]) if demands else st.just(0),
    )
    window = st.lists(person, min_size=most // 2, max_size=most, unique_by=lambda one: one[0])
    return st.lists(window, min_size=2, max_size=5)


@settings(max_examples=examples(400, least=40))
@given(windows=crowds(), k=st.integers(2, 4))
def test_at_least_k_people_share_the_sets_of_an_epoch(windows: list[list[Person]], k: int) -> None:
    """
    Whatever an adversary saw of somebody in an epoch, one set in each of some windows, k people or more were in it.
    """
    rosters, outcomes = run(windows, plan_of(k=k))
    assert not any(isinstance(one, ReleaseRefused) for parts in outcomes for one in parts)
    assert worst_of(windows, rosters, k) >= 0


@settings(max_examples=examples(200, least=20))
@given(windows=crowds(demands=True), bounded=st.booleans())
def test_people_who_demand_more_companions_have_them(windows: list[list[Person]], bounded: bool) -> None:
    """
    A person who demands four has four in every window of the epoch, or is not released in this one. A bounded model may
    relax the demand, but gives at least what everybody is given.
    """
    algorithm = BoundedWaitForMe(options=OPTIONS) if bounded else WaitForMe(options=OPTIONS, personal=True)
    rosters, outcomes = run(windows, plan_of(k=2, algorithm=algorithm))
    assert not any(isinstance(one, ReleaseRefused) for parts in outcomes for one in parts)
    given_to = [[(user, north, east, 0) for user, north, east, _ in people] for people in windows]
    assert worst_of(given_to if bounded else windows, rosters, 2) >= 0


@settings(max_examples=examples(200, least=20))
@given(windows=crowds(most=20), k=st.integers(2, 3))
def test_the_promise_holds_when_cells_are_released_alone(windows: list[list[Person]], k: int) -> None:
    """
    A set in one cell counts for the person in all later cells of the epoch.
    """
    far = [[(user, 20 * north, 20 * east, its_k) for user, north, east, its_k in people] for people in windows]
    rosters, outcomes = run(far, plan_of(k=k, shard_cells=ShardCells(finest=6, coarsest=3)))
    assert not any(isinstance(one, ReleaseRefused) for parts in outcomes for one in parts)
    assert worst_of(far, rosters, k) >= 0


@settings(max_examples=examples(200, least=30))
@given(windows=crowds(), k=st.integers(2, 3))
def test_people_of_a_set_are_mixed_where_an_epoch_begins(windows: list[list[Person]], k: int) -> None:
    """
    At most half of the people of an old set are together in a set of the new epoch.
    """
    everybody = [(user, user % 4, user // 4, 0) for user in range(1, 15)]
    crowd = [everybody] * (HORIZON - 1) + [windows[0], windows[1]]
    rosters, _ = run(crowd, plan_of(k=k))
    before, after = rosters[HORIZON - 1], rosters[HORIZON]
    if before is not None and after is not None and len(windows[0]) >= 2 * k:  # fewer people have one set
        assert largest_share(before, after) <= 0.5


def test_people_who_were_together_stay_together() -> None:
    """
    Two groups that exchange half of their places keep their sets; alone, the window would be grouped by place.
    """
    first = [(user, 0, 0 if user <= 4 else 30, 0) for user in range(1, 9)]
    second = [(user, 0, 0 if user % 2 else 30, 0) for user in range(1, 9)]
    rosters, _ = run([first, second], plan_of(k=4))
    for roster in rosters:
        assert roster is not None
        sets = dict(zip(roster.users.tolist(), roster.groups.tolist(), strict=True))
        assert len({sets[hash_of(user)] for user in range(1, 5)}) == 1
        assert len({sets[hash_of(user)] for user in range(5, 9)}) == 1


def test_an_anonymizer_that_forgets_the_epoch_is_refused() -> None:
    """
    The verifier needs no help of the clustering.
    """
    first = [(user, 0, 0 if user <= 4 else 30, 0) for user in range(1, 9)]
    second = [(user, 0, 0 if user % 2 else 30, 0) for user in range(1, 9)]
    plan = plan_of(k=4)
    with mock.patch.object(release_steps, "_across", return_value=None):
        _, outcomes = run([first, second], plan)
    assert isinstance(outcomes[0][0], Release)
    refused = outcomes[1][0]
    assert isinstance(refused, ReleaseRefused)
    assert refused.finding == "persistence is broken: 8 with too few companions"


def test_people_who_were_not_released_may_join_those_who_were() -> None:
    """
    A newcomer alone has no set; with people of one past around, there is one.
    """
    first = [(user, 0, 0, 0) for user in range(1, 6)]
    rosters, _ = run([first, [*first, (6, 0, 0, 0)], [*first[:4], (6, 0, 0, 0)]], plan_of(k=4))
    released = [set() if roster is None else set(roster.users.tolist()) for roster in rosters]
    assert released[1] == {hash_of(user) for user in range(1, 7)}
    assert released[2] == {hash_of(user) for user in (1, 2, 3, 4, 6)}


def test_a_person_whose_companions_are_gone_joins_nobody() -> None:
    """
    However near a set is: its people were in another set before.
    """
    first = [(user, 0, 0 if user <= 4 else 30, 0) for user in range(1, 9)]
    rosters, outcomes = run([first, [*first[:4], (5, 0, 0, 0)]], plan_of(k=4))
    assert isinstance(outcomes[1][0], Release)
    assert rosters[1] is not None
    assert set(rosters[1].users.tolist()) == {hash_of(user) for user in range(1, 5)}


def test_too_few_of_a_set_are_not_released_until_the_epoch_ends() -> None:
    """
    Three of four people cannot be four; in the next epoch nobody has a past, and mixing alone decides.
    """
    first = [(user, 0, 0, 0) for user in range(1, 5)]
    rosters, _ = run([first, first[:3], first[:3]], plan_of(k=4))
    assert [roster is not None for roster in rosters] == [True, False, False]


@settings(max_examples=examples(100, least=10))
@given(windows=crowds(), data=st.data())
def test_the_order_of_rows_changes_no_byte(windows: list[list[Person]], data: st.DataObject) -> None:
    """
    Neither in the messages nor in the rosters.
    """
    shuffled = [data.draw(st.permutations(people)) for people in windows]
    plan = plan_of(k=2)
    (rosters, outcomes), (others, other_outcomes) = run(windows, plan), run(shuffled, plan)
    digests = [[History(rosters=(one,)).digest for one in its if one is not None] for its in (rosters, others)]
    assert digests[0] == digests[1]
    for parts, other_parts in zip(outcomes, other_outcomes, strict=True):
        for one, other in zip(parts, other_parts, strict=True):
            assert repr(messages(one)) == repr(messages(other))


# The verifier

ENTRY = st.tuples(st.integers(1, 6), st.integers(0, 2))


def roster_of(number: int, entries: Sequence[tuple[int, int]]) -> Roster:
    start_ms = START_MS + number * WINDOW_MS
    ordered = sorted(set(entries))
    return Roster(
        key=WindowKey(start_ms + WINDOW_MS, Kind.FRAGMENTS, "all", start_ms),
        users=np.array([user for user, _ in ordered], dtype=np.uint64),
        groups=np.array([group for _, group in ordered], dtype=np.int64),
    )


@settings(max_examples=examples(2_000, least=200))
@given(
    windows=st.lists(st.lists(ENTRY, min_size=1, max_size=8, unique_by=lambda one: one[0]), min_size=1, max_size=3),
    k=st.integers(2, 3),
)
def test_the_verifier_finds_what_an_adversary_would(windows: list[list[tuple[int, int]]], k: int) -> None:
    """
    With one set for each person and window, some have too few companions exactly if the oracle finds a bad choice.
    """
    rosters = [roster_of(number, entries) for number, entries in enumerate(windows)]
    last = rosters[-1]
    without = without_companions(last.groups.tolist(), last.users.tolist(), [k] * len(last.users), rosters[:-1])
    assert (without == 0) == (fewest_companions(rosters, k=k) >= 0)


def test_traces_of_another_epoch_do_not_bind() -> None:
    """
    People who were apart before the border may be together behind it.
    """
    promise = Persistent(horizon=HORIZON, window_ms=WINDOW_MS)

    def finding(number: int, *before: Roster) -> str | None:
        within_ms = START_MS + number * WINDOW_MS + WINDOW_MS - 1
        return broken_persistence([0, 1, 0, 1], [1, 2, 3, 4], [2] * 4, before, promise, within_ms=within_ms)

    across, along = [(1, 0), (2, 0), (3, 1), (4, 1)], [(1, 0), (2, 1), (3, 0), (4, 1)]
    old = roster_of(HORIZON - 1, across)
    assert finding(HORIZON, old) is None
    assert finding(HORIZON + 1, old, roster_of(HORIZON, along)) is None
    assert finding(HORIZON + 1, old, roster_of(HORIZON, across)) == "persistence is broken: 4 with too few companions"


def test_people_who_are_not_mixed_between_epochs_are_refused() -> None:
    """
    The last window that released something counts, and only where nothing of the new epoch was released.
    """
    promise = Persistent(horizon=HORIZON, window_ms=WINDOW_MS)
    old = roster_of(HORIZON - 1, [(user, user % 2) for user in range(1, 5)])
    columns = [0, 1, 0, 1], [1, 2, 3, 4], [2] * 4
    for number in (HORIZON, HORIZON + 1):
        within_ms = START_MS + number * WINDOW_MS
        found = broken_persistence(*columns, [old], promise, within_ms=within_ms)
        assert found == "mixing between epochs is broken: 2 large_flows"
    own = roster_of(HORIZON, [(user, user % 2) for user in range(1, 5)])
    assert broken_persistence(*columns, [old, own], promise, within_ms=START_MS + (HORIZON + 1) * WINDOW_MS) is None


# Settings


@pytest.mark.parametrize("model", ["nwa", "pw4m-tr"])
def test_models_that_tear_people_apart_are_not_persistent(model: str) -> None:
    """
    The sentence names the model and the reason.
    """
    chosen = KDeltaSettings(across="persistent", horizon=4)
    with pytest.raises(
        ModelSettingsError, match=rf"across is persistent: with privacy\.model {model}, which .*must be"
    ):
        check(chosen, Context(model=model, k=5, window_ms=WINDOW_MS, has_constraints=False))
    check(chosen, Context(model="pw4m", k=5, window_ms=WINDOW_MS, has_constraints=False))


def test_epochs_are_counted_from_1970() -> None:
    """
    All workers agree without a word.
    """
    promise = Persistent(horizon=4, window_ms=900_000)
    starts_ms = [3_600_000 * 7 + 900_000 * number for number in range(5)]
    assert [promise.epoch_of(start_ms) for start_ms in starts_ms] == [7, 7, 7, 7, 8]
    assert [promise.windows_left(start_ms + 899_999) for start_ms in starts_ms] == [3, 2, 1, 0, 3]
    with pytest.raises(ValueError, match="horizon is 1"):
        Persistent(horizon=1, window_ms=900_000)
    assert "in an epoch of 4 windows" in KDelta(k=5, delta_m=500.0, across=promise).promise
