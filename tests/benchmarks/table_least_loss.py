"""least-loss beside SeqAnon and suppression alone: on drawn inputs and, window by window, on real feeds.

    python -m tests.benchmarks.table_least_loss [DATA_DIR]

CPU times are of the anonymizers alone, in one process, in turns on the same windows, after kernels are compiled.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from core.models.common.sequences import published_sequences
from core.models.km.anonymize.least_loss.anonymize import LeastLossOptions, least_loss
from core.models.km.anonymize.least_loss.prices import Prices, window_loss_m
from core.models.km.anonymize.seqanon import Generalization, seqanon
from core.models.km.guarantee import KmAnonymity
from core.models.km.verify import verify_km
from core.records.arrays import FloatArray
from core.trajectories.trajectory import Sequences
from core.utility.distance import dataset_distance
from tests.benchmarks.inputs import grid_walks, zipf_visits
from tests.benchmarks.replays import checkin_windows
from tests.benchmarks.table_real_feeds import FEEDS

__all__ = ["MODELS", "Row", "compare", "main"]

Window = tuple[Sequences, FloatArray]
Model = Callable[[Sequences, FloatArray, KmAnonymity], Generalization]

_SUPPRESSION = LeastLossOptions(prices=Prices(suppression=0.0), max_suppressed_percent=100, max_split_percent=0)

MODELS: dict[str, Model] = {
    "seqanon": seqanon,
    "suppression only": lambda s, xy_m, guarantee: least_loss(s, xy_m, guarantee, _SUPPRESSION),
    "least-loss": lambda s, xy_m, guarantee: least_loss(s, xy_m, guarantee, LeastLossOptions()),
}

_HEAD = (
    *("input", "k", "m", "model", "D (m)", "of SeqAnon's", "suppressed", "split", "loss (m)"),
    *("windows that lose more than under SeqAnon", "CPU s (ratio)", "verified"),
)


@dataclass(slots=True)
class Row:
    """What one model made of some windows."""

    cpu_s: float = 0.0
    losses_m: list[float] = field(default_factory=list)
    distances_m: list[float] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    trajectories: int = 0
    splits: int = 0
    violations: int = 0

    @property
    def distance_m(self) -> float:
        """Mean D of Definition 6, windows weighted by what is released of them."""
        return float(np.average(self.distances_m, weights=self.kept)) if any(self.kept) else float("nan")

    @property
    def suppressed(self) -> float:
        """Share of the visits."""
        return 1 - sum(self.kept) / sum(self.visits)

    @property
    def loss_m(self) -> float:
        """Mean loss, windows weighted by their visits."""
        return float(np.average(self.losses_m, weights=self.visits))


def compare(windows: Sequence[Window], guarantee: KmAnonymity) -> dict[str, Row]:
    """Run every model on every window, and verify what comes of it."""
    rows = {name: Row() for name in MODELS}
    for (sequences, xy_m), (name, row) in product(windows, rows.items()):
        begun = time.process_time()
        result = MODELS[name](sequences, xy_m, guarantee)
        row.cpu_s += time.process_time() - begun
        users, published = published_sequences(result.released(sequences), [(str(i),) for i in range(len(xy_m))])
        row.violations += verify_km(users, published, guarantee).violations
        row.losses_m.append(window_loss_m(sequences, xy_m, result, Prices()))
        distance_m = dataset_distance(sequences, xy_m, result.group_of, result.kept)
        row.distances_m.append(0.0 if np.isnan(distance_m) else distance_m)
        row.visits.append(len(sequences.locations))
        row.kept.append(int(result.kept.sum()))
        row.trajectories += len(sequences.users)
        row.splits += len(result.splits)
    return rows


def _lines(name: str, windows: Sequence[Window], guarantees: Sequence[KmAnonymity]) -> Iterator[str]:
    for guarantee in guarantees:
        enough = [window for window in windows if window[0].n_users >= guarantee.k]
        rows = compare(enough, guarantee)
        base = rows["seqanon"]
        for model, row in rows.items():
            worse = sum(a > b * (1 + 1e-9) for a, b in zip(row.losses_m, base.losses_m, strict=True))
            cells = [
                name,
                str(guarantee.k),
                str(guarantee.m),
                model,
                f"{row.distance_m:,.1f}",
                f"{row.distance_m / base.distance_m:.2f}",
                f"{100 * row.suppressed:.2f} %",
                f"{100 * row.splits / row.trajectories:.2f} %",
                f"{row.loss_m:,.1f}",
                f"{worse} of {len(enough)}",
                f"{row.cpu_s:.2f} ({row.cpu_s / base.cpu_s:.1f})",
                "yes" if not row.violations else f"NO: {row.violations}",
            ]
            yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, row by row."""
    say(f"| {' | '.join(_HEAD)} |")
    say(f"| --- | ---: | ---: | --- |{' ---: |' * 7} --- |")
    inputs = {"(a)": grid_walks(), "(b)": zipf_visits()}
    compare([(inputs["(a)"].sequences, inputs["(a)"].xy_m)], KmAnonymity(k=5, m=3))  # compiles every kernel
    drawn = {"(a)": [KmAnonymity(k=5, m=2), KmAnonymity(k=5, m=3)], "(b)": [KmAnonymity(k=5, m=2)]}
    for name, crowd in inputs.items():
        for line in _lines(name, [(crowd.sequences, crowd.xy_m)], drawn[name]):
            say(line)
    if len(sys.argv) < 2:
        return
    guarantees = [KmAnonymity(k=k, m=m) for k, m in product((3, 5, 10), (2, 3))]
    for name, given in FEEDS.items():
        file = Path(sys.argv[1]) / f"{name}.csv.gz"
        if not file.exists():
            say(f"({name} is left out: {file} is not there)")
            continue
        for line in _lines(name, checkin_windows(file, given), guarantees):
            say(line)


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
