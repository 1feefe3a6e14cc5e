"""A release of trajectories of points as MF-JSON (OGC Moving Features Encoding Extension JSON 1.0, OGC 19-045r3).

A message of ``anonymized`` is a feature with a MovingPoint. A windows message has nothing that moves: it is the
FeatureCollection that it is in GeoJSON, of which MF-JSON is an extension.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from stream.formats.release.encoding import Content, PlacePositions
from stream.formats.release.geojson import GeoJsonRelease
from stream.formats.release.times import alike, shortest

__all__ = ["CRS", "MF_JSON", "TRS", "MfJsonRelease"]

CRS: Content = {"type": "Name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
"""Longitude and latitude, degrees, WGS 84: the default of the standard, stated."""

TRS: Content = {"type": "Name", "properties": {"name": "urn:ogc:data:time:iso8601"}}
"""Times as ISO 8601: the default of the standard, stated."""


class MfJsonRelease(GeoJsonRelease):
    """Moving points with the times of their positions; windows messages are those of GeoJSON."""

    name: ClassVar[str] = "mf-json"

    def trajectory(self, content: Content, positions: PlacePositions) -> bytes:
        """See :meth:`ReleaseEncoding.trajectory`."""
        points = content["points"]
        moving = {
            "type": "MovingPoint",
            "datetimes": alike([time for time, _, _ in points]),
            "coordinates": [(lon, lat) for _, lat, lon in points],
            "interpolation": "Linear",
        }
        properties = {name: value for name, value in content.items() if name != "points"}
        feature = {"type": "Feature", "crs": CRS, "trs": TRS, "temporalGeometry": moving, "properties": properties}
        return msgspec.json.encode(feature)

    def read_trajectory(self, value: bytes) -> Content:
        """See :meth:`ReleaseEncoding.read_trajectory`."""
        feature = msgspec.json.decode(value)
        moving = feature["temporalGeometry"]
        pairs = zip(moving["datetimes"], moving["coordinates"], strict=True)
        content: Content = feature["properties"]
        return content | {"points": [[shortest(time), lat, lon] for time, (lon, lat) in pairs]}


MF_JSON = MfJsonRelease()
