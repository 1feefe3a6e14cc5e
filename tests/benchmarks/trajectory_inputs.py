"""Seeded GPS data sets of the kind that Theodosopoulos 2013 reports on.

His synthetic set is not published, so one is drawn to his description: as many trajectories and points, over as large
an area, in as much time. The same seed draws the same input everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.trajectory import Demands, PointTrajectories

__all__ = ["Converging", "converging_groups"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Converging:
    """Three groups of vehicles that meet half-way, and what each of them asks for."""

    trajectories: PointTrajectories
    """One trajectory for each user; users are 0, 1, ..."""

    groups: tuple[str, ...]
    """``A``, ``B`` or ``C``, for each trajectory."""

    meet_ms: int
    """When all groups get to the place where they meet, Unix milliseconds."""

    demands: Demands
    """A k in ``2..5`` and a delta in ``100..1000`` metres for each trajectory (section 6.4)."""


def converging_groups(*, seed: int = 3, start_ms: int = 1_700_000_000_000) -> Converging:
    """Draw the set called Synth: 25 trajectories, 1,392 points, 91 square kilometres, 30 minutes (sections 6.1, 6.4).

    Groups A and B start 1.2 km from one another, group C 4 km and more from both. All are at one place after 15 minutes
    and take the same way from then on. Inside a group vehicles keep about 60 m to the side of one another.
    """
    rng = np.random.default_rng(seed)
    duration_ms = 1_800_000
    meet_m, end_m = (6_500.0, 4_500.0), (13_000.0, 5_000.0)
    rows = [("A", 8, 55, (0.0, 5_800.0)), ("B", 8, 56, (0.0, 7_000.0)), ("C", 9, 56, (1_000.0, 0.0))]
    groups: list[str] = []
    times, places, counts = [], [], []
    for group, n, count, begin_m in rows:
        for _ in range(n):
            shift = rng.uniform(-0.25, 0.25, count)
            shift[0], shift[-1] = abs(shift[0]), -abs(shift[-1])  # nobody starts early or is late
            t = np.rint((np.arange(count) + shift) * (duration_ms / (count - 1))).astype(np.int64)
            share = t / duration_ms
            way = [np.interp(share, (0, 0.5, 1), axis) for axis in zip(begin_m, meet_m, end_m, strict=True)]
            aside_m = rng.normal(0.0, 60.0, 2) + rng.normal(0.0, 8.0, (count, 2))  # own lane, and GPS noise
            times.append(t + start_ms)
            places.append(np.clip(np.stack(way, axis=1) + aside_m, 0.0, (13_000.0, 7_000.0)))
            counts.append(count)
            groups.append(group)
    return Converging(
        trajectories=PointTrajectories(
            users=np.arange(len(groups)),
            starts=np.cumsum([0, *counts]),
            t_ms=np.concatenate(times),
            xy_m=np.concatenate(places),
        ),
        groups=tuple(groups),
        meet_ms=start_ms + duration_ms // 2,
        demands=Demands(
            k=rng.integers(2, 5, len(groups), endpoint=True),
            delta_m=rng.uniform(100.0, 1_000.0, len(groups)),
        ),
    )
