"""Organize: which algorithm makes clusters of similar people, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from core.anonymize.klm.organize import Clusters, lm_anon, sga, zga
from core.anonymize.klm.window import Clustered
from core.guarantees import KLmDiversity
from core.trajectory import FloatArray, Sequences

__all__ = ["SGA", "ZGA", "LmAnon", "Organizer"]

BoolArray = npt.NDArray[np.bool_]
Parameters = dict[str, float | int | str]


class Organizer(Protocol):
    """Makes a window (k,l)^m-anonymous."""

    @property
    def model(self) -> str:
        """Its name, as in the settings."""
        ...

    @property
    def parameters(self) -> Parameters:
        """What it does beside its promise, for the windows message."""
        ...

    def organize(
        self, sequences: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> Clustered:
        """See :func:`core.anonymize.klm.organize.zga`."""
        ...


@dataclass(frozen=True, slots=True)
class LmAnon:
    """All people in one cluster."""

    model: str = field(default="lm-anon", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Organizer.parameters`."""
        return {}

    def organize(
        self, sequences: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> Clustered:
        """See :meth:`Organizer.organize`."""
        return lm_anon(sequences, xy_m, sensitive, guarantee)


@dataclass(frozen=True, slots=True)
class ZGA:
    """Clusters of people who visited the same or neighbouring places."""

    clusters: Clusters
    model: str = field(default="zga", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Organizer.parameters`."""
        return _clusters(self.clusters)

    def organize(
        self, sequences: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> Clustered:
        """See :meth:`Organizer.organize`."""
        return zga(sequences, xy_m, sensitive, guarantee, self.clusters)


@dataclass(frozen=True, slots=True)
class SGA:
    """Clusters of people with frequent ways in common."""

    clusters: Clusters
    top: int
    model: str = field(default="sga", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Organizer.parameters`."""
        return {**_clusters(self.clusters), "key_patterns": self.top}

    def organize(
        self, sequences: Sequences, xy_m: FloatArray, sensitive: BoolArray, guarantee: KLmDiversity
    ) -> Clustered:
        """See :meth:`Organizer.organize`."""
        return sga(sequences, xy_m, sensitive, guarantee, self.clusters, top=self.top)


def _clusters(clusters: Clusters) -> Parameters:
    return {"clusters": "searched" if clusters.number is None else clusters.number}
