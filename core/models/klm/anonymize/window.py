"""One window, anonymized in a given number of clusters of a given order of its people."""

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
    """What ZGA, SGA or l^m-Anon made of a window."""

    recoding: Recoding
    """What to release."""

    clusters: int
    """In how many clusters; 0 where nobody has a nonsensitive visit."""

    merges: int
    """How many times two generalized locations were made one, over all clusters."""

    loss: float
    """What a search compares, in ``0..1``: the mean over visits of the distance to the members of the label, as a share
    of the largest distance between locations that are visited, where a suppressed visit counts 1. The mean over
    nonsensitive visits and that over sensitive ones, of whom there may be few, count one half each, where there are
    both; 0 without any visit. For the operator: it depends on what is not released."""

    tried: tuple[int, ...]
    """Numbers of clusters that were tried, in their order."""

    work: int
    """Steps of counted work, over all numbers tried: see :attr:`core.models.klm.anonymize.merge.MergedCluster.work`."""


class ClusteredWindow:
    """One window, and what is tried on it.

    People without a nonsensitive visit are in no cluster: nothing of theirs is generalized.

    Args:
        trajectories: The window, ``n`` trajectories with ``p`` visits.
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        sensitive: Whether a location is sensitive, shape ``(L,)``.
        guarantee: k, l and m.

    Raises:
        ValueError: A position is missing or not finite, or ``sensitive`` is over other locations.
    """

    def __init__(
        self, trajectories: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> None:
        trajectories.check_positions(xy_m)
        if len(sensitive) != len(xy_m):
            raise ValueError(f"sensitive tells of {len(sensitive)} locations: xy_m has {len(xy_m)} rows")
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
        """Into how many clusters the people can be cut so that each has k of them; 1 where there are fewer than k."""
        return max(1, int(np.count_nonzero(self._in_a_cluster)) // self._guarantee.k)

    def anonymize(self, order: IntArray, number: int) -> Clustered:
        """Anonymize in a number of clusters, or in the most there can be.

        Args:
            order: All people, shape ``(n_users,)``.
            number: How many clusters, of as many people each, or one less.
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
        """Yield the nonsensitive visits of each cluster, which of all nonsensitive ones they are, and whose."""
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
        """Add the sensitive visits to a recoding of the others, as far as they can be told."""
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
