"""Measuring a window against what is released of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from core.models.km.anonymize.seqanon import Generalization
from core.models.km.measure import KmMeasures, compare
from core.places.meaning import OwnTaxonomy
from core.places.taxonomy import LocationTree
from core.records.keys import keyed_generator
from core.trajectories.assemble import SequenceWindow, assemble_sequences
from core.utility.window_measures import MeasureOptions
from tests.builders.windows import SECRET, VENUES, limits, measured, seal_of, sequence_plan, visits

OPTIONS = MeasureOptions(queries=30, projections=3)
CHANCE = np.random.default_rng(4)
ROWS = visits(*((user, 10 * step, int(CHANCE.integers(0, 6))) for user in range(20) for step in range(5)))
PLAN = sequence_plan(k=3)
OF_QUERIES = ("are",)
OF_PAIRS = ("kl_pairs", "kl_pairs_lost")
OF_PATTERNS = ("patterns_frequent", "patterns_kept", "patterns_invented")


def window() -> SequenceWindow:
    return assemble_sequences(ROWS, VENUES, limits())


def tree(of: SequenceWindow) -> LocationTree:
    return LocationTree(OwnTaxonomy(VENUES).paths(of.vocabulary))


def halves(of: SequenceWindow) -> Generalization:
    """Generalize the first three places together, and the last three."""
    group_of = np.array([0, 0, 0, 3, 3, 3])
    return Generalization(group_of=group_of, kept=np.ones(len(of.sequences.locations), np.bool_), merges=4)


def compared(seed: int = 1, options: MeasureOptions = OPTIONS) -> dict[str, float]:
    of = window()
    return compare(of, halves(of), tree(of), np.random.default_rng(seed), k=3, options=options).as_dict()


def test_what_is_released_as_it_is_loses_nothing() -> None:
    """
    No distance, no error, no divergence, the least penalty, no generalized location, every pattern.
    """
    of = window()
    n_visits = len(of.sequences.locations)
    result = Generalization(group_of=np.arange(6), kept=np.ones(n_visits, np.bool_), merges=0)
    found = compare(of, result, tree(of), np.random.default_rng(1), k=3, options=OPTIONS)
    zero = {"distance_m", "distance_share", "combined_distance_m", "are", "kl_locations", "kl_locations_lost"}
    zero |= {"kl_pairs", "kl_pairs_lost", "generalized_locations", "patterns_invented"}
    assert {name for name, value in found.as_dict().items() if value == 0} == zero
    assert found.semantic_penalty == pytest.approx(1 / 6)
    assert (found.original_locations, found.patterns_kept) == (6, 1.0)
    assert found.patterns_frequent > 6
    assert math.isnan(found.generalized_size)
    assert math.isnan(found.generalized_distance_share)


def test_what_is_generalized_loses_something() -> None:
    """
    Two generalized locations of three: every measure of loss is above its least value.
    """
    found = compared()
    assert (found["original_locations"], found["generalized_locations"], found["generalized_size"]) == (0, 2, 3)
    for name in ("distance_m", "combined_distance_m", "are", "kl_locations", "kl_pairs"):
        assert found[name] > 0, name
    assert 0 < found["distance_share"] < found["generalized_distance_share"] < 1
    assert found["combined_distance_m"] <= found["distance_m"]
    assert 1 / 6 < found["semantic_penalty"] <= 1
    assert found["patterns_kept"] < 1


def test_a_seed_decides_and_only_over_what_is_drawn() -> None:
    """
    The same seed gives the same figures; another one changes those that are drawn, and no other.
    """
    one, other = compared(1), compared(2)
    assert one == compared(1)
    changed = {name for name in one if one[name] != other[name]}
    assert "are" in changed
    assert changed <= {*OF_QUERIES, *OF_PAIRS, *OF_PATTERNS}


def test_more_of_one_measure_changes_no_other() -> None:
    """
    Queries, pairs and projections are drawn apart from one another.
    """
    usual = compared()
    more = compared(options=replace(OPTIONS, projections=7))
    assert {name for name in usual if usual[name] != more[name]} <= {"patterns_kept", "patterns_invented"}
    larger = compared(options=replace(OPTIONS, queries=31))
    assert {name for name in usual if usual[name] != larger[name]} <= {*OF_QUERIES, *OF_PAIRS}
    assert usual["are"] != larger["are"]


@pytest.mark.parametrize(
    ("people", "k", "expected"), [(1000, 5, 20), (1001, 5, 21), (100, 5, 5), (0, 2, 2)]
)  # two percent
def test_a_frequent_pattern_has_a_share_of_the_people_and_at_least_k(people: int, k: int, expected: int) -> None:
    """
    The share is rounded up; what fewer than k people have in common is never a pattern.
    """
    assert MeasureOptions(min_support_percent=2.0).min_support(people, k) == expected


def test_a_release_is_measured_as_it_was_made() -> None:
    """
    The same window, generalized by the plan, with chance of its own that the secret and the release decide.
    """
    seal = seal_of(ROWS, PLAN)
    found = measured(ROWS, PLAN, OPTIONS)
    of = window()
    result = PLAN.algorithm.anonymize(of, PLAN.guarantee)
    assert result is not None
    rng = keyed_generator(SECRET, seal.release_id, "measures")
    expected = compare(of, result, tree(of), rng, k=3, options=OPTIONS)
    assert isinstance(found, KmMeasures)
    np.testing.assert_equal(found.as_dict(), expected.as_dict())
    choices = keyed_generator(SECRET, seal.release_id).integers(0, 2**32)
    assert choices != keyed_generator(SECRET, seal.release_id, "measures").integers(0, 2**32)


def test_what_is_withheld_has_no_measures() -> None:
    """
    Fewer than k people: nothing is released, and nothing is measured.
    """
    few = ROWS[np.isin(ROWS["user"], np.unique(ROWS["user"])[:2])]
    assert measured(few, PLAN, OPTIONS) is None
