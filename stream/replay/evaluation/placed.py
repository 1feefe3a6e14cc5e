"""Utility of positions: heat map, trips, range queries and translation of a release beside those of its raw feed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from core.models.kdelta.ranges import RangeQueryOptions, draw_range_queries, range_query_distortion
from core.places.geo import LocalProjection
from core.records.arrays import FloatArray, IntArray, ranges
from core.records.by_user import starts_of_users
from core.trajectories.journeys import Journeys
from core.trajectories.trajectory import PointTrajectories
from core.utility.mobility import MobilityProfile, jensen_shannon, mean_shift
from core.utility.paired import Translation, translation
from stream.replay.evaluation.draws import generator_of
from stream.replay.summary import Means

__all__ = ["PlacedFigures", "in_metres", "numbered_alike", "paired", "paired_figures", "plane_of", "sphere_sum"]


def sphere_sum(xy: FloatArray) -> FloatArray:
    """Return the sum of positions as vectors on the unit sphere, shape ``(3,)``; those of parts of a file are added.

    Args:
        xy: Longitude and latitude, shape ``(p, 2)``; NaN where a visit has no position.
    """
    lon, lat = np.radians(xy[np.isfinite(xy).all(axis=1)]).T
    return np.array([(np.cos(lat) * np.cos(lon)).sum(), (np.cos(lat) * np.sin(lon)).sum(), np.sin(lat).sum()])


def plane_of(total: FloatArray) -> LocalProjection:
    """Return the plane in which positions are compared, around their mean.

    The mean is rounded to whole degrees: the cells of heat maps begin there, and must be the same ones in whatever
    parts a file is read.

    Args:
        total: Of all positions of the raw feed, :func:`sphere_sum`.
    """
    x, y, z = total.tolist()
    return LocalProjection(round(math.degrees(math.atan2(z, math.hypot(x, y)))), round(math.degrees(math.atan2(y, x))))


def in_metres(*several: Journeys, plane: LocalProjection | None = None) -> list[FloatArray] | None:
    """Return the positions of some journeys in one plane, metres; None if they are not in the same coordinates.

    Args:
        several: Journeys with positions.
        plane: By default that around those of the first.
    """
    if len({one.is_metres for one in several}) > 1 or any(one.xy is None for one in several):
        return None
    positions = [one.xy for one in several if one.xy is not None]
    if several[0].is_metres:
        return positions
    plane = plane_of(sphere_sum(positions[0])) if plane is None else plane
    found = []
    for xy in positions:
        xy_m = np.full(xy.shape, np.nan)
        known = np.isfinite(xy).all(axis=1)
        xy_m[known] = plane.to_metres(xy[known, 1], xy[known, 0])
        found.append(xy_m)
    return found


class PlacedFigures:
    """Measures a release with positions against its raw feed, part by part.

    Args:
        cell_m: Side of the cells of heat maps, metres.
        uncertainty_m: How far from a released position a person may be in a range query, metres.
        queries: Number of range queries of each window.
        seed: Draws them: the same in every window of the same time.
    """

    def __init__(self, *, cell_m: float, uncertainty_m: float, queries: int, seed: int) -> None:
        self._uncertainty_m, self._queries, self._seed = uncertainty_m, queries, seed
        self._profiles = (MobilityProfile(cell_m), MobilityProfile(cell_m))
        self._n_journeys = [0, 0]
        self._has_order = True
        self._answers = Means()

    def add(self, raw: Journeys, released: Journeys, plane: LocalProjection | None, *, has_whole_windows: bool) -> None:
        """Add a part: whole journeys, which are in no other part.

        Args:
            raw: The raw feed, in the windows of the release.
            released: The release.
            plane: In which all parts are compared; None if positions are metres.
            has_whole_windows: Whether everybody in these windows is in this part. Range queries need that.
        """
        planes = in_metres(raw, released, plane=plane)
        if planes is None:
            return
        several = (raw, released)
        self._has_order = self._has_order and raw.is_ordered and released.is_ordered
        for i, (journeys, xy_m) in enumerate(zip(several, planes, strict=True)):
            known = np.isfinite(xy_m).all(axis=1)
            self._profiles[i].add(self._n_journeys[i] + journeys.journey_of[known], xy_m[known])
            self._n_journeys[i] += len(journeys)
        if has_whole_windows and raw.t_ms is not None and released.t_ms is not None:
            self._ask(several, planes)

    @property
    def figures(self) -> dict[str, float]:
        """The figures that both have columns for; empty if one of both has no position."""
        before, after = self._profiles
        if not len(before.radii_m) or not len(after.radii_m):
            return {}
        figures = {"heat_map_divergence": jensen_shannon(before.heat_map, after.heat_map)}
        if self._has_order:
            figures["od_divergence"] = jensen_shannon(before.trips, after.trips)
            figures["trip_length_shift_m"] = mean_shift(before.lengths_m, after.lengths_m)
        figures["gyration_shift_m"] = mean_shift(before.radii_m, after.radii_m)
        return figures | self._answers.values

    def _ask(self, several: tuple[Journeys, Journeys], planes: list[FloatArray]) -> None:
        """Ask each window of the release; means over the windows are weighted by released journeys."""
        for window in np.unique(several[1].windows_ms).tolist():
            before, after = (
                _points_of(one, xy_m, np.flatnonzero(one.windows_ms == window))
                for one, xy_m in zip(several, planes, strict=True)
            )
            generator = generator_of(self._seed, window)
            drawn = draw_range_queries(before, generator, RangeQueryOptions(n=self._queries))
            distortion = range_query_distortion(before, after, drawn, uncertainty_m=self._uncertainty_m)
            figures = {"range_distortion_possibly": distortion.psi, "range_distortion_definitely": distortion.dai}
            self._answers.add(figures, len(after.users))


def _points_of(journeys: Journeys, xy_m: FloatArray, rows: IntArray) -> PointTrajectories:
    at = ranges(journeys.starts[rows], np.diff(journeys.starts)[rows])
    return journeys.only(rows).points(xy_m[at])


def paired(raw: Journeys, released: Journeys, plane: LocalProjection | None) -> Translation | None:
    """Compare the points of people whose ids are in both.

    Args:
        raw: The raw feed, or all that some people did in it.
        released: The same of the release.
        plane: In which they are compared; None if positions are metres.

    Returns:
        None if there are no ids, no times or no common coordinates.
    """
    planes = in_metres(raw, released, plane=plane)
    has_columns = all(one.people is not None and one.t_ms is not None for one in (raw, released))
    return translation(*numbered_alike(raw, released, planes)) if has_columns and planes is not None else None


def paired_figures(found: Translation) -> dict[str, float]:
    """Return what became of the points of paired people; empty if there are none."""
    if not found.people:
        return {}
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
