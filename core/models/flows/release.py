"""Release the check-ins of one window as flows: assemble, divide into places, count, verify, publish."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from core.models.common.family import Contents, Verdict
from core.models.flows.anonymize.divide import divide
from core.models.flows.flows import CountedFlow, FlowCandidate, FlowPlace
from core.models.flows.noisy import kept_trips, noisy_candidate
from core.models.flows.plan import FlowPlan
from core.models.flows.released import PublishedFlow
from core.models.flows.tree import PlaceTree, TreePlace
from core.models.flows.trips import FlowWindow, trips_of
from core.models.flows.verify import verify_flows, verify_noisy_flows
from core.records.arrays import BoolArray, IntArray
from core.records.by_user import same_as_before
from core.records.record import Rows
from core.release.counts import Headcount, publishable
from core.release.locations import GeneralizedLocation
from core.trajectories.assemble import assemble_sequences
from core.windows.seal import Seal

__all__ = ["FlowResult", "anonymize", "assemble", "candidate", "publish", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowResult:
    """A window that is divided into places."""

    places: list[TreePlace] = field(repr=False)
    """All places that there are; those in use are the ones that locations have."""

    place_of: IntArray = field(repr=False)
    """Number of the place of each location, shape ``(L,)``."""

    kept: BoolArray = field(repr=False)
    """Which trips are in a flow of at least k people, shape ``(t,)``."""


def assemble(seal: Seal, rows: Rows, plan: FlowPlan) -> FlowWindow:
    """Assemble a window's visits as trips."""
    return trips_of(assemble_sequences(rows, plan.locator, plan.limits), plan.guarantee.trips)


def anonymize(seal: Seal, window: FlowWindow, plan: FlowPlan) -> FlowResult:
    """Divide the window into places; with noise these are the locations as they are, which no person decides.

    Raises:
        ValueError: The plan adds noise, but has no noisy counts.
    """
    vocabulary, trips = window.visits.vocabulary, window.trips
    tree = PlaceTree(vocabulary, plan.taxonomy)
    if plan.noise is not None:
        if plan.noisy is None:
            raise ValueError("the plan adds noise, but has no noisy counts of this window: draw them first")
        number_of = {place.locations[0]: number for number, place in enumerate(tree.places) if place.is_location}
        place_of = np.array([number_of[location] for location in range(len(vocabulary.ids))], np.int64)
        return FlowResult(places=tree.places, place_of=place_of, kept=kept_trips(window, plan))
    if not len(trips):
        return FlowResult(places=tree.places, place_of=np.zeros(len(vocabulary.ids), np.int64), kept=np.zeros(0, bool))
    max_suppressed = int(len(trips) * plan.max_suppressed_percent / 100)
    division = divide(tree, vocabulary, trips, k=plan.guarantee.k, max_suppressed=max_suppressed)
    return FlowResult(places=tree.places, place_of=division.place_of, kept=division.kept)


def candidate(window: FlowWindow, result: FlowResult, plan: FlowPlan) -> FlowCandidate | None:
    """Count the flows; None if none is kept."""
    if plan.noise is not None:
        return noisy_candidate(plan)
    if not result.kept.any():
        return None
    trips, kept, k = window.trips, result.kept, plan.guarantee.k
    origins, destinations = result.place_of[trips.origins[kept]], result.place_of[trips.destinations[kept]]
    flows, users, hidden = _counted(trips.users[kept], origins, destinations, result.places, k)
    suppressed = trips.users[~kept]
    return FlowCandidate(
        users=users,
        places=tuple(_named(result.places[number], window) for number in np.union1d(origins, destinations).tolist()),
        flows=flows,
        trips_released=publishable(int(kept.sum()), k, people=hidden),
        trips_suppressed=publishable(len(suppressed), k, people=len(np.unique(suppressed))),
    )


def _counted(
    users: IntArray, origins: IntArray, destinations: IntArray, places: list[TreePlace], k: int
) -> tuple[tuple[CountedFlow, ...], list[int], int]:
    """Count people and trips of each flow.

    Returns:
        The flows; the users of each, one flow after the other; and how many people made several trips in flows whose
        trips are not published.
    """
    order = np.lexsort((users, destinations, origins))
    users, origins, destinations = users[order], origins[order], destinations[order]
    starts = np.flatnonzero(~same_as_before(origins, destinations)).tolist()
    flows: list[CountedFlow] = []
    everybody: list[int] = []
    hidden: set[int] = set()
    for start, end in zip(starts, [*starts[1:], len(users)], strict=True):
        people, n_trips = np.unique(users[start:end], return_counts=True)
        several = people[n_trips > 1].tolist()
        shown = publishable(end - start, k, people=len(several))
        if shown is None:
            hidden.update(several)
        everybody += people.tolist()
        ends = places[origins[start]].name, places[destinations[start]].name
        flows.append(CountedFlow(origin=ends[0], destination=ends[1], people=len(people), trips=shown))
    return tuple(sorted(flows, key=lambda flow: (flow.origin, flow.destination))), everybody, len(hidden)


def _named(place: TreePlace, window: FlowWindow) -> FlowPlace:
    names = window.visits.vocabulary.names
    return FlowPlace(
        name=place.name,
        path=None if place.is_location else place.path,
        members=tuple(names[location] for location in place.locations),
    )


def verify(window: FlowWindow, candidate: FlowCandidate, plan: FlowPlan) -> Verdict:
    """Count every flow again, from the visits of each person; noisy ones are checked against the promise alone."""
    if plan.noise is not None:
        finding = verify_noisy_flows(window.visits.vocabulary.names, candidate, plan.guarantee, plan.noise.threshold)
        return Verdict(finding=finding, smallest_support=plan.guarantee.k)
    sequences, vocabulary = window.visits.sequences, window.visits.vocabulary
    visited: list[list[str]] = [[] for _ in range(window.n_users)]
    for user, location in zip(sequences.owners.tolist(), sequences.locations.tolist(), strict=True):
        visited[user].append(vocabulary.names[location])
    path_of = dict(zip(vocabulary.names, plan.taxonomy.paths(vocabulary), strict=True))
    report = verify_flows(visited, path_of, candidate, plan.guarantee)
    if report.finding is not None or report.smallest_flow is None:
        return Verdict(finding=f"with k={plan.guarantee.k}: {report.finding}")
    return Verdict(smallest_support=report.smallest_flow)


def publish(
    seal: Seal, window: FlowWindow, result: FlowResult, candidate: FlowCandidate, count: Headcount, plan: FlowPlan
) -> Contents:
    """Return what the release publishes: a message for each flow, and where the places are."""
    # By name: the order of the places in the tree depends on the names of what they contain.
    names = {place.name for place in candidate.places}
    in_use = (result.places[number] for number in np.unique(result.place_of).tolist())
    shown = sorted((place for place in in_use if place.name in names), key=lambda place: place.name)
    radius_of = {place.name: place.radius_m or 0.0 for place in shown}
    released = _visits_of(window, result.kept)
    n_people = sum(flow.people for flow in candidate.flows)
    inside = sum(flow.people for flow in candidate.flows if flow.origin == flow.destination)
    radii_m = sum(flow.people * (radius_of[flow.origin] + radius_of[flow.destination]) for flow in candidate.flows)
    return Contents(
        messages=tuple(
            PublishedFlow(origin=flow.origin, destination=flow.destination, people=flow.people, trips=flow.trips)
            for flow in candidate.flows
        ),
        locations=tuple(
            GeneralizedLocation(
                members=(place.name,),
                lat_deg=round(place.lat_deg, 6),
                lon_deg=round(place.lon_deg, 6),
                radius_m=place.radius_m,
            )
            for place in shown
        ),
        # The people of each flow: the true number of visits in trips could reveal what a flow leaves out.
        points_released=n_people,
        rows_released=int(released.sum()),
        people_suppressed=window.visits.people_suppressed(released),
        information_loss={
            "places": len(shown),
            "original_locations": sum(place.is_location for place in shown),
            "radius_m": round(radii_m / (2 * n_people), 1),
            "inside_share": round(inside / n_people, 6),
            "trips_released": candidate.trips_released,
            "trips_suppressed": candidate.trips_suppressed,
        },
        has_noise=plan.noise is not None,
    )


def _visits_of(window: FlowWindow, kept: BoolArray) -> BoolArray:
    """Return which visits are of a stay that a kept trip begins or ends with, shape ``(p,)``."""
    stays = np.union1d(window.trips.departures[kept], window.trips.arrivals[kept])
    return np.isin(window.stay_of, stays)
