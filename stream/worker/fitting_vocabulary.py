"""Finds out whether a vocabulary is that of a release: otherwise its cells would be drawn in wrong places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.places.drawn_regions import DrawnRegions
from core.places.locate import Locator
from stream.worker.shapes import NamedPlace, outline

__all__ = ["fitting_vocabulary"]

_MOST_MEMBERS = 40
"""Members of a location whose outlines are compared with its centroid."""

_MOST_PLACES = 5


def fitting_vocabulary(vocabularies: Sequence[Locator], places: Sequence[NamedPlace]) -> Locator | None:
    """Return the first vocabulary whose locations are where the centroids of a release are; None if none is.

    Args:
        vocabularies: Those that may fit.
        places: Generalized locations of one release.
    """
    own = [place for place in places if place.radius_m is None]  # others are nodes above locations
    checked = [place for place in own if len(place.members) <= _MOST_MEMBERS][:_MOST_PLACES]
    if not checked:
        return None
    return next((one for one in vocabularies if all(_fits(one, place) for place in checked)), None)


def _fits(locator: Locator, place: NamedPlace) -> bool:
    """Whether the outlines of a location's members lie around its centroid."""
    if isinstance(locator, DrawnRegions):  # corners of a drawn outline lie anywhere around its centroid
        return set(place.members) <= set(locator.names)
    outlines = [np.array(outline(locator, name)) for name in place.members]
    if any(not len(corners) for corners in outlines):
        return False
    middle = np.mean([corners.mean(axis=0) for corners in outlines], axis=0)
    size = max(float(np.ptp(corners, axis=0).max()) for corners in outlines)
    apart = (middle - (place.lat, place.lon) + 180) % 360 - 180
    return bool(np.abs(apart).max() <= 0.1 * size + 1e-5)
