"""The models of check-ins through a whole window: what they are told of locations, and what stops a broken one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.common.sequences import SequenceTrajectory
from core.models.common.verify_constraints import verify_constraints
from core.models.km.algorithms import LeastLoss, SDSeqAnon, SeqAnon, SequenceAlgorithm, USeqAnon
from core.models.km.anonymize.least_loss.anonymize import LeastLossOptions
from core.models.km.anonymize.least_loss.prices import Prices
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.guarantee import KmAnonymity
from core.models.km.plan import KmPlan
from core.places.constraints import LevelConstraints, ListedConstraints
from core.places.meaning import OwnTaxonomy, VenueTaxonomy
from core.places.taxonomy import Categories
from core.records.record import Rows
from core.release.outcome import Account, Release, ReleaseRefused, Withheld, WithholdReason
from core.trajectories.assemble import SequenceWindow, assemble_sequences
from tests.builders import strategies
from tests.builders.windows import PLACES, VENUES, limits, release, released, sequence_plan, visits, window_message

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)

CATEGORIES = Categories.from_rows(
    [("shop", ""), ("food", "shop"), ("culture", ""), ("old", "culture"), ("outdoors", "")]
)
CATEGORY_OF = {
    "bakery": "food", "market": "food", "cinema": "culture", "museum": "old", "park": "outdoors", "station": "outdoors",
}  # fmt: skip
TAXONOMY = VenueTaxonomy(CATEGORIES, CATEGORY_OF, "places:12345678", VENUES)
LISTED = ListedConstraints({"bakery": "food", "market": "food", "park": "green"}, "others", "listed:12345678")

ROWS = visits(
    *((user, 10 * step, place) for user in range(1, 9) for step, place in enumerate((PARK, user % 3, STATION))),
    (9, 0, MUSEUM),
)
"""Eight people go from the park over one of three places to the station; a ninth is in the museum."""


def window_of(rows: Rows) -> SequenceWindow:
    """Assemble it."""
    return assemble_sequences(rows, VENUES, limits())


def shown(outcome: Release) -> set[tuple[str, ...]]:
    """The generalized locations of a release."""
    return {
        location
        for trajectory in outcome.trajectories
        if isinstance(trajectory, SequenceTrajectory)
        for location in trajectory.locations
    }


# ---------------------------------------------------------------- what is known of locations


def test_a_venue_stands_where_its_category_does() -> None:
    """
    Paths go by the window's own numbering: a window without the cinema numbers the market 1.
    """
    assert TAXONOMY.paths(window_of(ROWS).vocabulary) == [
        ("shop", "food"), ("culture",), ("shop", "food"), ("culture", "old"), ("outdoors",), ("outdoors",),
    ]  # fmt: skip
    assert TAXONOMY.paths(window_of(visits((1, 0, MUSEUM), (2, 0, MARKET))).vocabulary) == [
        ("shop", "food"),
        ("culture", "old"),
    ]


def test_locations_that_are_not_listed_have_the_default_constraint() -> None:
    """
    A list names what matters; the rest may be generalized together.
    """
    labels = LISTED.labels(window_of(ROWS).vocabulary)
    assert labels == ["food", "others", "food", "others", "green", "others"]


@pytest.mark.parametrize(
    ("level", "labels"),
    [
        (1, [("shop",), ("culture",), ("shop",), ("culture",), ("outdoors",), ("outdoors",)]),
        (2, [("shop", "food"), ("culture",), ("shop", "food"), ("culture", "old"), ("outdoors",), ("outdoors",)]),
    ],
)
def test_a_level_of_a_taxonomy_is_a_partition(level: int, labels: list[object]) -> None:
    """
    Level 1 is below the root; a location that stands above the level is with its own node's.
    """
    constraints = LevelConstraints(TAXONOMY, level)
    assert constraints.labels(window_of(ROWS).vocabulary) == labels
    assert constraints.name == f"places:12345678 level {level}"


def test_the_own_hierarchy_is_asked_by_the_locators_ids() -> None:
    """
    The window's numbering is another one than the locator's: a window of two venues asks for these two.
    """
    window = window_of(visits((1, 0, STATION), (2, 0, CINEMA)))
    own = OwnTaxonomy(VENUES)
    assert window.vocabulary.ids.tolist() == [CINEMA, STATION]
    assert own.paths(window.vocabulary) == VENUES.ancestors(np.array([CINEMA, STATION]))
    assert own.name == "own"


MODELS: list[tuple[SequenceAlgorithm, str, dict[str, Any]]] = [
    (SeqAnon(), "seqanon", {}),
    (SDSeqAnon(TAXONOMY), "sd-seqanon", {"taxonomy": "places:12345678"}),
    (SDSeqAnon(OwnTaxonomy(VENUES)), "sd-seqanon", {"taxonomy": "own"}),
    (USeqAnon(LISTED, 40.0), "u-seqanon", {"constraints": "listed:12345678", "suppression_percent": 40.0}),
    (
        USeqAnon(LevelConstraints(OwnTaxonomy(VENUES), 3), 40.0),
        "u-seqanon",
        {"constraints": "own level 3", "suppression_percent": 40.0},
    ),
    (
        LeastLoss(LeastLossOptions(prices=Prices(split=2.0), max_suppressed_percent=10)),
        "least-loss",
        {"suppression_price": 1.0, "split_price": 2.0, "max_suppressed": 10, "max_split": 5.0},
    ),
]


@pytest.mark.parametrize(("algorithm", "model", "parameters"), MODELS)
def test_a_release_tells_what_it_was_made_with(
    algorithm: SequenceAlgorithm, model: str, parameters: dict[str, Any]
) -> None:
    """
    Model, k, m, and the names of taxonomy and constraints are in the windows message, released or not.
    """
    plan = sequence_plan(algorithm=algorithm)
    for rows in (ROWS, ROWS[:1]):
        content = window_message(release(rows, plan))
        assert (content["model"], content["parameters"]) == (model, {"k": 3, "m": 2, **parameters})
    assert isinstance(release(ROWS, plan), Release)


@pytest.mark.parametrize("algorithm", [algorithm for algorithm, _, _ in MODELS])
@given(rows=strategies.visit_rows(max_users=7), k=st.integers(2, 4), m=st.integers(1, 4))
def test_no_window_is_refused(algorithm: SequenceAlgorithm, rows: Rows, k: int, m: int) -> None:
    """
    What the anonymizer makes, the verifiers accept; what leaves nothing is withheld, every row accounted for.
    """
    outcome = release(rows, sequence_plan(k=k, m=m, algorithm=algorithm))
    assert not isinstance(outcome, ReleaseRefused)
    account = outcome.account
    assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)


def test_a_budget_exceeded_withholds_the_window_with_its_reason() -> None:
    """
    Kept apart, the middle places and the museum have too few visitors: suppressing three of six locations is too much
    for a budget of 49 %, and all right for one of 50 %.
    """
    apart = ListedConstraints({name: name for name in PLACES}, None, "apart")
    # Three people go over the cinema and the market; the bakery has two, the museum one.
    few = sequence_plan(k=3, m=2, algorithm=USeqAnon(apart, 33.0))
    outcome = release(ROWS, few)
    assert isinstance(outcome, Withheld)
    assert not isinstance(outcome, ReleaseRefused)
    assert outcome.reason is WithholdReason.CONSTRAINTS_NOT_SATISFIED
    assert outcome.account == Account(withheld=len(ROWS))
    content = window_message(outcome)
    assert (content["outcome"], content["reason"]) == ("withheld", "constraints_not_satisfied")
    enough = released(ROWS, sequence_plan(k=3, m=2, algorithm=USeqAnon(apart, 34.0)))
    assert shown(enough) == {("cinema",), ("market",), ("park",), ("station",)}
    assert enough.account == Account(released=len(ROWS) - 3, suppressed=3)


# ---------------------------------------------------------------- broken anonymizers


Anonymize = Callable[[SequenceWindow], Generalization]


@dataclass(frozen=True, slots=True)
class Broken(USeqAnon):
    """U-SeqAnon that does what a test says, with the constraints that it should have obeyed."""

    planted: Anonymize = field(kw_only=True)

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization:
        """Do it."""
        return self.planted(window)


def merging(*groups: tuple[int, ...], without: tuple[int, ...] = ()) -> Anonymize:
    """Merge these locations, suppress those."""

    def anonymize(window: SequenceWindow) -> Generalization:
        group_of = np.arange(len(window.vocabulary.ids))
        for group in groups:
            group_of[list(group)] = min(group)
        kept = ~np.isin(window.sequences.locations, without)
        return Generalization(group_of=group_of, kept=kept, merges=0)

    return anonymize


def broken_plan(percent: float, anonymize: Anonymize) -> KmPlan:
    """Plan for it: k = 2, m = 1, so that k^m alone asks for nothing but the museum."""
    return sequence_plan(k=2, m=1, algorithm=Broken(LISTED, percent, planted=anonymize))


@pytest.mark.parametrize(
    ("anonymize", "finding"),
    [
        (merging((CINEMA, MUSEUM, PARK)), "1 generalized locations straddle utility constraints, 0.0 %"),
        (merging((BAKERY, CINEMA), (MUSEUM, PARK)), "2 generalized locations straddle utility constraints, 0.0 %"),
        (merging(without=(CINEMA, MUSEUM)), "0 generalized locations straddle utility constraints, 33.3 %"),
        (merging((BAKERY, STATION), without=(CINEMA, MUSEUM)), "1 generalized locations straddle"),
    ],
)
def test_a_model_that_breaks_its_constraints_is_refused(anonymize: Anonymize, finding: str) -> None:
    """
    k^m-anonymous, but a generalized location is of two constraints, or a third is suppressed where 20 % may be.
    """
    outcome = release(ROWS, broken_plan(20.0, anonymize))
    assert isinstance(outcome, ReleaseRefused), outcome
    assert outcome.finding.startswith(finding)
    assert not [name for name in PLACES if name in outcome.finding]
    assert outcome.account == Account(withheld=len(ROWS))


def test_the_planted_models_start_from_a_good_one() -> None:
    """
    Planted without a fault, the same window is released, and so is one that uses its budget up.
    """
    assert isinstance(release(ROWS, broken_plan(20.0, merging((CINEMA, MUSEUM), (BAKERY, MARKET)))), Release)
    assert isinstance(release(ROWS, broken_plan(34.0, merging(without=(CINEMA, MUSEUM)))), Release)
    assert isinstance(release(ROWS, broken_plan(17.0, merging(without=(MUSEUM,)))), Release)
    assert isinstance(release(ROWS, broken_plan(16.0, merging(without=(MUSEUM,)))), ReleaseRefused)


def test_a_location_that_is_listed_as_a_member_is_not_suppressed() -> None:
    """
    A generalized location that lists the museum shows it, though no visit to the museum itself is in the release:
    Definition 10 counts locations, and a budget of nothing is kept.
    """
    outcome = released(ROWS, broken_plan(0.0, merging((CINEMA, MUSEUM), without=(MUSEUM,))))
    assert ("cinema", "museum") in shown(outcome)
    assert outcome.account.suppressed == 1


# ---------------------------------------------------------------- the check of constraints


CONSTRAINT_OF = {"a": 1, "b": 1, "c": 2, "d": 2}


@pytest.mark.parametrize(
    ("trajectories", "straddling", "suppressed_percent"),
    [
        ([["a", "b", "c", "d"]], 0, 0.0),
        ([["ab", "cd"], ["ab"]], 0, 0.0),
        ([["ab", "c"]], 0, 25.0),
        ([["abc"]], 1, 25.0),
        ([["ac", "bd"], ["ac"]], 2, 0.0),
        ([["a"], []], 0, 75.0),
        ([[]], 0, 100.0),
        ([], 0, 100.0),
    ],
)
def test_both_conditions_are_counted(trajectories: list[list[str]], straddling: int, suppressed_percent: float) -> None:
    """
    Definition 10: distinct generalized locations of two constraints, and the share of locations that are gone.
    """
    report = verify_constraints(trajectories, "abcd", CONSTRAINT_OF, budget_percent=25)
    assert (report.straddling, report.suppressed_percent) == (straddling, suppressed_percent)
    assert report.holds == (straddling == 0 and suppressed_percent <= 25)


def test_of_nothing_nothing_is_suppressed() -> None:
    """
    A window without locations satisfies any constraints.
    """
    assert verify_constraints([], [], {}, budget_percent=0).holds
