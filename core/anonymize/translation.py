"""Spatio-temporal translation: one cluster becomes one (k,delta)-anonymous set.

Two ways: exchangeable, where nothing raw leaves and the members cannot be told apart, and minimal, the published
rule of Wait for Me, which leaves the pivot as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.edr import edr
from core.lstd import Lstd
from core.trajectory import FloatArray, IntArray, PointTrajectories

__all__ = ["Translated", "translate_exchangeable", "translate_minimal"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Translated:
    """One set of ``s`` trajectories that share ``m`` time stamps.

    A published point is translated from a point of its trajectory, or created: no point of its trajectory
    corresponds to it.
    """

    members: IntArray
    """Numbers of the trajectories, ascending, shape ``(s,)``."""

    t_ms: IntArray
    """Common time stamps, Unix milliseconds, strictly ascending, shape ``(m,)``."""

    xy_m: FloatArray
    """Published positions, metres, shape ``(s, m, 2)``."""

    created: npt.NDArray[np.bool_]
    """Published points without a counterpart, shape ``(s, m)``."""

    moved_m: FloatArray
    """Distance of each published point from its counterpart, metres, 0 where created, shape ``(s, m)``."""

    shifted_s: FloatArray
    """Time between each published point and its counterpart, seconds, 0 where created, shape ``(s, m)``."""

    taking_part: IntArray
    """Numbers of the input points the set was made of, each once."""


def translate_exchangeable(
    trajectories: PointTrajectories,
    members: IntArray,
    pivot: int,
    *,
    matching: Lstd,
    diameter_m: float,
    time_step_ms: int,
    rng: np.random.Generator,
) -> Translated:
    """Publish members as points drawn from common discs at common times (point 8 of the guarantees).

    The time stamps are the multiples of ``time_step_ms`` from the median start to the median end of the members,
    both rounded down, so that they stay inside a window whose bounds are multiples of the step. At each of them
    every member is represented by its position nearest to the pivot's, as LSTD matches them; the disc is centred
    on the mean of these, and every member's published point is drawn uniformly from it. A raw point therefore
    moves nothing but the centre, by one part in ``s``.

    A point at a time outside its trajectory's span counts as created. An input point takes part when it bounds, or
    lies inside, the stretch of its trajectory that was represented.

    Args:
        trajectories: The data set.
        members: Numbers of the members, ascending, shape ``(s,)``.
        pivot: Number of the pivot, one of them.
        matching: LSTD over the same data set.
        diameter_m: Diameter of the discs, metres, above 0; two published points are nearer than this.
        time_step_ms: Step of the grid of time stamps, at least 1.
        rng: Source of the points; ``2 * s * m`` numbers are drawn.
    """
    starts, ends = trajectories.starts[members], trajectories.starts[members + 1]
    first, last = trajectories.t_ms[starts], trajectories.t_ms[ends - 1]
    t_ms = np.arange(_median(first) // time_step_ms, _median(last) // time_step_ms + 1) * time_step_ms

    of_pivot = slice(*trajectories.starts[pivot : pivot + 2])
    pivot_t_ms, pivot_xy_m = trajectories.t_ms[of_pivot], trajectories.xy_m[of_pivot]
    reference = np.stack([np.interp(t_ms, pivot_t_ms, pivot_xy_m[:, axis]) for axis in (0, 1)], axis=-1)
    matched = matching.match(t_ms, reference, members)

    xy_m = matched.xy_m.mean(axis=0) + _in_disc((len(members), len(t_ms)), diameter_m / 2, rng)
    created = (t_ms < first[:, None]) | (t_ms > last[:, None])
    moved_m = np.hypot(*np.moveaxis(xy_m - matched.xy_m, -1, 0))
    taking_part = []
    for start, end, its_t_ms in zip(starts, ends, matched.t_ms, strict=True):
        own_t_ms = trajectories.t_ms[start:end]
        low = np.searchsorted(own_t_ms, its_t_ms.min(), side="right") - 1
        high = np.searchsorted(own_t_ms, its_t_ms.max(), side="left")
        taking_part.append(np.arange(start + low, start + high + 1))
    return Translated(
        members=members,
        t_ms=t_ms,
        xy_m=xy_m,
        created=created,
        moved_m=np.where(created, 0.0, moved_m),
        shifted_s=np.where(created, 0.0, np.abs(t_ms - matched.t_ms) / 1000),
        taking_part=np.concatenate(taking_part),
    )


def translate_minimal(
    trajectories: PointTrajectories,
    members: IntArray,
    pivot: int,
    *,
    diameter_m: float,
    space_tolerance_m: float,
    time_tolerance_s: float,
    rng: np.random.Generator,
) -> Translated:
    """Edit members into a pivot that stays as it is (Theodosopoulos 2013, Algorithm 4, STedit).

    Along the optimal EDR script: a pair takes the pivot's time and the shortest way into the disc around the
    pivot's point; a point that only the pivot has is created at random in the disc; one that only the member has
    is deleted. A pair that replaces, which Algorithm 4 does not name, is moved like one that matches.

    Args:
        trajectories: The data set.
        members: Numbers of the members, ascending, shape ``(s,)``.
        pivot: Number of the pivot, one of them; it gives the ``m`` time stamps.
        diameter_m: Diameter of the discs, metres, above 0; no two published points are farther apart.
        space_tolerance_m: Tolerance of EDR in each coordinate, metres.
        time_tolerance_s: Tolerance of EDR in time, seconds.
        rng: Source of the created points; ``2 * s * m`` numbers are drawn, whatever is created.
    """
    of_pivot = slice(*trajectories.starts[pivot : pivot + 2])
    t_ms, pivot_xy_m = trajectories.t_ms[of_pivot], trajectories.xy_m[of_pivot]
    shape = len(members), len(t_ms)
    xy_m = pivot_xy_m + _in_disc(shape, diameter_m / 2, rng)
    created = np.ones(shape, dtype=bool)
    moved_m, shifted_s = np.zeros(shape), np.zeros(shape)
    taking_part = []
    for row, member in enumerate(members.tolist()):
        start, end = trajectories.starts[member : member + 2]
        own_t_ms, own_xy_m = trajectories.t_ms[start:end], trajectories.xy_m[start:end]
        if member == pivot:
            own = at = np.arange(len(t_ms))
        else:
            script = edr(
                own_t_ms,
                own_xy_m,
                t_ms,
                pivot_xy_m,
                space_tolerance_m=space_tolerance_m,
                time_tolerance_s=time_tolerance_s,
            )
            pairs = (script.own >= 0) & (script.pivot >= 0)
            own, at = script.own[pairs], script.pivot[pairs]
        offset = own_xy_m[own] - pivot_xy_m[at]
        length_m = np.hypot(*offset.T)
        scale = np.minimum(1.0, np.divide(diameter_m / 2, length_m, out=np.ones(len(at)), where=length_m > 0))
        xy_m[row, at] = pivot_xy_m[at] + offset * scale[:, None]
        created[row, at] = False
        moved_m[row, at] = length_m * (1 - scale)
        shifted_s[row, at] = np.abs(own_t_ms[own] - t_ms[at]) / 1000
        taking_part.append(start + own)
    return Translated(
        members=members,
        t_ms=t_ms,
        xy_m=xy_m,
        created=created,
        moved_m=moved_m,
        shifted_s=shifted_s,
        taking_part=np.concatenate(taking_part),
    )


def _median(t_ms: IntArray) -> int:
    """Median, of an even number the mean of the middle two, rounded down: whole numbers, no float noise."""
    ordered = np.sort(t_ms)
    return (int(ordered[(len(ordered) - 1) // 2]) + int(ordered[len(ordered) // 2])) // 2


def _in_disc(shape: tuple[int, int], radius_m: float, rng: np.random.Generator) -> FloatArray:
    """Draw offsets uniformly from the inside of a disc, ``(*shape, 2)``."""
    share, turn = rng.random((2, *shape))
    radius, angle = radius_m * np.sqrt(share), 2 * np.pi * turn
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=-1)
