"""What leaves of a person: a GPS trajectory."""

from __future__ import annotations

from dataclasses import dataclass

from core.records.arrays import FloatArray, IntArray
from core.records.instants import rfc3339
from core.release.outcome import Released

__all__ = ["PointTrajectory"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointTrajectory(Released):
    """One released GPS trajectory."""

    pseudonym: str
    t_ms: IntArray
    lat_deg: FloatArray
    lon_deg: FloatArray

    def content(self) -> dict[str, object]:
        """See :meth:`Released.content`."""
        times = map(rfc3339, self.t_ms.tolist())
        points = zip(times, self.lat_deg.tolist(), self.lon_deg.tolist(), strict=True)
        return {"pseudonym": self.pseudonym, "points": list(points)}
