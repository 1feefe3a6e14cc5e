"""The tables of Theodosopoulos 2013, in kind: ``python -m tests.benchmarks.table_papers DATA_DIR``.

His data sets are not public. Table 1 is made of the trucks of Athens with seeded demands, Table 3 and Figure 8 of a
drawn set of three groups that converge, as he describes it. As in his tables nothing is in the trash, translation is
the published one, and rows of the published clustering stand beside rows of the refined one, which is Shoal's
default.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.models.kdelta.anonymize.bounding import BoundedOptions, bounded
from core.models.kdelta.anonymize.segmentation import SegmentationOptions, representativeness, segment
from core.models.kdelta.anonymize.sets import AnonymitySets
from core.models.kdelta.anonymize.wait4me import Wait4Me, Wait4MeOptions, wait4me
from core.trajectories.trajectory import Demands, PointTrajectories
from tests.benchmarks.trajectory_inputs import converging_groups, say, trucks

_SEEDS = (1, 2, 3)
_SPREAD_M = 500.0
_TRUCKS = Wait4MeOptions(translation="minimal", time_tolerance_s=60.0, trash_share=0.0)
_SYNTH = Wait4MeOptions(translation="minimal", time_tolerance_s=60.0, space_tolerance_m=500.0, trash_share=0.0)


def rng() -> np.random.Generator:
    """Return the same chance for every run."""
    return np.random.default_rng(1)


def strictest(demands: Demands) -> Demands:
    """Give everybody the largest k and the smallest delta (Algorithm 1, Naive Personalized W4M)."""
    return Demands.alike(len(demands.k), k=int(demands.k.max()), delta_m=float(demands.delta_m.min()))


def row(name: str, n: int, sets: AnonymitySets, beside: AnonymitySets) -> None:
    """Print one row; the last column compares with ``beside``."""
    change = sets.distortion.total_m / beside.distortion.total_m - 1
    say(
        f"{name:<34}{n:>6}{int(sets.sets[-1]) + 1:>6}{len(sets.trash):>6}{sets.distortion.discernibility:>9}"
        f"{sets.points_created:>9,}{sets.distortion.points_deleted:>9,}{sets.mean_space_translation_m:>8,.0f}"
        f"{sets.mean_time_translation_s:>7.1f}{sets.distortion.total_m / 1e3:>12,.0f}{change:>+8.0%}"
    )


def head() -> None:
    """Print the names of the columns."""
    say(
        f"{'':<34}{'traj.':>6}{'sets':>6}{'trash':>6}{'discern.':>9}{'created':>9}{'deleted':>9}{'m':>8}{'s':>7}"
        f"{'total, km':>12}{'W4M':>8}"
    )


def base_comparison(whole: PointTrajectories) -> None:
    """Table 1: W4M with everybody at the strictest demand, and PW4M."""
    n = len(whole.users)
    for seed in _SEEDS:
        draw = np.random.default_rng(seed)
        demands = Demands(k=draw.integers(2, 25, n, endpoint=True), delta_m=draw.uniform(500.0, 1_000.0, n))
        say(f"\nTable 1 in kind: trucks, k in 2..25, delta in 500..1000 m, seed {seed}")
        head()
        beside = wait4me(whole, strictest(demands), replace(_TRUCKS, refined=False), rng())
        for refined in (False, True):
            options = replace(_TRUCKS, refined=refined)
            kind = ", refined" if refined else ""
            row(f"W4M{kind}", n, wait4me(whole, strictest(demands), options, rng()), beside)
            row(f"PW4M{kind}", n, wait4me(whole, demands, options, rng()), beside)


def partitioning() -> None:
    """Table 3: W4M, PW4M, and PW4M on pieces; of one seed, and the totals of ten."""
    totals: dict[str, list[float]] = {}
    for seed in range(1, 11):
        synth = converging_groups(seed=seed, spread_m=_SPREAD_M)
        whole, demands, n = synth.trajectories, synth.demands, len(synth.groups)
        pieces = segment(whole, SegmentationOptions())
        of_pieces = demands.of(pieces.sources)
        beside = wait4me(whole, strictest(demands), replace(_SYNTH, refined=False), rng())
        if seed == 1:
            say("\nTable 3 in kind: three groups that converge, k in 2..5, delta in 100..1000 m, seed 1")
            head()
        for refined in (False, True):
            options, kind = replace(_SYNTH, refined=refined), ", refined" if refined else ""
            for name, size, sets in (
                (f"W4M{kind}", n, wait4me(whole, strictest(demands), options, rng())),
                (f"PW4M{kind}", n, wait4me(whole, demands, options, rng())),
                (f"PW4M+TR{kind}", len(pieces.sources), wait4me(pieces.pieces, of_pieces, options, rng())),
            ):
                totals.setdefault(name, []).append(sets.distortion.total_m)
                if seed == 1:
                    row(name, size, sets, beside)
    say("total distortion of ten seeds, km: " + ", ".join(f"{n} {sum(t) / 1e3:,.0f}" for n, t in totals.items()))


def editing(
    name: str, whole: PointTrajectories, demands: Demands, options: Wait4MeOptions, bound: BoundedOptions
) -> None:
    """Print how the total distortion changes with the share of those relaxed (Figures 7 and 8), until it is enough."""
    waiting = Wait4Me(whole, options, largest_delta_m=float(demands.delta_m.max()))
    result = bounded(
        lambda given: waiting.anonymize(given, rng()),
        demands,
        representativeness(whole, sigma_m=500.0),
        np.diff(whole.starts),
        least=Demands.alike(len(demands.k), k=2, delta_m=1e9),
        options=bound,
    )
    unedited = result.tries[0][1]
    curve = "  ".join(f"{percent}%: {distortion / unedited - 1:+.0%}" for percent, distortion in result.tries[1:])
    best = min(distortion for _, distortion in result.tries)
    say(f"{name:<34}best {best / unedited - 1:+.1%}, {int(result.edited.sum())} of {len(demands.k)} relaxed   {curve}")


def editing_all(whole: PointTrajectories, seeds: Sequence[int] = _SEEDS) -> None:
    """Print the editing of both data sets."""
    n = len(whole.users)
    say("\nFigures 7 and 8 in kind: total distortion beside that of PW4M, by the share of people relaxed; 10 % wanted")
    for seed in seeds:
        draw = np.random.default_rng(seed)
        for k_max in (5, 25):
            demands = Demands(k=draw.integers(2, k_max, n, endpoint=True), delta_m=draw.uniform(500.0, 1_000.0, n))
            name = f"trucks, k in 2..{k_max}, seed {seed}"
            editing(name, whole, demands, _TRUCKS, BoundedOptions(improvement=0.1))
        synth = converging_groups(seed=seed, spread_m=_SPREAD_M)
        editing(f"converging groups, seed {seed}", synth.trajectories, synth.demands, _SYNTH, BoundedOptions())


def main(data_dir: Path) -> None:
    """Print all tables."""
    whole = trucks(data_dir / "athens_trucks_w4m.tsv.gz")
    base_comparison(whole)
    partitioning()
    editing_all(whole)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
