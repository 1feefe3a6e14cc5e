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
_ELEMENTS_AT_ONCE = 1 << 16  # distances held at a time, in a core's second-level cache
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
    rows_of: dict[int, list[int]] = {}
    for row, number in enumerate(sets):
        rows_of.setdefault(number, []).append(row)
    sizes = [len({users[row] for row in rows}) for rows in rows_of.values()]
    violations: Counter[str] = Counter()
    violations["too_few_users"] = sum(
        size < max([guarantee.k, *([] if k is None else (k[row] for row in rows))])
        for size, rows in zip(sizes, rows_of.values(), strict=True)
    )
    allowed_m = [
        min([guarantee.delta_m, *([] if delta_m is None else (delta_m[row] for row in rows))])
        for rows in rows_of.values()
    ]

    order = [row for rows in rows_of.values() for row in rows]
    set_of = np.repeat(np.arange(len(rows_of)), [len(rows) for rows in rows_of.values()])  # (r,) in this order
    stamps = [np.asarray(t_ms[row], dtype=np.int64).reshape(-1) for row in order]
    lengths = np.array([len(one) for one in stamps], dtype=np.int64)
    timed = _are_times_of_set(np.concatenate([*stamps, np.empty(0, np.int64)]), lengths, set_of)
    position_deg = _positions([lat_deg[row] for row in order], [lon_deg[row] for row in order], lengths)
    out_of_range = ~np.all(np.abs(position_deg) <= [[90.0], [180.0]], axis=0)  # (p,) NaN counts as out of range
    placed = np.bincount(np.repeat(np.arange(len(order)), lengths), out_of_range, len(order)) == 0
    position_deg[:, out_of_range] = np.nan  # so that nothing is computed of infinity
    violations["time_stamps"] = int((~timed).sum())
    violations["position"] = int((timed & ~placed).sum())
    comparable = np.flatnonzero(timed & placed)
    largest_m, violations["too_far_apart"] = _distances(
        position_deg,
        (np.cumsum(lengths) - lengths)[comparable],
        lengths[comparable],
        set_of[comparable],
        np.array(allowed_m)[set_of[comparable]],
    )
    return KDeltaReport(
        smallest_set=min(sizes, default=None),
        largest_distance_m=largest_m,
        violations={kind: number for kind, number in sorted(violations.items()) if number},
    )


def _are_times_of_set(
    t_ms: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], set_of: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which trajectories have time stamps, strictly ascending ones, and those of the first of their set.

    Args:
        t_ms: Time stamps of ``r`` trajectories, one after the other, shape ``(p,)``.
        lengths: Number of time stamps of each, shape ``(r,)``.
        set_of: Set of each, ascending, shape ``(r,)``.
    """
    starts = np.cumsum(lengths) - lengths
    first = np.searchsorted(set_of, set_of)
    alike = (lengths > 0) & (lengths == lengths[first])
    owner = np.repeat(np.arange(len(lengths)), lengths)
    wrong = np.append(False, (np.diff(t_ms) <= 0) & (np.diff(owner) == 0))[: len(t_ms)]
    of_first = np.minimum(np.arange(len(t_ms)) + (starts[first] - starts)[owner], len(t_ms) - 1)  # if alike
    wrong |= t_ms[of_first] != t_ms
    are_times: npt.NDArray[np.bool_] = alike & (np.bincount(owner, wrong, len(lengths)) == 0)
    return are_times


def _positions(
    lat_deg: Sequence[npt.ArrayLike], lon_deg: Sequence[npt.ArrayLike], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return latitudes and longitudes, one trajectory after the other, shape ``(2, p)``.

    A trajectory without exactly one position for each time stamp has NaN for all of them.
    """
    columns = [[np.asarray(one, dtype=np.float64) for one in column] for column in (lat_deg, lon_deg)]
    for row, length in enumerate(lengths.tolist()):
        if not columns[0][row].shape == columns[1][row].shape == (length,):
            columns[0][row] = columns[1][row] = np.full(length, np.nan)
    return np.array([np.concatenate([*column, np.empty(0)]) for column in columns])


def _distances(
    position_deg: npt.NDArray[np.float64],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    set_of: npt.NDArray[np.int64],
    allowed_m: npt.NDArray[np.float64],
) -> tuple[float, int]:
    """Return the largest distance inside a set, and the number of pairs that are farther apart than is allowed.

    A straight line through the Earth is never longer than the geodesic between its ends, and a geodesic bends no
    more than the strongest curvature of the ellipsoid. Straight lines, which are cheap to measure, therefore decide
    all pairs except those very near to the allowed distance. Those, and the pairs that may be the farthest, are
    measured exactly.

    Args:
        position_deg: Latitudes and longitudes of all trajectories, shape ``(2, p)``.
        starts: Where each of the ``c`` compared trajectories begins there, shape ``(c,)``.
        lengths: Its number of positions; equal inside a set.
        set_of: Its set, ascending.
        allowed_m: Largest distance allowed in its set.
    """
    xyz = _geocentric(position_deg)  # (3, p)
    surely_within_m = np.array([_chord_m(one) for one in allowed_m.tolist()]) - _ROUNDING_M
    # Each pair once: every trajectory is compared with the later ones of its set.
    later = np.searchsorted(set_of, set_of, side="right") - np.arange(1, len(set_of) + 1)
    ends = np.cumsum(later * lengths)  # (c,) all comparisons are numbered, trajectory by trajectory
    largest_m, too_far = 0.0, 0
    for at in range(0, int(ends[-1]) if len(ends) else 0, _ELEMENTS_AT_ONCE):
        number = np.arange(at, min(at + _ELEMENTS_AT_ONCE, int(ends[-1])))
        row = np.searchsorted(ends, number, side="right")
        step, stamp = np.divmod(number - (ends - later * lengths)[row], lengths[row])
        one, other = starts[row] + stamp, starts[row + 1 + step] + stamp
        chord_m = np.sqrt(sum(np.square(axis[one] - axis[other]) for axis in xyz))

        beyond = chord_m > allowed_m[row] + _ROUNDING_M
        close = (chord_m >= surely_within_m[row]) & ~beyond
        farthest = chord_m >= _chord_m(max(largest_m, float(chord_m.max()))) - _ROUNDING_M
        exact = np.flatnonzero((close | farthest) & (chord_m > 0))
        one, other = one[exact], other[exact]
        lat, lon = position_deg
        distance_m = np.asarray(_WGS84.inv(lon[one], lat[one], lon[other], lat[other])[2], dtype=np.float64)
        too_far += int(beyond.sum()) + int((close[exact] & (distance_m > allowed_m[row[exact]])).sum())
        largest_m = max(largest_m, float(distance_m.max(initial=0.0)))
    return largest_m, too_far


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
