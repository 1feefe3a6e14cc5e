"""Voting: how many other people move along with each segment of a trajectory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["VOTE", "segment_starts", "segment_votes"]

VOTE = 1_000_000
"""A whole vote, in the unit in which votes are counted."""

# Beyond sqrt(2 ln(2e6)) = 5.387 sigma a vote is below half a millionth and rounds to 0, so this reach finds every vote.
_REACH_SIGMAS = 5.5
_PAIRS_AT_ONCE = 1 << 16  # candidate pairs whose temporaries stay in a core's second-level cache
_CELLS_PER_SEGMENT = 24  # most cells of the grid a segment is listed in, on average
_CELLS_PER_AXIS = 1 << 20  # three axes fit into the 64 bits of a key
_ALL_AXES = 0b1110_0000
_STANDSTILL = 1e-30  # squared m/ms: at a lower relative speed a pair drifts less than a micrometre in eleven days


def segment_starts(starts: IntArray) -> IntArray:
    """Number the segments of all trajectories in one row: where each trajectory's begin, shape ``(n + 1,)``.

    A trajectory of ``c`` points has ``c - 1`` segments; segment ``s`` of trajectory ``i`` begins at point ``s + i``.

    >>> segment_starts(np.array([0, 3, 4, 6]))
    array([0, 2, 2, 3])
    """
    return starts - np.arange(len(starts))


def segment_votes(trajectories: PointTrajectories, *, sigma_m: float) -> IntArray:
    r"""Count the votes of each segment (Panagiotakis et al. 2012, voting), in millionths.

    Every other *user* gives a segment one vote of at most 1,

    .. math:: e^{-d^2 / (2 \sigma^2)},

    with :math:`d` the distance to the nearest segment of that user which overlaps it in time. In the paper every other
    trajectory votes, which is the same if nobody has two trajectories. Here every other user votes, because the sum is
    read as a number of people nearby, and a person whose trajectory is in two pieces is still one. Users do not vote
    for their own segments. A user with a single point has no segment and no vote.

    Two segments overlap when they have more than an instant in common. In the common time both move in a straight line
    at constant speed: with :math:`r` their offset at its beginning, :math:`v` the difference of their velocities and
    :math:`T` its length,

    .. math:: d = \lVert r + s v\rVert, \quad s = \min(\max(-r \cdot v / \lVert v\rVert^2, 0), T).

    Each vote is rounded to a whole millionth, so that sums do not depend on their order. From farther than 5.39 sigma a
    vote is 0, so leaving out pairs farther apart than 5.5 sigma changes nothing.

    Boxes around the segments, widened by the reach, are listed in the cells of a grid over time and space, and segments
    that share a cell are compared. For ``m`` segments the time is ``O(m log m)`` plus the pairs near one another, at
    most ``O(m^2)`` if everybody is in one place at one time. Memory is ``O(m)`` besides one block of pairs.

    Args:
        trajectories: The data set, ``n`` trajectories with ``p`` points, none of them empty.
        sigma_m: Standard deviation of the vote, metres, in 0.01..1e7.

    Returns:
        Votes in millionths, in the order of :func:`segment_starts`, shape ``(p - n,)``.
    """
    segments = _Segments.of(trajectories)
    votes = np.zeros(len(segments.user), dtype=np.int64)
    if not len(votes):
        return votes
    grid = _Grid.over(segments, reach_m=_REACH_SIGMAS * sigma_m)
    row_ends = np.cumsum(np.bincount(grid.row, weights=grid.size, minlength=len(votes)).astype(np.int64))
    list_ends = np.cumsum(np.bincount(grid.row, minlength=len(votes)))
    first = 0
    while first < len(votes):
        done = row_ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(row_ends, done + _PAIRS_AT_ONCE, side="right")))
        row, other = grid.pairs(int(list_ends[first - 1]) if first else 0, int(list_ends[last - 1]))
        row, other = segments.near(row, other, _REACH_SIGMAS * sigma_m)
        squared = segments.squared_distance(row, other)
        # The nearest segment of each user is the one that votes.
        key = row * (int(segments.user[-1]) + 1) + segments.user[other]
        order = np.argsort(key, kind="stable")
        key = key[order]
        begin = np.flatnonzero(np.diff(key, prepend=-1))
        if len(begin):
            nearest = np.minimum.reduceat(squared[order], begin)
            vote = np.rint(VOTE * np.exp(nearest / (-2 * sigma_m**2)))
            votes[first:last] += np.bincount(row[order[begin]] - first, vote, last - first).astype(np.int64)
        first = last
    return votes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Segments:
    """All segments, ``m``, as columns; times in milliseconds since the first point of all."""

    user: IntArray
    from_ms: IntArray
    to_ms: IntArray
    moves: FloatArray
    """Start time, x, y, and velocity in x and y, metres a millisecond, shape ``(m, 5)``: a pair reads whole rows."""
    low_m: FloatArray
    """South-west corner of the box around each, x and y, shape ``(2, m)``."""
    high_m: FloatArray
    """Its north-east corner, shape ``(2, m)``."""

    @classmethod
    def of(cls, trajectories: PointTrajectories) -> _Segments:
        is_last = np.zeros(len(trajectories.t_ms), dtype=bool)
        is_last[trajectories.starts[1:] - 1] = True
        at = np.flatnonzero(~is_last)  # (m,) first point of each segment
        t = trajectories.t_ms - trajectories.t_ms.min(initial=np.iinfo(np.int64).max)
        begin_m, end_m = trajectories.xy_m[at], trajectories.xy_m[at + 1]
        duration_ms = (t[at + 1] - t[at])[:, None]
        return cls(
            user=np.repeat(trajectories.users, np.diff(trajectories.starts) - 1),
            from_ms=t[at],
            to_ms=t[at + 1],
            moves=np.concatenate([t[at, None], begin_m, (end_m - begin_m) / duration_ms], axis=1),
            low_m=np.minimum(begin_m, end_m).T.copy(),
            high_m=np.maximum(begin_m, end_m).T.copy(),
        )

    def near(self, row: IntArray, other: IntArray, reach_m: float) -> tuple[IntArray, IntArray]:
        """Keep pairs of different users that overlap in time and whose boxes are within reach, shapes ``(q,)``."""
        keep = self.from_ms[row] < self.to_ms[other]
        keep &= self.from_ms[other] < self.to_ms[row]
        keep &= self.user[row] != self.user[other]
        row, other = row[keep], other[keep]
        for low_m, high_m in zip(self.low_m, self.high_m, strict=True):
            keep = np.maximum(low_m[row] - high_m[other], low_m[other] - high_m[row]) <= reach_m
            row, other = row[keep], other[keep]
        return row, other

    def squared_distance(self, row: IntArray, other: IntArray) -> FloatArray:
        """Square of the smallest distance in the common time of each pair, square metres, shape ``(q,)``."""
        t_a, x_a, y_a, vx_a, vy_a = self.moves[row].T
        t_b, x_b, y_b, vx_b, vy_b = self.moves[other].T
        start = np.maximum(t_a, t_b)
        common_ms = np.minimum(self.to_ms[row], self.to_ms[other]) - start
        x = x_a + (start - t_a) * vx_a - x_b - (start - t_b) * vx_b
        y = y_a + (start - t_a) * vy_a - y_b - (start - t_b) * vy_b
        vx, vy = vx_a - vx_b, vy_a - vy_b
        speed = vx * vx + vy * vy
        nearest_ms = np.divide(-(x * vx + y * vy), speed, out=np.zeros_like(x), where=speed > _STANDSTILL)
        nearest_ms = np.clip(nearest_ms, 0.0, common_ms)
        x += nearest_ms * vx
        y += nearest_ms * vy
        squared: FloatArray = x * x + y * y
        return squared


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Grid:
    """Which segments share a cell of time and space: ``e`` entries, one for each cell that a segment's box touches."""

    row: IntArray
    """Segment of each entry, ascending, shape ``(e,)``."""
    lowest: npt.NDArray[np.uint8]
    """A bit for each axis on which the entry's cell is the segment's lowest, shape ``(e,)``."""
    begin: IntArray
    """Where the entries of the same cell begin in ``order``, shape ``(e,)``."""
    size: IntArray
    """Number of entries of the same cell, shape ``(e,)``."""
    order: IntArray
    """Entries, cell by cell, ascending inside a cell, shape ``(e,)``."""

    @classmethod
    def over(cls, segments: _Segments, *, reach_m: float) -> _Grid:
        low = np.stack([segments.from_ms, *(axis - reach_m / 2 for axis in segments.low_m)])  # (3, m)
        high = np.stack([segments.to_ms, *(axis + reach_m / 2 for axis in segments.high_m)])
        low, high = low - low.min(axis=1, keepdims=True), high - low.min(axis=1, keepdims=True)
        cell = np.maximum((high - low).mean(axis=1), high.max(axis=1) / _CELLS_PER_AXIS)[:, None]
        while True:
            corner = (low // cell).astype(np.int64)
            wide = (high // cell).astype(np.int64) - corner + 1  # (3, m) cells touched on each axis
            # Counted as floats: a long gap in a long window touches more cells than 64 bits count.
            if wide.astype(np.float64).prod(axis=0).sum() <= _CELLS_PER_SEGMENT * len(segments.user):
                break
            cell = cell * 2
        listed = wide.prod(axis=0)
        row = np.repeat(np.arange(len(listed)), listed)
        rank = np.arange(len(row)) - np.repeat(np.cumsum(listed) - listed, listed)
        _, wide_x, wide_y = wide[:, row]
        step = np.stack((rank // (wide_x * wide_y), rank // wide_y % wide_x, rank % wide_y))  # (3, e)
        cells = (corner + wide).max(axis=1)
        t, x, y = corner[:, row] + step
        key = (t * cells[1] + x) * cells[2] + y
        _, group, count = np.unique(key, return_inverse=True, return_counts=True)
        return cls(
            row=row,
            lowest=np.packbits(step == 0, axis=0)[0],
            begin=(np.cumsum(count) - count)[group],
            size=count[group],
            order=np.argsort(key, kind="stable"),
        )

    def pairs(self, first: int, last: int) -> tuple[IntArray, IntArray]:
        """Pair the segments of some entries with all that share a cell; each pair comes once, shapes ``(q,)``."""
        size = self.size[first:last]
        entry = np.repeat(np.arange(first, last), size)
        skipped = self.begin[first:last] - (np.cumsum(size) - size)
        other = self.order[np.arange(len(entry)) + np.repeat(skipped, size)]
        # Two boxes may share several cells; the pair counts in the lowest, where on each axis one of them begins.
        once = np.flatnonzero((self.lowest[entry] | self.lowest[other]) == _ALL_AXES)
        return self.row[entry[once]], self.row[other[once]]
