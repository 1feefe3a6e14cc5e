"""Measure the information loss of released trajectories against those of the raw window. Never published.

Points left out before anonymization (jumps, points above the limit, people who demand more than the model gives) count
in no figure here.

Every figure is computed from raw points and could confirm a guess at them. Published figures
(:mod:`core.models.kdelta.release`) are coarser, and none of them concerns fewer than k people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.models.kdelta.algorithms import AnonymizedTrajectories
from core.models.kdelta.assemble import PointWindow
from core.models.kdelta.plan import KDeltaPlan
from core.models.kdelta.ranges import RangeQueryOptions, draw_range_queries, range_query_distortion
from core.trajectories.trajectory import PointTrajectories
from core.utility.window_measures import NOTHING_RELEASED, MeasureInputs, WindowLoss, WindowMeasures
from core.windows.seal import Seal

__all__ = ["PointMeasures", "compare", "loss", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMeasures(WindowMeasures):
    """The measures of one window; NaN where there is nothing to measure."""

    mean_space_translation_m: float
    """Mean distance of a published point from its counterpart, metres."""

    mean_time_translation_s: float
    """Mean time between a published point and its counterpart, seconds."""

    space_translation_m: float
    """Sum of the distances, metres."""

    time_translation_s: float
    """Sum of the times, seconds."""

    total_distortion_m: float
    """Distortion in space and time with the trash term
    (:attr:`core.models.kdelta.anonymize.sets.Distortion.total_m`), metres."""

    points_created: float
    points_deleted: float
    points_trashed: float
    trash: float
    """Trajectories in the trash."""

    discernibility: float
    """Sum of the squared sizes of the sets, plus the number of all trajectories for each one in the trash."""

    range_distortion_possibly: float
    """Range-query distortion, "possibly sometime inside" (:mod:`core.models.kdelta.ranges`), in ``0..1``."""

    range_distortion_definitely: float
    """The same, "definitely always inside"."""


def loss(window: PointWindow, result: AnonymizedTrajectories, plan: KDeltaPlan) -> WindowLoss:
    """Measure the loss by which all models are compared: how far points were moved in space and time."""
    sets = result.sets
    if not len(sets.sources):
        return NOTHING_RELEASED
    return WindowLoss(
        distance_m=sets.mean_space_translation_m,
        time_s=sets.mean_time_translation_s,
        people=len(np.unique(result.trajectories.users[sets.sources])),
    )


def measure(
    seal: Seal, window: PointWindow, result: AnonymizedTrajectories, plan: KDeltaPlan, inputs: MeasureInputs
) -> PointMeasures:
    """Measure translation, the points left out and the distortion of range queries."""
    return compare(seal, window, result, plan, RangeQueryOptions(n=inputs.options.queries))


def compare(
    seal: Seal, window: PointWindow, result: AnonymizedTrajectories, plan: KDeltaPlan, options: RangeQueryOptions
) -> PointMeasures:
    """Compare a window with its release, which has at least one trajectory.

    Args:
        seal: The window's first seal.
        window: The raw window.
        result: The anonymized trajectories.
        plan: The plan of the release.
        options: Number and size of the range queries.
    """
    sets = result.sets
    released = PointTrajectories(
        users=result.trajectories.users[sets.sources], starts=sets.starts, t_ms=sets.t_ms, xy_m=sets.xy_m
    )
    queries = draw_range_queries(window.trajectories, plan.generator(seal, "measures"), options)
    ranges = range_query_distortion(window.trajectories, released, queries, uncertainty_m=plan.guarantee.delta_m / 2)
    return PointMeasures(
        mean_space_translation_m=sets.mean_space_translation_m,
        mean_time_translation_s=sets.mean_time_translation_s,
        space_translation_m=sets.distortion.space_translation_m,
        time_translation_s=sets.distortion.time_translation_s,
        total_distortion_m=sets.distortion.total_m,
        points_created=sets.points_created,
        points_deleted=sets.distortion.points_deleted,
        points_trashed=sets.distortion.points_trashed,
        trash=len(sets.trash),
        discernibility=sets.distortion.discernibility,
        range_distortion_possibly=ranges.psi,
        range_distortion_definitely=ranges.dai,
    )
