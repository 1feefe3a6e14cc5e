"""(k,delta)-anonymity sets (Theodosopoulos 2013, Definition 3): what the anonymizers of GPS trajectories make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.models.kdelta.anonymize.cluster.clustering import Clustering
from core.models.kdelta.anonymize.translation import Translated
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["AnonymitySets", "Distortion", "SetOptions", "anonymity_sets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOptions:
    """Options for forming and publishing sets; none of them changes the guarantee.

    Raises:
        ValueError: An option is out of its range.
    """

    translation: Literal["exchangeable", "minimal"] = "exchangeable"
    """``exchangeable`` draws all members from common discs; ``minimal`` is the published rule."""

    time_step_ms: int = 30_000
    """Step of the grid of published time stamps. At least 1."""

    max_radius_m: float = 5_000.0
    """Largest distance of a member from its pivot before the radius grows, metres. Above 0. With LSTD it includes
    shifts in time."""

    trash_share: float = 0.1
    """Largest share of trajectories in the trash before the radius grows, in ``0..1``. A trajectory that can never be
    in a set counts as a trajectory, but not as trash. One that spans no interval of Never Walk Alone counts as
    neither."""

    refined: bool = True
    """Whether local search improves the clusters; otherwise they are those of the published algorithm. If sets are
    published around their mean, the search also brings members nearer to one another. It does not for Wait for Me with
    ``minimal`` translation, which edits all members into the pivot: it would then have to delete more points."""

    margin_m: float = 0.5
    """Difference between the delta of a set and the diameter of its discs, metres; at least 0. A delta that is not
    larger than this cannot be given: a trajectory that demands it is suppressed.

    The guarantee holds for published coordinates. Rounding to 1e-6 degrees moves a point by up to 0.08 m, a pair by
    0.16 m. An azimuthal equidistant projection on WGS84 never shows a distance shorter than it is, so it needs no
    margin. The rest is for projections that do, by up to 1 part in 1,500 at a delta of 500 m."""

    def __post_init__(self) -> None:
        if self.translation not in ("exchangeable", "minimal"):
            raise ValueError(f"translation is {self.translation!r}: it must be 'exchangeable' or 'minimal'")
        if self.time_step_ms < 1:
            raise ValueError(f"time_step_ms is {self.time_step_ms}: it must be at least 1")
        if not 0 < self.max_radius_m < float("inf"):
            raise ValueError(f"max_radius_m is {self.max_radius_m}: it must be a finite number above 0")
        if not 0 <= self.trash_share <= 1:
            raise ValueError(f"trash_share is {self.trash_share}: it must be in 0..1")
        if not 0 <= self.margin_m < float("inf"):
            raise ValueError(f"margin_m is {self.margin_m}: it must be a finite number, at least 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Distortion:
    """How the sets distort the input, over all trajectories."""

    points_deleted: int
    """Input points of released trajectories that took no part."""

    points_trashed: int
    """Input points of trajectories in the trash."""

    points_translated: int
    """Published points that differ from their counterpart in position or time."""

    space_translation_m: float
    """Sum of the distances between published points and their counterparts, metres."""

    time_translation_s: float
    """Sum of the times between published points and their counterparts, seconds."""

    translation_mm: int
    """Sum of both over all published points, each rounded to whole millimetres. A second counts as the distance
    covered in a second at the data set's mean speed."""

    largest_translation_mm: int
    """The largest translation of a point, Omega (Theodosopoulos 2013, section 5)."""

    discernibility: int
    """Sum of the squared sizes of the sets plus ``n`` for each trajectory in the trash (Abul et al. 2008)."""

    @property
    def total_m(self) -> float:
        """Total distortion: the sum of all translations, plus the largest one for each point in the trash, metres.

        Theodosopoulos 2013, Definition 5 with the trash term of section 5. His tables add metres and seconds as plain
        numbers; here a second counts as the distance that people cover in it on average.
        """
        return (self.translation_mm + self.points_trashed * self.largest_translation_mm) / 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnonymitySets:
    """A candidate for release: ``r`` trajectories with ``q`` points, made from ``n`` trajectories with ``p`` points."""

    sources: IntArray
    """Input trajectory that each released one stands for, shape ``(r,)``; each occurs once."""

    sets: IntArray
    """Set (cluster) of each released trajectory, ascending, numbered from 0, shape ``(r,)``."""

    starts: IntArray
    """Where each released trajectory begins in ``t_ms`` and ``xy_m``, shape ``(r + 1,)``; the last is ``q``."""

    t_ms: IntArray
    """Published time stamps, Unix milliseconds, equal within a set, shape ``(q,)``."""

    xy_m: FloatArray
    """Published positions in the input's projection, metres, shape ``(q, 2)``."""

    created: IntArray
    """Published points of each released trajectory without a counterpart in its input, shape ``(r,)``."""

    kept: BoolArray
    """Whether each input point was released: its trajectory is in a set, and the point took part. Otherwise the point
    is suppressed, because its trajectory is in the trash or the point was deleted. Shape ``(p,)``."""

    trash: IntArray
    """Input trajectories that were left out, ascending, shape ``(n - r,)``."""

    radius: float
    """Radius with which the clusters were formed, metres (edits a point by EDR)."""

    distortion: Distortion

    @property
    def points_created(self) -> int:
        """Published points without a counterpart in their trajectory."""
        return int(self.created.sum())

    @property
    def mean_space_translation_m(self) -> float:
        """Mean distance of a published point from its counterpart, if it has one, metres."""
        return self.distortion.space_translation_m / max(len(self.t_ms) - self.points_created, 1)

    @property
    def mean_time_translation_s(self) -> float:
        """Mean time between a published point and its counterpart, if it has one, seconds."""
        return self.distortion.time_translation_s / max(len(self.t_ms) - self.points_created, 1)


def anonymity_sets(
    trajectories: PointTrajectories,
    clustering: Clustering,
    translated: Sequence[Translated],
    *,
    unit: int,
    mean_speed_m_s: float,
) -> AnonymitySets:
    """Put the sets of a data set together.

    Args:
        trajectories: The data set.
        clustering: Its clusters.
        translated: The translated trajectories of each cluster.
        unit: Units of the clustering's distance in one metre, or one edit a point.
        mean_speed_m_s: Metres that a second of translation in time counts as.
    """
    sizes = np.array([len(cluster.members) for cluster in translated], dtype=np.int64)
    n_points = np.array([len(cluster.t_ms) for cluster in translated], dtype=np.int64)  # of each member
    no_numbers = np.zeros(0, np.int64)
    trash = np.flatnonzero(clustering.cluster < 0)
    kept = np.zeros(len(trajectories.t_ms), dtype=bool)
    for cluster in translated:
        kept[cluster.taking_part] = True
    return AnonymitySets(
        sources=np.concatenate([no_numbers, *(cluster.members for cluster in translated)]),
        sets=np.repeat(np.arange(len(sizes)), sizes),
        starts=np.append(0, np.cumsum(np.repeat(n_points, sizes))).astype(np.int64),
        t_ms=np.concatenate([no_numbers, *(np.tile(cluster.t_ms, len(cluster.members)) for cluster in translated)]),
        xy_m=np.concatenate([np.zeros((0, 2)), *(cluster.xy_m.reshape(-1, 2) for cluster in translated)]),
        created=np.concatenate([no_numbers, *(cluster.created.sum(axis=1) for cluster in translated)]),
        kept=kept,
        trash=trash,
        radius=clustering.radius / unit,
        distortion=_distortion(trajectories, translated, kept, trash, mean_speed_m_s),
    )


def _distortion(
    trajectories: PointTrajectories,
    translated: Sequence[Translated],
    kept: BoolArray,
    trash: IntArray,
    mean_speed_m_s: float,
) -> Distortion:
    """Sum up the distortion; ``kept`` and ``trash`` as in :class:`AnonymitySets`."""
    points_trashed = int(np.diff(trajectories.starts)[trash].sum())
    translation_mm = [
        np.rint((cluster.moved_m + cluster.shifted_s * mean_speed_m_s) * 1000).astype(np.int64)
        for cluster in translated
    ]
    return Distortion(
        points_deleted=int((~kept).sum()) - points_trashed,
        points_trashed=points_trashed,
        points_translated=sum(
            int(np.count_nonzero((cluster.moved_m > 0) | (cluster.shifted_s > 0))) for cluster in translated
        ),
        space_translation_m=sum(float(cluster.moved_m.sum()) for cluster in translated),
        time_translation_s=sum(float(cluster.shifted_s.sum()) for cluster in translated),
        translation_mm=sum(int(of_cluster.sum()) for of_cluster in translation_mm),
        largest_translation_mm=max((int(of_cluster.max(initial=0)) for of_cluster in translation_mm), default=0),
        discernibility=sum(len(cluster.members) ** 2 for cluster in translated) + len(trash) * len(trajectories.users),
    )
