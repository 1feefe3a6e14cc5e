"""Seeded inputs of the sizes that Poulis et al. 2014 report on.

Neither of their data sets may be shipped, so these are drawn: as large, as long and over as many locations. The same
seed draws the same input everywhere, so that counts of merges can be compared between implementations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.records.arrays import FloatArray
from core.trajectories.trajectory import Sequences

__all__ = ["Input", "grid_walks", "zipf_visits"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Input:
    """A window: one trajectory for each person."""

    name: str
    sequences: Sequences
    """Users are 0, 1, ...; location ids are rows of ``xy_m``."""

    xy_m: FloatArray
    """Position of each location, metres, shape ``(L, 2)``."""


def grid_walks(n: int = 18_143, *, side: int = 10, mean_length: float = 4.72, seed: int = 1) -> Input:
    """Walk from cell to neighbouring cell of a square kilometre, like their Oldenburg set.

    Published SeqAnon with our tie rules makes 87 merges to 13 (generalized) locations for k=5, m=2, 96 to 4 for k=5,
    m=3, and 93 to 7 for k=50, m=2.
    """
    rng = np.random.default_rng(seed)
    trajectories: list[list[int]] = []
    centre = np.array([side / 2, side / 2])
    for _ in range(n):
        length = max(1, rng.poisson(mean_length - 1) + 1)
        cell = np.clip(rng.normal(centre, side / 5), 0, side - 1).round().astype(int)
        direction = rng.choice([-1, 1], 2)
        trajectory = []
        for _ in range(length):
            trajectory.append(int(cell[0] * side + cell[1]))
            axis = rng.integers(2)
            step = direction[axis] if rng.random() < 0.85 else -direction[axis]  # people seldom turn back
            cell[axis] = min(side - 1, max(0, cell[axis] + step))
        trajectories.append(trajectory)
    cells = [(i // side, i % side) for i in range(side * side)]
    return _input("(a) grid walks", trajectories, np.array(cells, dtype=np.float64) * 1000 / side)


def zipf_visits(n: int = 86_061, *, n_locations: int = 662, further: float = 3.92, seed: int = 2) -> Input:
    """Visit locations at random, few of them often, as large and sparse as their Gowalla set.

    A trajectory has a first visit and, on average, ``further`` more.
    """
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, n_locations + 1) ** 0.9
    weights /= weights.sum()
    xy_m = rng.random((n_locations, 2)) * 1000
    lengths = np.minimum(1 + rng.geometric(1 / further, n), 60)
    trajectories = [rng.choice(n_locations, size=length, p=weights).tolist() for length in lengths]
    return _input("(b) Zipf visits", trajectories, xy_m)


def _input(name: str, trajectories: list[list[int]], xy_m: FloatArray) -> Input:
    sequences = Sequences(
        users=np.arange(len(trajectories)),
        starts=np.cumsum([0, *map(len, trajectories)]),
        locations=np.array([location for trajectory in trajectories for location in trajectory]),
    )
    return Input(name=name, sequences=sequences, xy_m=xy_m)
