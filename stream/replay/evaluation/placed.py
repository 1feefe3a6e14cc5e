"""Utility of positions: heat map, trips, range queries and translation of a release beside those of its raw feed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from core.models.kdelta.ranges import RangeQueryOptions, draw_range_queries, range_query_distortion
from core.places.geo import LocalProjection
from core.records.arrays import FloatArray, IntArray
from core.records.by_user import starts_of_users
from core.trajectories.journeys import Journeys
from core.trajectories.trajectory import PointTrajectories
from core.utility.mobility import (
    cells_of,
    ends_of_trips,
    jensen_shannon,
    mean_shift,
    radii_of_gyration_m,
    trip_lengths_m,
)
from core.utility.paired import translation

__all__ = ["compare_positions", "in_metres", "numbered_alike"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Placed:
    """The visits of journeys that have a position, metres."""

    starts: IntArray
    xy_m: FloatArray


def in_metres(*several: Journeys) -> list[FloatArray] | None:
    """Return the positions of some journeys in one plane, metres; None if they are not in the same coordinates.

    Args:
        several: Journeys with positions; the plane is that around the first.
    """
    if len({one.is_metres for one in several}) > 1 or any(one.xy is None for one in several):
        return None
    positions = [one.xy for one in several if one.xy is not None]
    if several[0].is_metres:
        return positions
    first = positions[0][np.isfinite(positions[0]).all(axis=1)]
    plane = LocalProjection.around(first[:, 1], first[:, 0])
    found = []
    for xy in positions:
        xy_m = np.full(xy.shape, np.nan)
        known = np.isfinite(xy).all(axis=1)
        xy_m[known] = plane.to_metres(xy[known, 1], xy[known, 0])
        found.append(xy_m)
    return found


def compare_positions(
    raw: Journeys,
    released: Journeys,
    *,
    cell_m: float,
    uncertainty_m: float,
    queries: int,
    generator: np.random.Generator,
) -> dict[str, float]:
    """Measure a release with positions against its raw feed.

    Args:
        raw: The raw feed, in the windows of the release.
        released: The release.
        cell_m: Side of the cells of heat maps, metres.
        uncertainty_m: How far from a released position a person may be in a range query, metres.
        queries: Number of range queries.
        generator: Draws them.

    Returns:
        The figures that both have columns for; empty if one of both has no positions.
    """
    planes = in_metres(raw, released)
    if planes is None:
        return {}
    before, after = (_placed(one, xy_m) for one, xy_m in zip((raw, released), planes, strict=True))
    if not len(before.xy_m) or not len(after.xy_m):
        return {}
    cells, other_cells = cells_of(before.xy_m, cell_m), cells_of(after.xy_m, cell_m)
    figures = {"heat_map_divergence": jensen_shannon(cells, other_cells)}
    if raw.is_ordered and released.is_ordered:
        figures["od_divergence"] = jensen_shannon(
            ends_of_trips(before.starts, cells), ends_of_trips(after.starts, other_cells)
        )
        figures["trip_length_shift_m"] = mean_shift(
            trip_lengths_m(before.starts, before.xy_m), trip_lengths_m(after.starts, after.xy_m)
        )
    figures["gyration_shift_m"] = mean_shift(
        radii_of_gyration_m(before.starts, before.xy_m), radii_of_gyration_m(after.starts, after.xy_m)
    )
    if raw.t_ms is not None and released.t_ms is not None:
        points, other = raw.points(planes[0]), released.points(planes[1])
        drawn = draw_range_queries(points, generator, RangeQueryOptions(n=queries))
        ranges = range_query_distortion(points, other, drawn, uncertainty_m=uncertainty_m)
        figures |= {"range_distortion_possibly": ranges.psi, "range_distortion_definitely": ranges.dai}
        figures |= _paired(raw, released, planes)
    return figures


def _placed(journeys: Journeys, xy_m: FloatArray) -> _Placed:
    known = np.isfinite(xy_m).all(axis=1)
    starts = np.concatenate(([0], np.cumsum(known)))[journeys.starts]
    return _Placed(starts=starts, xy_m=xy_m[known])


def _paired(raw: Journeys, released: Journeys, planes: list[FloatArray]) -> dict[str, float]:
    """Compare the points of people whose ids are in both."""
    if raw.people is None or released.people is None or set(raw.people).isdisjoint(released.people):
        return {}
    found = translation(*numbered_alike(raw, released, planes))
    return {
        "people_paired": found.people,
        "people_missing": found.people_missing,
        "points_trashed": found.points_trashed,
        "points_created": found.points_created,
        "points_deleted": found.points_deleted,
        "translation_m": found.mean_space_m,
        "translation_s": found.mean_time_s,
        "distance_at_time_m": found.mean_at_time_m,
    }


def numbered_alike(
    raw: Journeys, released: Journeys, planes: list[FloatArray]
) -> tuple[PointTrajectories, PointTrajectories]:
    """Return the points of both, one trajectory for each person, with the same number for the same id.

    Args:
        raw: A feed with ids and times.
        released: Another one.
        planes: The positions of both, metres.
    """
    number = {name: i for i, name in enumerate(dict.fromkeys((*(raw.people or ()), *(released.people or ()))))}
    one, other = (_joined(data, xy_m, number) for data, xy_m in zip((raw, released), planes, strict=True))
    return one, other


def _joined(journeys: Journeys, xy_m: FloatArray, number: dict[str, int]) -> PointTrajectories:
    """Join the windows of each person."""
    own = np.array([number[name] for name in journeys.people or ()], np.int64)
    once = replace(journeys, users=own[journeys.users]).points(xy_m)
    users = np.repeat(once.users, np.diff(once.starts))
    order = np.lexsort((once.t_ms, users))
    users, t_ms = users[order], once.t_ms[order]
    begins = starts_of_users(users)
    return PointTrajectories(users=users[begins[:-1]], starts=begins, t_ms=t_ms, xy_m=once.xy_m[order])
