"""Sets of generalized locations through a whole window: what leaves, what does not, and an attack on all of it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.km_sets.algorithms import LRA, VPA, Apriori, ConstrainedSets, SetAlgorithm
from core.models.km_sets.released import LocationSet
from core.places.constraints import ListedConstraints
from core.places.meaning import VenueTaxonomy
from core.places.taxonomy import Categories
from core.records.record import Rows
from core.release.outcome import Account, Outcome, Release, ReleaseRefused, Withheld, WithholdReason
from core.trajectories.assemble import SequenceWindow
from core.trajectories.recoding import Recoding
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import (
    PLACES,
    VENUES,
    hash_of,
    label_set_plan,
    limits,
    measured,
    release,
    released,
    visits,
    window_message,
)
from tests.oracles.km_sets import matching

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)

TAXONOMY = VenueTaxonomy(
    Categories.from_rows([("inside", ""), ("food", "inside"), ("culture", "inside"), ("outside", "")]),
    {
        "bakery": "food", "market": "food", "cinema": "culture", "museum": "culture", "park": "outside",
        "station": "outside",
    },
    "places:12345678",
    VENUES,
)  # fmt: skip
CONSTRAINTS = ListedConstraints({"park": "green"}, "others", "listed:12345678")

ALGORITHMS: dict[str, SetAlgorithm] = {
    "sets-apriori": Apriori(TAXONOMY),
    "sets-lra": LRA(TAXONOMY, 4),
    "sets-vpa": VPA(TAXONOMY),
    "coat": ConstrainedSets("coat", CONSTRAINTS, 60),
    "pcta": ConstrainedSets("pcta", CONSTRAINTS, 60),
}

CROWD = visits(
    *((user, 10 * step, place) for user in range(8) for step, place in enumerate((PARK, user % 2, STATION, PARK))),
    (8, 0, MUSEUM),
    (8, 9, PARK),
)
"""Eight people in the park, at the bakery or the cinema, at the station and in the park again; a ninth elsewhere."""


def sets_of(outcome: Outcome) -> list[tuple[tuple[str, ...], ...]]:
    assert isinstance(outcome, Release)
    return [one.locations for one in outcome.trajectories if isinstance(one, LocationSet)]


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_people_leave_as_sets(algorithm: SetAlgorithm) -> None:
    """One message a person, sorted and without repetition; the figures do not count how often somebody was there."""
    plan = label_set_plan(algorithm=algorithm)
    outcome = released(CROWD, plan)
    sets = sets_of(outcome)
    assert len(sets) == 9
    assert all(list(one) == sorted(set(one)) for one in sets)
    assert outcome.points_released == sum(map(len, sets))
    once = released(CROWD[CROWD["ts_ms"] != CROWD["ts_ms"][3]], plan)
    assert once.information_loss == outcome.information_loss
    assert once.points_released == outcome.points_released
    told = window_message(outcome)
    assert told["model"] == plan.model
    assert told["parameters"] == {"k": 3, "m": 2, **algorithm.parameters}
    assert {tuple(place["members"]) for place in told["locations"]} == {place for one in sets for place in one}


def test_the_museum_is_generalized_along_the_taxonomy() -> None:
    """One person there: with the cinema it is the culture, which is shared by more than k people."""
    sets = sets_of(released(CROWD, label_set_plan(algorithm=Apriori(TAXONOMY))))
    assert {place for one in sets for place in one} == {("bakery",), ("cinema", "museum"), ("park",), ("station",)}


def test_a_location_alone_in_its_constraint_is_suppressed() -> None:
    """Two people in the park, which may not be generalized with anything: it is left out, unless that is too much."""
    rows = visits(*((user, 0, BAKERY) for user in range(6)), (0, 9, PARK), (1, 9, PARK))
    for algorithm in (ConstrainedSets("coat", CONSTRAINTS, 50), ConstrainedSets("pcta", CONSTRAINTS, 50)):
        outcome = released(rows, label_set_plan(algorithm=algorithm))
        assert sets_of(outcome) == [(("bakery",),)] * 6
        assert outcome.account == Account(released=6, suppressed=2)
        assert outcome.points_suppressed is None
    for less in (ConstrainedSets("coat", CONSTRAINTS, 49), ConstrainedSets("pcta", CONSTRAINTS, 49)):
        withheld = release(rows, label_set_plan(algorithm=less))
        assert isinstance(withheld, Withheld)
        assert withheld.reason is WithholdReason.CONSTRAINTS_NOT_SATISFIED


@settings(max_examples=examples(150))
@given(
    rows=strategies.visit_rows(max_users=9, max_rows=40),
    name=st.sampled_from(sorted(ALGORITHMS)),
    k=st.integers(2, 4),
    m=st.integers(1, 3),
)
def test_an_adversary_who_knows_m_locations_finds_k_people(rows: Rows, name: str, k: int, m: int) -> None:
    """
    Whatever up to m of the locations of a released person are known, k messages match, or the person's own does not,
    because a location was suppressed. The verifier finds nothing, and each row is in one count.
    """
    plan = label_set_plan(k=k, m=m, algorithm=ALGORITHMS[name], limits=limits(trajectory_length=5))
    outcome = release(rows, plan)
    account = outcome.account
    assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
    assert not isinstance(outcome, ReleaseRefused)
    if not isinstance(outcome, Release):
        return
    sets = sets_of(outcome)
    shown = {name for one in sets for place in one for name in place}
    for user in np.unique(rows["user"]):
        visited = {PLACES[place] for place in rows["location"][rows["user"] == user].tolist()} & shown
        for size in range(1, m + 1):
            for known in combinations(sorted(visited), size):
                assert len(matching(known, sets)) >= k


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_measures_are_the_same_in_any_order(algorithm: SetAlgorithm) -> None:
    """Nothing lost where all are alike; else each figure is in its range."""
    plan = label_set_plan(algorithm=algorithm)
    alike = measured(visits(*((user, 10 * i, i) for user in range(4) for i in range(3))), plan, taxonomy=TAXONOMY)
    assert alike.as_dict() == {
        "ncp": 0, "ul": 0, "are": 0, "tkd_ml2": 0, "labels": 3, "visits_kept_share": 1,
    }  # fmt: skip
    figures = measured(CROWD, plan, taxonomy=TAXONOMY)
    assert figures.as_dict() == measured(CROWD[::-1], plan, taxonomy=TAXONOMY).as_dict()
    assert 0 < figures.ncp <= 1
    assert 0 < figures.ul <= 1
    assert 0 < figures.tkd_ml2 <= 1
    assert figures.are > 0
    assert measured(CROWD[:2], plan) is None


# ---------------------------------------------------------------- broken anonymizers


class Planted(Apriori):
    """An algorithm that does what a test says."""

    def anonymize(self, window: SequenceWindow, guarantee: object) -> Recoding | None:
        """Release every location as it is, those of the museum as the station."""
        names = window.vocabulary.names
        at = {location: (location,) for location in range(len(names))}
        if "museum" in names:
            at[names.index("museum")] = (names.index("station"),)
        labels = list(at.values())
        return Recoding.of(labels, window.sequences.locations.copy())


def test_a_rare_set_and_an_untrue_one_are_refused() -> None:
    """One person in the park and at the bakery; or somebody at the museum who is released at the station."""
    plan = label_set_plan(algorithm=Planted(TAXONOMY))
    rare = release(visits(*((user, 0, BAKERY) for user in range(4)), (0, 9, PARK)), plan)
    assert isinstance(rare, ReleaseRefused)
    assert rare.finding.startswith("2 sets of <= 2 generalized locations have support below k=3, 0 people")
    everywhere = ((user, 10 * place, place) for user in range(4) for place in (MUSEUM, STATION))
    fine = visits(*((user, 0, STATION) for user in range(4)))
    assert isinstance(release(fine, plan), Release)
    untrue = release(np.concatenate([visits(*everywhere), visits((9, 0, MUSEUM))]), plan)
    assert isinstance(untrue, ReleaseRefused)
    assert "1 have a location that was not visited" in untrue.finding
    assert str(hash_of(9)) not in untrue.finding
