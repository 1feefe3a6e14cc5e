"""Check of flows: every published number is counted again from the visits, by the definitions.

Shares no code with the anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.models.flows.flows import FlowCandidate, FlowPlace
from core.models.flows.guarantee import KAnonymousFlows, TripRule

__all__ = ["FlowReport", "verify_flows", "verify_noisy_flows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReport:
    """What the check found."""

    finding: str | None
    """What is wrong, without a name; None if the guarantee holds."""

    smallest_flow: int | None
    """Fewest people of a flow; None without flows."""


def verify_flows(
    visited: Sequence[Sequence[str]],
    path_of: Mapping[str, tuple[Hashable, ...]],
    candidate: FlowCandidate,
    guarantee: KAnonymousFlows,
) -> FlowReport:
    """Count people and trips of every flow again.

    Args:
        visited: Names of the locations that each person visited, in the order of time.
        path_of: For each location of the window its nodes of the hierarchy.
        candidate: What would be published.
        guarantee: k, and what counts as a trip.
    """
    k = guarantee.k
    place_of = {member: place.name for place in candidate.places for member in place.members}
    made: dict[tuple[str | None, str | None], Counter[int]] = {}
    for user, names in enumerate(visited):
        for origin, destination in _trips(names, guarantee.trips):
            flow = place_of.get(origin), place_of.get(destination)
            made.setdefault(flow, Counter())[user] += 1
    shown = [(flow.origin, flow.destination) for flow in candidate.flows]
    counted = [made.get(ends, Counter()) for ends in shown]
    several = [{user for user, n in count.items() if n > 1} for count in counted]
    hidden = {
        user for flow, people in zip(candidate.flows, several, strict=True) if flow.trips is None for user in people
    }
    others = {ends: count for ends, count in made.items() if ends not in set(shown)}
    left_out = {user for count in others.values() for user in count}
    wrong = {
        "places overlap, or lack or have locations that they should not": _n_wrong_places(candidate.places, path_of),
        "flows are published twice": len(shown) - len(set(shown)),
        f"flows count fewer than {k} people": sum(len(count) < k for count in counted),
        "flows have a wrong number of people": sum(
            flow.people != len(count) for flow, count in zip(candidate.flows, counted, strict=True)
        ),
        "flows have a wrong number of trips": sum(
            flow.trips not in (None, count.total()) for flow, count in zip(candidate.flows, counted, strict=True)
        ),
        "flows reveal that few people made several trips": sum(
            flow.trips is not None and 0 < len(people) < k
            for flow, people in zip(candidate.flows, several, strict=True)
        ),
        "persons are missing or too many": abs(len(candidate.users) - sum(map(len, counted))),
        "totals are wrong or reveal few people": _is_wrong(
            candidate.trips_released, sum(count.total() for count in counted), len(hidden), k
        )
        + _is_wrong(candidate.trips_suppressed, sum(count.total() for count in others.values()), len(left_out), k),
    }
    found = [f"{n} {what}" for what, n in wrong.items() if n]
    return FlowReport(finding=", ".join(found) if found else None, smallest_flow=min(map(len, counted), default=None))


def verify_noisy_flows(
    names: Sequence[str], candidate: FlowCandidate, guarantee: KAnonymousFlows, threshold: int
) -> str | None:
    """Check a release of noisy counts: it states nothing but them, and none below the threshold or k.

    Noise cannot be checked from one number. What each person may add is bounded where the counts are made.

    Args:
        names: Names of the window's locations.
        candidate: What would be published.
        guarantee: k.
        threshold: Smallest noisy count that may be released.

    Returns:
        What is wrong, without a name; None if nothing is.
    """
    ends = [(flow.origin, flow.destination) for flow in candidate.flows]
    least, known = max(threshold, guarantee.k), set(names)
    wrong = {
        f"flows have a noisy number below {least}": sum(flow.people < least for flow in candidate.flows),
        "flows are published twice": len(ends) - len(set(ends)),
        "flows have a place that is no location of the window": sum(not known.issuperset(two) for two in ends),
        "exact figures are published": sum(flow.trips is not None for flow in candidate.flows)
        + (candidate.trips_released is not None)
        + (candidate.trips_suppressed is not None),
    }
    found = [f"{n} {what}" for what, n in wrong.items() if n]
    return ", ".join(found) if found else None


def _trips(names: Sequence[str], rule: TripRule) -> Iterator[tuple[str, str]]:
    """Yield origin and destination of each trip of one person."""
    if rule is TripRule.FIRST_LAST:
        if names and names[0] != names[-1]:
            yield names[0], names[-1]
        return
    for before, after in pairwise(names):
        if before != after:
            yield before, after


def _n_wrong_places(places: Sequence[FlowPlace], path_of: Mapping[str, tuple[Hashable, ...]]) -> int:
    """Count places that do not have exactly the locations below their node, or share a location or name with another.

    A place has all locations below its node, and no two share one: so no node is below another one.
    """
    n_places = Counter(member for place in places for member in place.members)
    n_names = Counter(place.name for place in places)
    n_wrong = 0
    for place in places:
        if place.path is None:
            members = {place.name}
        else:
            members = {name for name, path in path_of.items() if path[: len(place.path)] == place.path}
        is_right = set(place.members) == members and members <= path_of.keys()
        n_wrong += not is_right or n_names[place.name] > 1 or any(n_places[member] > 1 for member in place.members)
    return n_wrong


def _is_wrong(published: int | None, total: int, people: int, k: int) -> bool:
    """Whether a total is not the true one, or would stand for 1 to k-1 people."""
    return published is not None and (published != total or 0 < people < k)
