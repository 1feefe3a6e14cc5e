"""The counts of a replay: what became of the records and windows, and the measures of the releases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from stream.formats.files.rejections import Rejections

__all__ = ["OF_RECORDS", "OF_STOPS", "Means", "Summary"]

OF_RECORDS = frozenset({"withheld_records", "points_released", "points_suppressed"})
"""Counts that are 0 where stops are released."""

OF_STOPS = frozenset({"points_condensed", "stops_released", "stops_suppressed", "stops_withheld", "stops_nowhere"})
"""Counts that are 0 where other things are."""


@dataclass(slots=True)
class Means:
    """Weighted means of figures; each window contributes one value to each figure."""

    _sums: dict[str, float] = field(default_factory=dict)
    _weights: dict[str, int] = field(default_factory=dict)

    def add(self, figures: Mapping[str, float], weight: int) -> None:
        """Add the figures of a window; NaN is left out of the mean.

        Args:
            figures: Values by name.
            weight: Number of trajectories that were released.
        """
        for name, value in figures.items():
            known = not math.isnan(value)
            self._sums[name] = self._sums.get(name, 0.0) + (value * weight if known else 0.0)
            self._weights[name] = self._weights.get(name, 0) + (weight if known else 0)

    @property
    def values(self) -> dict[str, float]:
        """The means by name; NaN where no window had a value."""
        return {
            name: total / self._weights[name] if self._weights[name] else math.nan for name, total in self._sums.items()
        }

    def as_dict(self) -> dict[str, float | None]:
        """Return the means to six decimals by name; None where no window had a value."""
        return {name: None if math.isnan(mean) else round(mean, 6) for name, mean in self.values.items()}


@dataclass(slots=True)
class Summary:
    """What became of all records and windows.

    ``records = filtered + rejected + late + duplicates + withheld_records + points_released + points_suppressed`` if
    every record is one row, as a check-in or a CSV line is. A fragment of ``n`` points is ``n`` rows. Then
    ``rows = late + duplicates + withheld_records + points_released + points_suppressed``. Where stops are released, the
    points in which they were looked for are ``points_condensed``, and ``rows = late + duplicates + points_condensed``.
    """

    records: int = 0
    filtered: int = 0
    """Records that do not meet ``input.only``, or that say that something was deleted."""

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
    points_condensed: int = 0
    """Points in which stops were looked for."""

    stops_released: int = 0
    stops_suppressed: int = 0
    stops_withheld: int = 0
    stops_nowhere: int = 0
    """Stops outside all locations."""

    highest_risk: float | None = None
    """Largest probability with which a simulated attack on a release finds a person; compare it with 1/k. None if no
    attack was simulated."""

    highest_linkage: float | None = None
    """Largest share of the people of a set that an attack follows from one window to the next; of check-ins, the
    largest share of right guesses among the surest tenth of a window. None if no two windows were compared."""

    mean_linkage: float | None = None
    """Mean probability with which this attack follows a person to the next window."""

    seconds: float = 0.0
    rows: int = 0
    """Rows of the records that were not rejected."""

    points_left_out: int = 0
    """Points without a position, in fragments that were not rejected. They are not counted as rows."""

    reasons: Counter[str] = field(default_factory=Counter)
    """Rejected records, points left out, and withheld windows, by reason."""

    rejections: Rejections = field(default_factory=Rejections)
    """What was wrong with rejected records, and the place of the first of each kind."""

    measures: Means | None = None
    """Means over the released windows, weighted by their trajectories; None if the replay does not measure."""

    def as_dict(self) -> dict[str, object]:
        """Return the counts as plain data, and the measures if there are any."""
        counts = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "measures"}
        counts["reasons"] = dict(sorted(self.reasons.items()))
        counts["rejections"] = [one.as_dict() for one in self.rejections.sorted()]
        return counts if self.measures is None else counts | {"measures": self.measures.as_dict()}

    @property
    def complaint(self) -> str | None:
        """The most frequent reason, if every record was rejected; else None."""
        if not self.records or self.rejected < self.records:
            return None
        most = self.rejections.sorted()[0]
        return (
            f"no record was accepted: {most.records} of {self.records} were rejected for {most.reason}: {most.detail} "
            f"(first: {most.place})"
        )
