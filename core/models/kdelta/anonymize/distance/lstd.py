"""LSTD, the distance by which Wait for Me finds similar trajectories: tolerant in time, linear in their points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.models.kdelta.anonymize.distance.matching import Matching
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Lstd"]

_POSITIONS_AT_ONCE = 1 << 20  # matched positions of one call: 100 MB with all temporaries
_CELLS = 256  # most time cells of the lower bound: 8 kB of boxes a trajectory, whatever its sampling and span
_LARGEST_MM = 1 << 62  # distances are clipped here, so that sums of two still fit into 64 bits


class Lstd(Matching):
    r"""LSTD, the linear space-time distance of Wait for Me (Abul, Bonchi, Nanni 2010), over one data set.

    The paper gives no closed formula for LSTD. The formula below is Shoal's own reading of its description. This is
    why translations in time differ from those that the authors' program reports.

    A point :math:`(t_j, p_j)` of one trajectory, :math:`p`, is compared with the other, :math:`q`, at the moment
    :math:`t'_j` that :class:`~core.models.kdelta.anonymize.distance.matching.Matching` matches with it.

    The one-way distance from ``p`` to ``q`` is
    :math:`\frac1m \sum_j \lVert p_j - q(t'_j)\rVert + v\,|t_j - t'_j|`, with ``m`` the number of points of ``p`` and
    ``v`` the mean speed of the data set (all path lengths over all durations). LSTD is the mean of the one-way
    distances in both directions, weighted by their numbers of points. So it is the mean over all points of both
    trajectories, and symmetric. With one direction alone, a short pivot would attract long trajectories that pass by
    it, and most of their points would then be deleted.

    A point is compared only with the part of the other trajectory inside the tolerance. The work for a pair is
    therefore linear in the points of both times the points inside the tolerance.

    Args:
        trajectories: The data set, ``n`` trajectories, none of them empty.
        tolerance_s: Tolerance in time, tau, seconds, at least 0.

    Raises:
        ValueError: The tolerance is negative or not finite, or a trajectory has no point.
    """

    unit = 1000
    in_metres = True

    def __init__(self, trajectories: PointTrajectories, *, tolerance_s: float) -> None:
        super().__init__(trajectories, tolerance_s=tolerance_s)
        self._n_points = np.diff(trajectories.starts)  # (n,)
        self._cell_ms = max(self._tolerance_ms // 2, self._lane // _CELLS + 1)
        self._boxes = self._bounding_boxes()
        self._groups = self._point_boxes()

    def between(self, ones: int | IntArray, others: IntArray) -> IntArray:
        """See :meth:`core.models.kdelta.anonymize.distance.distances.Distances.between`; millimetres."""
        ones = np.broadcast_to(np.asarray(ones, dtype=np.int64), others.shape)
        so_far = np.cumsum(self._n_points[others] + self._n_points[ones])
        blocks = np.flatnonzero(np.diff(so_far // _POSITIONS_AT_ONCE)) + 1  # pairs measured together
        measured = [
            self._between(*pairs) for pairs in zip(np.split(ones, blocks), np.split(others, blocks), strict=True)
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *measured])

    def _between(self, ones: IntArray, others: IntArray) -> IntArray:
        forth_mm, back_mm = (
            self._one_way_mm(
                self._trajectories.points_of(from_), np.repeat(to, self._n_points[from_]), self._n_points[from_]
            )
            for from_, to in ((ones, others), (others, ones))
        )
        return _whole_mm(self._of_both(ones, others, forth_mm, back_mm))

    def _of_both(self, ones: int | IntArray, others: IntArray, forth_mm: FloatArray, back_mm: FloatArray) -> FloatArray:
        """Average the one-way distances of pairs in both directions, weighted by points, shape ``(o,)``."""
        ours, theirs = self._n_points[ones], self._n_points[others]
        return np.asarray((forth_mm * ours + back_mm * theirs) / (ours + theirs))

    def _one_way_mm(self, points: IntArray, owner: IntArray, counts: IntArray) -> FloatArray:
        """Return the mean distance of each of ``c`` runs of ``counts`` points from their ``owner``, shape ``(c,)``."""
        t, xy = self._t[points], self._xy[:, points]
        matched_t, matched = self._match(t, xy, owner)
        away_mm = np.hypot(matched[0] - xy[0], matched[1] - xy[1])
        # A metre a second is a millimetre a millisecond.
        away_mm += np.abs(matched_t - t) * self.mean_speed_m_s
        sums_mm = np.add.reduceat(away_mm, np.cumsum(counts) - counts) if len(counts) else np.zeros(0)
        return np.asarray(sums_mm / counts)

    def lower_bounds(self, pivot: int) -> IntArray:
        """See :meth:`core.models.kdelta.anonymize.distance.distances.Distances.lower_bounds`; millimetres.

        For each time cell, the bound is the gap between two boxes: one around the points of one trajectory, one around
        everything that the other passes at the times with which these points may be matched.
        """
        groups = self._groups
        of_pivot = slice(*groups.starts[pivot : pivot + 2])
        gaps_mm = self._gaps_mm(
            groups.box[:, of_pivot, None],
            self._boxes[:, groups.cell[of_pivot]],
            np.maximum(self._first - groups.end_ms[of_pivot, None], groups.begin_ms[of_pivot, None] - self._last),
        )  # (cells of the pivot, n)
        forth_mm = groups.count[of_pivot] @ gaps_mm / self._n_points[pivot]
        gaps_mm = self._gaps_mm(
            groups.box,
            self._boxes[:, :, pivot][:, groups.cell],
            np.maximum(self._first[pivot] - groups.end_ms, groups.begin_ms - self._last[pivot]),
        )  # (g,)
        back_mm = np.add.reduceat(gaps_mm * groups.count, groups.starts[:-1]) / self._n_points
        bound_mm = self._of_both(pivot, np.arange(len(forth_mm)), forth_mm, back_mm)
        return np.maximum(_whole_mm(bound_mm * (1 - 1e-9)) - 2, 0)  # rounding must not lift a bound

    def _gaps_mm(self, box: FloatArray, passed: FloatArray, outside_ms: IntArray) -> FloatArray:
        """Return the gaps between boxes plus the least cost of a shift in time, where ``outside_ms`` is above 0."""
        gap = np.maximum(box[0] - passed[1], passed[0] - box[1])
        gap_y = np.maximum(box[2] - passed[3], passed[2] - box[3])
        for axis_gap in (gap, gap_y):
            np.maximum(axis_gap, 0.0, out=axis_gap)
            np.square(axis_gap, out=axis_gap)
        gap += gap_y
        np.sqrt(gap, out=gap)
        gap += np.maximum(outside_ms, 0) * self.mean_speed_m_s
        return np.asarray(gap)

    def _bounding_boxes(self) -> FloatArray:
        """Return the box around what each trajectory passes within the tolerance of each time cell, ``(4, cells, n)``.

        Rows: lowest and highest x, lowest and highest y. The box includes the points just before and after that time.
        """
        cells = np.arange(-(-self._lane // self._cell_ms)) * self._cell_ms
        first, last = self._first[:, None], self._last[:, None]
        lane = np.arange(len(first))[:, None] * self._lane
        starts = np.clip(cells - self._tolerance_ms, first, last)  # (n, cells)
        stops = np.clip(cells + self._cell_ms + self._tolerance_ms, first, last)
        low = np.searchsorted(self._keys, starts + lane, side="right") - 1
        high = np.searchsorted(self._keys, stops + lane, side="left") + 1
        ranges = np.stack((low, high), axis=-1).ravel()
        padded = np.concatenate((self._xy, np.zeros((2, 1))), axis=1)  # the last range may end at p
        boxes = [
            extreme.reduceat(axis, ranges)[::2].reshape(low.shape).T
            for axis in padded
            for extreme in (np.minimum, np.maximum)
        ]
        return np.ascontiguousarray(boxes)  # a cell's boxes side by side: bounds read them cell by cell

    def _point_boxes(self) -> _Groups:
        """Group the points of each trajectory by time cell."""
        owner = np.repeat(np.arange(len(self._n_points)), self._n_points)
        cell = self._t // self._cell_ms
        new = np.ones(len(self._t), dtype=bool)
        new[1:] = (cell[1:] != cell[:-1]) | (owner[1:] != owner[:-1])
        begin = np.flatnonzero(new)
        count = np.diff(np.append(begin, len(self._t)))
        extremes = (
            [f.reduceat(axis, begin) for axis in self._xy for f in (np.minimum, np.maximum)] if len(begin) else []
        )
        return _Groups(
            starts=np.searchsorted(owner[begin], np.arange(len(self._n_points) + 1)),
            cell=cell[begin],
            count=count,
            begin_ms=self._t[begin],
            end_ms=self._t[begin + count - 1],
            box=np.array(extremes).reshape(4, len(begin)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Groups:
    """The points of all trajectories, ``g`` groups of one trajectory and one time cell each."""

    starts: IntArray
    """Where the groups of each trajectory begin, shape ``(n + 1,)``."""

    cell: IntArray
    count: IntArray
    begin_ms: IntArray
    end_ms: IntArray
    box: FloatArray
    """Lowest and highest x, lowest and highest y, shape ``(4, g)``."""


def _whole_mm(distance_mm: FloatArray) -> IntArray:
    return np.rint(np.minimum(distance_mm, _LARGEST_MM)).astype(np.int64)
