"""Measure the information loss of released trajectories against those of the raw window. Never published.

Points left out before anonymization (jumps, points above the limit, people who demand more than the model gives) count
in no figure here.

Every figure is computed from raw points and could confirm a guess at them. Published figures
(:mod:`core.models.kdelta.release`) are coarser, and none of them concerns fewer than k people.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from core.models.kdelta.algorithms import AnonymizedTrajectories
from core.models.kdelta.assemble import PointWindow
from core.models.kdelta.plan import KDeltaPlan
from core.models.kdelta.ranges import RangeQueryOptions, draw_range_queries, range_query_distortion
from core.records.arrays import FloatArray, IntArray
from core.records.record import Rows
from core.trajectories.trajectory import PointTrajectories
from core.utility.answers import PossibleVisits, VisitLabels
from core.utility.window_answers import WindowAnswers
from core.utility.window_measures import NOTHING_RELEASED, MeasureInputs, WindowLoss, WindowMeasures
from core.utility.workload import AroundPlace, CountQuery, Spots, Workload
from core.windows.seal import Seal

__all__ = ["PointMeasures", "answers", "compare", "loss", "measure"]


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


def answers(
    seal: Seal, rows: Rows, window: PointWindow, result: AnonymizedTrajectories, plan: KDeltaPlan
) -> WindowAnswers:
    """Answer queries by points: somebody was in a place if one of the points is, raw or released."""
    sets = result.sets
    order = np.lexsort((rows["lon"], rows["lat"], rows["ts_ms"], rows["user"]))
    points = rows.take(order)
    first = np.unique(points["user"], return_index=True)[1]
    raw = _visits(np.arange(len(first)), np.append(first, len(points)), points["ts_ms"], (points["lat"], points["lon"]))
    released = _visits(
        result.trajectories.users[sets.sources], sets.starts, sets.t_ms, window.projection.to_degrees(sets.xy_m)
    )
    return WindowAnswers(people=window.n_users, raw=raw, released=released, draw=partial(_draw, raw))


def _visits(users: IntArray, starts: IntArray, t_ms: IntArray, at_deg: tuple[FloatArray, FloatArray]) -> PossibleVisits:
    lat, lon = at_deg
    return PossibleVisits(
        users=users,
        starts=starts,
        spots=Spots(lat_deg=lat, lon_deg=lon),
        labels=VisitLabels.alone(np.arange(len(lat)), len(lat)),
        times_ms=(t_ms, t_ms + 1),
    )


def _draw(raw: PossibleVisits, rng: np.random.Generator, workload: Workload) -> list[CountQuery]:
    """Draw queries for discs around points of one person, in the order of time, as large as those of range queries."""
    sizes, queries = RangeQueryOptions(), list[CountQuery]()
    for _ in range(workload.n_drawn):
        person = rng.integers(len(raw.users))
        some = rng.integers(raw.starts[person], raw.starts[person + 1], rng.integers(workload.largest_drawn) + 1)
        radius_m = float(rng.uniform(sizes.smallest_radius_m, sizes.largest_radius_m))
        discs = (
            AroundPlace(lat_deg=float(raw.spots.lat_deg[at]), lon_deg=float(raw.spots.lon_deg[at]), radius_m=radius_m)
            for at in np.sort(some).tolist()
        )
        queries.append(CountQuery(places=tuple(discs)))
    return queries
