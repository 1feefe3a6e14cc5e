"""Check (k,delta)-anonymity of a candidate release on the coordinates as published.

Shares no code with the anonymizers: it gets sets, users, time stamps and degrees, and measures on the ellipsoid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from pyproj import Geod

from core.models.kdelta.guarantee import KDelta

__all__ = ["KDeltaReport", "verify_kdelta"]

_WGS84 = Geod(ellps="WGS84")
_ECCENTRICITY2 = _WGS84.es
_SMALLEST_CURVATURE_RADIUS_M = _WGS84.b**2 / _WGS84.a  # the meridian's, at the equator
_ELEMENTS_AT_ONCE = 1 << 20  # distances held at a time
_ROUNDING_M = 1e-6  # far above what float64 loses on coordinates of 6,400 km, far below what matters


@dataclass(frozen=True, slots=True, kw_only=True)
class KDeltaReport:
    """What verification found in a candidate for release."""

    smallest_set: int | None
    """Distinct users of the smallest set; None when nothing would be released."""

    largest_distance_m: float
    """Largest distance found inside a set at one time stamp, metres; 0 when there is no pair."""

    violations: Mapping[str, int] = field(default_factory=dict)
    """Number of violations by kind; kinds without violations are left out.

    - ``too_few_users``: sets with too few distinct users;
    - ``time_stamps``: trajectories whose time stamps are missing, not strictly ascending, or not those of their set;
    - ``position``: trajectories without one finite position in range for each time stamp;
    - ``too_far_apart``: pairs of trajectories too far apart at one time stamp.
    """

    @property
    def holds(self) -> bool:
        """Whether the release keeps its promise."""
        return not self.violations


def verify_kdelta(
    sets: Sequence[int],
    users: Sequence[int],
    t_ms: Sequence[npt.ArrayLike],
    lat_deg: Sequence[npt.ArrayLike],
    lon_deg: Sequence[npt.ArrayLike],
    guarantee: KDelta,
    *,
    k: Sequence[int] | None = None,
    delta_m: Sequence[float] | None = None,
) -> KDeltaReport:
    """Recompute (k,delta)-anonymity from a candidate alone (Theodosopoulos 2013, Definitions 2 to 4).

    Every set must have at least ``k`` distinct users and one list of time stamps. At each time stamp any two of its
    trajectories must be within ``delta_m`` of each other. Distances are geodesics on WGS84, so the check also works
    across the antimeridian and at the poles. If trajectories demand more, their set must have the largest ``k`` and
    keep the smallest ``delta_m`` that any of them demands (Algorithm 2).

    Args:
        sets: Set of each of the ``r`` released trajectories.
        users: User behind each.
        t_ms: Time stamps of each, milliseconds, ``r`` arrays of shape ``(m_i,)``.
        lat_deg: Published latitudes of each, degrees north, same shapes.
        lon_deg: Published longitudes of each, degrees east, same shapes.
        guarantee: The least that holds for every set.
        k: Distinct users that each trajectory demands of its set; the guarantee's if not given.
        delta_m: Largest distance that each trajectory demands, metres; the guarantee's if not given.

    Raises:
        ValueError: The columns are not equally long.

    >>> promise = KDelta(k=2, delta_m=20.0)
    >>> verify_kdelta([0, 0], [4, 7], [[0], [0]], [[50.0], [50.0001]], [[8.0], [8.0]], promise).holds
    True
    """
    columns = [sets, users, t_ms, lat_deg, lon_deg, *(demand for demand in (k, delta_m) if demand is not None)]
    if len(set(map(len, columns))) > 1:
        raise ValueError("sets, users, t_ms, lat_deg, lon_deg and demands must have one entry for each trajectory")
    violations: Counter[str] = Counter()
    rows_of: dict[int, list[int]] = {}
    for row, number in enumerate(sets):
        rows_of.setdefault(number, []).append(row)
    sizes = [len({users[row] for row in rows}) for rows in rows_of.values()]
    violations["too_few_users"] = sum(
        size < max([guarantee.k, *([] if k is None else (k[row] for row in rows))])
        for size, rows in zip(sizes, rows_of.values(), strict=True)
    )

    largest_m = 0.0
    for rows in rows_of.values():
        stamps = np.asarray(t_ms[rows[0]], dtype=np.int64)
        comparable = []
        for row in rows:
            row_stamps = np.asarray(t_ms[row], dtype=np.int64)
            if not len(row_stamps) or np.any(np.diff(row_stamps) <= 0) or not np.array_equal(row_stamps, stamps):
                violations["time_stamps"] += 1
                continue
            position = (
                np.array([lat_deg[row], lon_deg[row]], dtype=np.float64)
                if (np.shape(lat_deg[row]) == np.shape(lon_deg[row]) == row_stamps.shape)
                else np.full((2, 1), np.nan)
            )
            if np.all(np.abs(position) <= [[90.0], [180.0]]):  # NaN counts as out of range
                comparable.append(position)
            else:
                violations["position"] += 1
        if len(comparable) > 1:
            allowed_m = min([guarantee.delta_m, *([] if delta_m is None else (delta_m[row] for row in rows))])
            set_largest_m, too_far = _distances(np.stack(comparable, axis=-1), allowed_m)
            largest_m = max(largest_m, set_largest_m)
            violations["too_far_apart"] += too_far
    return KDeltaReport(
        smallest_set=min(sizes, default=None),
        largest_distance_m=largest_m,
        violations={kind: number for kind, number in sorted(violations.items()) if number},
    )


def _distances(position_deg: npt.NDArray[np.float64], delta_m: float) -> tuple[float, int]:
    """Return the largest distance in a set and the number of pairs beyond ``delta_m``.

    A straight line through the Earth is never longer than the geodesic between its ends, and a geodesic bends no
    more than the strongest curvature of the ellipsoid. Straight lines, which are cheap to measure, therefore decide
    all pairs except those very near to ``delta_m``. Those, and the farthest pair of each time stamp, are measured
    exactly.

    Args:
        position_deg: Latitudes and longitudes, shape ``(2, m, s)``.
        delta_m: Largest distance allowed.
    """
    size = position_deg.shape[2]
    xyz = _geocentric(position_deg)  # (3, m, s)
    surely_within_m = _chord_m(delta_m) - _ROUNDING_M
    largest_m, too_far = 0.0, 0
    rows_at_once = max(1, min(size, _ELEMENTS_AT_ONCE // size))
    stamps_at_once = max(1, _ELEMENTS_AT_ONCE // (size * rows_at_once))
    for at in range(0, xyz.shape[1], stamps_at_once):
        stamps = slice(at, at + stamps_at_once)
        for row in range(0, size, rows_at_once):
            # Each pair once: the rows of this block are compared with all rows from the block's first on.
            ours, theirs = xyz[:, stamps, row : row + rows_at_once, None], xyz[:, stamps, None, row:]
            chord_m = np.zeros((ours.shape[1], ours.shape[2], theirs.shape[3]))
            for one, other in zip(ours, theirs, strict=True):
                chord_m += np.square(one - other)
            np.sqrt(chord_m, out=chord_m)
            chord_m[:, np.tri(*chord_m.shape[1:], dtype=bool)] = 0.0

            beyond = chord_m > delta_m + _ROUNDING_M
            too_far += int(beyond.sum())
            close = np.nonzero((chord_m >= surely_within_m) & ~beyond & (chord_m > 0))
            farthest = chord_m.reshape(len(chord_m), -1).argmax(axis=1)
            farthest_pairs = np.arange(len(chord_m)), *np.unravel_index(farthest, chord_m.shape[1:])
            close_m = _geodesic_m(position_deg, at, row, close)
            too_far += int((close_m > delta_m).sum())
            farthest_m = _geodesic_m(position_deg, at, row, farthest_pairs)
            largest_m = max(largest_m, float(farthest_m.max()), float(close_m.max(initial=0.0)))
    return largest_m, too_far


def _geodesic_m(
    position_deg: npt.NDArray[np.float64], at: int, row: int, pairs: tuple[npt.NDArray[np.intp], ...]
) -> npt.NDArray[np.float64]:
    stamp, one, other = pairs[0] + at, pairs[1] + row, pairs[2] + row
    lat_deg, lon_deg = position_deg
    _, _, distance_m = _WGS84.inv(
        lon_deg[stamp, one], lat_deg[stamp, one], lon_deg[stamp, other], lat_deg[stamp, other]
    )
    return np.asarray(distance_m, dtype=np.float64)


def _geocentric(position_deg: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lat, lon = np.radians(position_deg)
    normal_m = _WGS84.a / np.sqrt(1 - _ECCENTRICITY2 * np.sin(lat) ** 2)
    return np.stack(
        (
            normal_m * np.cos(lat) * np.cos(lon),
            normal_m * np.cos(lat) * np.sin(lon),
            normal_m * (1 - _ECCENTRICITY2) * np.sin(lat),
        )
    )


def _chord_m(geodesic_m: float) -> float:
    """Return the shortest straight line that a geodesic of this length can span."""
    half = min(geodesic_m / (2 * _SMALLEST_CURVATURE_RADIUS_M), np.pi / 2)
    return float(2 * _SMALLEST_CURVATURE_RADIUS_M * np.sin(half))
