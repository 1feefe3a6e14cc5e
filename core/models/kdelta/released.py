"""The message that releases a person's GPS trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.records.arrays import FloatArray, IntArray
from core.records.instants import rfc3339
from core.release.outcome import PSEUDONYM, Released

__all__ = ["PointTrajectory"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointTrajectory(Released):
    """One released GPS trajectory."""

    properties: ClassVar = {
        "pseudonym": PSEUDONYM,
        "points": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [
                    {"type": "string", "format": "date-time", "description": "Time, UTC."},
                    {"type": "number", "minimum": -90, "maximum": 90, "description": "Latitude, degrees."},
                    {"type": "number", "minimum": -180, "maximum": 180, "description": "Longitude, degrees."},
                ],
                "minItems": 3,
                "maxItems": 3,
            },
            "minItems": 1,
            "description": "Time, latitude and longitude of each point, in the order of time.",
        },
    }

    pseudonym: str
    t_ms: IntArray
    lat_deg: FloatArray
    lon_deg: FloatArray

    def content(self) -> dict[str, object]:
        """See :meth:`Released.content`."""
        times = map(rfc3339, self.t_ms.tolist())
        points = zip(times, self.lat_deg.tolist(), self.lon_deg.tolist(), strict=True)
        return {"pseudonym": self.pseudonym, "points": list(points)}
