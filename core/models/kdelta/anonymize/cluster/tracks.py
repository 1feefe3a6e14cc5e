"""Tracks: trajectories at equally spaced moments, which local search compares instead of all their points."""

from __future__ import annotations

import numpy as np

from core.kernels.fragments.tracks import TrackData, place
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Tracks"]

_MOMENTS = 60
_REMEMBERED = 1 << 20  # most distances between tracks that are remembered: 16 MB


class Tracks:
    """Positions of ``n`` trajectories at equally spaced moments, which the search uses instead of all their points.

    Args:
        trajectories: The data set, none of them empty.
    """

    def __init__(self, trajectories: PointTrajectories) -> None:
        starts, t_ms, xy_m = trajectories.columns()
        first_ms, last_ms = t_ms[starts[:-1]], t_ms[starts[1:] - 1]
        begin_ms = int(first_ms.min()) if len(first_ms) else 0
        step_ms = max((int(last_ms.max()) - begin_ms) / _MOMENTS, 1.0) if len(last_ms) else 1.0
        at_ms = begin_ms + np.rint((np.arange(_MOMENTS) + 0.5) * step_ms).astype(np.int64)
        self.span: FloatArray = np.column_stack(((first_ms - begin_ms) / step_ms, (last_ms - begin_ms) / step_ms))
        """When each trajectory begins and ends, in moments, shape ``(n, 2)``."""
        self.xy_mm: FloatArray = np.zeros((len(first_ms), 2, _MOMENTS))
        """Positions, millimetres, shape ``(n, 2, 60)``. Before a trajectory begins it is at its first position; after
        it ends, at its last."""
        place(t_ms, xy_m, starts, at_ms.astype(np.float64), self.xy_mm)
        under_way = (at_ms >= first_ms[:, None]) & (at_ms <= last_ms[:, None])
        # A trajectory that begins and ends between two moments counts at one of them.
        short = np.flatnonzero(~under_way.any(axis=1))
        under_way[short, np.minimum(self.span[short, 0].astype(np.int64), _MOMENTS - 1)] = True
        self.under_way: FloatArray = under_way.astype(np.float64)
        """1 where a trajectory is under way, else 0, shape ``(n, 60)``."""
        self.moments: IntArray = under_way.sum(axis=1)
        """Number of moments at which each trajectory is under way, at least 1, shape ``(n,)``."""
        n_pairs = 1 << max(min(len(first_ms) ** 2, _REMEMBERED) - 1, 1).bit_length()
        self._remembered = np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs)

    def priced(self, price_mm: float) -> TrackData:
        """Return the tracks as kernels take them.

        The distance of two trajectories is summed over moments, in whole millimetres. A moment counts half for each of
        the two that is under way. Each moment by which one begins, or ends, later than the other costs ``price_mm`` in
        addition, because a point would be created or deleted there. What was measured at one price is not measured
        again at another.
        """
        return self.xy_mm, self.under_way, self.span, price_mm, *self._remembered, np.zeros(_MOMENTS)
