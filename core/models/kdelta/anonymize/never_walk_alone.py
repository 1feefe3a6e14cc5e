"""Never Walk Alone: (k,delta)-anonymity of GPS trajectories over equal intervals, by translation in space alone.

Abul, Bonchi, Nanni 2008: trajectories are cut to intervals that begin and end at multiples of a granularity.
Trajectories with equal intervals are clustered by their distance at equal times, and each cluster's points are moved
together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.models.kdelta.anonymize.across import Across
from core.models.kdelta.anonymize.cluster.chunks import chunk_of
from core.models.kdelta.anonymize.cluster.clustering import Clustering, greedy_clustering
from core.models.kdelta.anonymize.distance.distances import Euclidean
from core.models.kdelta.anonymize.sets import AnonymitySets, SetOptions, anonymity_sets
from core.models.kdelta.anonymize.translation import Translated, in_disc, nearest_in_disc, stretches
from core.records.arrays import IntArray, ranges
from core.trajectories.trajectory import Demands, PointTrajectories, positions_at

__all__ = ["NeverWalkAloneOptions", "never_walk_alone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverWalkAloneOptions(SetOptions):
    """Options of Never Walk Alone; none of them changes the guarantee.

    With ``minimal`` translation a point moves the shortest way into the disc around its set's mean. A point that is
    already inside is released unchanged.

    Raises:
        ValueError: An option is out of its range.
    """

    granularity_ms: int = 60_000
    """Granularity pi, milliseconds: intervals begin and end at its multiples. It is a multiple of ``time_step_ms``.
    With a coarser one more people share an interval, and more of each trajectory is cut off."""

    def __post_init__(self) -> None:
        SetOptions.__post_init__(self)
        if self.granularity_ms < 1 or self.granularity_ms % self.time_step_ms:
            raise ValueError(
                f"granularity_ms is {self.granularity_ms}: it must be a multiple of time_step_ms, {self.time_step_ms}"
            )


def never_walk_alone(
    trajectories: PointTrajectories,
    demands: Demands,
    options: NeverWalkAloneOptions,
    rng: np.random.Generator,
    across: Across | None = None,
) -> AnonymitySets:
    """Make trajectories (k,delta)-anonymous.

    A trajectory that spans no multiple of the granularity is suppressed, as are those whose interval is shared by too
    few people. A trajectory is interpolated in straight lines at the multiples of the time step inside its interval.
    An input point takes part when it bounds, or lies inside, the interval.

    Args:
        trajectories: The window's trajectories, none of them empty.
        demands: k and delta of each trajectory; a set keeps the largest k and smallest delta of its members.
        options: Options of Never Walk Alone.
        rng: Source of all random choices, used set by set; the number of draws depends on the input alone.
        across: Makes the clusters keep a promise about earlier windows; None if there is none.

    Raises:
        ValueError: A trajectory has no point.
    """
    if np.any(np.diff(trajectories.starts) < 1):
        raise ValueError("a trajectory without points spans no time: leave it out")
    granularity_ms = options.granularity_ms
    from_ms = -(-trajectories.t_ms[trajectories.starts[:-1]] // granularity_ms) * granularity_ms
    to_ms = trajectories.t_ms[trajectories.starts[1:] - 1] // granularity_ms * granularity_ms
    spanning = np.flatnonzero((from_ms <= to_ms) & (demands.delta_m > options.margin_m))
    equal = _synchronized(trajectories, spanning, from_ms[spanning], to_ms[spanning], options.time_step_ms)
    intervals = np.unique(np.stack((from_ms[spanning], to_ms[spanning]), axis=1), axis=0, return_inverse=True)[1]
    chunks = [chunk_of(equal, np.flatnonzero(intervals == i), Euclidean) for i in range(intervals.max(initial=-1) + 1)]
    clustering = greedy_clustering(
        chunks,
        demands.of(spanning),
        max_radius=max(round(options.max_radius_m * Euclidean.unit), 1),
        trash_share=options.trash_share,
        refined=options.refined,
        regrouped=True,
    )
    if across is not None:
        clustering = across.mend(clustering, trajectories.users[spanning], demands.of(spanning), chunks)
    cluster = np.full(len(trajectories.users), -1)
    cluster[spanning] = clustering.cluster
    return anonymity_sets(
        trajectories,
        Clustering(cluster=cluster, pivots=spanning[clustering.pivots], radius=clustering.radius),
        [_translate(trajectories, equal, spanning, members, demands, options, rng) for members in clustering.of_each],
        unit=Euclidean.unit,
        mean_speed_m_s=0.0,  # nothing is translated in time
    )


def _synchronized(
    trajectories: PointTrajectories, chosen: IntArray, from_ms: IntArray, to_ms: IntArray, step_ms: int
) -> PointTrajectories:
    """Interpolate the chosen trajectories at the multiples of a step in their intervals."""
    starts, users = [0], trajectories.users[chosen]
    times_ms, positions_m = [np.zeros(0, np.int64)], [np.zeros((0, 2))]
    for i, first_ms, last_ms in zip(chosen.tolist(), from_ms.tolist(), to_ms.tolist(), strict=True):
        points = slice(*trajectories.starts[i : i + 2])
        at_ms = np.arange(first_ms, last_ms + 1, step_ms)
        times_ms.append(at_ms)
        positions_m.append(positions_at(at_ms, trajectories.t_ms[points], trajectories.xy_m[points]))
        starts.append(starts[-1] + len(at_ms))
    return PointTrajectories(
        users=np.unique(users, return_inverse=True)[1].astype(np.int64),
        starts=np.array(starts, dtype=np.int64),
        t_ms=np.concatenate(times_ms),
        xy_m=np.concatenate(positions_m),
    )


def _translate(
    trajectories: PointTrajectories,
    equal: PointTrajectories,
    spanning: IntArray,
    members: IntArray,
    demands: Demands,
    options: NeverWalkAloneOptions,
    rng: np.random.Generator,
) -> Translated:
    """Move a set's points into discs around their mean; ``members`` are positions in ``spanning``."""
    t_ms = equal.t_ms[slice(*equal.starts[members[0] : members[0] + 2])]
    own_m = np.stack([equal.xy_m[equal.starts[i] : equal.starts[i + 1]] for i in members.tolist()])  # (s, m, 2)
    centre_m = own_m.mean(axis=0)
    radius_m = (float(demands.delta_m[spanning[members]].min()) - options.margin_m) / 2
    if options.translation == "minimal":
        xy_m = nearest_in_disc(own_m, centre_m, radius_m)
    else:
        xy_m = centre_m + in_disc((len(members), len(t_ms)), radius_m, rng)
    shape = xy_m.shape[:2]
    return Translated(
        members=spanning[members],
        t_ms=t_ms,
        xy_m=xy_m,
        created=np.zeros(shape, dtype=bool),
        moved_m=np.hypot(*np.moveaxis(xy_m - own_m, -1, 0)),
        shifted_s=np.zeros(shape),
        taking_part=ranges(
            *stretches(
                trajectories, spanning[members], np.repeat(t_ms[:1], len(members)), np.repeat(t_ms[-1:], len(members))
            )
        ),
    )
