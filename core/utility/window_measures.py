"""What is measured of one window against its raw records. Never published.

Every measure here is computed from raw records, so that differences between two of them could reveal single people.
:mod:`core.utility.published` has what leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from core.places.meaning import Taxonomy
from core.records.arrays import IntArray

__all__ = ["NOTHING_RELEASED", "MeasureInputs", "MeasureOptions", "WindowLoss", "WindowMeasures", "exact_loss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowMeasures:
    """Measures of one kind of window; its fields are numbers, NaN where there is nothing to measure."""

    def as_dict(self) -> dict[str, float]:
        """Return the figures by name, in order."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLoss:
    """What the release of one window lost."""

    distance_m: float
    """Of check-ins D (Poulis et al. 2014, Definition 6): how far a released visit is on average from the members of
    what it is released as; 0 where places are released as they are. Of fragments the mean distance of a released point
    from its counterpart. Metres; NaN where nothing is released."""

    time_s: float
    """Of fragments the mean time between a released point and its counterpart, seconds; else 0."""

    people: int
    """Distinct people of whom something is released."""

    @classmethod
    def of(cls, distance_m: float, users: IntArray) -> WindowLoss:
        """Return the loss of check-ins: their mean distance, and the users behind what is released."""
        return cls(distance_m=distance_m, time_s=0.0, people=len(np.unique(users)))


NOTHING_RELEASED = WindowLoss(distance_m=math.nan, time_s=0.0, people=0)


def exact_loss(users: IntArray) -> WindowLoss:
    """Return the loss where all that is released of these users is released as it is."""
    return WindowLoss.of(0.0, users) if len(users) else NOTHING_RELEASED


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """How much is drawn, and what counts as frequent."""

    queries: int = 100
    """COUNT queries of a window, and subtrajectories whose supports are compared. The paper's number."""

    largest_query: int = 2
    """Most locations of a query. The paper's number."""

    projections: int = 20
    """Random projections of a window. The paper draws 2000 of one data set; here windows are averaged as well."""

    min_support_percent: float = 1.0
    """Fewest people behind a frequent pattern, in percent of the window's, and never fewer than k: rarer patterns are
    what the release is to hide. The paper takes 0.83 % and 0.14 % of much larger data."""

    longest_pattern: int = 3
    """Most locations of a frequent pattern."""

    def min_support(self, people: int, k: int) -> int:
        """Return the fewest people behind a frequent pattern of a window."""
        return max(k, math.ceil(people * self.min_support_percent / 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureInputs:
    """What a release is measured with."""

    options: MeasureOptions
    taxonomy: Taxonomy | None = None
    """What the locations mean; for the models whose measures need it."""
