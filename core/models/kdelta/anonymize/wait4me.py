"""Wait for Me: (k,delta)-anonymity of GPS trajectories by clustering and translation.

Abul, Bonchi, Nanni 2010, as described by Theodosopoulos 2013, section 4.1: greedy clustering by EDR or LSTD, of the
whole data set or of chunks of it, then each cluster becomes a set whose members are together at all times. If
trajectories demand different k and delta, it is Personalized Wait for Me (Algorithms 2 and 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from core.models.kdelta.anonymize.across import Across
from core.models.kdelta.anonymize.cluster.chunks import similar_chunks
from core.models.kdelta.anonymize.cluster.clustering import Clustering, greedy_clustering
from core.models.kdelta.anonymize.companions import Companions
from core.models.kdelta.anonymize.distance.distances import Distances
from core.models.kdelta.anonymize.distance.edr import Edr
from core.models.kdelta.anonymize.distance.lstd import Lstd
from core.models.kdelta.anonymize.distance.matching import Matching
from core.models.kdelta.anonymize.sets import AnonymitySets, SetOptions, anonymity_sets
from core.models.kdelta.anonymize.translation import Translated, translate_exchangeable, translate_minimal
from core.records.arrays import starts_of
from core.trajectories.trajectory import Demands, PointTrajectories

__all__ = ["Wait4Me", "Wait4MeOptions", "wait4me"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait4MeOptions(SetOptions):
    """Options of Wait for Me; none of them changes the guarantee.

    With ``minimal`` translation the pivot's raw trajectory is in the release.

    Raises:
        ValueError: An option is out of its range.
    """

    distance: Literal["lstd", "edr"] = "lstd"
    """How trajectories are compared: by their mean distance in space and time (``lstd``), or by the share of points
    without a counterpart (``edr``)."""

    time_tolerance_s: float = 300.0
    """Tolerance in time of LSTD and EDR, seconds. At least 0. With a quarter to a third of a window, people who take
    the same way at slightly different times can be clustered."""

    space_tolerance_m: float | None = None
    """Tolerance of EDR in each coordinate, metres. At least 0. If None, a set is edited with its own delta (points that
    match then fit roughly into the disc), and trajectories are compared with the largest delta demanded."""

    max_radius_edits: float = 0.5
    """Largest distance of a member from its pivot by EDR before the radius grows, edits a point, above 0 and below 1;
    it replaces ``max_radius_m``. It never grows to 1, which is the distance of all trajectories without a common
    counterpart."""

    span_step_ms: int | None = None
    """Sets begin and end at multiples of this, with ``exchangeable`` translation. A multiple of ``time_step_ms``; None
    is ``time_step_ms``."""

    chunk_size: int | None = None
    """Most trajectories that are clustered together, at least 2; larger data sets are divided. None is no limit."""

    def __post_init__(self) -> None:
        SetOptions.__post_init__(self)
        if self.distance not in ("lstd", "edr"):
            raise ValueError(f"distance is {self.distance!r}: it must be 'lstd' or 'edr'")
        for name in ("time_tolerance_s", "space_tolerance_m"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{name} is {value}: it must be a finite number, at least 0")
        if not 0 < self.max_radius_edits < 1:
            raise ValueError(f"max_radius_edits is {self.max_radius_edits}: it must be above 0 and below 1")
        if self.span_step_ms is not None and (self.span_step_ms < 1 or self.span_step_ms % self.time_step_ms):
            raise ValueError(
                f"span_step_ms is {self.span_step_ms}: it must be a multiple of time_step_ms, {self.time_step_ms}"
            )
        if self.chunk_size is not None and self.chunk_size < 2:
            raise ValueError(f"chunk_size is {self.chunk_size}: it must be at least 2")


def wait4me(
    trajectories: PointTrajectories,
    demands: Demands,
    options: Wait4MeOptions,
    rng: np.random.Generator,
    across: Across | None = None,
) -> AnonymitySets:
    """Make trajectories (k,delta)-anonymous, each with the k and delta it demands.

    A set has at least as many distinct users as its most demanding member asks for, within the smallest delta that any
    member asks for. A trajectory that fits into no such set is suppressed.

    Args:
        trajectories: The window's trajectories, none of them empty.
        demands: k and delta of each trajectory; if all are equal, this is Wait for Me.
        options: Options of Wait for Me.
        rng: Source of all random choices, used set by set; the number of draws depends on the input alone.
        across: Makes the clusters keep a promise about earlier windows; None if there is none.

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
    largest_delta_m = float(demands.delta_m.max(initial=0.0))
    return Wait4Me(trajectories, options, largest_delta_m=largest_delta_m, across=across).anonymize(demands, rng)


class Wait4Me:
    """Wait for Me over one data set; distances measured for one call serve later calls with other demands.

    Args:
        trajectories: The window's trajectories, none of them empty.
        options: Options of Wait for Me.
        largest_delta_m: Tolerance in space with which EDR compares trajectories if the options give none, metres.
        across: Makes the clusters keep a promise about earlier windows; None if there is none.

    Raises:
        ValueError: A trajectory has no point.
    """

    def __init__(
        self,
        trajectories: PointTrajectories,
        options: Wait4MeOptions,
        *,
        largest_delta_m: float,
        across: Across | None = None,
    ) -> None:
        self._trajectories, self._options, self._across = trajectories, options, across
        self._companions: Companions | None = None if across is None else across.companions
        self._matching = Matching(trajectories, tolerance_s=options.time_tolerance_s)

        def measure(some: PointTrajectories) -> Distances:
            if options.distance == "lstd":
                return Lstd(some, tolerance_s=options.time_tolerance_s)
            tolerance_m = largest_delta_m if options.space_tolerance_m is None else options.space_tolerance_m
            return Edr(some, space_tolerance_m=tolerance_m, time_tolerance_s=options.time_tolerance_s)

        companions = self._companions
        compared = trajectories if companions is None else companions.ahead(trajectories)
        self._chunks = similar_chunks(
            compared,
            measure,
            largest=options.chunk_size or max(len(trajectories.users), 1),
            apart=None if companions is None else companions.apart(trajectories),
        )
        self._distances = None if companions is None or companions.is_alone else measure(compared)
        """Distances between trajectories of different chunks; None if they are never together."""

    def anonymize(self, demands: Demands, rng: np.random.Generator) -> AnonymitySets:
        """Make the trajectories (k,delta)-anonymous: see :func:`wait4me`."""
        options = self._options
        # No disc can be that small: such a demand is replaced by one for more people than there are.
        impossible = demands.delta_m <= options.margin_m
        attainable = replace(demands, k=np.where(impossible, self._trajectories.n_users + 2, demands.k))
        clustering = self._cluster(attainable)
        return anonymity_sets(
            self._trajectories,
            clustering,
            self._translate(clustering, demands, rng),
            unit=self._unit,
            mean_speed_m_s=self._matching.mean_speed_m_s,
        )

    @property
    def _unit(self) -> int:
        return Edr.unit if self._options.distance == "edr" else Lstd.unit

    def _cluster(self, demands: Demands) -> Clustering:
        """Cluster the trajectories so that the demands and the promise about earlier windows are kept."""
        options, companions, unit = self._options, self._companions, self._unit
        by_edr = options.distance == "edr"
        radius = options.max_radius_edits if by_edr else options.max_radius_m
        clustering = greedy_clustering(
            self._chunks,
            demands if companions is None else companions.wanted(demands, self._chunks, within_m=options.max_radius_m),
            max_radius=max(round(radius * unit), 1),
            largest_radius=unit - 1 if by_edr else None,
            trash_share=options.trash_share,
            refined=options.refined,
            regrouped=options.translation == "exchangeable",  # the published rule edits all members into the pivot
        )
        if companions is not None and self._distances is not None:
            clustering = companions.place_the_rest(clustering, self._trajectories, self._distances, demands)
        if self._across is not None:
            clustering = self._across.mend(clustering, self._trajectories.users, demands, self._chunks)
        return clustering

    def _translate(self, clustering: Clustering, demands: Demands, rng: np.random.Generator) -> list[Translated]:
        options = self._options
        deltas_m = np.minimum.reduceat(demands.delta_m[clustering.members], starts_of(clustering.sizes)[:-1])
        if options.translation == "exchangeable":
            return translate_exchangeable(
                self._trajectories,
                clustering,
                matching=self._matching,
                diameters_m=deltas_m - options.margin_m,
                time_step_ms=options.time_step_ms,
                span_step_ms=options.span_step_ms or options.time_step_ms,
                rng=rng,
            )
        return [
            translate_minimal(
                self._trajectories,
                of_set,
                pivot,
                diameter_m=delta_m - options.margin_m,
                space_tolerance_m=delta_m if options.space_tolerance_m is None else options.space_tolerance_m,
                time_tolerance_s=options.time_tolerance_s,
                rng=rng,
            )
            for of_set, pivot, delta_m in zip(
                clustering.of_each, clustering.pivots.tolist(), deltas_m.tolist(), strict=True
            )
        ]
