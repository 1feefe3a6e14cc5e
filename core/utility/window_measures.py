"""Measures that compare a release with its raw window. Never published.

Every measure here is computed from raw records, so differences between two measures could reveal single people.
:mod:`core.utility.published` has the published measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from core.places.meaning import Taxonomy
from core.records.arrays import IntArray
from core.utility.workload import Workload

__all__ = ["NOTHING_RELEASED", "MeasureInputs", "MeasureOptions", "WindowLoss", "WindowMeasures", "exact_loss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowMeasures:
    """Measures of one kind of window; its fields are numbers, NaN if there is nothing to measure."""

    def as_dict(self) -> dict[str, float]:
        """Return the figures by name, in order."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLoss:
    """The information loss of one window."""

    distance_m: float
    """Metres; NaN if nothing is released. For check-ins D (Poulis et al. 2014, Definition 6): the mean distance of a
    released visit from the members of its generalized location; 0 if locations are not generalized. For fragments the
    mean distance between a released point and its counterpart."""

    time_s: float
    """For fragments the mean time between a released point and its counterpart, seconds; 0 for check-ins."""

    people: int
    """Number of distinct people with a released visit or point."""

    @classmethod
    def of(cls, distance_m: float, users: IntArray) -> WindowLoss:
        """Return the loss of check-ins, from their mean distance and the users of released visits or trajectories."""
        return cls(distance_m=distance_m, time_s=0.0, people=len(np.unique(users)))


NOTHING_RELEASED = WindowLoss(distance_m=math.nan, time_s=0.0, people=0)


def exact_loss(users: IntArray) -> WindowLoss:
    """Return the loss if everything that is released of these users is released without generalization."""
    return WindowLoss.of(0.0, users) if len(users) else NOTHING_RELEASED


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """Sizes of random samples, and the threshold of frequent patterns."""

    queries: int = 100
    """Number of COUNT queries of a window, and of subtrajectories whose supports are compared; as in the paper."""

    largest_query: int = 2
    """Most locations of a query; as in the paper."""

    projections: int = 20
    """Number of random projections of a window. The paper draws 2000; here windows are averaged as well."""

    min_support_percent: float = 1.0
    """Least support of a frequent pattern, in percent of the window's people, and never below k, because the release
    must hide rarer patterns. The paper takes 0.83 % and 0.14 % of much larger data."""

    longest_pattern: int = 3
    """Most locations of a frequent pattern."""

    def min_support(self, people: int, k: int) -> int:
        """Return the least support of a frequent pattern of a window."""
        return max(k, math.ceil(people * self.min_support_percent / 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureInputs:
    """Inputs for the measures of a release."""

    options: MeasureOptions
    taxonomy: Taxonomy | None = None
    """The taxonomy of the locations, for models whose measures need it."""

    workload: Workload | None = None
    """COUNT queries, raw and released; None to ask none."""
