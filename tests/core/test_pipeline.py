"""The whole path of a sealed window: the same bytes anywhere, every row accounted for, and nothing raw leaves."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core.models.kdelta.algorithms
from core.models.common.plan import Plan
from core.models.common.sequences import SequenceTrajectory
from core.models.disassociation.anonymize.disassociate import DisassociationOptions
from core.models.disassociation.plan import DisassociationPlan
from core.models.disassociation.released import ClusterGroup
from core.models.flows.guarantee import TripRule
from core.models.flows.plan import FlowPlan
from core.models.flows.released import PublishedFlow
from core.models.kdelta.anonymize.across import Across
from core.models.kdelta.anonymize.sets import AnonymitySets
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions, wait4me
from core.models.kdelta.guarantee import KDelta
from core.models.kdelta.plan import KDeltaPlan
from core.models.kdelta.released import PointTrajectory
from core.models.kdelta.verify import verify_kdelta
from core.models.kkm.plan import KKmPlan
from core.models.kkm.released import AttributeRecord
from core.models.klm.plan import KLmPlan
from core.models.km.algorithms import LeastLoss
from core.models.km.anonymize.least_loss.anonymize import LeastLossOptions
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.guarantee import KmAnonymity
from core.models.km.plan import KmPlan
from core.models.km_sets.plan import KmSetPlan
from core.models.km_sets.released import LocationSet
from core.models.lkc.pairs import Cycle
from core.models.lkc.plan import LKCPlan
from core.models.lkc.released import PairTrajectory
from core.models.p2ka.plan import P2kAPlan
from core.models.registry import FAMILIES, family_of
from core.pipeline import release_window
from core.records.record import Rows
from core.release.outcome import Account, Outcome, Release, Released, ReleaseRefused, Withheld, WithholdReason
from core.trajectories.assemble import Limits, SequenceWindow
from core.trajectories.trajectory import Demands, PointTrajectories
from core.windows.history import History, Roster
from core.windows.window import WindowKey
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import (
    PLACES,
    SECRET,
    START_MS,
    WINDOW_MS,
    Planted,
    attribute_plan,
    cluster_plan,
    flow_plan,
    hash_of,
    integers_in,
    label_set_plan,
    limits,
    messages,
    pair_plan,
    pattern_plan,
    point_plan,
    points,
    profile_code,
    release,
    released,
    seal_of,
    sequence_plan,
    set_plan,
    visits,
    window_message,
)
from tests.oracles import km as oracles

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)

CROWD = visits(
    *((user, 10 * step, place) for user in range(1, 9) for step, place in enumerate((PARK, user % 3, STATION))),
    (1, 0, PARK),
)
"""Eight people who go from the park over one of three places to the station; one row is a duplicate."""

WALKERS = points(
    *(
        (user, 30 * step + user, 52.5 + 0.0004 * step, 13.4 + 0.0002 * user)
        for user in range(1, 9)
        for step in range(8)
    ),
    (1, 1, 52.6, 13.5),
)
"""Eight people who walk north side by side, 13 m apart; one row is a duplicate."""

TOLD = CROWD.copy()
"""The same eight people, who tell what they are; the wards of three of them are sensitive."""
for _user in range(1, 9):
    TOLD["profile"][TOLD["user"] == hash_of(_user)] = profile_code(
        age=20 + _user, plan=("gold", "plus")[_user % 2], ward={1: "surgery", 2: "surgery", 3: "oncology"}.get(_user)
    )

CASES: list[tuple[Rows, Plan]] = [
    (CROWD, sequence_plan()),
    (CROWD, sequence_plan(algorithm=LeastLoss(LeastLossOptions(max_split_percent=30)))),
    (CROWD, pattern_plan()),
    (CROWD, cluster_plan(sensitive={"market"})),
    (TOLD, pair_plan()),
    (TOLD, attribute_plan(l=2, sensitive={"market"})),
    (CROWD, set_plan()),
    (CROWD, label_set_plan()),
    (CROWD, flow_plan()),
    (WALKERS, point_plan()),
]
"""A window of eight people for each kind of plan, all of whom are released."""

ORDERED: dict[type[Plan], type[Released]] = {
    KmPlan: SequenceTrajectory,
    P2kAPlan: SequenceTrajectory,
    KLmPlan: SequenceTrajectory,
}
KINDS: dict[type[Plan], type[Released]] = ORDERED | {
    LKCPlan: PairTrajectory,
    KKmPlan: AttributeRecord,
    DisassociationPlan: ClusterGroup,
    KmSetPlan: LocationSet,
    FlowPlan: PublishedFlow,
    KDeltaPlan: PointTrajectory,
}
"""What each kind of plan releases."""

OF_NO_PERSON = (DisassociationPlan, FlowPlan)
"""Plans whose messages are of no single person, and have no pseudonym."""


def wire(outcome: Outcome) -> bytes:
    """All that would be sent, in one piece."""
    return b"\n".join(part for message in messages(outcome) for part in (message.key, message.value))


PLACES_ALONE: list[Callable[..., Plan]] = [
    sequence_plan,
    partial(sequence_plan, algorithm=LeastLoss(LeastLossOptions(max_split_percent=30))),
    cluster_plan,
    partial(cluster_plan, sensitive={"market", "park"}),
    set_plan,
    partial(set_plan, options=DisassociationOptions(rare_locations=True)),
    flow_plan,
    partial(flow_plan, trips=TripRule.FIRST_LAST),
]
"""Plans of check-ins that have k and m, and need no more than places."""

WITH_MORE: list[Callable[..., Plan]] = [
    pair_plan,
    partial(pair_plan, cycle=Cycle.DAY),
    attribute_plan,
    partial(attribute_plan, l=2, sensitive={"market", "park"}),
]
"""Those whose visits have times, or tell of their person."""


def places_told(outcome: Release) -> list[str]:
    """Every place that the messages of a release tell, as often as they do; of a generalized one all its members."""

    def names(value: Any) -> list[str]:
        return [value] if isinstance(value, str) else [name for inner in value for name in names(inner)]

    found: list[str] = []
    for message in messages(outcome)[:-1]:
        content = json.loads(message.value)
        found += names(content.get("locations", [])) + [name for _, name in content.get("visits", [])]
        for cluster in content.get("clusters", []):
            found += names(cluster["record_chunks"]) + cluster["term_chunk"]
        found += names([joint["shared_chunks"] for joint in content.get("joint_clusters", [])])
        found += names(content["sensitive"]) if "attributes" in content and "sensitive" in content else []
    return found


def drawn_windows() -> st.SearchStrategy[tuple[Rows, Plan]]:
    """Draw a window and a plan of any kind; about half of them have something to release."""
    k, m = st.integers(2, 4), st.integers(1, 2)
    curbs = st.builds(limits, points_per_user=st.sampled_from([3, 1000]), trajectory_length=st.sampled_from([2, 100]))
    check_ins = st.tuples(
        strategies.visit_rows(max_users=7),
        st.builds(lambda make, k, m, curbs: make(k=k, m=m, limits=curbs), st.sampled_from(PLACES_ALONE), k, m, curbs),
    )
    told = st.tuples(
        strategies.told_rows(max_users=7),
        st.builds(lambda make, k, m, curbs: make(k=k, m=m, limits=curbs), st.sampled_from(WITH_MORE), k, m, curbs),
    )
    fragments = st.tuples(
        strategies.point_rows(max_users=7),
        st.builds(lambda k, curbs: point_plan(k=k, limits=curbs), k, curbs),
    )
    return st.one_of(check_ins, told, fragments)


# ---------------------------------------------------------------- what a release is


def test_a_crowd_is_released() -> None:
    """
    Eight people alike but for their middle place: all are released under k = 3, m = 2, and all is verified.
    """
    outcome = released(CROWD, sequence_plan())
    assert (outcome.people, outcome.population, len(outcome.trajectories)) == (8, 8, 8)
    assert outcome.account == Account(duplicates=1, released=24)
    assert outcome.smallest_support >= 3
    assert outcome.points_suppressed == 0


def test_walkers_are_released() -> None:
    """
    Eight people side by side within 300 m: all are released, in sets of at least three.
    """
    outcome = released(WALKERS, point_plan())
    assert (outcome.people, outcome.population, len(outcome.trajectories)) == (8, 8, 8)
    assert outcome.account.duplicates == 1
    assert outcome.smallest_support >= 3


def size_of(one: Released) -> int:
    """How many places or points a message tells."""
    match one:
        case SequenceTrajectory():
            return len(one.locations)
        case PairTrajectory():
            return len(one.visits)
        case AttributeRecord():
            return len(one.locations) + len(one.sensitive)
        case ClusterGroup():
            chunks = [chunk for cluster in one.clusters for chunk in cluster.record_chunks]
            chunks += [chunk for joint in one.joint_clusters for chunk in joint.shared_chunks]
            terms = sum(len(cluster.term_chunk) for cluster in one.clusters)
            return terms + sum(len(subrecord) for chunk in chunks for subrecord in chunk)
        case PointTrajectory():
            return len(one.t_ms)
        case PublishedFlow():
            return one.people
        case _:
            raise TypeError(type(one).__name__)


@settings(max_examples=examples(200))
@given(window=drawn_windows())
def test_every_row_is_accounted_for_once(window: tuple[Rows, Plan]) -> None:
    """
    duplicates + released + suppressed + withheld is the number of rows, whatever becomes of the window.
    """
    rows, plan = window
    outcome = release(rows, plan)
    account = outcome.account
    assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
    assert min(account.duplicates, account.released, account.suppressed, account.withheld) >= 0
    if isinstance(outcome, Release):
        assert account.withheld == 0
        if isinstance(plan, KmPlan | KLmPlan):
            assert outcome.points_released == account.released
        # What is in the release is told, which need not be what it stands for.
        assert outcome.points_released == sum(map(size_of, outcome.trajectories))
    else:
        assert account.released == account.suppressed == 0


@settings(max_examples=examples(200))
@given(window=drawn_windows(), data=st.data())
def test_the_order_of_rows_changes_no_byte(window: tuple[Rows, Plan], data: st.DataObject) -> None:
    """
    However the rows of a window arrive, the same messages leave.
    """
    rows, plan = window
    order = data.draw(st.permutations(range(len(rows))))
    again = release(rows[np.array(order, dtype=int)], plan)
    assert wire(again) == wire(release(rows, plan))


@pytest.mark.parametrize(("rows", "plan"), CASES)
def test_offset_and_writer_of_the_seal_change_no_byte(rows: Rows, plan: Plan) -> None:
    """
    A successor seals at another offset and under another name: what leaves is the same.
    """
    seal = seal_of(rows, plan)
    other = replace(seal, last_offset=99, writer="successor")
    assert wire(release_window(seal, rows, plan)) == wire(release_window(other, rows, plan))


@pytest.mark.parametrize(("rows", "plan"), CASES)
def test_a_release_leaves_its_rows_as_they_were(rows: Rows, plan: Plan) -> None:
    """
    Rows may be read-only, as they come from a chunk, and are not written to.
    """
    before = rows.tobytes()
    frozen = np.frombuffer(before, dtype=rows.dtype)
    assert wire(release(frozen, plan)) == wire(release(rows, plan))
    assert rows.tobytes() == before


def fingerprint() -> str:
    """Digest of all that a window of each kind sends."""
    return hashlib.sha256(b"\n".join(wire(release(rows, plan)) for rows, plan in CASES)).hexdigest()


def test_another_process_releases_the_same_bytes() -> None:
    """
    No choice depends on how Python hashes: processes with other hash seeds send the same.
    """
    program = "from tests.core.test_pipeline import fingerprint; print(fingerprint())"
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {fingerprint()}


# ---------------------------------------------------------------- the promise, read from the messages


@settings(max_examples=examples(100))
@given(rows=strategies.visit_rows(max_users=8), k=st.integers(2, 4), m=st.integers(1, 3))
def test_released_sequences_keep_the_promise_in_the_messages(rows: Rows, k: int, m: int) -> None:
    """
    Read back from the bytes, each pseudonym one person, every subtrajectory has k supporters.
    """
    outcome = release(rows, sequence_plan(k=k, m=m))
    if isinstance(outcome, Release):
        sent = [json.loads(message.value) for message in messages(outcome)[:-1]]
        numbers: dict[tuple[str, ...], int] = {}
        crowd: oracles.Crowd = [
            (person, tuple(numbers.setdefault(tuple(place), len(numbers)) for place in one["locations"]))
            for person, one in enumerate(sent)
        ]
        assert oracles.is_km_anonymous(crowd, k, m)
        assert all(trajectory for _, trajectory in crowd)
        members = [name for place in numbers for name in place]
        assert len(members) == len(set(members)), "a place is in two generalized locations"


@settings(max_examples=examples(50))
@given(rows=strategies.point_rows(max_users=8, max_rows=40, demands=False), k=st.integers(2, 3))
def test_released_trajectories_keep_the_promise_in_the_messages(rows: Rows, k: int) -> None:
    """
    Read back from the bytes: each trajectory has k - 1 others with its time stamps, all within delta of it.
    """
    outcome = release(rows, point_plan(k=k))
    if isinstance(outcome, Release):
        sent = [json.loads(message.value)["points"] for message in messages(outcome)[:-1]]
        times = [[point[0] for point in one] for one in sent]
        for one, its in zip(sent, times, strict=True):
            alike = [other for other, theirs in zip(sent, times, strict=True) if theirs == its]
            near = [other for other in alike if all(map(_within_300_m, one, other))]
            assert len(near) >= k


def _within_300_m(one: list[Any], other: list[Any]) -> bool:
    report = verify_kdelta(
        [0, 0],
        [0, 1],
        [[0], [0]],
        [[one[1]], [other[1]]],
        [[one[2]], [other[2]]],
        KDelta(k=2, delta_m=300.0),
    )
    return report.holds


# ---------------------------------------------------------------- counts that leave


NOT_PEOPLE = {
    "schema",
    "information_loss.sets",
    "information_loss.groups",
    "information_loss.clusters",
    "information_loss.generalized_locations",
    "information_loss.original_locations",
    "information_loss.released_locations",
    "information_loss.released_pairs",
    "information_loss.places",
}
"""Integers of the windows message, besides the parameters, that count neither people nor what people did."""

READ_OFF: dict[type[Plan], set[str]] = {
    DisassociationPlan: {"trajectories", "points_released"},
    KKmPlan: {"points_released"},
    FlowPlan: {"trajectories"},
}
"""Those that count messages and the places in them where one of these need not be of a person, or a person need not
have any place: whoever has the release can count them as well, and nobody behind it."""


@settings(max_examples=examples(200))
@given(window=drawn_windows())
def test_no_count_below_k_leaves(window: tuple[Rows, Plan]) -> None:
    """
    Every integer of the windows message that counts people, trajectories or points is 0 or at least k.
    """
    rows, plan = window
    small = [
        (path, value)
        for path, value in integers_in(window_message(release(rows, plan)))
        if path not in NOT_PEOPLE | READ_OFF.get(type(plan), set())
        and not path.startswith("parameters.")
        and 0 < value < plan.guarantee.k
    ]
    assert not small


@settings(max_examples=examples(100))
@given(window=drawn_windows())
def test_a_window_of_too_few_people_tells_nothing_but_that(window: tuple[Rows, Plan]) -> None:
    """
    Fewer than k people: one message, whose only integers are the schema's version and the promise.
    """
    rows, plan = window
    k = plan.guarantee.k
    few = rows[np.isin(rows["user"], np.unique(rows["user"])[: k - 1])]
    outcome = release(few, plan)
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.TOO_FEW_PEOPLE
    (message,) = messages(outcome)
    content = json.loads(message.value)
    assert message.topic == "windows"
    told = {path: value for path, value in integers_in(content) if not path.startswith("parameters.")}
    assert told == {"schema": 1}
    assert content["parameters"] == plan.parameters
    assert (content["outcome"], content["verified"]) == ("withheld", False)


@pytest.mark.parametrize(("rows", "plan"), CASES)
def test_two_withheld_windows_look_alike(rows: Rows, plan: Plan) -> None:
    """
    Withheld with no row or with many, the messages are equal: they do not tell whether anybody was there.
    """
    one_user = rows[rows["user"] == rows["user"][0]]
    assert len(one_user) > 1
    assert wire(release(one_user, plan)) == wire(release(one_user[:0], plan))


@pytest.mark.parametrize("n_points", [2, 20])
def test_one_person_left_out_is_not_counted_in_public(n_points: int) -> None:
    """
    Somebody far from the walkers goes to the trash, with few points or many: no count lets them be seen.
    """
    far = points(*((9, 30 * i, 48.1, 11.6) for i in range(n_points)))
    plan = point_plan(options=Wait4MeOptions(max_radius_m=500.0, trash_share=1.0))
    outcome = released(np.concatenate([WALKERS, far]), plan)
    assert outcome.account == Account(duplicates=1, released=64, suppressed=n_points)
    content = window_message(outcome)
    assert (content["people"], content["population"], content["points_suppressed"]) == (8, None, None)
    assert not {"trash", "discernibility", "points_deleted", "points_created"} & content["information_loss"].keys()


def test_one_person_suppressed_is_not_counted_in_public() -> None:
    """
    A sequence of one visit, suppressed whole: neither the population nor the visits tell that it was there.
    """
    rows = np.concatenate([CROWD, visits((9, 0, PARK))])

    def without_nine(window: SequenceWindow, guarantee: KmAnonymity) -> Generalization:
        lengths = np.diff(window.sequences.starts)
        kept = np.repeat(lengths > 1, lengths)
        return Generalization(group_of=np.zeros(len(window.vocabulary.ids), dtype=np.int64), kept=kept, merges=0)

    outcome = released(rows, sequence_plan(algorithm=Planted(without_nine)))
    assert outcome.account == Account(duplicates=1, released=24, suppressed=1)
    assert (outcome.people, outcome.population, outcome.points_suppressed) == (8, None, None)


def test_the_trash_is_not_told_where_many_others_are_left_out_as_well() -> None:
    """
    Four people who demand more are left out, one far away is in the trash: five people, but the trash is one of them.
    """
    far = points(*((9, 30 * i, 48.1, 11.6) for i in range(20)))
    demanding = points(*((20 + u, 30 * i, 52.5, 13.4, 9, np.inf) for u in range(4) for i in range(3)))
    plan = point_plan(options=Wait4MeOptions(max_radius_m=500.0, trash_share=1.0))
    outcome = released(np.concatenate([WALKERS, far, demanding]), plan)
    assert outcome.account.suppressed == 20 + 12
    content = window_message(outcome)
    assert content["points_suppressed"] == 32
    assert not {"trash", "discernibility"} & content["information_loss"].keys()


def test_a_busy_person_curbed_is_not_counted_in_public() -> None:
    """
    One user with too many visits: however many of them are suppressed, one person is behind them.
    """
    rows = np.concatenate([CROWD, visits(*((0, 1000 + i, PARK) for i in range(50)))])
    outcome = released(rows, sequence_plan(limits=Limits(points_per_user=10, trajectory_length=100)))
    assert outcome.account.suppressed > 5
    assert outcome.points_suppressed is None


# ---------------------------------------------------------------- no raw information


@pytest.mark.parametrize(("rows", "plan"), CASES)
def test_no_hash_of_a_user_leaves(rows: Rows, plan: Plan) -> None:
    """
    Neither the hash of a user, in any notation, nor the key nor the secret is in what is sent.
    """
    sent = wire(release(rows, plan)).lower()
    assert sent.count(b"pseudonym") == (0 if isinstance(plan, OF_NO_PERSON) else 8)
    for user in set(rows["user"].tolist()):
        big, little = user.to_bytes(8, "big"), user.to_bytes(8, "little")
        for trace in (str(user).encode(), f"{user:x}".encode(), big.hex().encode(), little.hex().encode(), big, little):
            assert trace not in sent
    assert SECRET not in sent
    assert SECRET.hex().encode() not in sent


@pytest.mark.parametrize(
    ("rows", "plan"), [(rows, plan) for rows, plan in CASES if not isinstance(plan, LKCPlan | KDeltaPlan)]
)
def test_no_time_of_a_visit_leaves(rows: Rows, plan: Plan) -> None:
    """
    Sequences have an order and sets not even that, no times: the only instants are the window's bounds.
    """
    for message in messages(released(rows, plan)):
        content = json.loads(message.value)
        assert content.pop("window") == ["2026-11-27T21:00:00Z", "2026-11-27T21:15:00Z"]
        assert "2026-" not in json.dumps(content)
        assert message.timestamp_ms == START_MS + WINDOW_MS


def test_no_raw_point_leaves() -> None:
    """
    With exchangeable translation no published position, and no list of time stamps, is anybody's own.
    """
    outcome = released(WALKERS, point_plan())
    raw = {(round(float(row["lat"]), 6), round(float(row["lon"]), 6)) for row in WALKERS}
    raw_times = {tuple(WALKERS["ts_ms"][WALKERS["user"] == user].tolist()) for user in set(WALKERS["user"].tolist())}
    for trajectory in outcome.trajectories:
        assert isinstance(trajectory, PointTrajectory)
        assert not raw & set(zip(trajectory.lat_deg.tolist(), trajectory.lon_deg.tolist(), strict=True))
        assert tuple(trajectory.t_ms.tolist()) not in raw_times


@settings(max_examples=examples(200))
@given(window=drawn_windows())
def test_a_place_that_is_suppressed_is_not_listed(window: tuple[Rows, Plan]) -> None:
    """
    The windows message describes exactly the generalized locations that occur in the trajectories, each once.
    """
    outcome = release(*window)
    if isinstance(outcome, Release) and outcome.locations is not None:
        listed = [place.members for place in outcome.locations]
        assert len(listed) == len(set(listed))
        assert {name for members in listed for name in members} == set(places_told(outcome))
        if isinstance(window[1], KmPlan | KLmPlan):
            sequences = [one for one in outcome.trajectories if isinstance(one, SequenceTrajectory)]
            assert set(listed) == {place for one in sequences for place in one.locations}


@settings(max_examples=examples(100))
@given(window=drawn_windows())
def test_what_is_sensitive_is_released_as_it_is_and_marked(window: tuple[Rows, Plan]) -> None:
    """
    A sensitive location stands alone wherever it stands, and it alone is marked.
    """
    outcome, plan = release(*window), window[1]
    sensitive = plan.sensitive if isinstance(plan, KLmPlan | KKmPlan) else frozenset()
    if isinstance(outcome, Release) and outcome.locations is not None:
        for place in outcome.locations:
            assert place.sensitive == bool(sensitive.intersection(place.members))
            assert not place.sensitive or len(place.members) == 1


@pytest.mark.parametrize(("rows", "plan"), CASES)
def test_pseudonyms_are_sorted_and_fresh_in_every_window(rows: Rows, plan: Plan) -> None:
    """
    The same people in the next window, or in another shard, have other pseudonyms; messages come in their order.
    """
    later = rows.copy()
    later["ts_ms"] += WINDOW_MS
    outcomes = [
        release(rows, plan),
        release_window(seal_of(later, plan, start_ms=START_MS + WINDOW_MS), later, plan),
        release_window(seal_of(rows, plan, shard="other"), rows, plan),
    ]
    assert len({outcome.release_id for outcome in outcomes}) == 3
    names = []
    for outcome in outcomes:
        sent = [json.loads(message.value).get("pseudonym") for message in messages(outcome)[:-1]]
        if isinstance(plan, OF_NO_PERSON):
            assert set(sent) == {None}
            continue
        assert sent == sorted(set(sent))
        names += sent
    assert len(names) == len(set(names)) == (0 if isinstance(plan, OF_NO_PERSON) else 24)


# ---------------------------------------------------------------- windows that are not what was sealed


@pytest.mark.parametrize(("rows", "plan"), CASES)
@pytest.mark.parametrize("changes", [{"settings": "others"}, {"secret": SECRET[::-1]}])
def test_a_window_sealed_under_other_settings_is_withheld(rows: Rows, plan: Plan, changes: dict[str, Any]) -> None:
    """
    Its first release may already be out: another one could be compared with it.
    """
    seal = seal_of(rows, replace(plan, **changes))
    outcome = release_window(seal, rows, plan)
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.SETTINGS_CHANGED
    assert outcome.account == Account(withheld=len(rows))
    assert [message.topic for message in messages(outcome)] == ["windows"]
    assert outcome.release_id == seal.release_id


@pytest.mark.parametrize(("rows", "plan"), CASES)
@pytest.mark.parametrize("difference", [-1, 1])
def test_a_window_with_another_number_of_rows_is_withheld(rows: Rows, plan: Plan, difference: int) -> None:
    """
    Retention took some of the records, or there are more than were sealed: neither is released.
    """
    seal = replace(seal_of(rows, plan), n_rows=len(rows) + difference)
    outcome = release_window(seal, rows, plan)
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.RECORDS_MISSING
    assert outcome.account == Account(withheld=len(rows))
    assert [message.topic for message in messages(outcome)] == ["windows"]


@pytest.mark.parametrize(("rows", "plan"), CASES)
def test_a_window_sealed_with_another_history_is_withheld(rows: Rows, plan: Plan) -> None:
    """
    What an earlier window released is lost: the first release of this one may be out, and have been another.
    """
    seal = seal_of(rows, plan)
    earlier = WindowKey(seal.key.start_ms, seal.kind, seal.shard, seal.key.start_ms - 1)
    users = np.unique(rows["user"])
    history = History(rosters=(Roster(key=earlier, users=users, groups=np.zeros(len(users), np.int64)),))
    for sealed, plan_now in ((plan.after(history), plan), (plan, plan.after(history))):
        outcome = release_window(seal_of(rows, sealed), rows, plan_now)
        assert isinstance(outcome, Withheld)
        assert outcome.reason is WithholdReason.HISTORY_MISSING
        assert outcome.account == Account(withheld=len(rows))
        assert outcome.release_id == seal.release_id


def test_changed_settings_are_told_before_missing_records() -> None:
    """
    With both, the settings are what somebody has to look at.
    """
    seal = replace(seal_of(CROWD, sequence_plan(settings="others")), n_rows=0)
    outcome = release_window(seal, CROWD, sequence_plan())
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.SETTINGS_CHANGED


@pytest.mark.parametrize(("rows", "plan"), [(rows[:0], plan) for rows, plan in CASES])
def test_a_window_without_rows_is_withheld(rows: Rows, plan: Plan) -> None:
    """
    A sealed window whose records were all late comes to an end all the same.
    """
    outcome = release(rows, plan)
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.TOO_FEW_PEOPLE
    assert outcome.account == Account()


# ---------------------------------------------------------------- nothing left


def test_when_the_demands_leave_too_few_nothing_is_released() -> None:
    """
    Eight people of whom six demand k = 9: the other two are no crowd of three.
    """
    rows = WALKERS.copy()
    rows["k"][np.isin(rows["user"], [hash_of(user) for user in range(1, 7)])] = 9
    outcome = release(rows, point_plan())
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.NOTHING_LEFT
    assert outcome.account == Account(duplicates=1, withheld=len(rows) - 1)


def test_when_everybody_demands_more_nothing_is_released() -> None:
    """
    Nobody is left to anonymize; that is no error.
    """
    rows = WALKERS.copy()
    rows["delta_m"] = 10.0
    outcome = release(rows, point_plan())
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.NOTHING_LEFT


def test_a_demand_is_met_by_a_stricter_plan() -> None:
    """
    Who demands k = 4 is left out under k = 3 and released under k = 4; the one left out is not counted in public.
    """
    rows = WALKERS.copy()
    rows["k"][rows["user"] == hash_of(1)] = 4
    without, along = released(rows, point_plan(k=3)), released(rows, point_plan(k=4))
    assert (without.people, without.population, without.account.suppressed) == (7, None, 8)
    assert (along.people, along.population, along.account.suppressed) == (8, 8, 0)


def test_a_personal_plan_gives_who_demands_more_what_they_demand() -> None:
    """
    Nobody is left out for demanding four people or 50 m: their sets have and keep it, and the message counts them only
    where neither they nor the others are fewer than k.
    """
    rows = WALKERS.copy()
    rows["k"][rows["user"] == hash_of(1)] = 4
    rows["delta_m"][rows["user"] == hash_of(1)] = 50.0
    outcome = released(rows, point_plan(k=3, personal=True))
    assert (outcome.model, outcome.people, outcome.population, outcome.account.suppressed) == ("pw4m", 8, 8, 0)
    assert (outcome.parameters["k"], outcome.parameters["delta_m"]) == (3, 300.0)
    assert outcome.information_loss["people_demanding_more"] is None
    assert outcome.smallest_support >= 3

    for many, told in ((3, 3), (5, 5), (6, None), (8, 8), (0, 0)):
        rows = WALKERS.copy()
        rows["k"][np.isin(rows["user"], np.unique(rows["user"])[:many])] = 4
        told_of = released(rows, point_plan(k=3, personal=True)).information_loss["people_demanding_more"]
        assert told_of == told


@settings(max_examples=examples(30))
@given(rows=strategies.point_rows(), k=st.integers(2, 4), delta_m=st.sampled_from([20.5, 250.0]))
def test_demanding_all_alike_is_promising_it_to_everybody(rows: Rows, k: int, delta_m: float) -> None:
    """
    With everyone at the largest k and the smallest delta, PW4M releases what W4M does, byte for byte.
    """
    rows["k"], rows["delta_m"] = k, delta_m
    personal = release(rows, point_plan(k=2, delta_m=300.0, personal=True))
    general = release(rows, point_plan(k=k, delta_m=delta_m))
    if isinstance(general, Release):
        assert isinstance(personal, Release)
        for one, other in zip(personal.trajectories, general.trajectories, strict=True):
            assert isinstance(one, PointTrajectory)
            assert isinstance(other, PointTrajectory)
            assert one.pseudonym == other.pseudonym
            for column in ("t_ms", "lat_deg", "lon_deg"):
                assert getattr(one, column).tobytes() == getattr(other, column).tobytes()
        assert (personal.account, personal.smallest_support) == (general.account, general.smallest_support)
    else:
        assert isinstance(personal, Withheld)
        assert not isinstance(personal, ReleaseRefused)


# ---------------------------------------------------------------- broken anonymizers


def refused(rows: Rows, plan: Plan, broken: Callable[..., Any] = wait4me) -> ReleaseRefused:
    """Release with a planted anonymizer, and make sure that nothing but the refusal leaves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core.models.kdelta.algorithms, "wait4me", broken)
        outcome = release(rows, plan)
    assert isinstance(outcome, ReleaseRefused), outcome
    (message,) = messages(outcome)
    content = json.loads(message.value)
    assert message.topic == "windows"
    assert (content["outcome"], content["reason"], content["verified"]) == ("withheld", "verification_failed", False)
    assert set(content) == {
        *("schema", "release", "window", "shard", "kind", "model", "parameters"),
        *("outcome", "reason", "verified", "versions"),
    }
    for told in (message.value.decode(), outcome.finding):
        assert not [name for name in PLACES if name in told]
        assert not [hash_ for hash_ in set(rows["user"].tolist()) if str(hash_) in told]
    assert outcome.account.withheld + outcome.account.duplicates == len(rows)
    return outcome


def test_an_anonymizer_that_does_nothing_is_refused() -> None:
    """
    Raw sequences with a place of one's own break k^m; the finding counts, and names nobody.
    """

    def raw(window: SequenceWindow, guarantee: KmAnonymity) -> Generalization:
        kept = np.ones(len(window.sequences.locations), dtype=bool)
        return Generalization(group_of=np.arange(len(window.vocabulary.ids)), kept=kept, merges=0)

    outcome = refused(CROWD, sequence_plan(algorithm=Planted(raw)))
    # Three middle places: one of them has two visitors, and so have its pairs with park and station.
    assert outcome.finding == "3 subtrajectories of length <= 2 have support below k=3"


@settings(max_examples=examples(100))
@given(rows=strategies.visit_rows(max_users=5), data=st.data(), k=st.integers(2, 3), m=st.integers(1, 2))
def test_whatever_an_anonymizer_does_the_verifier_decides(rows: Rows, data: st.DataObject, k: int, m: int) -> None:
    """
    Random merges and suppressions are released if they are k^m-anonymous by definition, and only then.
    """
    candidates: list[oracles.Crowd] = []

    def at_random(window: SequenceWindow, guarantee: KmAnonymity) -> Generalization:
        sequences, n = window.sequences, len(window.vocabulary.ids)
        merged = data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
        group_of = np.array([merged.index(group) for group in merged], dtype=np.int64)
        p = len(sequences.locations)
        kept = np.array(data.draw(st.lists(st.booleans() | st.just(True), min_size=p, max_size=p)), dtype=bool)
        result = Generalization(group_of=group_of, kept=kept, merges=0)
        bounds = pairwise(sequences.starts.tolist())
        crowd = [
            (user, tuple(sequences.locations[start:end].tolist()))
            for user, (start, end) in zip(sequences.users.tolist(), bounds, strict=True)
        ]
        candidates.append(oracles.released(crowd, result))
        return result

    outcome = release(rows, sequence_plan(k=k, m=m, algorithm=Planted(at_random)))
    if not candidates:
        assert isinstance(outcome, Withheld)
        assert outcome.reason is WithholdReason.TOO_FEW_PEOPLE
    elif not any(trajectory for _, trajectory in candidates[0]):
        assert isinstance(outcome, Withheld)
        assert outcome.reason is WithholdReason.NOTHING_LEFT
    else:
        assert isinstance(outcome, Release if oracles.is_km_anonymous(candidates[0], k, m) else ReleaseRefused)


def _raw(trajectories: PointTrajectories, result: AnonymitySets) -> AnonymitySets:
    return replace(
        result,
        sources=np.arange(len(trajectories.users)),
        sets=np.zeros(len(trajectories.users), dtype=np.int64),
        starts=trajectories.starts,
        t_ms=trajectories.t_ms,
        xy_m=trajectories.xy_m,
    )


def _one_point_away(_: PointTrajectories, result: AnonymitySets) -> AnonymitySets:
    xy_m = result.xy_m.copy()
    first, second = result.starts[:2]  # of two trajectories of one set, at one time stamp
    xy_m[first] = xy_m[second] + [300.2, 0.0]
    return replace(result, xy_m=xy_m)


def _one_stamp_off(_: PointTrajectories, result: AnonymitySets) -> AnonymitySets:
    t_ms = result.t_ms.copy()
    t_ms[0] -= 1
    return replace(result, t_ms=t_ms)


def _alone_in_a_set(_: PointTrajectories, result: AnonymitySets) -> AnonymitySets:
    sets = result.sets.copy()
    sets[-1] += 1
    return replace(result, sets=sets)


def _one_person_twice(_: PointTrajectories, result: AnonymitySets) -> AnonymitySets:
    sources = result.sources.copy()
    for its in range(int(result.sets[-1]) + 1):
        members = np.flatnonzero(result.sets == its)
        sources[members] = sources[members[0]]
    return replace(result, sources=sources)


def _nowhere(_: PointTrajectories, result: AnonymitySets) -> AnonymitySets:
    xy_m = result.xy_m.copy()
    xy_m[0] = np.nan
    return replace(result, xy_m=xy_m)


@pytest.mark.parametrize(
    ("broken", "finding"),
    [
        (_raw, "time_stamps"),
        (_one_point_away, "too_far_apart"),
        (_one_stamp_off, "time_stamps"),
        (_alone_in_a_set, "too_few_users"),
        (_one_person_twice, "too_few_users"),
        (_nowhere, "position"),
    ],
)
def test_a_broken_translation_is_refused(
    broken: Callable[[PointTrajectories, AnonymitySets], AnonymitySets], finding: str
) -> None:
    """
    Raw trajectories, one point too far, one stamp off, a set of one, one person counted twice, a point nowhere.
    """

    def planted(
        trajectories: PointTrajectories,
        demands: Demands,
        options: Wait4MeOptions,
        rng: np.random.Generator,
        across: Across | None,
    ) -> AnonymitySets:
        return broken(trajectories, wait4me(trajectories, demands, options, rng, across))

    outcome = refused(WALKERS, point_plan(), planted)
    assert finding in outcome.finding
    assert outcome.finding.startswith("(k,delta) is broken: ")


def test_the_planted_translations_start_from_a_good_one() -> None:
    """
    Planted without a fault, the same window is released: it is the fault that is refused.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core.models.kdelta.algorithms, "wait4me", wait4me)
        outcome = release(WALKERS, point_plan())
    assert isinstance(outcome, Release)
    assert wire(outcome) == wire(release(WALKERS, point_plan()))


def test_an_anonymizer_that_fails_lets_nothing_out() -> None:
    """
    An exception reaches the caller, who withholds the window; no outcome is made up.
    """

    def fails(*_: object) -> Generalization:
        raise RuntimeError("one generalized location is left")

    with pytest.raises(RuntimeError, match="is left"):
        release(CROWD, sequence_plan(algorithm=Planted(fails)))


def test_each_kind_of_plan_has_its_path() -> None:
    """
    Each releases messages of its own form, and of no other; every kind has a case here.
    """
    for rows, plan in CASES:
        outcome = released(rows, plan)
        assert {type(one) for one in outcome.trajectories} == {KINDS[type(plan)]}
        assert (outcome.people, outcome.population) == (8, 8)
    assert {type(plan) for _, plan in CASES} == KINDS.keys()
    assert {family_of(plan.model).models for _, plan in CASES} == {family.models for family in FAMILIES}
