"""Check that the members of released sets are exchangeable: that offsets do not depend on who is who.

Shares no code with the anonymizers: it compares what would be published with the raw trajectories. Under exchangeable
translation, which member of a set gets which published trajectory is chance. So the offset of a published trajectory
from the middle of its set must not point to where its owner really was, nor away from it. The sum of these products
over the members of a set is compared with the same sum over all ways to give the published trajectories to the members,
whose mean and variance are known exactly (Hoeffding 1951, A combinatorial central limit theorem, theorem 2). Sets are
independent, so the deviation of all sets together is nearly normal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_DEVIATIONS", "deviations_from_chance"]

MOST_DEVIATIONS = 6.0
"""Standard deviations from chance beyond which a release is refused: by chance, one in 500 million windows."""

_METRES_A_DEGREE = 111_195.0
_Floats = npt.NDArray[np.float64]


def deviations_from_chance(
    sets: Sequence[int],
    users: Sequence[int],
    t_ms: Sequence[npt.ArrayLike],
    lat_deg: Sequence[npt.ArrayLike],
    lon_deg: Sequence[npt.ArrayLike],
    *,
    true_users: npt.NDArray[np.int64],
    true_t_ms: npt.NDArray[np.int64],
    true_xy_m: _Floats,
) -> float:
    """Return by how many standard deviations the published offsets agree with the true ones more than by chance.

    Args:
        sets: Set of each of the ``r`` released trajectories.
        users: User behind each.
        t_ms: Time stamps of each, milliseconds; those of its set.
        lat_deg: Published latitudes of each, degrees north.
        lon_deg: Published longitudes of each, degrees east.
        true_users: User of each of ``p`` raw points, ascending, shape ``(p,)``.
        true_t_ms: Time of each, ascending within a user, shape ``(p,)``.
        true_xy_m: Position of each in any plane, shape ``(p, 2)``.

    Returns:
        A number around 0, with a standard deviation of 1, if offsets are independent of who is who; 0 for no set.
    """
    rows_of: dict[int, list[int]] = {}
    for row, number in enumerate(sets):
        rows_of.setdefault(number, []).append(row)
    if not rows_of:
        return 0.0
    stamps = [np.asarray(one, dtype=np.int64) for one in t_ms]
    owners = np.repeat(np.asarray(users, dtype=np.int64), [len(one) for one in stamps])
    all_stamps = np.concatenate([*stamps, np.empty(0, np.int64)])
    where_m = np.split(_positions_at(owners, all_stamps, true_users, true_t_ms, true_xy_m), _bounds(stamps))
    alike: dict[tuple[int, int], list[list[int]]] = {}  # sets with as many members and times are compared together
    for rows in rows_of.values():
        if len(rows) > 1:
            alike.setdefault((len(rows), len(stamps[rows[0]])), []).append(rows)
    surplus = variance = 0.0
    for (size, length), some in alike.items():
        flat, shape = [row for rows in some for row in rows], (len(some), size, length)
        lat, lon = (np.array([column[row] for row in flat]).reshape(shape) for column in (lat_deg, lon_deg))
        offsets = _offsets(lat, lon).reshape(len(some), size, -1)
        ways = _directions(np.array([where_m[row] for row in flat]).reshape(*shape, 2)).reshape(len(some), size, -1)
        products = ways @ offsets.swapaxes(1, 2)  # (n, s, s) of each person with each published trajectory of a set
        surplus += float(np.trace(products, axis1=1, axis2=2).sum()) - float(products.sum()) / size
        of_person, of_track = products.mean(axis=2, keepdims=True), products.mean(axis=1, keepdims=True)
        doubly_centred = products - of_track - of_person + products.mean(axis=(1, 2), keepdims=True)
        variance += float(np.square(doubly_centred).sum()) / (size - 1)
    return surplus / variance**0.5 if variance > 0 else 0.0


def _offsets(lat_deg: _Floats, lon_deg: _Floats) -> _Floats:
    """Return the offsets of the ``s`` trajectories of ``n`` sets from the middle of their set, metres.

    A metre to the east is the same number of degrees for a whole set: the error is far below the offsets.

    Args:
        lat_deg: Latitudes, shape ``(n, s, m)``.
        lon_deg: Longitudes.

    Returns:
        The offsets to the east and north, shape ``(n, s, m, 2)``.
    """
    first = lon_deg[:, :1]
    lon_deg = first + (lon_deg - first + 180) % 360 - 180  # a set may lie on the antimeridian
    north, east = (axis - axis.mean(axis=1, keepdims=True) for axis in (lat_deg, lon_deg))
    narrower = np.cos(np.radians(lat_deg.mean(axis=(1, 2), keepdims=True)))
    offsets: _Floats = np.stack((east * narrower, north), axis=-1)
    return offsets * _METRES_A_DEGREE


def _bounds(parts: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return where each part but the first begins when they stand one after the other."""
    return np.cumsum([len(one) for one in parts[:-1]], dtype=np.int64)


def _positions_at(
    owners: npt.NDArray[np.int64],
    stamps: npt.NDArray[np.int64],
    users: npt.NDArray[np.int64],
    t_ms: npt.NDArray[np.int64],
    xy_m: _Floats,
) -> _Floats:
    """Return where people really were at some times, shape ``(q, 2)``: between two points on the straight line.

    Before the first point of a person it is the first point, after the last one the last.

    Args:
        owners: The person of each question, shape ``(q,)``.
        stamps: The time of each, milliseconds.
        users: The person of each raw point, ascending, shape ``(p,)``.
        t_ms: Its time, ascending for each person.
        xy_m: Its position, shape ``(p, 2)``.
    """
    firsts, ends = np.searchsorted(users, owners, side="left"), np.searchsorted(users, owners, side="right")
    stamps = np.clip(stamps, t_ms[firsts], t_ms[ends - 1])
    begin_ms, span_ms = int(t_ms.min()), int(np.ptp(t_ms)) + 1
    after = np.searchsorted(users * span_ms + (t_ms - begin_ms), owners * span_ms + (stamps - begin_ms))
    before = np.maximum(after - 1, firsts)
    gap_ms = t_ms[after] - t_ms[before]
    share = np.divide(stamps - t_ms[before], gap_ms, out=np.zeros(len(stamps)), where=gap_ms > 0)
    positions: _Floats = xy_m[before] + share[:, None] * (xy_m[after] - xy_m[before])
    return positions


def _directions(where_m: _Floats) -> _Floats:
    """Return in which direction from their middle the members of sets were, unit vectors, shape ``(n, s, m, 2)``."""
    away_m = where_m - where_m.mean(axis=1, keepdims=True)
    length_m = np.hypot(away_m[..., 0], away_m[..., 1])
    directions: _Floats = np.zeros_like(away_m)
    np.divide(away_m, length_m[..., None], out=directions, where=length_m[..., None] > 0)
    return directions
