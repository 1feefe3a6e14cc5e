"""Wait for Me: (k,delta)-anonymity of GPS trajectories by clustering and translation.

Abul, Bonchi, Nanni 2010, as described by Theodosopoulos 2013, section 4.1: greedy clustering by LSTD, then each
cluster becomes a set whose members are together at all times. Where trajectories demand different k and delta, it is
Personalized Wait for Me (Algorithms 2 and 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.anonymize.clustering import Clustering, greedy_clustering
from core.anonymize.translation import Translated, translate_exchangeable, translate_minimal
from core.lstd import Lstd
from core.trajectory import Demands, FloatArray, IntArray, PointTrajectories

__all__ = ["Wait4MeOptions", "Wait4MeResult", "wait4me"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait4MeOptions:
    """How Wait for Me goes about it; none of this changes what is promised.

    Raises:
        ValueError: An option is out of its range.
    """

    translation: Literal["exchangeable", "minimal"] = "exchangeable"
    """``exchangeable`` draws all members from common discs; ``minimal`` is the published rule, which leaves the
    pivot's raw trajectory in the release."""

    time_step_ms: int = 30_000
    """Step of the grid of published time stamps, ``exchangeable`` only. At least 1."""

    time_tolerance_s: float = 300.0
    """Tolerance in time, seconds, of LSTD and EDR. At least 0. A quarter to a third of a window lets people who
    take the same way a little later be clustered."""

    max_radius_m: float = 5_000.0
    """Largest distance (LSTD, so it includes shifts in time) of a member from its pivot before the radius grows,
    metres. Above 0."""

    trash_share: float = 0.1
    """Largest share of trajectories in the trash before the radius grows, in ``0..1``."""

    space_tolerance_m: float | None = None
    """Tolerance of EDR in each coordinate, metres, ``minimal`` only. At least 0. Left out, it is the delta of the set:
    what matches is then about what the disc can hold."""

    margin_m: float = 0.5
    """How much less than the delta of their set the discs measure across, metres; at least 0. A delta that is not
    larger cannot be given: who demands it is suppressed.

    The promise is kept in published coordinates. Rounding to 1e-6 degrees moves a point by up to 0.08 m, a pair by
    0.16 m. An azimuthal equidistant projection, on WGS84, never shows a distance shorter than it is, so it needs
    nothing. The rest is for projections that do, by up to 1 part in 1,500 of a delta of 500 m."""

    def __post_init__(self) -> None:
        if self.translation not in ("exchangeable", "minimal"):
            raise ValueError(f"translation is {self.translation!r}: it must be 'exchangeable' or 'minimal'")
        if self.time_step_ms < 1:
            raise ValueError(f"time_step_ms is {self.time_step_ms}: it must be at least 1")
        if not 0 < self.max_radius_m < float("inf"):
            raise ValueError(f"max_radius_m is {self.max_radius_m}: it must be a finite number above 0")
        if not 0 <= self.trash_share <= 1:
            raise ValueError(f"trash_share is {self.trash_share}: it must be in 0..1")
        for name in ("time_tolerance_s", "space_tolerance_m", "margin_m"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{name} is {value}: it must be a finite number, at least 0")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wait4MeResult:
    """A candidate for release: ``r`` trajectories with ``q`` points, made from ``n`` with ``p``."""

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

    kept: npt.NDArray[np.bool_]
    """Whether each input point was released: its trajectory was, and it took part. Otherwise it is suppressed, by
    the trash or by a deletion. Shape ``(p,)``."""

    trash: IntArray
    """Input trajectories that were left out, ascending, shape ``(n - r,)``."""

    radius_m: float
    """Radius with which the clusters were formed, metres."""

    created: IntArray
    """Published points of each released trajectory without a counterpart in its input, shape ``(r,)``."""

    points_deleted: int
    """Input points of released trajectories that took no part."""

    points_translated: int
    """Published points that differ from their counterpart in position or time."""

    space_translation_m: float
    """Sum of the distances between published points and their counterparts, metres."""

    time_translation_s: float
    """Sum of the times between published points and their counterparts, seconds."""

    discernibility: int
    """Sum of the squared sizes of the sets plus ``n`` for each trajectory in the trash (Abul et al. 2008)."""

    @property
    def points_created(self) -> int:
        """Published points without a counterpart in their trajectory."""
        return int(self.created.sum())

    @property
    def mean_space_translation_m(self) -> float:
        """Mean distance of a published point from its counterpart, where it has one, metres."""
        return self.space_translation_m / max(len(self.t_ms) - self.points_created, 1)

    @property
    def mean_time_translation_s(self) -> float:
        """Mean time between a published point and its counterpart, where it has one, seconds."""
        return self.time_translation_s / max(len(self.t_ms) - self.points_created, 1)


def wait4me(
    trajectories: PointTrajectories, demands: Demands, options: Wait4MeOptions, rng: np.random.Generator
) -> Wait4MeResult:
    """Make trajectories (k,delta)-anonymous, each with the k and delta it demands.

    A set has as many distinct users as the most demanding of its members asks for, within the smallest delta that
    any of them asks for. Who fits into no such set is suppressed.

    Args:
        trajectories: The window's trajectories, none of them empty.
        demands: What to give each of them; with all alike this is Wait for Me.
        options: How to go about it.
        rng: Source of all chance; drawn from set by set, as often as the input alone determines.

    Raises:
        ValueError: A trajectory has no point.

    >>> there = np.array([[0.0, 0.0], [10.0, 0.0]])
    >>> two = PointTrajectories(
    ...     users=np.array([0, 1]), starts=np.array([0, 1, 2]), t_ms=np.array([500, 700]), xy_m=there
    ... )
    >>> result = wait4me(two, Demands.alike(2, k=2, delta_m=100.0), Wait4MeOptions(), np.random.default_rng(7))
    >>> result.sets.tolist(), result.t_ms.tolist(), result.kept.tolist()
    ([0, 0], [0, 0], [True, True])
    """
    # No disc is that small: as little to be had as more people than there are.
    impossible = demands.delta_m <= options.margin_m
    attainable = replace(demands, k=np.where(impossible, trajectories.n_users + 2, demands.k))
    distances = Lstd(trajectories, tolerance_s=options.time_tolerance_s)
    clustering = greedy_clustering(
        trajectories,
        distances,
        attainable,
        max_radius_m=options.max_radius_m,
        trash_share=options.trash_share,
    )
    translated = []
    for cluster, pivot in enumerate(clustering.pivots.tolist()):
        members = np.flatnonzero(clustering.cluster == cluster)
        delta_m = float(demands.delta_m[members].min())
        diameter_m = delta_m - options.margin_m
        if options.translation == "minimal":
            tolerance_m = delta_m if options.space_tolerance_m is None else options.space_tolerance_m
            one = translate_minimal(
                trajectories,
                members,
                pivot,
                diameter_m=diameter_m,
                space_tolerance_m=tolerance_m,
                time_tolerance_s=options.time_tolerance_s,
                rng=rng,
            )
        else:
            one = translate_exchangeable(
                trajectories,
                members,
                pivot,
                matching=distances,
                diameter_m=diameter_m,
                time_step_ms=options.time_step_ms,
                rng=rng,
            )
        translated.append(one)
    return _result(trajectories, clustering, translated)


def _result(trajectories: PointTrajectories, clustering: Clustering, translated: list[Translated]) -> Wait4MeResult:
    sizes = [len(one.members) for one in translated]
    lengths = [len(one.t_ms) for one, size in zip(translated, sizes, strict=True) for _ in range(size)]
    trash = np.flatnonzero(clustering.cluster < 0)
    kept = np.zeros(len(trajectories.t_ms), dtype=bool)
    for one in translated:
        kept[one.taking_part] = True
    in_trash = int(np.diff(trajectories.starts)[trash].sum())
    return Wait4MeResult(
        sources=np.concatenate([np.zeros(0, np.int64), *(one.members for one in translated)]),
        sets=np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.int64)),
        starts=np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))]).astype(np.int64),
        t_ms=np.concatenate([np.zeros(0, np.int64), *(np.tile(o.t_ms, len(o.members)) for o in translated)]),
        xy_m=np.concatenate([np.zeros((0, 2)), *(one.xy_m.reshape(-1, 2) for one in translated)]),
        kept=kept,
        trash=trash,
        radius_m=clustering.radius_m,
        created=np.concatenate([np.zeros(0, np.int64), *(one.created.sum(axis=1) for one in translated)]),
        points_deleted=int((~kept).sum()) - in_trash,
        points_translated=sum(int(np.count_nonzero((one.moved_m > 0) | (one.shifted_s > 0))) for one in translated),
        space_translation_m=sum(float(one.moved_m.sum()) for one in translated),
        time_translation_s=sum(float(one.shifted_s.sum()) for one in translated),
        discernibility=sum(size * size for size in sizes) + len(trash) * len(trajectories.users),
    )
