"""Generalize: which algorithm of the SeqAnon family works on a window, and by what knowledge of the locations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import comb
from typing import Protocol

import numpy as np

from core.anonymize.least_loss import LeastLossOptions, Prices, least_loss, whole_window_m, window_loss_m
from core.anonymize.seqanon import Generalization, sd_seqanon, seqanon, u_seqanon
from core.assemble import SequenceWindow
from core.guarantees import KmAnonymity
from core.locate import Locator
from core.taxonomy import Categories, LocationTree, Path
from core.trajectory import Sequences, Vocabulary

__all__ = [
    "Auto",
    "Constraints",
    "Generalizer",
    "LeastLoss",
    "LevelConstraints",
    "ListedConstraints",
    "OwnTaxonomy",
    "SDSeqAnon",
    "SeqAnon",
    "Taxonomy",
    "USeqAnon",
    "VenueTaxonomy",
]

Parameters = dict[str, float | int | str]


class Taxonomy(Protocol):
    """Where locations stand in a tree of meaning."""

    @property
    def name(self) -> str:
        """Named in every release that was made with it."""
        ...

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """Return the nodes above each location of a window, the coarsest first."""
        ...


@dataclass(frozen=True, slots=True)
class OwnTaxonomy:
    """The locations' own hierarchy: H3 parents, grid quadrants."""

    locator: Locator = field(repr=False)
    name: str = "own"

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """See :meth:`Taxonomy.paths`."""
        return self.locator.ancestors(vocabulary.ids)


@dataclass(frozen=True, slots=True)
class VenueTaxonomy:
    """A publisher's categories, and the category of each venue."""

    categories: Categories = field(repr=False)
    category_of: Mapping[str, str] = field(repr=False)
    name: str

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """See :meth:`Taxonomy.paths`."""
        return [self.categories.path(self.category_of[name]) for name in vocabulary.names]


class Constraints(Protocol):
    """Utility constraints: a partition of the locations; none is generalized together with another's."""

    @property
    def name(self) -> str:
        """Named in every release that was made with them."""
        ...

    def labels(self, vocabulary: Vocabulary) -> list[object]:
        """Return the constraint of each location of a window."""
        ...


@dataclass(frozen=True, slots=True)
class ListedConstraints:
    """Locations and their constraints as a publisher lists them."""

    constraint_of: Mapping[str, str] = field(repr=False)
    default: str | None
    """Constraint of locations that are not listed; None where all are."""

    name: str

    def labels(self, vocabulary: Vocabulary) -> list[object]:
        """See :meth:`Constraints.labels`."""
        return [self.constraint_of.get(name, self.default) for name in vocabulary.names]


@dataclass(frozen=True, slots=True)
class LevelConstraints:
    """The nodes of one level of a taxonomy; a location that stands above it is with its own node's."""

    taxonomy: Taxonomy
    level: int
    """1 for the nodes below the root."""

    @property
    def name(self) -> str:
        """Named in every release that was made with them."""
        return f"{self.taxonomy.name} level {self.level}"

    def labels(self, vocabulary: Vocabulary) -> list[object]:
        """See :meth:`Constraints.labels`."""
        return [path[: self.level] for path in self.taxonomy.paths(vocabulary)]


class Generalizer(Protocol):
    """One algorithm of the family, with what it has to know."""

    @property
    def model(self) -> str:
        """Its name in the settings."""
        ...

    @property
    def parameters(self) -> Parameters:
        """What a release tells of it."""
        ...

    def generalize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """Make a window k^m-anonymous; None where that cannot be done as asked."""
        ...


@dataclass(frozen=True, slots=True)
class SeqAnon:
    """Distance alone."""

    model: str = field(default="seqanon", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Generalizer.parameters`."""
        return {}

    def generalize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`Generalizer.generalize`."""
        return seqanon(window.sequences, window.vocabulary.xy_m, guarantee)


@dataclass(frozen=True, slots=True)
class SDSeqAnon:
    """Distance times semantic dissimilarity."""

    taxonomy: Taxonomy
    model: str = field(default="sd-seqanon", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Generalizer.parameters`."""
        return {"taxonomy": self.taxonomy.name}

    def generalize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`Generalizer.generalize`."""
        tree = LocationTree(self.taxonomy.paths(window.vocabulary))
        return sd_seqanon(window.sequences, window.vocabulary.xy_m, guarantee, tree)


@dataclass(frozen=True, slots=True)
class USeqAnon:
    """Distance inside utility constraints, with suppression up to a budget."""

    constraints: Constraints
    max_suppressed_percent: float
    model: str = field(default="u-seqanon", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Generalizer.parameters`."""
        return {"constraints": self.constraints.name, "suppression_percent": self.max_suppressed_percent}

    def generalize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`Generalizer.generalize`."""
        numbers: dict[object, int] = {}
        labels = self.constraints.labels(window.vocabulary)
        constraint_of = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
        return u_seqanon(
            window.sequences,
            window.vocabulary.xy_m,
            guarantee,
            constraint_of,
            max_suppressed_percent=self.max_suppressed_percent,
        )


@dataclass(frozen=True, slots=True)
class LeastLoss:
    """Distance, suppression and splits by one loss, whichever costs least."""

    options: LeastLossOptions
    model: str = field(default="least-loss", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Generalizer.parameters`."""
        return {
            **_prices(self.options.prices),
            "max_suppressed": self.options.max_suppressed_percent,
            "max_split": self.options.max_split_percent,
        }

    def generalize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`Generalizer.generalize`."""
        return least_loss(window.sequences, window.vocabulary.xy_m, guarantee, self.options)


@dataclass(frozen=True, slots=True)
class Auto:
    """Whichever of several loses least, window by window."""

    candidates: tuple[Generalizer, ...]
    """In the order in which they are tried; the first one always is."""

    prices: Prices
    max_work: int
    """Most embeddings of subtrajectories that all of them together may look at in a window. A count, not a clock: a
    replay has to decide alike."""

    model: str = field(default="auto", init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Generalizer.parameters`."""
        named: Parameters = {"candidates": ", ".join(one.model for one in self.candidates)}
        for one in self.candidates:
            named |= one.parameters
        return named | _prices(self.prices)

    def generalize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """See :meth:`Generalizer.generalize`."""
        sequences, xy_m = window.sequences, window.vocabulary.xy_m
        whole_m = whole_window_m(sequences, xy_m)
        affordable = max(1, self.max_work // max(1, embeddings(sequences, guarantee.m)))
        found: dict[str, tuple[float, Generalization]] = {}
        for one in self.candidates[:affordable]:
            result = one.generalize(window, guarantee)
            if result is not None:
                loss_m = window_loss_m(sequences, xy_m, result, self.prices, whole_m=whole_m)
                found[one.model] = (loss_m, result)
        if not found:
            return None
        order = sorted(found, key=lambda name: found[name][0])  # stable: of two alike the one that was tried first
        return replace(found[order[0]][1], comparison={name: found[name][0] for name in order})


def embeddings(sequences: Sequences, m: int) -> int:
    """Count the ways to choose 1 to ``m`` visits of a trajectory, over all of them: the work that counting supports is.

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
