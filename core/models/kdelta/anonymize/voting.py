"""Voting: how many other people move along with each segment of a trajectory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.kernels.fragments.voting import nearest_of_users
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["VOTE", "segment_starts", "segment_votes"]

VOTE = 1_000_000
"""A whole vote, in the unit in which votes are counted."""

# Beyond sqrt(2 ln(2e6)) = 5.387 sigma a vote is below half a millionth and rounds to 0, so this reach finds every vote.
_REACH_SIGMAS = 5.5
_PAIRS_AT_ONCE = 1 << 16  # candidate pairs for whose results there is room at a time
_CELLS_PER_SEGMENT = 24  # most cells of the grid a segment is listed in, on average
_CELLS_PER_AXIS = 1 << 20  # three axes fit into the 64 bits of a key


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
    row_ends = np.cumsum(np.bincount(grid.segment, weights=grid.size, minlength=len(votes)).astype(np.int64))
    listed = np.append(0, np.cumsum(np.bincount(grid.segment, minlength=len(votes)))).astype(np.int64)
    first = 0
    while first < len(votes):
        done = row_ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(row_ends, done + _PAIRS_AT_ONCE, side="right")))
        found = np.empty(row_ends[last - 1] - done, dtype=np.int64)
        squared_m2 = np.empty(len(found))
        n_found = nearest_of_users(
            first,
            last,
            listed,
            grid.segment,
            grid.lowest,
            grid.begin,
            grid.size,
            grid.order,
            segments.user,
            segments.from_ms,
            segments.to_ms,
            segments.moves,
            segments.low_m,
            segments.high_m,
            _REACH_SIGMAS * sigma_m,
            found,
            squared_m2,
        )
        # The nearest segment of each user is the one that votes.
        vote = np.rint(VOTE * np.exp(squared_m2[:n_found] / (-2 * sigma_m**2)))
        votes[first:last] += np.bincount(found[:n_found] - first, vote, last - first).astype(np.int64)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Grid:
    """Which segments share a cell of time and space: ``e`` entries, one for each cell that a segment's box touches."""

    segment: IntArray
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
        order = np.argsort(key, kind="stable")
        first = np.flatnonzero(np.diff(key[order], prepend=-1))  # where each cell begins in the order
        count = np.diff(first, append=len(key))
        begin, size = np.empty((2, len(key)), dtype=np.int64)
        begin[order], size[order] = np.repeat(first, count), np.repeat(count, count)
        return cls(segment=row, lowest=np.packbits(step == 0, axis=0)[0], begin=begin, size=size, order=order)
