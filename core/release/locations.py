"""The generalized locations of a release, as it describes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from core.places.geo import mean_position
from core.places.vocabulary import Vocabulary

__all__ = ["GENERALIZED_LOCATION", "GeneralizedLocation", "generalized_locations"]

GENERALIZED_LOCATION = {
    "type": "array",
    "items": {"type": "string"},
    "minItems": 1,
    "description": "Members of a generalized location: the visit was at one of them.",
}
"""JSON Schema of a generalized location in a trajectory."""


def generalized_locations(
    vocabulary: Vocabulary, labels: Iterable[Iterable[int]], sensitive: Collection[str] = ()
) -> tuple[GeneralizedLocation, ...]:
    """Describe generalized locations, in the order in which they are given.

    Args:
        vocabulary: The window's locations.
        labels: The ids of the members of each generalized location.
        sensitive: Names of sensitive locations; one that is released is a generalized location of its own.
    """
    return tuple(_described(vocabulary, list(ids), sensitive) for ids in labels)


def _described(vocabulary: Vocabulary, ids: list[int], sensitive: Collection[str]) -> GeneralizedLocation:
    lat, lon = mean_position(vocabulary.lat_deg[ids], vocabulary.lon_deg[ids], digits=6)
    names = tuple(vocabulary.names[i] for i in ids)
    return GeneralizedLocation(members=names, lat_deg=lat, lon_deg=lon, sensitive=names[0] in sensitive)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizedLocation:
    """A generalized location: its members' names, and their centroid in degrees."""

    members: tuple[str, ...]
    lat_deg: float
    lon_deg: float
    sensitive: bool = False
    """Whether the settings name it as sensitive. A sensitive location is released as it is, or suppressed."""
