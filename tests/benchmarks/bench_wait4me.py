"""Wait for Me beside its authors' own program: ``python -m tests.benchmarks.bench_wait4me DATA_DIR``.

The first table is ``athens_trucks_w4m.tsv.gz`` of DATA_DIR with K = 5, delta = 500 m and radius 5000 m, with as many
in the trash as their program left there. Metres and seconds are totals over the input points of released
trajectories, as their program divides them; the last column is their CPU time over ours. The second table is
generated and shows how time grows.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np

from core.models.kdelta.anonymize.sets import AnonymitySets
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions, wait4me
from core.trajectories.trajectory import Demands, PointTrajectories
from tests.benchmarks.trajectory_inputs import generated, say, trucks

_DISTANCES: tuple[Literal["lstd", "edr"], ...] = ("lstd", "edr")
_TRANSLATIONS: tuple[Literal["minimal", "exchangeable"], ...] = ("minimal", "exchangeable")
_AUTHORS = ("authors' v1.1, LSTD", 2, 2014, 4591.9, 405.0, 13_917, 3_140, 16.3)
"""Their log of the same input: trash, discernibility, metres, seconds a point, created, deleted, CPU seconds."""


def timed(
    trajectories: PointTrajectories, *, k: int, delta_m: float, options: Wait4MeOptions
) -> tuple[AnonymitySets, float]:
    """Anonymize, and tell the CPU seconds it took."""
    demands = Demands.alike(len(trajectories.users), k=k, delta_m=delta_m)
    begun = time.process_time()
    result = wait4me(trajectories, demands, options, np.random.default_rng(1))
    return result, time.process_time() - begun


def per_point(trajectories: PointTrajectories, result: AnonymitySets) -> tuple[float, float]:
    """Metres and seconds over the input points of released trajectories."""
    n_points = int(np.diff(trajectories.starts)[result.sources].sum())
    lost = result.distortion
    return lost.space_translation_m / max(n_points, 1), lost.time_translation_s / max(n_points, 1)


def main(data_dir: Path) -> None:
    """Print both tables."""
    whole = trucks(data_dir / "athens_trucks_w4m.tsv.gz")
    say(f"{len(whole.users)} trucks, {len(whole.t_ms):,} points, k=5, delta=500 m, at most 2 in the trash")
    say(f"{'':<46}{'trash':>6}{'discern.':>9}{'m':>8}{'s':>7}{'created':>9}{'deleted':>9}{'CPU s':>7}{'ratio':>7}")
    authors_s = _AUTHORS[-1]
    for distance, refined, translation in product(_DISTANCES, (False, True), _TRANSLATIONS):
        if distance == "lstd" and not refined and translation == "minimal":
            _line(*_AUTHORS, authors_s)
        options = Wait4MeOptions(
            distance=distance,
            refined=refined,
            translation=translation,
            time_tolerance_s=60.0,
            trash_share=2 / len(whole.users),
        )
        result, cpu_s = timed(whole, k=5, delta_m=500.0, options=options)
        name = f"{distance}, {'refined' if refined else 'published'} clustering, {translation}"
        lost = result.distortion
        counts = result.points_created, lost.points_deleted
        _line(name, len(result.trash), lost.discernibility, *per_point(whole, result), *counts, cpu_s, authors_s)

    say("\ngenerated, delta=200 m, published clustering and translation unless it says otherwise")
    say(f"{'trajectories':>12}{'points':>8}{'k':>4}{'chunks of':>11}{'trash':>6}{'m':>8}{'s':>7}{'CPU s':>7}")
    grown = [(500, 30, 5), (1000, 30, 5), (2000, 30, 5), (4000, 30, 5), (2000, 60, 5), (2000, 30, 10), (2000, 30, 20)]
    for n, n_points, k in grown:
        _generated_line(n, n_points, k, None, refined=False)
    for chunk_size, refined in product((1000, 500, 250), (False, True)):
        _generated_line(2000, 30, 5, chunk_size, refined=refined)


def _line(
    name: str,
    trash: int,
    discernibility: int,
    metres: float,
    seconds: float,
    created: int,
    deleted: int,
    cpu_s: float,
    authors_s: float,
) -> None:
    say(
        f"{name:<46}{trash:>6}{discernibility:>9}{metres:>8.0f}{seconds:>7.1f}{created:>9,}{deleted:>9,}{cpu_s:>7.2f}"
        f"{authors_s / cpu_s:>6.1f}x"
    )


def _generated_line(n: int, n_points: int, k: int, chunk_size: int | None, *, refined: bool) -> None:
    people = generated(n, n_points)
    options = Wait4MeOptions(
        translation="minimal", time_tolerance_s=60.0, chunk_size=chunk_size, refined=refined, trash_share=0.1
    )
    result, cpu_s = timed(people, k=k, delta_m=200.0, options=options)
    metres, seconds = per_point(people, result)
    say(
        f"{n:>12}{n_points:>8}{k:>4}{chunk_size or '-':>11}{len(result.trash):>6}{metres:>8.0f}{seconds:>7.1f}"
        f"{cpu_s:>7.2f}{'  refined' if refined else ''}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
