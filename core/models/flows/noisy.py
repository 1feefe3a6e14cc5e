"""Flows with noise: the counts that noise is added to, and the release of what came of it."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from core.models.flows.flows import CountedFlow, FlowCandidate, FlowPlace
from core.models.flows.plan import FlowPlan
from core.models.flows.trips import FlowWindow
from core.records.arrays import BoolArray
from core.records.keys import keyed_id
from core.windows.draw import Counts
from core.windows.seal import Seal

__all__ = ["count", "kept_trips", "noisy_candidate"]


def count(seal: Seal, window: FlowWindow, plan: FlowPlan) -> Counts:
    """Count the people of each flow between locations as they are; each person is in a bounded number of flows.

    If a person has more, the flows with the smallest keyed hashes count. The hash depends on the person, the flow and
    the release alone, so what other people do has no influence on it.

    Raises:
        ValueError: The plan adds no noise.
    """
    if plan.noise is None:
        raise ValueError("the plan adds no noise: there is nothing to count")
    names, hashes = window.visits.vocabulary.names, window.visits.hashes
    trips = window.trips
    flows_of: defaultdict[int, set[tuple[str, str]]] = defaultdict(set)
    for user, origin, destination in zip(
        trips.users.tolist(), trips.origins.tolist(), trips.destinations.tolist(), strict=True
    ):
        flows_of[user].add((names[origin], names[destination]))
    people: Counter[tuple[str, ...]] = Counter()
    for user, flows in flows_of.items():
        if len(flows) > plan.noise.most_counts:
            person = int(hashes[user])
            drawn = sorted(flows, key=lambda flow: keyed_id(plan.secret, "flows", seal.release_id, person, *flow))
            people.update(drawn[: plan.noise.most_counts])
        else:
            people.update(flows)
    return people


def noisy_candidate(plan: FlowPlan) -> FlowCandidate | None:
    """Write out the noisy counts that are large enough, in the order of names; None if there is none.

    The numbers come from :attr:`Plan.noisy` alone: that a count is left out is no more than rounding.
    """
    flows = tuple(
        CountedFlow(origin=origin, destination=destination, people=people, trips=None)
        for (origin, destination), people in sorted((plan.noisy or {}).items())
        if people >= plan.guarantee.k
    )
    shown = sorted({name for flow in flows for name in (flow.origin, flow.destination)})
    places = tuple(FlowPlace(name=name, path=None, members=(name,)) for name in shown)
    if not flows:
        return None
    return FlowCandidate(users=(), places=places, flows=flows, trips_released=None, trips_suppressed=None)


def kept_trips(window: FlowWindow, plan: FlowPlan) -> BoolArray:
    """Return which trips are of a flow with a noisy count that is released, shape ``(t,)``. Operator only."""
    names, k = window.visits.vocabulary.names, plan.guarantee.k
    shown = {flow for flow, people in (plan.noisy or {}).items() if people >= k}
    ends = zip(window.trips.origins.tolist(), window.trips.destinations.tolist(), strict=True)
    return np.array([(names[origin], names[destination]) in shown for origin, destination in ends], dtype=np.bool_)
