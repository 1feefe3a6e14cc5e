"""Wait for Me, and its authors' own program where it is there: ``python -m tests.benchmarks.bench_wait4me DATA_DIR``.

The first table is ``athens_trucks_w4m.tsv.gz`` of DATA_DIR with K = 5, delta = 500 m and radius 5000 m, with as many
in the trash as the authors' program leaves there. Metres and seconds are totals over the input points of released
trajectories, as that program divides them. A third argument names a command that runs the authors' program (Wait 4 Me
v1.1, LSTD) on the input file that is appended to it; it runs in turns with ours, and the last column is its CPU time
over ours. Without the argument that column is empty: the metres of the program are those of its log in DATA_DIR, but a
time of another machine is no comparison. The second table is generated and shows how time grows.
"""

from __future__ import annotations

import gzip
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
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
_FIGURES = {
    "trash": "Trash_size",
    "discernibility": "Discernebility metric",
    "metres": "Mean spatial translation (per point)",
    "seconds": "Mean temporal translation(per point)",
    "created": "Number of created pts",
    "deleted": "Number of deleted pts",
}
"""What a line of the table shows, and how the authors' program calls it in its log (its own spelling)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the first table."""

    name: str
    trash: int
    discernibility: int
    metres: float
    seconds: float
    created: int
    deleted: int
    cpu_s: float | None
    """None where the program did not run here."""

    def __str__(self) -> str:
        return (
            f"{self.name:<46}{self.trash:>6}{self.discernibility:>9}{self.metres:>8.0f}{self.seconds:>7.1f}"
            f"{self.created:>9,}{self.deleted:>9,}" + ("      -" if self.cpu_s is None else f"{self.cpu_s:>7.2f}")
        )


def logged(log: str, cpu_s: float | None) -> Line:
    """Read the figures of a log of the authors' program."""
    found = {}
    for figure, label in _FIGURES.items():
        match = re.search(rf"{re.escape(label)}\s*:\s*([0-9.]+)", log)
        if match is None:
            raise SystemExit(f"the log of the authors' program has no '{label}'")
        found[figure] = float(match[1])
    return Line(
        name="authors' v1.1, LSTD",
        trash=int(found["trash"]),
        discernibility=int(found["discernibility"]),
        metres=found["metres"],
        seconds=found["seconds"],
        created=int(found["created"]),
        deleted=int(found["deleted"]),
        cpu_s=cpu_s,
    )


def run_authors(command: str, data_dir: Path) -> Line:
    """Run the authors' program on the trucks, and measure its CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        trucks_file = Path(folder) / "trucks.tsv"
        trucks_file.write_bytes(gzip.decompress((data_dir / "athens_trucks_w4m.tsv.gz").read_bytes()))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*shlex.split(command), str(trucks_file)], cwd=folder, capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"the authors' program ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return logged(done.stdout, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


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


def main(data_dir: Path, authors: str = "") -> None:
    """Print both tables."""
    whole = trucks(data_dir / "athens_trucks_w4m.tsv.gz")
    say(f"{len(whole.users)} trucks, {len(whole.t_ms):,} points, k=5, delta=500 m, at most 2 in the trash")
    say(f"{'':<46}{'trash':>6}{'discern.':>9}{'m':>8}{'s':>7}{'created':>9}{'deleted':>9}{'CPU s':>7}{'ratio':>7}")
    if not authors:
        say(str(logged((data_dir / "w4m_reference_trucks_k5.log").read_text(), None)))
    for distance, refined, translation in product(_DISTANCES, (False, True), _TRANSLATIONS):
        theirs = run_authors(authors, data_dir) if authors and distance == "lstd" else None
        if theirs is not None:
            say(str(theirs))
        options = Wait4MeOptions(
            distance=distance,
            refined=refined,
            translation=translation,
            time_tolerance_s=60.0,
            trash_share=2 / len(whole.users),
        )
        result, cpu_s = timed(whole, k=5, delta_m=500.0, options=options)
        metres, seconds = per_point(whole, result)
        ours = Line(
            name=f"{distance}, {'refined' if refined else 'published'} clustering, {translation}",
            trash=len(result.trash),
            discernibility=result.distortion.discernibility,
            metres=metres,
            seconds=seconds,
            created=result.points_created,
            deleted=result.distortion.points_deleted,
            cpu_s=cpu_s,
        )
        authors_s = None if theirs is None else theirs.cpu_s
        say(str(ours) if authors_s is None else f"{ours}{authors_s / cpu_s:>6.1f}x")

    say("\ngenerated, delta=200 m, published clustering and translation unless it says otherwise")
    say(f"{'trajectories':>12}{'points':>8}{'k':>4}{'chunks of':>11}{'trash':>6}{'m':>8}{'s':>7}{'CPU s':>7}")
    grown = [(500, 30, 5), (1000, 30, 5), (2000, 30, 5), (4000, 30, 5), (2000, 60, 5), (2000, 30, 10), (2000, 30, 20)]
    for n, n_points, k in grown:
        _generated_line(n, n_points, k, None, refined=False)
    for chunk_size, refined in product((1000, 500, 250), (False, True)):
        _generated_line(2000, 30, 5, chunk_size, refined=refined)


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
    main(Path(sys.argv[1]), *sys.argv[2:3])
