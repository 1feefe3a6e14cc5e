"""The generalized locations of a release, as it describes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from core.places.geo import mean_positions
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
    members = [list(ids) for ids in labels]
    flat = np.array(list(chain.from_iterable(members)), np.int64)
    positions = mean_positions(vocabulary.lat_deg[flat], vocabulary.lon_deg[flat], list(map(len, members)), digits=6)
    named = [tuple(vocabulary.names[i] for i in ids) for ids in members]
    return tuple(
        GeneralizedLocation(members=names, lat_deg=lat, lon_deg=lon, sensitive=names[0] in sensitive)
        for names, (lat, lon) in zip(named, positions, strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizedLocation:
    """A generalized location: its members' names, and their centroid in degrees."""

    members: tuple[str, ...]
    lat_deg: float
    lon_deg: float
    sensitive: bool = False
    """Whether the settings name it as sensitive. A sensitive location is released as it is, or suppressed."""

    radius_m: float | None = None
    """Of an area of the hierarchy, which has its own name and centre: distance of the farthest corner, metres."""
