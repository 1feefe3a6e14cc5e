"""LSTD, the distance by which Wait for Me finds similar trajectories: tolerant in time, linear in their points."""

from __future__ import annotations

from core.kernels.fragments.trajectory_tree import LSTD
from core.models.kdelta.anonymize.distance.distances import Distances
from core.models.kdelta.anonymize.distance.matching import mean_speed_m_s, path_of, tolerance_in_ms
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Lstd"]


class Lstd(Distances):
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
        path = path_of(trajectories)
        super().__init__(
            LSTD,
            trajectories,
            path,
            tolerance_ms=tolerance_in_ms(tolerance_s),
            mean_speed_m_s=mean_speed_m_s(path, trajectories.starts),
        )
