"""The message that releases one flow: how many people went from one place to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.release.outcome import Released

__all__ = ["PublishedFlow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFlow(Released):
    """One released flow."""

    properties: ClassVar = {
        "origin": {
            "type": "string",
            "description": "Name of the place where the trips begin; `locations` of the windows message describes it.",
        },
        "destination": {
            "type": "string",
            "description": "Name of the place where they end; the origin itself for trips inside one place.",
        },
        "people": {"type": "integer", "minimum": 2, "description": "Distinct people who made such a trip."},
        "trips": {
            "type": "integer",
            "minimum": 2,
            "description": "Their trips; missing where it would reveal that 1 to k-1 people made several.",
        },
    }
    optional = frozenset({"trips"})

    origin: str
    destination: str
    people: int
    trips: int | None

    def content(self) -> dict[str, object]:
        """See :meth:`Released.content`."""
        known = {} if self.trips is None else {"trips": self.trips}
        return {"origin": self.origin, "destination": self.destination, "people": self.people, **known}
