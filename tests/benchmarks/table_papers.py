"""The papers' tables, beside ours: ``python -m tests.benchmarks.table_papers DATA_DIR``.

Those of check-ins are in :mod:`tests.benchmarks.table_papers_checkins`. Here are those of Theodosopoulos 2013, in kind:
his data sets are not public. Tables 1 and 2 are made of the trucks of Athens with seeded demands, whole and cut into
1,104 pieces (he has 1,100), Table 3 and Figure 8 of a drawn set of three groups that converge, as he describes it. As
in his tables nothing is in the trash, translation is the published one, and rows of the published clustering stand
beside rows of the refined one, which is Shoal's default.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from core.models.kdelta.anonymize.bounding import BoundedOptions, bounded
from core.models.kdelta.anonymize.segmentation import SegmentationOptions, representativeness, segment
from core.models.kdelta.anonymize.sets import AnonymitySets
from core.models.kdelta.anonymize.wait4me import Wait4Me, Wait4MeOptions, wait4me
from core.trajectories.trajectory import Demands, PointTrajectories
from tests.benchmarks import table_papers_checkins
from tests.benchmarks.trajectory_inputs import converging_groups, say, trucks

_SEEDS = (1, 2, 3)
_SPREAD_M = 500.0
_TABLE_2 = {
    5: (18289, 18275, 18254, 18243, 18233),
    10: (28610, 28256, 28316, 28264, 28192),
    15: (30137, 30103, 30148, 30011, 29993),
    25: (49081, 49051, 49022, 48999, 48973),
    35: (26255, 26225, 26196, 26166, 26143),
    50: (46488, 46408, 46380, 46350, 46345),
}
"""Table 2 of the thesis: the largest k, and total distortion for a smallest delta of 10 % to 50 % of the largest."""

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


def cut(whole: PointTrajectories, pieces: int) -> PointTrajectories:
    """Cut every trajectory into so many pieces of equal length, each of a person of its own, as he has them."""
    bounds = [
        np.linspace(start, end, pieces, endpoint=False).astype(np.int64)
        for start, end in pairwise(whole.starts.tolist())
    ]
    starts = np.append(np.unique(np.concatenate(bounds)), whole.starts[-1])
    return replace(whole, users=np.arange(len(starts) - 1), starts=starts)


def base_comparison_of_pieces(pieces: PointTrajectories) -> None:
    """Table 1 on as many trajectories as he has, published clustering; and refined, which is Shoal's default."""
    n = len(pieces.users)
    say(f"\n| Table 1, {n:,} pieces of trucks, k in 2..25 | created | deleted | metres | seconds | discernibility |")
    say("| --- | ---: | ---: | ---: | ---: | ---: |")
    say("| thesis, W4M | 22,522 | 2,145 | 8,110.54 | 392,529 (no unit) | 27,500 |")
    say("| thesis, PW4M | 25,932 | 437 | 7,914.42 | 283,915 (no unit) | 26,920 |")
    for seed, refined in product(_SEEDS, (False, True)):
        draw = np.random.default_rng(seed)
        demands = Demands(k=draw.integers(2, 25, n, endpoint=True), delta_m=draw.uniform(500.0, 1_000.0, n))
        for name, given in (("W4M", strictest(demands)), ("PW4M", demands)):
            sets = wait4me(pieces, given, replace(_TRUCKS, refined=refined), rng())
            say(
                f"| Shoal, {name}{', refined' if refined else ''}, seed {seed} | {sets.points_created:,} "
                f"| {sets.distortion.points_deleted:,} | {sets.mean_space_translation_m:,.0f} "
                f"| {sets.mean_time_translation_s:,.0f} | {sets.distortion.discernibility:,} |"
            )


def varied_demands(pieces: PointTrajectories) -> None:
    """Table 2: total distortion of PW4M by the largest k and the smallest delta, published clustering."""
    n = len(pieces.users)
    widest_m = float(np.hypot(*np.ptp(pieces.xy_m, axis=0)))
    largest_delta_m = 0.01 * widest_m
    say(
        f"\n| Table 2, {n:,} pieces, PW4M: total distortion, 1,000 km (thesis: no unit) "
        "| 10 % | 20 % | 30 % | 40 % | 50 % |"
    )
    say("| --- | ---: | ---: | ---: | ---: | ---: |")
    for k_max, theirs in _TABLE_2.items():
        ours = []
        for percent in (10, 20, 30, 40, 50):
            draw = np.random.default_rng(1)
            demands = Demands(
                k=draw.integers(2, k_max, n, endpoint=True),
                delta_m=draw.uniform(largest_delta_m * percent / 100, largest_delta_m, n),
            )
            sets = wait4me(pieces, demands, replace(_TRUCKS, refined=False), rng())
            ours.append(f"{sets.distortion.total_m / 1e6:,.0f}")
        say(f"| thesis, k in 2..{k_max} | {' | '.join(f'{one:,}' for one in theirs)} |")
        say(f"| Shoal, k in 2..{k_max} | {' | '.join(ours)} |")


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
    table_papers_checkins.main(data_dir)
    base_comparison(whole)
    pieces = cut(whole, 4)
    base_comparison_of_pieces(pieces)
    varied_demands(pieces)
    partitioning()
    editing_all(whole)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
