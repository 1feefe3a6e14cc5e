"""The places that a window can be divided into: the nodes of a hierarchy above its locations, and the locations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.places.areas import distance_m
from core.places.meaning import Taxonomy
from core.places.taxonomy import Path
from core.places.vocabulary import Vocabulary
from core.records.arrays import IntArray

__all__ = ["PlaceTree", "TreePlace", "errors_m"]


@dataclass(frozen=True, slots=True)
class TreePlace:
    """A location of the window, or a node of the hierarchy with at least two branches in the window."""

    path: Path
    """From below the root down to this node; of a location that to the node right above it."""

    locations: tuple[int, ...]
    """The window's locations in it, ascending."""

    children: tuple[int, ...]
    """Numbers of the places that it divides into; none of a location."""

    name: str
    """Public name."""

    lat_deg: float
    """Centre, degrees north."""

    lon_deg: float
    """Centre, degrees east."""

    radius_m: float | None
    """Distance of the farthest corner from the centre, metres; None for a location, which is as it is."""

    @property
    def is_location(self) -> bool:
        """Whether this is a location as it is."""
        return not self.children


class PlaceTree:
    """The places of a window, each before its children, the children in the order of their first location.

    A node with one branch in the window is left out, because the branch is more exact. Names, centres and radii are
    those of the hierarchy: they are the same whoever is there.

    Args:
        vocabulary: The window's ``L`` locations, at least one.
        taxonomy: The hierarchy above them.
    """

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy) -> None:
        paths = taxonomy.paths(vocabulary)
        shapes: list[tuple[Path, tuple[int, ...], list[int]]] = []
        waiting: list[tuple[int | None, tuple[int, ...], int]] = [(None, tuple(range(len(paths))), 0)]
        while waiting:
            parent, locations, depth = waiting.pop()
            if parent is not None:
                shapes[parent][2].append(len(shapes))
            depth = _common(paths, locations, depth)
            shapes.append((paths[locations[0]][:depth], locations, []))
            if len(locations) > 1:
                branches = _branches(paths, locations, depth)
                waiting += [(len(shapes) - 1, branch, depth) for branch in reversed(branches)]
        areas = taxonomy.areas([path for path, _, children in shapes if children])
        described = zip(
            areas.names, areas.lat_deg.tolist(), areas.lon_deg.tolist(), areas.radius_m.tolist(), strict=True
        )
        self.places = [
            _location(vocabulary, path, locations)
            if not children
            else TreePlace(path, locations, tuple(children), *next(described))
            for path, locations, children in shapes
        ]
        self.n_levels = max(map(len, paths)) + 1
        """Levels of the hierarchy below the root; the last one is that of the locations."""


def _location(vocabulary: Vocabulary, path: Path, locations: tuple[int, ...]) -> TreePlace:
    (only,) = locations
    at = float(vocabulary.lat_deg[only]), float(vocabulary.lon_deg[only])
    return TreePlace(path, locations, (), vocabulary.names[only], *at, None)


def errors_m(place: TreePlace, vocabulary: Vocabulary) -> IntArray:
    """Return how far each location of a place is from its centre, whole metres; a location as it is has no error."""
    if place.is_location:
        return np.zeros(1, np.int64)
    its = np.array(place.locations)
    return distance_m(place.lat_deg, place.lon_deg, vocabulary.lat_deg[its], vocabulary.lon_deg[its]).astype(np.int64)


def _common(paths: list[Path], locations: tuple[int, ...], depth: int) -> int:
    """Return how many nodes the paths of some locations have in common, at least ``depth``."""
    first, *others = (paths[location] for location in locations)
    if not others:
        return len(first)
    while depth < len(first) and all(depth < len(path) and path[depth] == first[depth] for path in others):
        depth += 1
    return depth


def _branches(paths: list[Path], locations: tuple[int, ...], depth: int) -> list[tuple[int, ...]]:
    """Divide locations by the next node of their paths; a location right below the common node is alone."""
    below: dict[object, list[int]] = {}
    for location in locations:
        path = paths[location]
        below.setdefault((path[depth],) if depth < len(path) else location, []).append(location)
    return [tuple(branch) for branch in below.values()]
