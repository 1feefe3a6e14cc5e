"""Found regions as GeoJSON, which ``location.regions_file`` reads and any GIS editor edits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from shapely.geometry import mapping

from core.places.found_regions import FoundRegion

__all__ = ["regions_as_geojson"]


def regions_as_geojson(regions: Sequence[FoundRegion]) -> bytes:
    """Return a FeatureCollection (RFC 7946), one feature on each line: outer rings go counter-clockwise."""
    features = [
        msgspec.json.encode(
            {
                "type": "Feature",
                "properties": {"name": region.name, "people": region.people, "cells": region.n_cells},
                "geometry": mapping(region.area),
            }
        )
        for region in regions
    ]
    return b'{"type":"FeatureCollection","features":[\n' + b",\n".join(features) + b"\n]}\n"
