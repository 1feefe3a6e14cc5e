"""Wait for Me beside its authors' own program: ``python -m tests.benchmarks.bench_wait4me DATA_DIR``.

The first table is ``athens_trucks_w4m.tsv.gz`` of DATA_DIR with K = 5, delta = 500 m, radius 5000 m and the published
translation: once with the authors' limit of 28 trajectories in the trash, once with the 2 that their program left
there. Metres and seconds are totals over the input points of released trajectories, as their program divides them. The
second table is generated and shows how time grows with trajectories, points and k.
"""

from __future__ import annotations

import gzip
import sys
import time
from pathlib import Path

import numpy as np

from core.anonymize.wait4me import Wait4MeOptions, Wait4MeResult, wait4me
from core.trajectory import Demands, PointTrajectories

_AUTHORS = ("authors' v1.1, LSTD", 2, 2014, 4591.9, 405.0, 13_917, 3_140, 16.3)
"""Their log of the same input: trash, discernibility, metres, seconds a point, created, deleted, CPU seconds."""


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


def timed(
    trajectories: PointTrajectories, *, k: int, delta_m: float, options: Wait4MeOptions
) -> tuple[Wait4MeResult, float]:
    """Anonymize, and tell the CPU seconds it took."""
    demands = Demands.alike(len(trajectories.users), k=k, delta_m=delta_m)
    begun = time.process_time()
    result = wait4me(trajectories, demands, options, np.random.default_rng(1))
    return result, time.process_time() - begun


def per_point(trajectories: PointTrajectories, result: Wait4MeResult) -> tuple[float, float]:
    """Metres and seconds over the input points of released trajectories."""
    n_points = int(np.diff(trajectories.starts)[result.sources].sum())
    return result.space_translation_m / max(n_points, 1), result.time_translation_s / max(n_points, 1)


def say(line: str) -> None:
    """Print at once, so that progress shows."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(data_dir: Path) -> None:
    """Print both tables."""
    whole = trucks(data_dir / "athens_trucks_w4m.tsv.gz")
    say(f"{len(whole.users)} trucks, {len(whole.t_ms):,} points, k=5, delta=500 m, minimal")
    say(f"{'':<30}{'trash':>6}{'discern.':>9}{'m':>8}{'s':>7}{'created':>9}{'deleted':>9}{'CPU s':>7}")
    lines = [_AUTHORS]
    for limit in (28, 2):
        for tolerance_s in (60.0, 300.0):
            options = Wait4MeOptions(
                translation="minimal", time_tolerance_s=tolerance_s, trash_share=limit / len(whole.users)
            )
            result, cpu_s = timed(whole, k=5, delta_m=500.0, options=options)
            name = f"trash <= {limit}, tolerance {tolerance_s:.0f} s"
            lines.append(
                (
                    name,
                    len(result.trash),
                    result.discernibility,
                    *per_point(whole, result),
                    result.points_created,
                    result.points_deleted,
                    cpu_s,
                )
            )
    for name, trash, discernibility, metres, seconds, created, deleted, cpu_s in lines:
        say(
            f"{name:<30}{trash:>6}{discernibility:>9}{metres:>8.0f}{seconds:>7.1f}{created:>9,}{deleted:>9,}{cpu_s:>7.2f}"
        )

    say("\ngenerated, delta=200 m (authors' chunked program, 2,000 x 30, k=5: 256 m, 2.5 CPU s)")
    say(f"{'trajectories':>12}{'points':>8}{'k':>4}  {'translation':<14}{'trash':>6}{'m':>8}{'s':>7}{'CPU s':>7}")
    for n, n_points, k in ((500, 30, 5), (1000, 30, 5), (2000, 30, 5), (2000, 60, 5), (2000, 30, 10), (2000, 30, 20)):
        people = generated(n, n_points)
        for translation in ("exchangeable", "minimal"):
            result, cpu_s = timed(
                people,
                k=k,
                delta_m=200.0,
                options=Wait4MeOptions(translation=translation, time_tolerance_s=60.0),
            )
            metres, seconds = per_point(people, result)
            say(
                f"{n:>12}{n_points:>8}{k:>4}  {translation:<14}{len(result.trash):>6}{metres:>8.0f}{seconds:>7.1f}"
                f"{cpu_s:>7.2f}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
