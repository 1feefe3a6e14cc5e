"""The algorithms of k^m-anonymity: each uses other knowledge of the locations to generalize a window."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import comb
from typing import Protocol

import numpy as np

from core.models.common.algorithm import Algorithm
from core.models.common.guarantee import Parameters
from core.models.km.anonymize.horizon import ConstraintBudget
from core.models.km.anonymize.least_loss.anonymize import LeastLossOptions, least_loss
from core.models.km.anonymize.least_loss.prices import Prices, whole_window_m, window_loss_m
from core.models.km.anonymize.seqanon import Generalization, budget_of, sd_seqanon, seqanon, u_seqanon
from core.models.km.guarantee import KmAnonymity
from core.places.constraints import Constraints
from core.places.meaning import Taxonomy
from core.places.taxonomy import LocationTree
from core.records.arrays import IntArray
from core.trajectories.assemble import SequenceWindow
from core.trajectories.trajectory import Sequences

__all__ = ["Auto", "LeastLoss", "SDSeqAnon", "SeqAnon", "SequenceAlgorithm", "USeqAnon"]


class SequenceAlgorithm(Algorithm, Protocol):
    """Makes a window k^m-anonymous."""

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """Make a window k^m-anonymous; None if the constraints of the algorithm cannot be kept."""
        ...


@dataclass(frozen=True, slots=True)
class SeqAnon:
    """Merge locations by distance alone."""

    apriori: bool = True
    """Whether subtrajectories of 1, 2, ... locations are protected in turn; False is the paper's SeqAnon_F."""

    model: str = field(default="seqanon", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {} if self.apriori else {"apriori": False}

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`SequenceAlgorithm.anonymize`."""
        return seqanon(window.sequences, window.vocabulary.xy_m, guarantee, apriori=self.apriori)


@dataclass(frozen=True, slots=True)
class SDSeqAnon:
    """Merge locations by distance times semantic dissimilarity."""

    taxonomy: Taxonomy
    model: str = field(default="sd-seqanon", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {"taxonomy": self.taxonomy.name}

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`SequenceAlgorithm.anonymize`."""
        tree = LocationTree(self.taxonomy.paths(window.vocabulary))
        return sd_seqanon(window.sequences, window.vocabulary.xy_m, guarantee, tree)


@dataclass(frozen=True, slots=True)
class USeqAnon:
    """Merge locations by distance within utility constraints, and suppress locations up to a budget."""

    constraints: Constraints
    max_suppressed_percent: float
    model: str = field(default="u-seqanon", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {"constraints": self.constraints.name, "suppression_percent": self.max_suppressed_percent}

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`SequenceAlgorithm.anonymize`."""
        return u_seqanon(
            window.sequences,
            window.vocabulary.xy_m,
            guarantee,
            self._constraint_of(window),
            max_suppressed_percent=self.max_suppressed_percent,
        )

    def allowed(self, window: SequenceWindow) -> ConstraintBudget:
        """Return what the constraints allow in a window."""
        n_visited = len(np.unique(window.sequences.locations))
        return ConstraintBudget(
            constraint_of=self._constraint_of(window), budget=budget_of(n_visited, self.max_suppressed_percent)
        )

    def _constraint_of(self, window: SequenceWindow) -> IntArray:
        """Return the number of the constraint that holds each location, shape ``(L,)``."""
        numbers: dict[object, int] = {}
        labels = self.constraints.labels(window.vocabulary)
        return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class LeastLoss:
    """Merge locations, suppress visits or split trajectories, whichever costs least."""

    options: LeastLossOptions
    model: str = field(default="least-loss", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {
            **_prices(self.options.prices),
            "max_suppressed": self.options.max_suppressed_percent,
            "max_split": self.options.max_split_percent,
        }

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`SequenceAlgorithm.anonymize`."""
        return least_loss(window.sequences, window.vocabulary.xy_m, guarantee, self.options)


@dataclass(frozen=True, slots=True)
class Auto:
    """Try several algorithms on each window, and keep the result with the least loss."""

    candidates: tuple[SequenceAlgorithm, ...]
    """Algorithms in the order in which they are tried; the first one is always tried."""

    prices: Prices
    max_work: int
    """Most embeddings of subtrajectories that all candidates together may examine in a window. A count, not a time
    limit, so that a replay makes the same choice."""

    model: str = field(default="auto", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        named: Parameters = {"candidates": ", ".join(candidate.model for candidate in self.candidates)}
        for candidate in self.candidates:
            named |= candidate.parameters
        return named | _prices(self.prices)

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`SequenceAlgorithm.anonymize`."""
        sequences, xy_m = window.sequences, window.vocabulary.xy_m
        whole_m = whole_window_m(sequences, xy_m)
        affordable = max(1, self.max_work // max(1, embeddings(sequences, guarantee.m)))
        found: dict[str, tuple[float, Generalization]] = {}
        for candidate in self.candidates[:affordable]:
            result = candidate.anonymize(window, guarantee)
            if result is not None:
                loss_m = window_loss_m(sequences, xy_m, result, self.prices, whole_m=whole_m)
                found[candidate.model] = (loss_m, result)
        if not found:
            return None
        order = sorted(found, key=lambda name: found[name][0])  # stable: among equals, the one tried first
        return replace(found[order[0]][1], comparison={name: found[name][0] for name in order})


def embeddings(sequences: Sequences, m: int) -> int:
    """Count the ways to choose 1 to ``m`` visits of a trajectory, over all trajectories: the work of counting supports.

    >>> embeddings(Sequences(users=np.array([0]), starts=np.array([0, 4]), locations=np.array([1, 2, 3, 1])), 2)
    10
    """
    lengths, counts = np.unique(np.diff(sequences.starts), return_counts=True)
    return sum(
        n * comb(length, size)
        for length, n in zip(lengths.tolist(), counts.tolist(), strict=True)
        for size in range(1, min(m, length) + 1)
    )


def _prices(prices: Prices) -> Parameters:
    return {"suppression_price": prices.suppression, "split_price": prices.split}
