"""The algorithms of (k,l)^m-anonymity: each makes clusters of similar people in its own way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from core.models.common.algorithm import Algorithm
from core.models.common.guarantee import Parameters
from core.models.klm.anonymize.cluster import ClusterSearch, lm_anon, sga, zga
from core.models.klm.anonymize.window import Clustered
from core.models.klm.guarantee import KLmDiversity
from core.records.arrays import BoolArray, FloatArray
from core.trajectories.trajectory import Sequences

__all__ = ["SGA", "ZGA", "ClusterAlgorithm", "LmAnon"]


class ClusterAlgorithm(Algorithm, Protocol):
    """Makes a window (k,l)^m-anonymous, generalizing among the people of each cluster."""

    def anonymize(
        self, sequences: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> Clustered:
        """See :func:`core.models.klm.anonymize.cluster.zga`."""
        ...


@dataclass(frozen=True, slots=True)
class LmAnon:
    """Put all people in one cluster."""

    model: str = field(default="lm-anon", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {}

    def anonymize(
        self, sequences: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> Clustered:
        """See :meth:`ClusterAlgorithm.anonymize`."""
        return lm_anon(sequences, xy_m, sensitive, guarantee)


@dataclass(frozen=True, slots=True)
class ZGA:
    """Make clusters of people with the same or neighbouring places."""

    clusters: ClusterSearch
    model: str = field(default="zga", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return _clusters(self.clusters)

    def anonymize(
        self, sequences: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> Clustered:
        """See :meth:`ClusterAlgorithm.anonymize`."""
        return zga(sequences, xy_m, sensitive, guarantee, self.clusters)


@dataclass(frozen=True, slots=True)
class SGA:
    """Make clusters of people with frequent subtrajectories in common."""

    clusters: ClusterSearch
    top: int
    model: str = field(default="sga", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {**_clusters(self.clusters), "key_patterns": self.top}

    def anonymize(
        self, sequences: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> Clustered:
        """See :meth:`ClusterAlgorithm.anonymize`."""
        return sga(sequences, xy_m, sensitive, guarantee, self.clusters, top=self.top)


def _clusters(clusters: ClusterSearch) -> Parameters:
    return {"clusters": "searched" if clusters.number is None else clusters.number}
