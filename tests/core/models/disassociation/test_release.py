"""A disassociated release: parts leave as the model gives them, a message a group, and counts tell of nobody."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from core.models.disassociation.anonymize.disassociate import Disassociation, DisassociationOptions
from core.models.disassociation.disassociated import Cluster, Disassociated, JointCluster, RecordChunk
from core.models.disassociation.released import ClusterGroup, NamedCluster, NamedJoint
from core.records.record import Rows
from core.release.outcome import Account, Outcome, Release, ReleaseRefused, Withheld, WithholdReason
from core.trajectories.assemble import assemble_sequences
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import (
    anonymized,
    limits,
    measured,
    messages,
    release,
    released,
    set_plan,
    visits,
    window_message,
)

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)

PAIRS = visits(*((user, 10 * step, place) for user in range(6) for step, place in enumerate((BAKERY, CINEMA))))
"""Six people at the bakery and the cinema."""

TWO_CROWDS = visits(
    *((user, 10 * i, place) for user in range(6) for i, place in enumerate((BAKERY, CINEMA, PARK))),
    *((user, 10 * i, place) for user in range(6, 12) for i, place in enumerate((MARKET, MUSEUM))),
    *((user, 90, STATION) for user in (0, 1, 6, 7)),
    (0, 95, BAKERY),
)
"""Six people at three places and six at two others; two of either were at the station; one was at a place twice."""

SMALL = set_plan(options=DisassociationOptions(largest_cluster=6))


def groups(outcome: Release) -> list[ClusterGroup]:
    return [one for one in outcome.trajectories if isinstance(one, ClusterGroup)]


def said(outcome: Outcome) -> list[dict[str, Any]]:
    """What the messages of groups say."""
    return [json.loads(message.value) for message in messages(outcome)[:-1]]


def test_clusters_that_share_a_chunk_leave_in_one_message() -> None:
    """Two clusters, each too few at the station alone: together they have a shared chunk, and one message."""
    outcome = released(TWO_CROWDS, SMALL)
    (group,) = said(outcome)
    assert group.keys() == {"schema", "release", "window", "shard", "clusters", "joint_clusters"}
    assert [cluster["size"] for cluster in group["clusters"]] == [6, 6]
    (joint,) = group["joint_clusters"]
    assert joint == {"first": 0, "end": 2, "shared_chunks": [[["station"]] * 4]}
    chunks = [
        {tuple(part): chunk.count(part) for part in chunk}
        for cluster in group["clusters"]
        for chunk in cluster["record_chunks"]
    ]
    expected: list[dict[tuple[str, ...], int]] = [{("bakery", "cinema", "park"): 6}, {("market", "museum"): 6}]
    assert sorted(chunks, key=str) == expected
    assert (outcome.people, outcome.population) == (12, 12)
    assert outcome.account == Account(released=len(TWO_CROWDS))
    assert outcome.points_released == 6 * 3 + 6 * 2 + 4


def test_clusters_that_share_nothing_leave_alone_and_are_counted_anew() -> None:
    """Without the station two messages leave, each with one cluster and no joint one."""
    outcome = released(TWO_CROWDS[TWO_CROWDS["location"] != STATION], SMALL)
    assert [(len(one["clusters"]), one["joint_clusters"]) for one in said(outcome)] == [(1, []), (1, [])]


def test_joint_clusters_are_counted_within_their_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second group's joint cluster begins at 0, and names stand for locations."""
    three = tuple(RecordChunk(((location,),) * 3) for location in (0, 1, 2))
    shared = RecordChunk(((3,),) * 3)
    planted = Disassociated(
        clusters=tuple(Cluster(size=3, record_chunks=(chunk,), term_chunk=()) for chunk in three),
        joint_clusters=(JointCluster(first=1, end=3, shared_chunks=(shared,)),),
    )
    rows = visits(*((user, 0, user // 3) for user in range(9)), *((user, 10, MUSEUM) for user in (3, 4, 6)))
    users = ((0, 1, 2), (3, 4, 5), (6, 7, 8))
    plant(monkeypatch, planted, users, by_place=True)
    first, second = groups(released(rows, set_plan()))
    assert first == ClusterGroup(
        clusters=(NamedCluster(size=3, record_chunks=((("bakery",),) * 3,), term_chunk=()),), joint_clusters=()
    )
    assert [cluster.record_chunks[0][0] for cluster in second.clusters] == [("cinema",), ("market",)]
    assert second.joint_clusters == (NamedJoint(first=0, end=2, shared_chunks=((("museum",),) * 3,)),)


def test_a_window_tells_its_model_parameters_and_measures() -> None:
    """The windows message names them all; nothing in it or beside it is of a person."""
    outcome = released(TWO_CROWDS, SMALL)
    told = window_message(outcome)
    assert told["model"] == "disassociation"
    assert told["parameters"] == {"k": 3, "m": 2, "largest_cluster": 6, "rare_locations": False}
    assert told["information_loss"] == {"released_locations": 6, "clusters": 2, "term_chunk_share": 0.0}
    assert {len(place["members"]) for place in told["locations"]} == {1}
    assert released(TWO_CROWDS, set_plan()).parameters["largest_cluster"] == 30
    assert not [message for message in messages(outcome) if b"pseudonym" in message.value]


def test_a_rare_location_is_suppressed_unless_it_is_asked_for() -> None:
    """One person at the museum: it is in no message, and neither is that something is missing."""
    rows = np.concatenate([PAIRS, visits((0, 50, MUSEUM))])
    outcome = released(rows, set_plan())
    assert b"museum" not in b"".join(message.value for message in messages(outcome))
    assert outcome.account == Account(released=12, suppressed=1)
    assert (outcome.people, outcome.population, outcome.points_suppressed) == (6, 6, None)
    asked = released(rows, set_plan(options=DisassociationOptions(rare_locations=True)))
    assert [cluster["term_chunk"] for one in said(asked) for cluster in one["clusters"]] == [["museum"]]
    assert (asked.account.suppressed, asked.points_suppressed) == (0, 0)


def test_one_person_of_whom_nothing_is_released_is_not_counted_in_public() -> None:
    """Somebody at a rare place alone: the population does not tell."""
    outcome = released(np.concatenate([PAIRS, visits((9, 50, MUSEUM))]), set_plan())
    assert (outcome.people, outcome.population, outcome.points_suppressed) == (6, None, None)


def named(candidate: Disassociated, names: tuple[str, ...]) -> Counter[object]:
    """Clusters and shared chunks of a release by the names of locations, in no order."""
    found: Counter[object] = Counter()
    for cluster in candidate.clusters:
        chunks = frozenset(
            _bag([tuple(names[i] for i in part) for part in c.subrecords]) for c in cluster.record_chunks
        )
        found[(cluster.size, chunks, tuple(names[i] for i in cluster.term_chunk))] += 1
    for joint in candidate.joint_clusters:
        for chunk in joint.shared_chunks:
            found[joint.end - joint.first, _bag([tuple(names[i] for i in part) for part in chunk.subrecords])] += 1
    return found


def _bag(subrecords: list[tuple[str, ...]]) -> frozenset[tuple[tuple[str, ...], int]]:
    return frozenset(Counter(subrecords).items())


@settings(max_examples=examples(80))
@given(rows=strategies.visit_rows(max_users=9, max_rows=40))
def test_what_leaves_is_what_the_model_gives(rows: Rows) -> None:
    """Each cluster and each shared chunk leaves once, and every row is somewhere."""
    for options in (DisassociationOptions(largest_cluster=3), DisassociationOptions(rare_locations=True)):
        plan = set_plan(k=2, options=options, limits=limits(points_per_user=6, trajectory_length=4))
        outcome = release(rows, plan)
        account = outcome.account
        assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
        assert not isinstance(outcome, ReleaseRefused)
        if isinstance(outcome, Release):
            window = assemble_sequences(rows, plan.locator, plan.limits)
            given = anonymized(rows, plan)[1].release
            left: Counter[object] = Counter()
            for group in groups(outcome):
                for cluster in group.clusters:
                    chunks = frozenset(_bag(list(chunk)) for chunk in cluster.record_chunks)
                    left[(cluster.size, chunks, cluster.term_chunk)] += 1
                for joint in group.joint_clusters:
                    assert 0 <= joint.first < joint.end <= len(group.clusters)
                    for chunk in joint.shared_chunks:
                        left[joint.end - joint.first, _bag(list(chunk))] += 1
            assert left == named(given, window.vocabulary.names)


def test_sensitive_locations_leave_in_term_chunks() -> None:
    """Two of six people at the museum: the cluster names it, as sensitive, and nothing says whose it was."""
    rows = np.concatenate([PAIRS, visits((0, 50, MUSEUM), (1, 50, MUSEUM))])
    options = DisassociationOptions(rare_locations=True)
    outcome = released(rows, set_plan(l=3, sensitive=frozenset({"museum"}), options=options))
    ((cluster,),) = [one["clusters"] for one in said(outcome)]
    assert cluster["term_chunk"] == ["museum"]
    assert "museum" not in str(cluster["record_chunks"])
    told = window_message(outcome)
    assert told["parameters"] == {
        "k": 3, "m": 2, "l": 3, "sensitive_locations": 1, "largest_cluster": 30, "rare_locations": True,
    }  # fmt: skip
    assert [place["members"] for place in told["locations"] if place.get("sensitive")] == [["museum"]]
    hidden = released(rows, set_plan(l=4, sensitive=frozenset({"museum"}), options=options))
    assert b"museum" not in b"".join(message.value for message in messages(hidden))
    assert hidden.account == Account(released=12, suppressed=2)
    assert hidden.points_suppressed is None


# ---------------------------------------------------------------- broken anonymizers


def plant(
    monkeypatch: pytest.MonkeyPatch,
    candidate: Disassociated,
    users: tuple[tuple[int, ...], ...],
    *,
    by_place: bool = False,
) -> None:
    """Let a release stand in for the model's, of these people.

    Args:
        monkeypatch: Undoes it.
        candidate: The release.
        users: User numbers of each cluster's people.
        by_place: Number people by the place where they are first, as hashes have any order.
    """

    def planted(sequences: Any, *_: object) -> Disassociation:
        order = list(range(sequences.n_users))
        if by_place:
            first = sequences.locations[sequences.starts[:-1]]
            order = sorted(order, key=lambda user: int(first[user]))
        kept = np.ones(len(sequences.locations), np.bool_)
        its = tuple(tuple(order[user] for user in cluster) for cluster in users)
        return Disassociation(release=candidate, users=its, kept=kept)

    monkeypatch.setattr("core.models.disassociation.release.disassociate", planted)


def one(size: int, *chunks: tuple[tuple[int, ...], ...], terms: tuple[int, ...] = ()) -> Cluster:
    return Cluster(size=size, record_chunks=tuple(map(RecordChunk, chunks)), term_chunk=terms)


SIX = (0, 1, 2, 3, 4, 5)
BOTH = (0, 1)
THREES = (one(3, ((0,),) * 3), one(3, ((0,),) * 3))


@pytest.mark.parametrize(
    ("clusters", "joint", "users", "broken"),
    [
        ((one(6, ((1, 0),) + (BOTH,) * 5),), (), (SIX,), ["invented", "malformed"]),
        ((one(2, (BOTH,) * 2), one(4, (BOTH,) * 4)), (), ((0, 1), (2, 3, 4, 5)), ["not_km", "too_few_people"]),
        ((one(6, (BOTH,) * 2 + ((0,),) * 4),), (), (SIX,), ["invented", "not_km"]),
        ((one(6, ((0,),) * 3, ((1,),) * 3),), (), (SIX,), ["invented", "too_few_subrecords"]),
        (
            THREES,
            (JointCluster(first=0, end=2, shared_chunks=(RecordChunk((BOTH,) + ((1,),) * 5),)),),
            ((0, 1, 2), (3, 4, 5)),
            ["invented", "no_room", "not_k", "not_km"],
        ),
        ((one(6, (BOTH,) * 6),), (), (SIX[:5],), ["invented", "people"]),
        ((one(6, ((0,),) * 6),), (), (SIX,), ["not_told"]),
        ((one(6, (BOTH,) * 5 + ((0,),)),), (), (SIX,), ["invented"]),
    ],
)
def test_a_candidate_that_breaks_the_guarantee_is_refused(
    clusters: tuple[Cluster, ...],
    joint: tuple[JointCluster, ...],
    users: tuple[tuple[int, ...], ...],
    broken: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each kind of violation, of the release or of where it is from: the finding names the kinds, and only that the
    window is withheld leaves."""
    plant(monkeypatch, Disassociated(clusters=clusters, joint_clusters=joint), users)
    outcome = release(PAIRS, set_plan())
    assert isinstance(outcome, ReleaseRefused)
    assert outcome.finding.startswith("the release breaks, with k=3: ")
    assert outcome.finding.removeprefix("the release breaks, with k=3: ").split(", ") == broken
    assert [message.topic for message in messages(outcome)] == ["windows"]
    assert outcome.account == Account(withheld=12)


def test_the_planted_releases_start_from_a_good_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted without a fault, the window is released: it is the fault that is refused."""
    plant(monkeypatch, Disassociated(clusters=(one(6, (BOTH,) * 6),), joint_clusters=()), (SIX,))
    assert groups(released(PAIRS, set_plan()))[0].clusters[0].size == 6


def test_a_rare_location_that_was_not_asked_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A term chunk with the museum of one person keeps Guarantee 1, and not what the settings say."""
    rows = np.concatenate([PAIRS, visits((0, 50, MUSEUM))])
    candidate = Disassociated(clusters=(one(6, (BOTH,) * 6, terms=(2,)),), joint_clusters=())
    plant(monkeypatch, candidate, (SIX,))
    outcome = release(rows, set_plan())
    assert isinstance(outcome, ReleaseRefused)
    assert outcome.finding == "the release breaks, with k=3: rare locations"
    assert isinstance(release(rows, set_plan(options=DisassociationOptions(rare_locations=True))), Release)


def test_a_sensitive_location_of_too_many_people_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """All six were at the cinema: a term chunk must not name it, and a record chunk would say whose it was."""
    plan = set_plan(l=2, sensitive=frozenset({"cinema"}))
    plant(monkeypatch, Disassociated(clusters=(one(6, ((0,),) * 6, terms=(1,)),), joint_clusters=()), (SIX,))
    outcome = release(PAIRS, plan)
    assert isinstance(outcome, ReleaseRefused)
    assert outcome.finding == "the release breaks, with k=3: sensitive locations"
    plant(monkeypatch, Disassociated(clusters=(one(6, (BOTH,) * 6),), joint_clusters=()), (SIX,))
    linked = release(PAIRS, plan)
    assert isinstance(linked, ReleaseRefused)
    assert linked.finding == "the release breaks, with k=3: exposed"


def test_a_window_where_nothing_is_left_is_withheld() -> None:
    """Too few people, or no place of k people: the reason is told, and no more."""
    for rows, reason in (
        (visits((1, 0, PARK), (2, 0, PARK)), WithholdReason.TOO_FEW_PEOPLE),
        (visits(*((user, 0, user) for user in range(5))), WithholdReason.NOTHING_LEFT),
    ):
        outcome = release(rows, set_plan())
        assert isinstance(outcome, Withheld)
        assert outcome.reason is reason
        assert outcome.account == Account(withheld=len(rows))


def test_measures_compare_with_the_raw_window() -> None:
    """Where all are alike a reconstruction loses nothing; none where nothing can be released."""

    figures = measured(PAIRS, set_plan())
    assert (figures.tkd, figures.re, figures.tlost, figures.visits_kept_share) == (0.0, 0.0, 0.0, 1.0)
    assert figures.tkd_ml2 == 0.0
    rare = measured(np.concatenate([PAIRS, visits((0, 50, MUSEUM))]), set_plan())
    assert rare.visits_kept_share == pytest.approx(12 / 13)
    assert rare.as_dict() == measured(np.concatenate([PAIRS, visits((0, 50, MUSEUM))])[::-1], set_plan()).as_dict()
    assert measured(PAIRS[:2], set_plan()) is None
