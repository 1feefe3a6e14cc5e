"""The running example of Poulis et al. 2013, as far as it is in the text: see the note in ``rt_fig1.json``."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from core.models.kkm.anonymize.bounding import anonymize_rt
from core.models.kkm.anonymize.result import RTOptions, RTResult, published
from core.models.kkm.attributes import (
    Attributes,
    CategoricalAttribute,
    Hierarchy,
    Interval,
    NumericAttribute,
    Schema,
    Value,
)
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.ncp import certainty_penalty, mean_certainty_penalty
from core.models.kkm.verify import verify_kkm
from core.places.taxonomy import Categories
from core.trajectories.trajectory import Sequences
from tests.paths import EXAMPLES

CASE: Any = json.loads((EXAMPLES / "rt_fig1.json").read_text(encoding="utf-8"))
NAMES = sorted(CASE["positions"])
GUARANTEE = KKmAnonymity(k=CASE["k"], m=CASE["m"])
SCHEMA: Schema = (
    NumericAttribute(name="age", low=CASE["age"][0], high=CASE["age"][1]),
    CategoricalAttribute(name="origin", hierarchy=Hierarchy(Categories.from_rows(map(tuple, CASE["origin"])))),
    CategoricalAttribute(name="gender", hierarchy=Hierarchy(Categories.from_rows(map(tuple, CASE["gender"])))),
)


def anonymized(options: RTOptions) -> RTResult:
    """Fig. 1a, anonymized."""
    sets = [sorted(NAMES.index(name) for name in record["products"]) for record in CASE["records"]]
    result = anonymize_rt(
        Sequences(
            users=np.arange(len(sets)),
            starts=np.cumsum([0, *map(len, sets)]),
            locations=np.array([x for its in sets for x in its]),
        ),
        Attributes.of(SCHEMA, [(r["age"], r["origin"], r["gender"]) for r in CASE["records"]]),
        np.array([CASE["positions"][name] for name in NAMES], np.float64),
        GUARANTEE,
        options,
    )
    assert isinstance(result, RTResult)
    return result


def printed(record: dict[str, Any]) -> tuple[Value, ...]:
    """Attributes of a record of Fig. 1b."""
    return Interval(*map(float, record["age"])), record["origin"], record["gender"]


def figure_1b(numbers: list[int] | range) -> Any:
    """Some records of Fig. 1b as the verifier reads them."""
    records = [CASE["generalized"][number] for number in numbers]
    return (
        [printed(record) for record in records],
        [[tuple(product) for product in record["products"]] for record in records],
    )


OWN = RTOptions(bound="ncp", delta=mean_certainty_penalty(SCHEMA, list(map(printed, CASE["generalized"]))) + 1e-9)
"""No more loss in attributes than Fig. 1b has."""


def test_the_clusters_are_those_of_the_paper() -> None:
    """
    CLUSTER finds groups {0,1}, {2,3} and {4,5}, with the relational values of Fig. 1b; nothing merges at their own NCP.
    """
    result = anonymized(OWN)
    assert [sorted(group.users) for group in result.groups] == CASE["groups"]
    assert [group.values for group in result.groups] == [printed(CASE["generalized"][its[0]]) for its in CASE["groups"]]
    assert result.ncp == pytest.approx(OWN.delta, abs=1e-8)


def test_the_clusters_are_made_anonymous_one_by_one() -> None:
    """
    The text of Fig. 2a: each of the three groups is (2,2^2)-anonymous, and so is the whole; in record 0 there is a
    generalized item (B, D), which stands for a purchase of B in record 0 and of D in record 1.
    """
    result = anonymized(OWN)
    assert result.groups[0].generalized[result.groups[0].visited[0][0]] == (NAMES.index("B"), NAMES.index("D"))
    records = published(result, NAMES)
    assert verify_kkm(records.users, records.attributes, records.locations, GUARANTEE).holds


def test_the_penalty_of_the_first_record() -> None:
    """
    NCP of [19:22], Europe, Male: 3 of 51 years, 4 of 6 countries, nothing; over three attributes of equal weight.
    """
    assert certainty_penalty(SCHEMA, printed(CASE["generalized"][0])) == pytest.approx((3 / 51 + 4 / 6 + 0) / 3)


def test_both_kinds_of_data_anonymous_are_not_both_together_anonymous() -> None:
    """
    Fig. 1b: its attributes are 2-anonymous; but Jim, 55, of Nigeria, who bought F, is in a group where nobody else did.
    """
    attributes, products = figure_1b(range(6))
    report = verify_kkm(range(6), attributes, products, GUARANTEE)
    assert report.small_groups == 0
    assert report.smallest_support == 1
    assert not report.holds
    jims = CASE["groups"][-1]
    attributes, products = figure_1b(jims)
    with_f = [number for number, its in zip(jims, products, strict=True) if tuple(CASE["jim"]["knows"]) in its]
    assert with_f == [CASE["jim"]["record"]]
    rare = verify_kkm(jims, attributes, products, KKmAnonymity(k=2, m=1)).rare_sets
    assert rare == 5  # E and G of record 4; F, (A,B,C,D) and H of record 5


def test_the_products_of_the_figure_are_not_anonymous_as_printed() -> None:
    """
    Fig. 1b without attributes: two pairs of products are in one record each, all others in two or more.
    """
    _, products = figure_1b(range(6))
    report = verify_kkm(range(6), [()] * 6, products, GUARANTEE)
    assert report.rare_sets == len(CASE["rare_pairs"])
    for pair in CASE["rare_pairs"]:
        assert sum({tuple(name) for name in pair} <= set(its) for its in products) == 1


def test_one_group_generalizes_the_products_least() -> None:
    """
    Theorem 1: the best release by Tum is a single group. Its products lose less than those of the three groups.
    """
    three = anonymized(OWN)
    one = anonymized(RTOptions(bound="ncp", delta=1.0))
    assert len(one.groups) == 1 < len(three.groups)
    assert one.ul < three.ul
    assert one.ncp > three.ncp
