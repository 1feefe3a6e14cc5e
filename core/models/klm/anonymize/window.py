"""Anonymize one window, given an order of its people and the number of clusters to cut it into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.models.klm.anonymize.carriers import Carriers
from core.models.klm.anonymize.merge import generalize_cluster
from core.models.klm.anonymize.suppress import suppress_sensitive
from core.models.klm.guarantee import KLmDiversity
from core.records.arrays import BoolArray, FloatArray, IntArray, ranges
from core.trajectories.recoding import SUPPRESSED, Label, Recoding
from core.trajectories.trajectory import Sequences
from core.utility.distance import diameter
from core.utility.recoded import recoded_visit_distance

__all__ = ["Clustered", "ClusteredWindow"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clustered:
    """Result of ZGA, SGA or l^m-Anon for a window."""

    recoding: Recoding
    """Label that each visit is released as."""

    clusters: int
    """Number of clusters; 0 if nobody has a nonsensitive visit."""

    merges: int
    """How many times two generalized locations were made one, over all clusters."""

    loss: float
    """Loss that a search compares, in ``0..1``. A released visit counts the mean distance to the members of its label,
    as a share of the largest distance between visited locations; a suppressed visit counts 1. Nonsensitive and
    sensitive visits are averaged separately, because the latter may be few; the two means count one half each, if there
    are both; 0 without visits. Not for publication: it depends on suppressed visits."""

    tried: tuple[int, ...]
    """Numbers of clusters that were tried, in order."""

    work: int
    """Steps of counted work, over all numbers tried: see :attr:`core.models.klm.anonymize.merge.MergedCluster.work`."""


class ClusteredWindow:
    """One window, to be anonymized in different numbers of clusters.

    People without a nonsensitive visit are in no cluster: nothing of theirs is generalized.

    Args:
        trajectories: The window, ``n`` trajectories with ``p`` visits.
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        sensitive: Whether a location is sensitive, shape ``(L,)``.
        guarantee: k, l and m.

    Raises:
        ValueError: A position is missing or not finite, or ``sensitive`` has not one entry per location.
    """

    def __init__(
        self, trajectories: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> None:
        trajectories.check_positions(xy_m)
        if len(sensitive) != len(xy_m):
            raise ValueError(f"sensitive has {len(sensitive)} entries: xy_m has {len(xy_m)} rows")
        self._trajectories, self._xy_m, self._guarantee = trajectories, xy_m, guarantee
        self._carriers = Carriers.of(trajectories, sensitive)
        self._is_sensitive: BoolArray = sensitive[trajectories.locations]  # (p,)
        self._widest_m = diameter(xy_m[np.unique(trajectories.locations)])
        self.shown = trajectories.where(~self._is_sensitive)
        """The nonsensitive part, one trajectory for each of the window's; some may be empty."""

        self._in_a_cluster = np.zeros(trajectories.n_users, np.bool_)
        self._in_a_cluster[self.shown.users[np.diff(self.shown.starts) > 0]] = True

    @property
    def most_clusters(self) -> int:
        """Most clusters such that each has at least k people; 1 with fewer than k people."""
        return max(1, int(np.count_nonzero(self._in_a_cluster)) // self._guarantee.k)

    def anonymize(self, order: IntArray, number: int) -> Clustered:
        """Anonymize in a number of clusters, or in :attr:`most_clusters` if that is smaller.

        Args:
            order: All people, shape ``(n_users,)``.
            number: Number of clusters; their sizes differ by at most one person.
        """
        number = min(number, self.most_clusters)
        order = order[self._in_a_cluster[order]]
        label_of = np.full(len(self._trajectories.locations), SUPPRESSED, np.int64)
        nonsensitive = np.flatnonzero(~self._is_sensitive)
        labels: list[Label] = []
        merges = work = 0
        for sequences, visits, people in self._clusters(order, number):
            cluster = generalize_cluster(sequences, self._xy_m, self._carriers.only(people), self._guarantee)
            kept = cluster.label_of != SUPPRESSED
            label_of[nonsensitive[visits[kept]]] = cluster.label_of[kept] + len(labels)
            labels += cluster.labels
            merges, work = merges + cluster.merges, work + cluster.work
        recoding = self._with_sensitive(Recoding.of(labels, label_of))
        return Clustered(
            recoding=recoding,
            clusters=number if len(order) else 0,
            merges=merges,
            loss=self._loss(recoding),
            tried=(number,),
            work=work,
        )

    def _clusters(self, order: IntArray, number: int) -> Iterator[tuple[Sequences, IntArray, IntArray]]:
        """Yield each cluster's nonsensitive visits, their indices among all nonsensitive visits, and its people."""
        cluster_of = np.full(self._trajectories.n_users, -1)
        cluster_of[order] = np.arange(len(order)) * number // max(len(order), 1)
        of_trajectory = cluster_of[self.shown.users]
        by_cluster = np.argsort(of_trajectory, kind="stable")
        bounds = np.searchsorted(of_trajectory[by_cluster], np.arange(number + 1))
        lengths = np.diff(self.shown.starts)
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            trajectories = by_cluster[start:end]
            starts = np.append(0, np.cumsum(lengths[trajectories]))
            visits = ranges(self.shown.starts[trajectories], lengths[trajectories])
            people, users = np.unique(self.shown.users[trajectories], return_inverse=True)
            yield Sequences(users=users, starts=starts, locations=self.shown.locations[visits]), visits, people

    def _with_sensitive(self, recoding: Recoding) -> Recoding:
        """Add the sensitive visits that may be released to a recoding of the others."""
        carriers, trajectories = self._carriers, self._trajectories
        suppressed = suppress_sensitive(recoding.apply(trajectories), carriers, self._guarantee)
        n_places = max(len(carriers.locations), 1)
        released = (carriers.users * n_places + carriers.places)[~suppressed]
        at = np.flatnonzero(self._is_sensitive)
        user_of = trajectories.owners
        place = np.searchsorted(carriers.locations, trajectories.locations[at])
        left = np.isin(user_of[at] * n_places + place, released)
        label_of = recoding.label_of.copy()
        label_of[at[left]] = place[left] + len(recoding.labels)
        return Recoding.of([*recoding.labels, *((location,) for location in carriers.locations.tolist())], label_of)

    def _loss(self, recoding: Recoding) -> float:
        distance_m = recoded_visit_distance(self._trajectories, self._xy_m, recoding)
        share = distance_m / self._widest_m if self._widest_m > 0 else np.where(np.isnan(distance_m), np.nan, 0.0)
        share[np.isnan(share)] = 1.0  # suppressed
        halves = [share[half] for half in (self._is_sensitive, ~self._is_sensitive) if half.any()]
        return float(np.mean([half.mean() for half in halves])) if halves else 0.0
