"""Measure what a release of flows lost against the raw window. Operator only; never published."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from core.models.flows.flows import FlowCandidate
from core.models.flows.plan import FlowPlan
from core.models.flows.release import FlowResult, candidate
from core.models.flows.tree import errors_m
from core.models.flows.trips import FlowWindow
from core.records.arrays import IntArray
from core.records.record import Rows
from core.utility.window_answers import WindowAnswers, draw_visit_queries, raw_visits, spots_of
from core.utility.window_measures import NOTHING_RELEASED, MeasureInputs, WindowLoss, WindowMeasures
from core.utility.workload import CountQuery, Spots
from core.windows.seal import Seal

__all__ = ["FlowAnswers", "FlowMeasures", "answers", "loss", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowMeasures(WindowMeasures):
    """The measures of one window; NaN where there is nothing to measure."""

    trips_kept_share: float
    """Share of the trips that a released flow counts."""

    people_kept_share: float
    """Share of the people with a trip whom a released flow counts."""

    distance_m: float
    """Mean distance of the two locations of such a trip from the centres of their places, metres."""

    inside_share: float
    """Share of these trips that begin and end in one place."""

    flows: float
    """Number of released flows."""


def loss(window: FlowWindow, result: FlowResult, plan: FlowPlan) -> WindowLoss:
    """Measure the loss that all models are compared by; distances are from the centre of a place."""
    if not result.kept.any():
        return NOTHING_RELEASED
    return WindowLoss.of(float(_errors_m(window, result).mean()), window.trips.users[result.kept])


def measure(seal: Seal, window: FlowWindow, result: FlowResult, plan: FlowPlan, inputs: MeasureInputs) -> FlowMeasures:
    """Measure which trips are kept, and how exactly."""
    trips, kept = window.trips, result.kept
    origins, destinations = result.place_of[trips.origins[kept]], result.place_of[trips.destinations[kept]]
    return FlowMeasures(
        trips_kept_share=float(kept.mean()),
        people_kept_share=len(np.unique(trips.users[kept])) / len(np.unique(trips.users)),
        distance_m=float(_errors_m(window, result).mean()),
        inside_share=float((origins == destinations).mean()),
        flows=len(np.unique(origins * len(result.places) + destinations)),
    )


def _errors_m(window: FlowWindow, result: FlowResult) -> IntArray:
    """Return how far both ends of each kept trip are from the centre of their place, metres."""
    error_m = np.zeros(len(result.place_of), np.int64)
    for number in np.unique(result.place_of).tolist():
        place = result.places[number]
        error_m[list(place.locations)] = errors_m(place, window.visits.vocabulary)
    kept = result.kept
    return np.concatenate([error_m[window.trips.origins[kept]], error_m[window.trips.destinations[kept]]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowAnswers:
    """Released flows, of which COUNT queries are asked."""

    released: FlowCandidate | None = field(repr=False)
    spots: Spots = field(repr=False)
    """The locations of the window."""

    def count(self, query: CountQuery) -> float | None:
        """Return the expected number of people who went from one place to another; None for all other queries.

        A trip between two released places began and ended at each of their locations with the same probability; inside
        one place it went from one location to another.
        """
        if len(query.places) != 2 or not query.in_order or query.during is not None or query.attributes:
            return None
        if self.released is None:
            return 0.0
        begins, ends = (place.contains(self.spots) for place in query.places)
        members = {place.name: self.spots.numbers(place.members) for place in self.released.places}
        expected = 0.0
        for flow in self.released.flows:
            origins, destinations = begins[members[flow.origin]], ends[members[flow.destination]]
            pairs, n_pairs = int(origins.sum()) * int(destinations.sum()), len(origins) * len(destinations)
            if flow.origin == flow.destination:
                pairs, n_pairs = pairs - int((origins & destinations).sum()), n_pairs - len(origins)
            expected += flow.people * pairs / n_pairs
        return expected


def answers(seal: Seal, rows: Rows, window: FlowWindow, result: FlowResult, plan: FlowPlan) -> WindowAnswers:
    """Answer queries for two locations in order by the flow between them; who went by a third one is in two others."""
    raw = raw_visits(rows, plan.locator)
    vocabulary = window.visits.vocabulary
    return WindowAnswers(
        people=window.n_users,
        raw=raw,
        released=FlowAnswers(released=candidate(window, result, plan), spots=spots_of(vocabulary)),
        draw=partial(draw_visit_queries, raw, in_order=True),
    )
