"""A release in clusters: what leaves is what the model gives, the verifier decides, and counts tell of nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from core.models.common.guarantee import Parameters
from core.models.common.sequences import SequenceTrajectory
from core.models.klm.algorithms import SGA, ZGA, ClusterAlgorithm, LmAnon
from core.models.klm.anonymize.cluster import ClusterSearch
from core.models.klm.anonymize.window import Clustered
from core.models.klm.guarantee import KLmDiversity
from core.models.klm.plan import KLmPlan
from core.records.arrays import FloatArray, IntArray
from core.records.record import Rows
from core.release.attacks.risk import worst
from core.release.outcome import Account, Release, ReleaseRefused, Withheld, WithholdReason
from core.trajectories.assemble import assemble_sequences
from core.trajectories.recoding import SUPPRESSED, Label, Recoding
from core.trajectories.trajectory import Sequences
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import (
    anonymized,
    cluster_plan,
    limits,
    measured,
    messages,
    release,
    released,
    visits,
    window_message,
)

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)
CROWD = visits(
    *((user, 10 * step, place) for user in range(1, 9) for step, place in enumerate((PARK, user % 3, STATION)))
)
"""Eight people from the park to the station: two over the bakery, three over the cinema, three over the market."""

CLUSTER_ALGORITHMS: list[ClusterAlgorithm] = [
    LmAnon(),
    ZGA(ClusterSearch()),
    ZGA(ClusterSearch(number=2)),
    SGA(ClusterSearch(number=1), top=5),
]


def sequences(outcome: Release) -> Counter[tuple[tuple[str, ...], ...]]:
    return Counter(one.locations for one in outcome.trajectories if isinstance(one, SequenceTrajectory))


def given_by(rows: Rows, plan: KLmPlan) -> Counter[tuple[tuple[str, ...], ...]]:
    """The sequences that the model gives for a window, by the names of their locations."""
    window = assemble_sequences(rows, plan.locator, plan.limits)
    recoding = anonymized(rows, plan)[1].recoding
    labels = recoding.named(window.vocabulary.names)
    found = [
        tuple(labels[label] for label in recoding.label_of[start:end].tolist() if label != SUPPRESSED)
        for start, end in pairwise(window.sequences.starts.tolist())
    ]
    return Counter(one for one in found if one)


@settings(max_examples=examples(60))
@given(rows=strategies.visit_rows(max_users=8))
def test_what_leaves_is_what_the_model_gives(rows: Rows) -> None:
    """Each sequence of the recoding leaves once for each person who has it, and every row is somewhere."""
    for algorithm in CLUSTER_ALGORITHMS:
        plan = cluster_plan(
            k=2, algorithm=algorithm, sensitive={"market"}, limits=limits(points_per_user=6, trajectory_length=4)
        )
        outcome = release(rows, plan)
        account = outcome.account
        assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
        if isinstance(outcome, Release):
            assert sequences(outcome) == given_by(rows, plan)
            assert account.released == outcome.points_released
        else:
            assert not isinstance(outcome, ReleaseRefused)


@pytest.mark.parametrize(
    ("algorithm", "model", "parameters"),
    [
        (LmAnon(), "lm-anon", {}),
        (ZGA(ClusterSearch()), "zga", {"clusters": "searched"}),
        (SGA(ClusterSearch(number=2), top=7), "sga", {"clusters": 2, "key_patterns": 7}),
    ],
)
def test_a_window_tells_its_model_parameters_and_measures(
    algorithm: ClusterAlgorithm, model: str, parameters: Parameters
) -> None:
    """The windows message names them all; how many locations are sensitive is told, and which by the release alone."""
    told = window_message(released(CROWD, cluster_plan(algorithm=algorithm, sensitive={"market", "museum"})))
    promised = {"k": 3, "l": 2, "m": 2, "sensitive_locations": 2}
    assert (told["model"], told["parameters"]) == (model, promised | parameters)
    assert told["information_loss"].keys() >= {"distance_m", "generalized_locations"}
    assert "museum" not in str(told)


def test_a_sensitive_location_is_marked_and_never_generalized() -> None:
    """The bakery, too rare alone, is generalized; the market, as rare a choice, is released as it is and marked."""
    told = window_message(released(CROWD, cluster_plan(sensitive={"market"})))
    marked = [place["members"] for place in told["locations"] if place.get("sensitive")]
    assert marked == [["market"]]
    others = [place["members"] for place in told["locations"] if "sensitive" not in place]
    assert others
    assert all("market" not in members for members in others)


def test_a_share_that_is_too_high_is_suppressed_and_not_counted() -> None:
    """Of four people two have the market in common with the bakery: with l = 3 it goes, and who it was is not told."""
    rows = visits(*((u, 0, PARK) for u in range(4)), (0, 10, MARKET), (1, 10, MARKET))
    outcome = released(rows, cluster_plan(k=3, l=3, sensitive={"market"}))
    assert outcome.account == Account(released=5, suppressed=1)
    assert (outcome.people, outcome.population, outcome.points_suppressed) == (4, 4, None)


@dataclass(frozen=True)
class PlantedAlgorithm:
    """An algorithm that recodes as a test says."""

    labels: Callable[[Sequences], tuple[list[Label], IntArray]]
    model: str = "zga"
    parameters: Parameters = field(default_factory=dict)

    def anonymize(
        self, sequences: Sequences, xy_m: FloatArray, sensitive: np.ndarray, guarantee: KLmDiversity
    ) -> Clustered:
        """Do it."""
        recoding = Recoding.of(*self.labels(sequences))
        return Clustered(recoding=recoding, clusters=1, merges=0, loss=0.0, tried=(1,), work=0)


# Locations of the crowd's window, by name: bakery, cinema, market, park and station.
AS_THEY_ARE: list[Label] = [(0,), (1,), (2,), (3,), (4,)]


def raw(sequences: Sequences) -> tuple[list[Label], IntArray]:
    return AS_THEY_ARE, sequences.locations.copy()


def market_beside_station(sequences: Sequences) -> tuple[list[Label], IntArray]:
    """Whoever was at the market was there or at the station."""
    label_of = sequences.locations.copy()
    at = np.flatnonzero(label_of == 2)
    label_of[at], label_of[at + 1] = 5, SUPPRESSED
    return [*AS_THEY_ARE, (2, 4)], label_of


def park_twice(sequences: Sequences) -> tuple[list[Label], IntArray]:
    """Whoever was at the cinema has the park, and after it the park or the station."""
    label_of = sequences.locations.copy()
    label_of[np.flatnonzero(label_of == 1) + 1] = 5
    return [*AS_THEY_ARE, (3, 4)], label_of


@pytest.mark.parametrize(
    ("labels", "k", "sensitive", "counts"),
    [
        (raw, 3, "museum", (1, 0, 0, 0)),  # two at the bakery
        (raw, 2, "station", (0, 5, 0, 0)),  # all at the station, whatever is known: nothing, or one of four places
        (market_beside_station, 2, "market", (0, 0, 1, 0)),
        (park_twice, 2, "museum", (0, 0, 0, 3)),
    ],
)
def test_a_candidate_that_breaks_the_guarantee_is_refused(
    labels: Callable[[Sequences], tuple[list[Label], IntArray]],
    k: int,
    sensitive: str,
    counts: tuple[int, int, int, int],
) -> None:
    """Each part of the promise by itself: the finding counts what is broken, and only that the window is withheld
    leaves."""
    plan = cluster_plan(k=k, l=2, m=1, sensitive={sensitive}, algorithm=PlantedAlgorithm(labels))
    outcome = release(CROWD, plan)
    assert isinstance(outcome, ReleaseRefused)
    assert outcome.finding == (
        f"{counts[0]} subtrajectories of length <= 1 have support below k={k}, {counts[1]} reveal a sensitive "
        f"location with a share above 1/2, {counts[2]} labels mix one with other locations, {counts[3]} people have "
        "overlapping labels"
    )
    assert [message.topic for message in messages(outcome)] == ["windows"]
    assert outcome.account == Account(withheld=len(CROWD))


@settings(max_examples=examples(60))
@given(rows=strategies.visit_rows(max_users=8))
def test_an_attacker_knows_no_sensitive_location(rows: Rows) -> None:
    """With as many places as the promise allows, none of them sensitive, nobody is found more surely than by 1/k."""
    for algorithm in CLUSTER_ALGORITHMS:
        outcome = release(rows, cluster_plan(k=3, algorithm=algorithm, sensitive={"market", "park"}))
        if isinstance(outcome, Release):
            assert outcome.risks
            assert worst(outcome.risks) <= 1 / 3


def test_who_was_at_sensitive_locations_alone_is_not_attacked() -> None:
    """There is nothing that could be known of them; the others are."""
    rows = np.concatenate([CROWD, visits((9, 0, MARKET), (10, 0, MUSEUM), (10, 5, MARKET), (10, 9, MARKET))])
    (risk,) = released(rows, cluster_plan(sensitive={"market", "museum"})).risks.values()
    assert risk.people == 8
    assert 0 < risk.highest <= 1 / 3


def test_one_person_suppressed_is_not_counted_in_public() -> None:
    """Neither the population nor the visits tell that somebody was there of whom nothing is released."""

    def parks_of_eight(sequences: Sequences) -> tuple[list[Label], IntArray]:
        lengths = np.repeat(np.diff(sequences.starts), np.diff(sequences.starts))
        return [(3,)], np.where((sequences.locations == 3) & (lengths > 1), 0, SUPPRESSED)

    rows = np.concatenate([CROWD, visits((9, 0, PARK))])
    outcome = released(rows, cluster_plan(algorithm=PlantedAlgorithm(parks_of_eight)))
    assert outcome.account == Account(released=8, suppressed=17)
    assert (outcome.people, outcome.population) == (8, None)
    assert outcome.points_suppressed == 17  # of nine people: who counts them learns of nobody
    curbed = np.concatenate([CROWD, visits(*((1, 100 + i, PARK) for i in range(50)))])
    assert released(curbed, cluster_plan(limits=limits(points_per_user=10))).points_suppressed is None


def test_a_window_where_nothing_is_left_is_withheld() -> None:
    """Too few people, or everything suppressed: the reason is told, and no more."""
    outcome = release(CROWD[:6], cluster_plan(k=3))
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.TOO_FEW_PEOPLE
    nothing = PlantedAlgorithm(lambda sequences: ([], np.full(len(sequences.locations), SUPPRESSED)))
    outcome = release(CROWD, cluster_plan(algorithm=nothing))
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.NOTHING_LEFT


def test_measures_compare_with_the_raw_window() -> None:
    """The distance to the members of labels, in what clusters, and what is left of sensitive visits."""
    figures = measured(CROWD, cluster_plan(sensitive={"market"}, algorithm=LmAnon()))
    assert figures is not None
    assert figures.clusters == 1
    assert figures.sensitive_kept_share == 1.0
    assert 0 < figures.distance_share < 1
    assert figures.label_size == 2.0  # bakery and cinema
    none = measured(CROWD, cluster_plan(algorithm=LmAnon()))
    assert none is not None
    assert np.isnan(none.sensitive_kept_share)
    assert measured(CROWD[:6], cluster_plan()) is None
