"""Utility of positions: heat map, trips, range queries and translation of a release beside those of its raw feed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.models.kdelta.ranges import RangeQueryOptions, draw_range_queries, range_query_distortion
from core.places.geo import LocalProjection, mean_position
from core.records.arrays import FloatArray, IntArray, ranges
from core.records.by_user import starts_of_users
from core.trajectories.journeys import Journeys
from core.trajectories.trajectory import PointTrajectories
from core.utility.mobility import MobilityProfile, jensen_shannon, mean_shift
from core.utility.paired import translation
from stream.replay.summary import Means

__all__ = ["compare_positions", "compare_profiles", "in_metres", "numbered_alike", "plane_around"]


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
    plane = plane_around(first)
    found = []
    for xy in positions:
        xy_m = np.full(xy.shape, np.nan)
        known = np.isfinite(xy).all(axis=1)
        xy_m[known] = plane.to_metres(xy[known, 1], xy[known, 0])
        found.append(xy_m)
    return found


def plane_around(xy: FloatArray) -> LocalProjection:
    """Return the plane in which positions are compared.

    Its centre is the first position, rounded to whole degrees. The cells of heat maps begin there, and a file that is
    read part by part must have the same ones.

    Args:
        xy: Longitude and latitude, shape ``(p, 2)``, at least one.
    """
    return LocalProjection(*mean_position(xy[:1, 1], xy[:1, 0], digits=0))


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
        queries: Number of range queries of each window.
        generator: Draws them.

    Returns:
        The figures that both have columns for; empty if one of both has no positions.
    """
    planes = in_metres(raw, released)
    if planes is None:
        return {}
    before, after = (_profile(one, xy_m, cell_m) for one, xy_m in zip((raw, released), planes, strict=True))
    figures = compare_profiles(before, after, has_order=raw.is_ordered and released.is_ordered)
    if not figures:
        return {}
    if raw.t_ms is not None and released.t_ms is not None:
        figures |= _range_queries((raw, released), planes, uncertainty_m=uncertainty_m, n=queries, generator=generator)
        figures |= _paired(raw, released, planes)
    return figures


def compare_profiles(before: MobilityProfile, after: MobilityProfile, *, has_order: bool) -> dict[str, float]:
    """Return what two profiles allow; empty if one of both has no visit.

    Args:
        before: Of the raw feed.
        after: Of the release.
        has_order: Whether the order of visits means something in both.
    """
    if not len(before.radii_m) or not len(after.radii_m):
        return {}
    figures = {"heat_map_divergence": jensen_shannon(before.heat_map, after.heat_map)}
    if has_order:
        figures["od_divergence"] = jensen_shannon(before.trips, after.trips)
        figures["trip_length_shift_m"] = mean_shift(before.lengths_m, after.lengths_m)
    return figures | {"gyration_shift_m": mean_shift(before.radii_m, after.radii_m)}


def _profile(journeys: Journeys, xy_m: FloatArray, cell_m: float) -> MobilityProfile:
    known = np.isfinite(xy_m).all(axis=1)
    profile = MobilityProfile(cell_m)
    profile.add(journeys.journey_of[known], xy_m[known])
    return profile


def _range_queries(
    several: tuple[Journeys, Journeys],
    planes: list[FloatArray],
    *,
    uncertainty_m: float,
    n: int,
    generator: np.random.Generator,
) -> dict[str, float]:
    """Ask each window of the release ``n`` queries; means over the windows, weighted by released journeys."""
    measured = Means()
    for window in np.unique(several[1].windows_ms).tolist():
        before, after = (
            _points_of(one, xy_m, np.flatnonzero(one.windows_ms == window))
            for one, xy_m in zip(several, planes, strict=True)
        )
        drawn = draw_range_queries(before, generator, RangeQueryOptions(n=n))
        distortion = range_query_distortion(before, after, drawn, uncertainty_m=uncertainty_m)
        figures = {"range_distortion_possibly": distortion.psi, "range_distortion_definitely": distortion.dai}
        measured.add(figures, len(after.users))
    return measured.values


def _points_of(journeys: Journeys, xy_m: FloatArray, rows: IntArray) -> PointTrajectories:
    at = ranges(journeys.starts[rows], np.diff(journeys.starts)[rows])
    return journeys.only(rows).points(xy_m[at])


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
