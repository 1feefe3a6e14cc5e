"""Places: what a release tells of the locations that it holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from core.geo import mean_position
from core.release import GeneralizedLocation
from core.trajectory import Vocabulary

__all__ = ["generalized_locations"]


def generalized_locations(
    vocabulary: Vocabulary, labels: Iterable[Iterable[int]], sensitive: Collection[str] = ()
) -> tuple[GeneralizedLocation, ...]:
    """Describe generalized locations, in the order in which they are given.

    Args:
        vocabulary: The window's locations.
        labels: The ids of the members of each.
        sensitive: Names of sensitive locations; one that is released is a generalized location of its own.
    """
    return tuple(_described(vocabulary, list(ids), sensitive) for ids in labels)


def _described(vocabulary: Vocabulary, ids: list[int], sensitive: Collection[str]) -> GeneralizedLocation:
    lat, lon = mean_position(vocabulary.lat_deg[ids], vocabulary.lon_deg[ids], digits=6)
    names = tuple(vocabulary.names[i] for i in ids)
    return GeneralizedLocation(members=names, lat_deg=lat, lon_deg=lon, sensitive=names[0] in sensitive)
