"""The algorithms of the models of sets, each with its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from core.models.common.algorithm import Algorithm
from core.models.common.guarantee import Parameters
from core.models.common.location_nodes import LocationNodes
from core.models.km_sets.anonymize.apriori import HierarchyCut
from core.models.km_sets.anonymize.constraints import coat, pcta
from core.models.km_sets.anonymize.labels import LabelledParts
from core.models.km_sets.anonymize.lra import lra
from core.models.km_sets.guarantee import KmSetAnonymity
from core.places.constraints import Constraints
from core.places.meaning import Taxonomy
from core.trajectories.assemble import SequenceWindow
from core.trajectories.location_sets import location_sets
from core.trajectories.recoding import Label, Recoding

__all__ = ["LRA", "VPA", "Apriori", "ConstrainedSets", "SetAlgorithm"]

_CONSTRAINED = {"coat": coat, "pcta": pcta}


class SetAlgorithm(Algorithm, Protocol):
    """Makes the sets of locations of a window k^m-anonymous."""

    def anonymize(self, window: SequenceWindow, guarantee: KmSetAnonymity) -> Recoding | None:
        """Return the label of each visit; None if that is impossible under the settings."""
        ...


@dataclass(frozen=True, slots=True)
class Apriori:
    """Generalize along the hierarchy, for all people alike."""

    taxonomy: Taxonomy
    model: str = field(default="sets-apriori", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {"taxonomy": self.taxonomy.name}

    def anonymize(self, window: SequenceWindow, guarantee: KmSetAnonymity) -> Recoding | None:
        """See :meth:`SetAlgorithm.anonymize`."""
        if window.n_users < guarantee.k:
            return None
        hierarchy = LocationNodes(self.taxonomy.paths(window.vocabulary))
        cut = HierarchyCut(location_sets(window.sequences).lists(), hierarchy)
        for top in self._tops(hierarchy):
            cut.anonymize(k=guarantee.k, m=guarantee.m, top=top)
        return _alike(window, cut.labels())

    def _tops(self, hierarchy: LocationNodes) -> list[int | None]:
        """Return the nodes below which locations are generalized, one after the other; None stands for everything."""
        return [None]


@dataclass(frozen=True, slots=True)
class LRA:
    """Generalize along the hierarchy, in parts of people who are alike."""

    taxonomy: Taxonomy
    people_per_part: int
    model: str = field(default="sets-lra", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {"taxonomy": self.taxonomy.name, "people_per_part": self.people_per_part}

    def anonymize(self, window: SequenceWindow, guarantee: KmSetAnonymity) -> Recoding | None:
        """See :meth:`SetAlgorithm.anonymize`."""
        if window.n_users < guarantee.k:
            return None
        parts = lra(
            location_sets(window.sequences).lists(),
            LocationNodes(self.taxonomy.paths(window.vocabulary)),
            k=guarantee.k,
            m=guarantee.m,
            people_per_part=self.people_per_part,
        )
        return parts.recoding(window.sequences)


@dataclass(frozen=True, slots=True)
class VPA(Apriori):
    """Generalize along the hierarchy, first below each of its highest nodes alone, then everywhere.

    VPA (Terrovitis, Mamoulis, Kalnis 2011) divides the locations, not the people. Its text is not at hand; settled
    here: the parts are the branches right below the lowest node above all locations of the window.
    """

    model: str = field(default="sets-vpa", init=False)

    def _tops(self, hierarchy: LocationNodes) -> list[int | None]:
        return [*hierarchy.branches, None]


@dataclass(frozen=True, slots=True)
class ConstrainedSets:
    """Merge locations within utility constraints: by COAT or by PCTA."""

    model: str
    """``coat`` or ``pcta``."""

    constraints: Constraints
    max_suppressed_percent: float

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {"constraints": self.constraints.name, "suppression_percent": self.max_suppressed_percent}

    def anonymize(self, window: SequenceWindow, guarantee: KmSetAnonymity) -> Recoding | None:
        """See :meth:`SetAlgorithm.anonymize`."""
        labels = _CONSTRAINED[self.model](
            location_sets(window.sequences).lists(),
            window.vocabulary.xy_m,
            self.constraints.labels(window.vocabulary),
            k=guarantee.k,
            m=guarantee.m,
            max_suppressed_percent=self.max_suppressed_percent,
        )
        return None if labels is None else _alike(window, labels)


def _alike(window: SequenceWindow, labels: dict[int, Label]) -> Recoding:
    """Return the recoding in which a location has one label for all people."""
    everybody = np.zeros(window.sequences.n_users, np.int64)
    return LabelledParts(part_of=everybody, labels=[labels]).recoding(window.sequences)
