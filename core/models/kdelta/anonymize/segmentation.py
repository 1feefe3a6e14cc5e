"""Segmentation of trajectories by representativeness: along a piece, the number of people nearby hardly changes.

Panagiotakis, Pelekis, Kopanakis, Ramasso, Theodoridis 2012; used before clustering as in Theodosopoulos 2013,
section 4.2 (PW4M+TR): people who share a part of their way can then be clustered by that part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.models.kdelta.anonymize.voting import VOTE, segment_starts, segment_votes
from core.records.arrays import BoolArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Segmentation", "SegmentationOptions", "representativeness", "segment"]

_LARGEST = 1 << 62  # no difference of votes gets here, so a threshold may be clipped to it


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentationOptions:
    """Options of where trajectories are cut; none of them changes the guarantee.

    Raises:
        ValueError: An option is out of its range.
    """

    sigma_m: float = 200.0
    """Distance that counts as near: a person ``sigma_m`` metres away gives 0.61 of a vote, at twice the distance 0.14.
    In 0.01..1e7. Choose about the ``delta_m`` of the release, or less."""

    window: int = 4
    """Segments before and after a point whose mean votes are compared, and the fewest a piece may have. At least 1."""

    threshold: float = 1.0
    """Smallest difference of the mean votes at which a trajectory is cut, in votes (people nearby); at least 1e-6.

    It is absolute: a share of the largest difference would always cut something, even a crowd that stays together."""

    def __post_init__(self) -> None:
        if not 0.01 <= self.sigma_m <= 1e7:
            raise ValueError(f"sigma_m is {self.sigma_m}: it must be a number of metres in 0.01..1e7")
        if self.window < 1:
            raise ValueError(f"window is {self.window}: it must be a number of segments, at least 1")
        if not 1e-6 <= self.threshold < float("inf"):
            raise ValueError(f"threshold is {self.threshold}: it must be a finite number of votes, at least 1e-6")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segmentation:
    """The ``r`` pieces of ``n`` trajectories, which have the same ``p`` points, and the votes behind the cuts."""

    pieces: PointTrajectories
    """The pieces, in the order of their trajectories and of time; all columns of points are those of the input."""

    sources: IntArray
    """Input trajectory that each piece was cut from, ascending, shape ``(r,)``."""

    votes: IntArray
    """Representativeness of each input segment, millionths of a vote, in the order of
    :func:`~core.models.kdelta.anonymize.voting.segment_starts`, shape ``(p - n,)``."""

    representativeness: IntArray
    """Mean votes of each input trajectory's segments (Theodosopoulos 2013, section 5), whole millionths, 0 if it has no
    segment, shape ``(n,)``."""

    piece_representativeness: IntArray
    """Mean votes of the segments inside each piece, whole millionths, shape ``(r,)``."""


def representativeness(trajectories: PointTrajectories, *, sigma_m: float) -> IntArray:
    """Estimate how many neighbours each trajectory has: the mean votes of its segments (Theodosopoulos 2013, section
    5).

    Args:
        trajectories: The data set, ``n`` trajectories, none of them empty.
        sigma_m: Distance that counts as near, metres, as in :class:`SegmentationOptions`.

    Returns:
        Whole millionths, 0 for a trajectory without a segment, shape ``(n,)``.
    """
    votes = segment_votes(trajectories, sigma_m=sigma_m)
    starts = trajectories.starts
    return _means(votes, segment_starts(starts)[:-1], np.diff(starts) - 1)


def segment(trajectories: PointTrajectories, options: SegmentationOptions) -> Segmentation:
    r"""Cut trajectories where the number of people around changes.

    With :math:`v_i` the votes of a trajectory's segments (:func:`~core.models.kdelta.anonymize.voting.segment_votes`)
    and :math:`w` the window, the change at its point ``c``, between segments ``c - 1`` and ``c``, is

    .. math:: D(c) = \Bigl|\sum_{i=c-w}^{c-1} v_i - \sum_{i=c}^{c+w-1} v_i\Bigr|, \quad w < c \le s - w,

    for ``s`` segments. The trajectory is cut at ``c`` when :math:`D(c)` is at least ``w`` times the threshold, greater
    than at the ``w`` points before and no smaller than at the ``w`` points after. All are whole numbers of millionths.

    The point of a cut begins the later piece, so every point is in exactly one piece and is counted, moved or
    suppressed once. A point in both pieces would reveal that two released pieces belong together. The segment that
    leads to the point of a cut is in neither piece. Cuts are more than ``w`` points apart, so each piece of a cut
    trajectory has ``w`` segments or more.

    ``O(m w)`` for ``m`` segments, after the votes.

    Args:
        trajectories: The data set, ``n`` trajectories.
        options: Where to cut.

    Raises:
        ValueError: A trajectory has no point.
    """
    starts = trajectories.starts
    counts = np.diff(starts)
    if np.any(counts < 1):
        raise ValueError("a trajectory without points cannot be segmented: leave it out")
    votes = segment_votes(trajectories, sigma_m=options.sigma_m)
    cuts = _cut_points(votes, starts, options)
    piece_starts = np.sort(np.concatenate([starts, cuts]))
    sources = np.searchsorted(starts, piece_starts[:-1], side="right") - 1
    pieces = PointTrajectories(
        users=trajectories.users[sources],
        starts=piece_starts,
        t_ms=trajectories.t_ms,
        xy_m=trajectories.xy_m,
    )
    first = piece_starts[:-1] - sources  # (r,) first segment of each piece
    return Segmentation(
        pieces=pieces,
        sources=sources,
        votes=votes,
        representativeness=_means(votes, segment_starts(starts)[:-1], counts - 1),
        piece_representativeness=_means(votes, first, np.diff(piece_starts) - 1),
    )


def _cut_points(votes: IntArray, starts: IntArray, options: SegmentationOptions) -> IntArray:
    """Return the points, numbered over all trajectories, at which a cut begins a piece, ascending, ``(cuts,)``."""
    window = options.window
    counts = np.diff(starts)
    if 2 * window + 1 >= counts.max(initial=0):  # fewer than 2 w + 1 segments leave no room for a cut
        return np.zeros(0, dtype=np.int64)
    owner = np.repeat(np.arange(len(counts)), counts - 1)  # (m,)
    within = np.arange(len(votes)) - segment_starts(starts)[owner]  # (m,) c, if a piece began with this segment
    allowed = (within > window) & (within <= counts[owner] - 1 - window)
    at = np.flatnonzero(allowed)
    total = np.concatenate([[0], np.cumsum(votes)])
    # -1 also separates trajectories and pads both ends, so that the owner of a neighbour need not be checked.
    change = np.full(len(votes) + 2 * window, -1)
    change[at + window] = np.abs(2 * total[at] - total[at - window] - total[at + window])
    least = min(window * round(options.threshold * VOTE), _LARGEST)
    here = change[at + window]
    is_cut: BoolArray = here >= least
    for step in range(1, window + 1):
        is_cut &= (here > change[at + window - step]) & (here >= change[at + window + step])
    return at[is_cut] + owner[at[is_cut]]


def _means(votes: IntArray, first: IntArray, count: IntArray) -> IntArray:
    """Return the mean of ``count`` votes from ``first`` on, to the nearest millionth, halves up, 0 for no votes."""
    total = np.concatenate([[0], np.cumsum(votes)])
    means: IntArray = (2 * (total[first + count] - total[first]) + count) // np.maximum(2 * count, 1)
    return means
