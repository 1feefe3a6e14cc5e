"""The verifier of flows: it must see what an anonymizer could get wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.models.flows.flows import CountedFlow, FlowCandidate, FlowPlace
from core.models.flows.guarantee import KAnonymousFlows, TripRule
from core.models.flows.verify import verify_flows

PATHS = {"a1": ("a",), "a2": ("a",), "b1": ("b",), "b2": ("b",)}
VISITED = [["a1", "b1"], ["a1", "b1"], ["a2", "b1", "a2", "b1"], ["b2", "b2"]]
"""Three people go from a to b, one of them twice and so also back; one stays."""

A = FlowPlace(name="A", path=("a",), members=("a1", "a2"))
B = FlowPlace(name="B", path=("b",), members=("b1", "b2"))
GOOD = FlowCandidate(
    users=[0, 1, 2],
    places=(A, B),
    flows=(CountedFlow(origin="A", destination="B", people=3, trips=None),),
    trips_released=None,
    trips_suppressed=None,
)


def finding(candidate: FlowCandidate, *, k: int = 3, trips: TripRule = TripRule.SUCCESSIVE) -> str | None:
    return verify_flows(VISITED, PATHS, candidate, KAnonymousFlows(k=k, trips=trips)).finding


def test_a_good_candidate_is_good() -> None:
    """The smallest flow is that of three people."""
    report = verify_flows(VISITED, PATHS, GOOD, KAnonymousFlows(k=3))
    assert (report.finding, report.smallest_flow) == (None, 3)


PLACES = "places overlap, or lack or have locations that they should not"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"places": (replace(A, members=("a1",)), B)}, PLACES),
        ({"places": (replace(A, members=("a1", "a2", "b1")), B)}, PLACES),
        ({"places": (A, replace(B, name="A"))}, PLACES),
        ({"places": (A, B, FlowPlace(name="a1", path=None, members=("a1",)))}, PLACES),
        ({"places": (A, B, FlowPlace(name="all", path=(), members=("a1", "a2", "b1", "b2")))}, PLACES),
        ({"places": (A, FlowPlace(name="b", path=None, members=("b1",)))}, PLACES),
        ({"flows": GOOD.flows * 2}, "1 flows are published twice"),
        ({"flows": (replace(GOOD.flows[0], people=4),)}, "1 flows have a wrong number of people"),
        ({"flows": (replace(GOOD.flows[0], trips=5),)}, "1 flows have a wrong number of trips"),
        ({"flows": (replace(GOOD.flows[0], trips=4),)}, "1 flows reveal that few people made several trips"),
        (
            {"flows": (*GOOD.flows, CountedFlow(origin="B", destination="A", people=1, trips=1))},
            "1 flows count fewer than 3 people",
        ),
        ({"users": [0, 1]}, "1 persons are missing or too many"),
        ({"trips_released": 4}, "1 totals are wrong or reveal few people"),
        ({"trips_suppressed": 1}, "1 totals are wrong or reveal few people"),
    ],
)
def test_what_is_wrong_is_found(changes: dict[str, Any], says: str) -> None:
    """Each fault alone, without a name in the sentence."""
    found = finding(replace(GOOD, **changes))
    assert found is not None
    assert says in found
    assert not any(name in found.split() for name in (*PATHS, "A", "B"))


def test_the_rule_of_trips_is_applied() -> None:
    """From first to last, nobody made several trips, and nobody one that is left out."""
    one = replace(GOOD, flows=(replace(GOOD.flows[0], trips=3),), trips_released=3, trips_suppressed=0)
    assert finding(one, trips=TripRule.FIRST_LAST) is None
    assert finding(one) is not None
