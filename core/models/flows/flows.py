"""Flows as they would be published, and the places between which they are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

__all__ = ["CountedFlow", "FlowCandidate", "FlowPlace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowPlace:
    """A place of a release."""

    name: str
    """Its public name."""

    path: tuple[Hashable, ...] | None = field(repr=False)
    """The node of the hierarchy, from below the root down; None for a location as it is. Published is the name."""

    members: tuple[str, ...] = field(repr=False)
    """Names of the window's locations in it; not published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedFlow:
    """The trips from one place to another, or inside one."""

    origin: str
    destination: str
    people: int
    """Distinct people."""

    trips: int | None
    """Number of trips; None if it would reveal that 1 to k-1 people made several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowCandidate:
    """The flows of a window as they would be published."""

    users: Sequence[int] = field(repr=False)
    """The user of each person counted in each flow; not published."""

    places: tuple[FlowPlace, ...] = field(repr=False)
    """The places between which there are flows."""

    flows: tuple[CountedFlow, ...] = field(repr=False)
    """By origin, then destination."""

    trips_released: int | None
    """Trips of all flows; None if with the trips of each flow it would reveal that 1 to k-1 people made several."""

    trips_suppressed: int | None
    """Trips of no released flow; None if they are of 1 to k-1 people."""
