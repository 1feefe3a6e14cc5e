"""What a replay counted: what became of the records and windows, and the measures of the releases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from stream.formats.rejections import Rejections

__all__ = ["Means", "Summary"]


@dataclass(slots=True)
class Means:
    """Weighted means of figures, one value a window."""

    _sums: dict[str, float] = field(default_factory=dict)
    _weights: dict[str, int] = field(default_factory=dict)

    def add(self, figures: Mapping[str, float], weight: int) -> None:
        """Take in the figures of a window; NaN counts for nothing.

        Args:
            figures: Values by name.
            weight: The trajectories that were released.
        """
        for name, value in figures.items():
            known = not math.isnan(value)
            self._sums[name] = self._sums.get(name, 0.0) + (value * weight if known else 0.0)
            self._weights[name] = self._weights.get(name, 0) + (weight if known else 0)

    def as_dict(self) -> dict[str, float | None]:
        """Return the means to six decimals by name; None where no window had a value."""
        return {
            name: round(total / self._weights[name], 6) if self._weights[name] else None
            for name, total in self._sums.items()
        }


@dataclass(slots=True)
class Summary:
    """Where everything went.

    ``records = rejected + late + duplicates + withheld_records + points_released + points_suppressed`` where every
    record is one row, as a check-in and a CSV line are. A fragment of ``n`` points counts ``n`` times on the right;
    then ``rows`` takes the place of ``records - rejected``.
    """

    records: int = 0
    rejected: int = 0
    late: int = 0
    duplicates: int = 0
    withheld_records: int = 0
    windows: int = 0
    windows_released: int = 0
    windows_withheld: int = 0
    windows_refused: int = 0
    trajectories_released: int = 0
    points_released: int = 0
    points_suppressed: int = 0
    highest_risk: float | None = None
    """Largest probability of finding a person that a simulated attack on a release came to: to compare with 1/k. None
    where none was simulated."""

    seconds: float = 0.0
    rows: int = 0
    """Rows of the records that were not rejected."""

    points_left_out: int = 0
    """Points without a position, of fragments that were not rejected; they are no rows."""

    reasons: Counter[str] = field(default_factory=Counter)
    """Rejected records, points left out, and withheld windows, by reason."""

    rejections: Rejections = field(default_factory=Rejections)
    """What was wrong with rejected records, and where."""

    measures: Means | None = None
    """Means over the released windows, weighted by their trajectories; None where nothing was to be measured."""

    def as_dict(self) -> dict[str, object]:
        """Return the counts as plain data, and the measures if there are any."""
        counts = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "measures"}
        counts["reasons"] = dict(sorted(self.reasons.items()))
        counts["rejections"] = [one.as_dict() for one in self.rejections.sorted()]
        return counts if self.measures is None else counts | {"measures": self.measures.as_dict()}

    @property
    def complaint(self) -> str | None:
        """Say why nothing came of the files, where every one of their records was rejected; else None."""
        if not self.records or self.rejected < self.records:
            return None
        most = self.rejections.sorted()[0]
        return (
            f"no record was accepted: {most.records} of {self.records} were rejected for {most.reason}: {most.detail} "
            f"(first: {most.place})"
        )
