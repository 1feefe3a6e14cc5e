"""GPS data sets of benchmarks: read, or drawn from a seed, which draws the same everywhere."""

from __future__ import annotations

import gzip
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.trajectories.trajectory import Demands, PointTrajectories

__all__ = ["Converging", "converging_groups", "generated", "say", "trucks"]


def say(line: str) -> None:
    """Print at once, so that progress shows."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def trucks(file: Path) -> PointTrajectories:
    """Read ``id, seconds, x, y`` lines, metres."""
    with gzip.open(file, "rt") as lines:
        rows = np.loadtxt(lines)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    starts = np.flatnonzero(np.append(True, np.diff(rows[:, 0]) != 0))
    return PointTrajectories(
        users=np.arange(len(starts), dtype=np.int64),
        starts=np.append(starts, len(rows)).astype(np.int64),
        t_ms=(rows[:, 1] * 1000).astype(np.int64),
        xy_m=np.ascontiguousarray(rows[:, 2:]),
    )


def generated(n: int, n_points: int, *, side_m: float = 10_000.0, seed: int = 1) -> PointTrajectories:
    """Draw people who walk with 5 m/s from anywhere in a square, each in a direction of their own, seen every 30 s."""
    rng = np.random.default_rng(seed)
    t_ms = np.arange(n_points) * 30_000 + rng.integers(0, 30_000, (n, n_points))  # (n, n_points)
    heading = rng.uniform(0, 2 * np.pi, (n, 1)) + np.cumsum(rng.normal(0, 0.1, (n, n_points)), axis=1)
    steps_m = 150.0 * np.stack((np.cos(heading), np.sin(heading)), axis=-1)
    xy_m = rng.uniform(0, side_m, (n, 1, 2)) + np.cumsum(steps_m, axis=1)
    return PointTrajectories(
        users=np.arange(n, dtype=np.int64),
        starts=np.arange(n + 1, dtype=np.int64) * n_points,
        t_ms=t_ms.ravel(),
        xy_m=xy_m.reshape(-1, 2),
    )


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


def converging_groups(*, seed: int = 3, spread_m: float | None = None, start_ms: int = 1_700_000_000_000) -> Converging:
    """Draw the set called Synth: 25 trajectories, 1,392 points, 91 square kilometres, 30 minutes (sections 6.1, 6.4).

    The set of Theodosopoulos 2013 is not published; this is one to his description.

    Groups A and B start 1.2 km from one another, group C 4 km and more from both. All are at one place after 15 minutes
    and take the same way from then on. Inside a group vehicles keep about 60 m to the side of one another until they
    meet, and afterwards as well, or they spread over parallel streets, some ``spread_m`` to either side: who was near
    is then not who is near.
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
            before_m = rng.normal(0.0, 60.0, 2)
            after_m = before_m if spread_m is None else rng.normal(0.0, spread_m, 2)
            met = np.clip((share - 0.45) / 0.1, 0.0, 1.0)[:, None]
            aside_m = before_m + (after_m - before_m) * met + rng.normal(0.0, 8.0, (count, 2))  # and GPS noise
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
