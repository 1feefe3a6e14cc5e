"""What an adversary may know of a person: the attacks by their names."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["MEANINGS", "KnownVisits"]


class KnownVisits(StrEnum):
    """What the adversary knows of a person."""

    SEQUENCE = "sequence"
    LOCATION = "location"
    LOCATION_TIME = "location-time"
    UNIQUE_LOCATION = "unique-location"
    FREQUENCY = "frequency"
    PROBABILITY = "probability"
    PROPORTION = "proportion"
    HOME_WORK = "home-work"
    UNIQUENESS = "uniqueness"
    CO_LOCATION = "co-location"
    LINKING = "linking"


MEANINGS = {
    KnownVisits.SEQUENCE: "some visits, and their order",
    KnownVisits.LOCATION: "some visits",
    KnownVisits.LOCATION_TIME: "some visits, and the time slot of each",
    KnownVisits.UNIQUE_LOCATION: "some of the different places",
    KnownVisits.FREQUENCY: "some places, and the number of visits to each",
    KnownVisits.PROBABILITY: "some places, and the share of visits to each",
    KnownVisits.PROPORTION: "some places, and their visits relative to the most visited of them",
    KnownVisits.HOME_WORK: "the two most visited places",
    KnownVisits.UNIQUENESS: "random points: places with time slots; a mean over draws",
    KnownVisits.CO_LOCATION: "some people whom the person met, not where or when",
    KnownVisits.LINKING: "all places of one window; the person is looked for in the next",
}
