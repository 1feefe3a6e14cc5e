"""A release as GeoJSON (RFC 7946): features that maps and geographic tools read as they are.

A message of ``anonymized`` is a Feature. Its geometry is the LineString of a trajectory of points, or from the origin
of a flow to its destination, or the MultiPoint of the centroids of its generalized locations; its properties are the
rest of the message. A message of ``windows`` is a FeatureCollection with a Point for each generalized location;
everything else that it states is a member beside ``features``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from stream.formats.release.encoding import Content, PlacePositions, ReleaseEncoding
from stream.formats.release.places import places_of
from stream.formats.release.times import alike, shortest

__all__ = ["GEOJSON", "GeoJsonRelease", "read_collection", "window_collection"]


class GeoJsonRelease(ReleaseEncoding):
    """Features with a geometry, longitude first."""

    name: ClassVar[str] = "geojson"

    def trajectory(self, content: Content, positions: PlacePositions) -> bytes:
        """See :meth:`ReleaseEncoding.trajectory`."""
        properties = dict(content)
        if (points := properties.pop("points", None)) is not None:
            properties["times"] = alike([time for time, _, _ in points])
            geometry: Content | None = _line([(lon, lat) for _, lat, lon in points])
        elif "origin" in properties:
            ends = dict.fromkeys(positions[place] for place in places_of(content))
            geometry = _line([(lon, lat) for lat, lon in ends])
        else:
            geometry = _multipoint([positions[place] for place in places_of(content)])
        return msgspec.json.encode({"type": "Feature", "geometry": geometry, "properties": properties})

    def window(self, content: Content) -> bytes:
        """See :meth:`ReleaseEncoding.window`."""
        return msgspec.json.encode(window_collection(content))

    def read_trajectory(self, value: bytes) -> Content:
        """See :meth:`ReleaseEncoding.read_trajectory`."""
        feature = msgspec.json.decode(value)
        content: Content = feature["properties"]
        times = content.pop("times", None)
        if times is not None:
            drawn = feature["geometry"]["coordinates"]
            line = [drawn] if feature["geometry"]["type"] == "Point" else drawn
            content["points"] = [[shortest(time), lat, lon] for time, (lon, lat) in zip(times, line, strict=True)]
        return content

    def read_window(self, value: bytes) -> Content:
        """See :meth:`ReleaseEncoding.read_window`."""
        return read_collection(msgspec.json.decode(value))


GEOJSON = GeoJsonRelease()


def window_collection(content: Content) -> Content:
    """Return the FeatureCollection that a windows message is."""
    rest = {name: value for name, value in content.items() if name != "locations"}
    return {"type": "FeatureCollection", **rest, "features": list(map(_place, content.get("locations", ())))}


def read_collection(collection: Content) -> Content:
    """Return the content of a windows message that is a FeatureCollection."""
    content = {name: value for name, value in collection.items() if name not in ("type", "features")}
    if collection["features"]:
        content["locations"] = list(map(_read_place, collection["features"]))
    return content


def _place(place: Content) -> Content:
    properties = {name: value for name, value in place.items() if name not in ("lat", "lon")}
    geometry = {"type": "Point", "coordinates": (place["lon"], place["lat"])}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _read_place(feature: Content) -> Content:
    lon, lat = feature["geometry"]["coordinates"]
    return {**feature["properties"], "lat": lat, "lon": lon}


def _line(coordinates: Sequence[tuple[float, float]]) -> Content:
    """A line has two positions at least, so a single one is a point."""
    if len(coordinates) == 1:
        return {"type": "Point", "coordinates": coordinates[0]}
    return {"type": "LineString", "coordinates": coordinates}


def _multipoint(positions: Sequence[tuple[float, float]]) -> Content | None:
    """A person may have no location left; such a feature has no geometry."""
    return {"type": "MultiPoint", "coordinates": [(lon, lat) for lat, lon in positions]} if positions else None
