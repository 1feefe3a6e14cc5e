"""Distances between trajectories for clustering: whole numbers, measured only where a decision depends on them."""

from __future__ import annotations

import numpy as np

from core.kernels.fragments import trajectory_tree as tree
from core.kernels.fragments.distances import ROOM, Data, measure_pairs
from core.models.kdelta.anonymize.distance.matching import path_of
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Distances", "Euclidean"]

_REMEMBERED_EACH, _REMEMBERED = 512, 1 << 22
"""How many distances and bounds are remembered: for each trajectory, rounded up to a power of 2; and at most: 64 MB."""

_BOX_BYTES = 64 << 20
_MOST_CELLS, _FEWEST_CELLS = 256, 8  # never more than trajectories: a tree of few prunes little
_BYTES_A_CELL = 2 * 36  # two nodes a trajectory, nine numbers each


class Distances:
    """A symmetric distance over one data set of ``n`` trajectories, and a tree that tells which may be near which.

    Distances are whole numbers, so that every processor makes the same choices. Memory: 130 MB at most up to 100,000
    trajectories, besides the points.

    Args:
        kind: Which distance: one of those of :mod:`core.kernels.fragments.trajectory_tree`.
        trajectories: The data set, none of them empty.
        path: Its path (:func:`~core.models.kdelta.anonymize.distance.matching.path_of`).
        tolerance_ms: Tolerance in time.
        mean_speed_m_s: What a shift in time costs.
        space_tolerance_m: Tolerance in space.
    """

    unit: int
    """How many whole units are one metre, or one edit a point."""

    in_metres: bool
    """Whether distances are in parts of a metre; otherwise in parts of an edit a point."""

    def __init__(
        self,
        kind: int,
        trajectories: PointTrajectories,
        path: FloatArray,
        *,
        tolerance_ms: int = 0,
        mean_speed_m_s: float = 0.0,
        space_tolerance_m: float = 0.0,
    ) -> None:
        n, starts = len(trajectories.users), trajectories.starts.copy()
        n_remembered = 1 << max(min(3 * n * n, _REMEMBERED_EACH * n, _REMEMBERED) - 1, 1).bit_length()
        last = path[:, 0].max(initial=0.0)
        n_cells = min(max(_BOX_BYTES // (_BYTES_A_CELL * max(n, 1)), _FEWEST_CELLS), max(n, _FEWEST_CELLS), _MOST_CELLS)
        cell = max(tolerance_ms // 2, last // n_cells + 1)
        n_cells = int(last // cell) + 1
        m = max(2 * n - 1, 0)
        item, second, parent, leaf = (np.full(size, -1, dtype=np.int64) for size in (m, m, m, n))
        nodes = item, second, parent, leaf
        boxes = (
            np.empty((m, 4, n_cells), dtype=np.float32),
            np.empty((m, 4, n_cells), dtype=np.float32),
            np.empty((m, n_cells), dtype=np.float32),
            np.empty((m, 5)),
            np.empty((m, 2), dtype=np.int64),
            # Numbers of 32 bits are wrong by one part in 2^24; a gap is between two of them.
            float(np.abs(path[:, 1:3]).max(initial=0.0)) * 2.0**-22,
            np.empty(n_cells, dtype=np.float32),
        )
        self.data: Data = (
            kind,
            starts,
            path,
            np.array(trajectories.t_ms, dtype=np.int64),
            np.ascontiguousarray(trajectories.xy_m, dtype=np.float64),
            float(tolerance_ms),
            mean_speed_m_s,
            space_tolerance_m,
            np.full((n_remembered, 2), -1, dtype=np.int64),
            float(cell),
            nodes,
            boxes,
            np.zeros((ROOM, 2), dtype=np.int64),
        )
        """The data set as kernels see it."""
        if n:
            ends = starts[1:] - 1
            places = np.concatenate(
                [
                    path[starts[:-1], 1:3],
                    np.add.reduceat(path[:, 1:3], starts[:-1]) / np.diff(starts)[:, None],
                    path[ends, 1:3],
                    path[starts[:-1], :1] * mean_speed_m_s,
                    path[ends, :1] * mean_speed_m_s,
                ],
                axis=1,
            )
            tree.build_tree(places, *nodes)
            tree.enclose(starts, path, float(tolerance_ms), float(cell), nodes, boxes)

    @property
    def per_metre(self) -> int | None:
        """Whole units in a metre; None if distances are not in metres."""
        return self.unit if self.in_metres else None

    def between(self, ones: int | IntArray, others: IntArray) -> IntArray:
        """Measure pairs of trajectories.

        Args:
            ones: Numbers of trajectories, shape ``(o,)``, or one number for all pairs.
            others: Numbers of the trajectories to measure them to, shape ``(o,)``.

        Returns:
            Whole units, shape ``(o,)``.
        """
        distances = np.empty(len(others), dtype=np.int64)
        ones = np.broadcast_to(np.asarray(ones, dtype=np.int64), others.shape).copy()
        measure_pairs(self.data, ones, np.ascontiguousarray(others, dtype=np.int64), distances)
        return distances


class Euclidean(Distances):
    """Mean distance at equal times, of trajectories that share their time stamps (Abul, Bonchi, Nanni 2008).

    Args:
        trajectories: The data set; all ``n`` have the same ``m`` time stamps, one at least.

    Raises:
        ValueError: Their time stamps differ, or there are none.
    """

    unit = 1000
    in_metres = True

    def __init__(self, trajectories: PointTrajectories) -> None:
        n = len(trajectories.users)
        n_points = len(trajectories.t_ms) // max(n, 1)
        if n and (not n_points or np.any(np.diff(trajectories.starts) != n_points)):
            raise ValueError("trajectories must have equally many points, one at least, to be compared at equal times")
        t_ms = trajectories.t_ms.reshape(n, n_points)
        if np.any(t_ms != t_ms[:1]):
            raise ValueError("trajectories must share their time stamps to be compared at equal times")
        super().__init__(tree.EUCLIDEAN, trajectories, path_of(trajectories))
