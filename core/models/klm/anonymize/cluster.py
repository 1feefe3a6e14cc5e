"""ZGA and SGA: (k,l)^m-anonymity by clusters of similar people (Select-Organize-Anonymize, Section III).

Both sort people by a key in Gray order, cut that order into clusters of equal size, and generalize each cluster on
its own (:mod:`core.models.klm.anonymize.merge`). They differ in the key alone: the locations that a person
visited, in Z-order (ZGA), or the most frequent subtrajectories that the person's trajectories contain (SGA).

Each person is in one cluster, so clusters have nobody in common. The support of a label sequence in the whole release
is therefore the sum of its supports in the clusters; and if a sensitive location's share is at most 1/l in each
cluster, it is at most 1/l in all together. Shares that merging leaves too high are lowered by suppression over the
whole release, where equal labels of different clusters are one (:mod:`core.models.klm.anonymize.suppress`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from core.models.klm.anonymize.keys import gray_order, location_keys, subtrajectory_keys, z_order
from core.models.klm.anonymize.window import Clustered, ClusteredWindow
from core.models.klm.guarantee import KLmDiversity
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.support.top import top_subtrajectories
from core.trajectories.trajectory import Sequences

__all__ = ["ClusterSearch", "lm_anon", "sga", "zga"]

_WORSE = 2
"""A search ends when this many numbers of clusters in a row lose no less than the best before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSearch:
    """How many clusters to make.

    Raises:
        ValueError: A number is out of its range.
    """

    number: int | None = None
    """Number of clusters, at least 1, but at most as many as leave k people in each; None to try 1, 2, 4, 8, ... and
    take the number with the least loss."""

    work: int = 5_000_000
    """Budget of a search, at least 0: steps of counted work
    (:attr:`core.models.klm.anonymize.merge.MergedCluster.work`) after which no further number is tried. A number that
    is begun is finished, and the result does not depend on time."""

    def __post_init__(self) -> None:
        if self.number is not None and self.number < 1:
            raise ValueError(f"the number of clusters is {self.number}: it must be at least 1, or None to search")
        if self.work < 0:
            raise ValueError(f"work is {self.work}: it must be at least 0")


def zga(
    trajectories: Sequences,
    xy_m: FloatArray,
    sensitive: BoolArray,
    guarantee: KLmDiversity,
    clusters: ClusterSearch | None = None,
) -> Clustered:
    """Make a window (k,l)^m-anonymous, generalizing among people who visited the same places (Algorithm ZGA).

    Args:
        trajectories: The window. Support counts its distinct people.
        xy_m: Position of each location, metres, shape ``(L, 2)``; ids are rows.
        sensitive: Whether a location is sensitive, shape ``(L,)``. A sensitive location is released as it is, or
            suppressed.
        guarantee: k, l and m. With fewer than k people everything is suppressed.
        clusters: How many; None to search.

    Raises:
        ValueError: A position is missing or not finite, or ``sensitive`` has not one entry per location.
    """
    window = ClusteredWindow(trajectories, xy_m, sensitive, guarantee)
    order = gray_order(location_keys(window.shown, z_order(xy_m)), len(xy_m))
    return _clustered(window, order, clusters or ClusterSearch())


def sga(
    trajectories: Sequences,
    xy_m: FloatArray,
    sensitive: BoolArray,
    guarantee: KLmDiversity,
    clusters: ClusterSearch | None = None,
    *,
    top: int = 10,
) -> Clustered:
    """Make a window (k,l)^m-anonymous, generalizing among people with common frequent subtrajectories (SGA).

    Args:
        trajectories: As for :func:`zga`.
        xy_m: As for :func:`zga`.
        sensitive: As for :func:`zga`.
        guarantee: As for :func:`zga`.
        clusters: As for :func:`zga`.
        top: How many of the most frequent subtrajectories make the key, K, at least 1.

    Raises:
        ValueError: As for :func:`zga`, or ``top`` is below 1.
    """
    if top < 1:
        raise ValueError(f"top is {top}: it must be at least 1")
    window = ClusteredWindow(trajectories, xy_m, sensitive, guarantee)
    frequent = [subtrajectory for subtrajectory, _ in top_subtrajectories(window.shown, top)]
    order = gray_order(subtrajectory_keys(window.shown, frequent), len(frequent))
    return _clustered(window, order, clusters or ClusterSearch())


def lm_anon(trajectories: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity) -> Clustered:
    """Make a window (k,l)^m-anonymous in one cluster: a global recoding (Algorithm l^m-Anon).

    Arguments and errors as for :func:`zga`.
    """
    window = ClusteredWindow(trajectories, xy_m, sensitive, guarantee)
    return _clustered(window, np.arange(trajectories.n_users), ClusterSearch(number=1))


def _clustered(window: ClusteredWindow, order: IntArray, clusters: ClusterSearch) -> Clustered:
    """Cut an order of the people into clusters, as many as asked for, or the number with the least loss."""
    if clusters.number is not None:
        return window.anonymize(order, clusters.number)
    best = window.anonymize(order, 1)
    work, worse, tried = best.work, 0, [1]
    while worse < _WORSE and work < clusters.work and 2 * tried[-1] <= window.most_clusters:
        tried.append(2 * tried[-1])
        found = window.anonymize(order, tried[-1])
        work += found.work
        better = found.loss < best.loss
        best, worse = (found, 0) if better else (best, worse + 1)
    return replace(best, tried=tuple(tried), work=work)
