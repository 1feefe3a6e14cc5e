"""Mixing at borders: the people of a set are spread over several sets of later windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.models.kdelta.release
from core.models.common.settings import Context, ModelSettingsError
from core.models.kdelta.anonymize.across import EarlierSets, earlier_sets
from core.models.kdelta.anonymize.borders import Borders
from core.models.kdelta.anonymize.cluster.clustering import Clustering
from core.models.kdelta.anonymize.cluster.neighbours import TRASH
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions
from core.models.kdelta.guarantee import KDelta, Mixing
from core.models.kdelta.plan import KDeltaPlan, check
from core.models.kdelta.settings import KDeltaSettings
from core.models.kdelta.verify_across import large_flows
from core.pipeline import divide_window, release_window
from core.places.shard_cells import ShardCells
from core.records.arrays import IntArray
from core.records.record import Kind, Rows
from core.release.outcome import Outcome, Release, ReleaseRefused, Withheld
from core.windows.history import History, Roster
from core.windows.window import WindowKey
from tests.builders.windows import START_MS, WINDOW_MS, hash_of, messages, point_plan, points, seal_of
from tests.core.models.kdelta.test_algorithms import NAMES, model_of

CHANCE = st.randoms(use_true_random=True)


def mixing_plan(*, l: int = 2, horizon: int = 2, k: int = 3, **changes: Any) -> KDeltaPlan:  # noqa: E741
    """A plan that mixes at borders."""
    plan = point_plan(k=k, **changes)
    personal = plan.guarantee.personal
    return replace(plan, guarantee=KDelta(k=k, delta_m=300.0, personal=personal, across=Mixing(l=l, horizon=horizon)))


def window_of(number: int, people: dict[int, int], chance: Random, *, demands: bool = False) -> Rows:
    """The rows of a window: people in groups, each group on a way of its own, one beside the other."""
    rows = []
    for user, group in people.items():
        demand = (chance.choice([2, 3, 4]), chance.choice([200.0, 300.0])) if demands else ()
        begin = chance.choice([0, 0, 60])
        for at_s in range(begin, 840, 60):
            rows.append((user, at_s, 52.5 + 0.00001 * at_s, 13.4 + 0.003 * group + 0.0001 * user, *demand))
    found = points(*rows)
    found["ts_ms"] += number * WINDOW_MS
    return found


def several_windows(chance: Random, n_windows: int, n_people: int = 40, **how: Any) -> list[Rows]:
    """Windows through which people come and go, and now and then change groups."""
    group = {user: user % 6 for user in range(n_people)}
    windows = []
    for number in range(n_windows):
        present = {user: own for user, own in group.items() if chance.random() < 0.85}
        windows.append(window_of(number, present, chance, **how))
        group = {user: chance.randrange(6) if chance.random() < 0.1 else own for user, own in group.items()}
    return windows


def release_in_turn(windows: Sequence[Rows], plan: KDeltaPlan) -> Iterator[tuple[Outcome, History]]:
    """Release windows one after the other, each with the history of those before it."""
    rosters: list[Roster] = []
    for number, rows in enumerate(windows):
        start_ms = START_MS + number * WINDOW_MS
        since_ms = start_ms - (plan.horizon - 1) * WINDOW_MS
        history = History(rosters=tuple(one for one in rosters if one.key.start_ms >= since_ms))
        after = plan.after(history)
        own, outcomes = [], []
        for seal, part in divide_window(seal_of(rows, after, start_ms=start_ms), rows, after):
            outcome = release_window(seal, part, after)
            outcomes.append(outcome)
            if isinstance(outcome, Release) and outcome.roster is not None:
                own.append(outcome.roster)
        if own:
            rosters.append(Roster.of_cells(WindowKey(start_ms + WINDOW_MS, Kind.FRAGMENTS, "all", start_ms), own))
            assert_mixed(rosters[-1], history, plan, len(np.unique(rows["user"])))
        yield from ((outcome, history) for outcome in outcomes)


def groups_of(roster: Roster) -> dict[int, set[int]]:
    """The people of each group."""
    groups: dict[int, set[int]] = {}
    for user, group in zip(roster.users.tolist(), roster.groups.tolist(), strict=True):
        groups.setdefault(group, set()).add(user)
    return groups


def assert_mixed(roster: Roster, history: History, plan: KDeltaPlan, n_people: int) -> None:
    """The promise as it is written, by brute force."""
    assert plan.guarantee.across is not None
    if n_people < 2 * plan.guarantee.k and len(groups_of(roster)) == 1 and plan.shard_cells is None:
        return  # who is released is in the only set there can be
    for earlier in history.rosters:
        for before in groups_of(earlier).values():
            again = before & set(roster.users.tolist())
            for after in groups_of(roster).values():
                assert len(again & after) <= len(again) / plan.guarantee.across.l


@given(CHANCE, st.sampled_from(NAMES), st.integers(2, 3), st.integers(2, 3))
def test_people_of_a_set_are_spread_over_later_sets(chance: Random, name: Any, l: int, horizon: int) -> None:  # noqa: E741
    """
    Whatever the model, the share and the horizon; nothing is refused, and people come and go.
    """
    plan = mixing_plan(l=l, horizon=horizon, algorithm=model_of(name, chance))
    for outcome, _ in release_in_turn(several_windows(chance, 3, demands=True), plan):
        assert isinstance(outcome, Release | Withheld), outcome


@given(CHANCE, st.booleans())
def test_most_people_are_released_and_mix(chance: Random, personal: bool) -> None:
    """
    With the usual options, in one chunk or several, and with demands or without: more than a third of the people.
    """
    options = Wait4MeOptions(chunk_size=chance.choice([None, 20]))
    plan = mixing_plan(horizon=chance.choice([2, 3]), options=options, personal=personal)
    windows = several_windows(chance, 3, n_people=60, demands=personal)
    for rows, (outcome, _) in zip(windows, release_in_turn(windows, plan), strict=True):
        assert isinstance(outcome, Release), outcome
        assert outcome.roster is not None
        assert 3 * len(np.unique(outcome.roster.users)) > len(np.unique(rows["user"]))


@given(CHANCE)
def test_cells_keep_the_promise_for_the_whole_shard(chance: Random) -> None:
    """
    Each region is released with the history of the shard; joined, they mix.
    """
    plan = mixing_plan(shard_cells=ShardCells(finest=9, coarsest=5))
    outcomes = [outcome for outcome, _ in release_in_turn(several_windows(chance, 3), plan)]
    assert len(outcomes) > 3
    assert not any(isinstance(outcome, ReleaseRefused) for outcome in outcomes)


def test_people_who_stay_together_change_places_and_nobody_is_suppressed() -> None:
    """
    Groups of four with k=3: the second window releases everybody, and no two sets are the same.
    """
    people = {user: user // 4 for user in range(24)}
    windows = [window_of(number, people, Random(1)) for number in range(2)]
    (first, _), (second, _) = release_in_turn(windows, mixing_plan())
    assert isinstance(first, Release)
    assert isinstance(second, Release)
    assert (first.people, second.people) == (24, 24)
    assert second.parameters["across"] == "mixing"
    assert (second.parameters["mixing_l"], second.parameters["horizon"]) == (2, 2)


@pytest.mark.parametrize(
    ("changes", "released"),
    [({}, [True, True, True]), ({"shard_cells": ShardCells(finest=5, coarsest=5)}, [True, False, True])],
)
def test_the_only_set_of_a_window_is_released_again(changes: dict[str, Any], released: list[bool]) -> None:
    """
    Three people who are the whole feed are together again: earlier windows tell nobody more than that they are there.
    In one of several cells they would tell which one.
    """
    windows = [window_of(number, dict.fromkeys(range(3), 0), Random(1)) for number in range(3)]
    outcomes = [outcome for outcome, _ in release_in_turn(windows, mixing_plan(**changes))]
    assert [isinstance(outcome, Release) for outcome in outcomes] == released


def test_what_is_left_of_several_sets_is_not_exempt() -> None:
    """
    Of six people in two sets, three and three, at most one of each may be in each next set. There are not enough for
    that, and the last set must not be one of the earlier ones.
    """
    windows = [window_of(number, {user: user // 3 for user in range(6)}, Random(1)) for number in range(3)]
    outcomes = [outcome for outcome, _ in release_in_turn(windows, mixing_plan())]
    assert [isinstance(outcome, Release) for outcome in outcomes] == [True, False, True]


def test_distant_groups_that_stay_together_are_left_out_of_every_second_window() -> None:
    """
    Ten places of six people each, 30 km from one another: nobody could be in another set than before.
    """
    everybody = {user: 100 * (user // 6) for user in range(60)}
    windows = [window_of(number, everybody, Random(1)) for number in range(4)]
    outcomes = [outcome for outcome, _ in release_in_turn(windows, mixing_plan(k=5))]
    assert [isinstance(outcome, Release) for outcome in outcomes] == [True, False, True, False]


class Unmended:
    """Leaves clusters as they are."""

    def __init__(self, **_: object) -> None:
        """Take what the real one takes."""

    companions = None

    def mend(self, clustering: Clustering, *_: object) -> Clustering:
        """Do nothing."""
        return clustering


def test_a_release_that_does_not_mix_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If the anonymizer forgets the borders, the verifier finds the sets that stay together.
    """
    people = {user: user // 3 for user in range(12)}
    windows = [window_of(number, people, Random(1)) for number in range(2)]
    monkeypatch.setattr(core.models.kdelta.release, "MixedBorders", Unmended)
    refused, history = list(release_in_turn(windows, mixing_plan()))[-1]
    assert isinstance(refused, ReleaseRefused)
    assert refused.finding.startswith("mixing is broken: ")
    assert len(history.rosters) == 1


@given(CHANCE)
def test_same_rows_and_history_give_the_same_bytes(chance: Random) -> None:
    """
    In whatever order the rows arrive.
    """
    windows = several_windows(chance, 2)
    shuffled = [np.random.default_rng(chance.randrange(9)).permutation(rows) for rows in windows]
    plan = mixing_plan()
    for (one, before), (other, also) in zip(
        release_in_turn(windows, plan), release_in_turn(shuffled, plan), strict=True
    ):
        assert before.digest == also.digest
        assert [m.value for m in messages(one)] == [m.value for m in messages(other)]


@given(CHANCE)
def test_a_window_without_history_is_released_as_without_the_promise(chance: Random) -> None:
    """
    The promise changes nothing before there is a border; without it no roster is kept.
    """
    (rows,) = several_windows(chance, 1)
    plan = mixing_plan()
    plain = replace(plan, guarantee=replace(plan.guarantee, across=None))
    mixed, alone = (release_window(seal_of(rows, one), rows, one) for one in (plan, plain))
    assert [m.value for m in messages(mixed)[:-1]] == [m.value for m in messages(alone)[:-1]]
    if isinstance(mixed, Release):
        assert isinstance(alone, Release)
        assert (mixed.roster is None, alone.roster is None, plain.horizon) == (False, True, 1)


SETS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=20, unique=True)


@given(SETS, SETS, st.integers(2, 3), st.booleans())
def test_the_verifier_counts_what_brute_force_counts(
    before: list[tuple[int, int]],
    after: list[tuple[int, int]],
    l: int,  # noqa: E741
    is_one_crowd: bool,
) -> None:
    """
    Pairs of sets, one earlier and one later, between which too many people go; the only set of a window is exempt.
    """
    before = sorted(before)
    roster = Roster(
        key=WindowKey(10, Kind.FRAGMENTS, "all", 0),
        users=np.array([user for user, _ in before], np.uint64),
        groups=np.array([group for _, group in before], np.int64),
    )
    released = {user for user, _ in after}
    expected = 0
    for group in range(5):
        again = {user for user, own in before if own == group} & released
        for later in range(5):
            going = again & {user for user, own in after if own == later}
            expected += len(going) > len(again) / l
    if is_one_crowd and len({own for _, own in after}) == 1:
        expected = 0
    sets, people = [own for _, own in after], [user for user, _ in after]
    found = large_flows(sets, people, [roster], Mixing(l=l), is_one_crowd=is_one_crowd)
    assert found == expected


@given(CHANCE, st.integers(2, 3))
def test_borders_count_as_if_they_counted_anew(chance: Random, l: int) -> None:  # noqa: E741
    """
    After any changes, with people who have several trajectories, the excess is that of the flows there are then.
    """
    entries = sorted({(chance.randrange(8), chance.randrange(3)) for _ in range(12)})
    earlier = EarlierSets(
        start_ms=0, users=np.array([user for user, _ in entries]), sets=np.array([own for _, own in entries])
    )
    users = np.sort(np.array([chance.randrange(8) for _ in range(12)]))
    cluster = np.array([chance.randrange(-1, 4) for _ in users])
    borders = Borders([earlier], users, cluster, l=l)
    for _ in range(10):
        i, new = chance.randrange(len(users)), chance.randrange(-1, 4)
        change = [(int(users[i]), int(cluster[i]), new)]
        foreseen = borders.after(change)
        borders.change(change)
        cluster[i] = new
        assert foreseen == borders.excess == excess_of(entries, users, cluster, l)
        assert (borders.first_broken() is None) == (borders.excess == 0)


def excess_of(entries: list[tuple[int, int]], users: IntArray, cluster: IntArray, l: int) -> int:  # noqa: E741
    """By how much all flows together are too large."""
    places = {(int(user), int(c)) for user, c in zip(users, cluster, strict=True) if c != TRASH}
    excess = 0
    for set_ in {own for _, own in entries}:
        members = {user for user, own in entries if own == set_}
        released = {user for user, _ in places} & members
        going = Counter(c for user, c in places if user in members)
        excess += sum(max(n * l - len(released), 0) for n in going.values())
    return excess


def test_earlier_sets_are_those_of_people_who_are_here() -> None:
    """
    People are numbered as in this window; the others are left out.
    """
    hashes = np.sort(np.array([hash_of(user) for user in range(3)], np.uint64))
    gone = np.uint64(int(hashes[-1]) + 1)
    roster = Roster(
        key=WindowKey(10, Kind.FRAGMENTS, "all", 0),
        users=np.array([hashes[1], hashes[1], hashes[2], gone], np.uint64),
        groups=np.array([4, 6, 4, 4]),
    )
    (found,) = earlier_sets(History(rosters=(roster,)), hashes)
    assert list(zip(found.users.tolist(), found.sets.tolist(), strict=True)) == [(1, 4), (1, 6), (2, 4)]


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"across": "mixing", "translation": "minimal"}, "with privacy.translation minimal"),
        ({"across": "persistent", "translation": "minimal"}, "with privacy.translation minimal"),
    ],
)
def test_settings_that_cannot_keep_the_promise_are_refused(given_: dict[str, Any], says: str) -> None:
    """
    A translation that links windows by raw points.
    """
    context = Context(model="w4m", k=5, window_ms=WINDOW_MS, has_constraints=False)
    with pytest.raises(ModelSettingsError, match=says):
        check(KDeltaSettings(**given_), context)


@pytest.mark.parametrize("given_", [{"l": 1}, {"horizon": 1}])
def test_a_promise_out_of_range_is_refused(given_: dict[str, int]) -> None:
    """
    A share of one promises nothing, and neither does a window alone.
    """
    with pytest.raises(ValueError, match="must be at least 2"):
        Mixing(**given_)
