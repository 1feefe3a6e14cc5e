"""Places: what a release tells of the locations that it holds."""

from __future__ import annotations

from collections.abc import Iterable

from core.geo import mean_position
from core.release import GeneralizedLocation
from core.trajectory import Vocabulary

__all__ = ["generalized_location", "generalized_locations"]


def generalized_location(vocabulary: Vocabulary, ids: Iterable[int]) -> GeneralizedLocation:
    """Describe one generalized location by the ids of its members."""
    members = list(ids)
    lat, lon = mean_position(vocabulary.lat_deg[members], vocabulary.lon_deg[members], digits=6)
    return GeneralizedLocation(members=tuple(vocabulary.names[i] for i in members), lat_deg=lat, lon_deg=lon)


def generalized_locations(vocabulary: Vocabulary, labels: Iterable[Iterable[int]]) -> tuple[GeneralizedLocation, ...]:
    """Describe generalized locations, in the order in which they are given."""
    return tuple(generalized_location(vocabulary, ids) for ids in labels)
