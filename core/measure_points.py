"""Measure what a release of trajectories lost against those of its window, for whoever may see both. Never published.

What was left out before (jumps, what was too much, people who demand more than the model gives) counts in no figure
here.

Every figure here is computed from raw points, so that it could confirm a guess at them. What leaves is coarser, and
leaves out what would tell of fewer than k people (:mod:`core.release_points`).
"""

from __future__ import annotations

from dataclasses import dataclass

from core.assemble import assemble_points
from core.figures import Figures
from core.plan import PointPlan
from core.records import Rows
from core.release import keyed_generator
from core.seal import Seal
from core.trajectory import PointTrajectories
from core.utility import RangeQueryOptions, draw_range_queries, range_query_distortion

__all__ = ["PointMeasures", "measure_points"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMeasures(Figures):
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
    """Both, with the trash term (:attr:`core.anonymize.sets.AnonymitySets.total_distortion_m`), metres."""

    points_created: float
    points_deleted: float
    points_trashed: float
    trash: float
    """Trajectories in the trash."""

    discernibility: float
    """Squared sizes of the sets, and the number of all for each in the trash."""

    range_distortion_possibly: float
    """Range-query distortion, "possibly sometime inside" (:mod:`core.utility.ranges`), in ``0..1``."""

    range_distortion_definitely: float
    """The same, "definitely always inside"."""


def measure_points(seal: Seal, rows: Rows, plan: PointPlan, options: RangeQueryOptions) -> PointMeasures | None:
    """Measure the release of a sealed window. The same arguments give the same figures.

    The window is anonymized once more, which gives the same result: no release ever carries raw points along for
    somebody to measure.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How it was released.
        options: Which queries are drawn.

    Returns:
        The measures; None where nothing can be released.
    """
    window = assemble_points(rows, plan.guarantee, plan.limits, plan.joining)
    if window.n_users < plan.guarantee.k:
        return None
    colocated = plan.colocator.colocate(window, plan.guarantee, keyed_generator(plan.secret, seal.release_id))
    sets = colocated.sets
    if not len(sets.sources):
        return None
    released = PointTrajectories(
        users=colocated.trajectories.users[sets.sources], starts=sets.starts, t_ms=sets.t_ms, xy_m=sets.xy_m
    )
    queries = draw_range_queries(
        window.trajectories, keyed_generator(plan.secret, seal.release_id, "measures"), options
    )
    ranges = range_query_distortion(window.trajectories, released, queries, uncertainty_m=plan.guarantee.delta_m / 2)
    return PointMeasures(
        mean_space_translation_m=sets.mean_space_translation_m,
        mean_time_translation_s=sets.mean_time_translation_s,
        space_translation_m=sets.space_translation_m,
        time_translation_s=sets.time_translation_s,
        total_distortion_m=sets.total_distortion_m,
        points_created=sets.points_created,
        points_deleted=sets.points_deleted,
        points_trashed=sets.points_trashed,
        trash=len(sets.trash),
        discernibility=sets.discernibility,
        range_distortion_possibly=ranges.psi,
        range_distortion_definitely=ranges.dai,
    )
