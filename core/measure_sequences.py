"""Measure what a release of sequences lost against the raw window, for whoever may see both. Never published.

Every figure here is computed from raw visits, so that differences between two of them could tell of single people.
:mod:`core.loss` holds what leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.anonymize.seqanon import Generalization
from core.assemble import SequenceWindow, assemble_sequences
from core.figures import Figures
from core.generalize import Taxonomy
from core.plan import SequencePlan
from core.records import Rows
from core.release import keyed_generator
from core.seal import Seal
from core.taxonomy import LocationTree
from core.utility import (
    average_relative_error,
    dataset_distance,
    draw_queries,
    draw_subtrajectories,
    location_statistics,
    normalized_distance,
    pattern_shares,
    semantic_penalty,
    support_divergence,
)

__all__ = ["MeasureOptions", "Measures", "measure_sequences", "measure_window"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """How much is drawn, and what counts as frequent."""

    queries: int = 100
    """COUNT queries of a window, and subtrajectories whose supports are compared. The paper's number."""

    largest_query: int = 2
    """Most locations of a query. The paper's number."""

    projections: int = 20
    """Random projections of a window. The paper draws 2000 of one data set; here windows are averaged as well."""

    min_support_percent: float = 1.0
    """Fewest people behind a frequent pattern, in percent of the window's, and never fewer than k: rarer patterns are
    what the release is to hide. The paper takes 0.83 % and 0.14 % of much larger data."""

    longest_pattern: int = 3
    """Most locations of a frequent pattern."""

    def min_support(self, people: int, k: int) -> int:
        """Return the fewest people behind a frequent pattern of a window."""
        return max(k, math.ceil(people * self.min_support_percent / 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures(Figures):
    """The measures of one window; NaN where there is nothing to measure. Formulas: :mod:`core.utility`."""

    distance_m: float
    """D of Definition 6, metres."""

    distance_share: float
    """D over the largest distance between locations of the window."""

    combined_distance_m: float
    """C of Definition 8, metres."""

    semantic_penalty: float
    """P of the release."""

    original_locations: float
    generalized_locations: float
    generalized_size: float
    """Mean members of a generalized location."""

    generalized_distance_share: float
    """Average distance in a generalized location over the largest between locations of the release."""

    are: float
    """Average relative error of COUNT queries."""

    kl_locations: float
    """KL divergence of the supports of all locations, nats."""

    kl_locations_lost: float
    """Share of their supports of which nothing is released."""

    kl_pairs: float
    """KL divergence of the supports of drawn subtrajectories of two locations, nats."""

    kl_pairs_lost: float
    """Share of their supports of which nothing is released."""

    patterns_frequent: float
    """Frequent patterns of the raw window."""

    patterns_kept: float
    """Share of them that is found in the release."""

    patterns_invented: float
    """Share of the patterns found in the release that are not frequent in the raw window."""


def measure_window(
    window: SequenceWindow,
    result: Generalization,
    tree: LocationTree,
    rng: np.random.Generator,
    *,
    k: int,
    options: MeasureOptions,
) -> Measures:
    """Compare a window with what is released of it.

    Args:
        window: The raw window.
        result: What is released, at least one visit.
        tree: The taxonomy over the window's locations.
        rng: All chance there is.
        k: Fewest people behind what is released.
        options: How much is drawn.
    """
    sequences, xy_m, group_of, kept = window.sequences, window.vocabulary.xy_m, result.group_of, result.kept
    released = result.released(sequences)
    distance_m = dataset_distance(sequences, xy_m, group_of, kept)
    dissimilarity = tree.dissimilarity(group_of)
    held = np.isin(group_of, group_of[sequences.locations[kept]])
    statistics = location_statistics(xy_m[held], group_of[held])
    # Each measure draws from a generator of its own, so that more of one changes no other.
    for_queries, for_pairs, for_patterns = (_generator(rng) for _ in range(3))
    queries = draw_queries(sequences, for_queries, n=options.queries, largest=options.largest_query)
    every_location = draw_subtrajectories(sequences, for_pairs, size=1, n=len(xy_m))
    pairs = draw_subtrajectories(sequences, for_pairs, size=2, n=options.queries)
    of_locations = support_divergence(sequences, released, group_of, every_location)
    of_pairs = support_divergence(sequences, released, group_of, pairs)
    patterns = pattern_shares(
        sequences,
        released,
        group_of,
        for_patterns,
        projections=options.projections,
        min_support=options.min_support(window.n_users, k),
        longest=options.longest_pattern,
    )
    return Measures(
        distance_m=distance_m,
        distance_share=normalized_distance(distance_m, xy_m),
        combined_distance_m=dataset_distance(sequences, xy_m, group_of, kept, dissimilarity=dissimilarity),
        semantic_penalty=semantic_penalty(sequences, dissimilarity, kept),
        original_locations=statistics.original,
        generalized_locations=statistics.generalized,
        generalized_size=statistics.mean_size,
        generalized_distance_share=statistics.mean_distance_share,
        are=average_relative_error(sequences, released, group_of, queries),
        kl_locations=of_locations.nats,
        kl_locations_lost=of_locations.lost_share,
        kl_pairs=of_pairs.nats,
        kl_pairs_lost=of_pairs.lost_share,
        patterns_frequent=patterns.frequent,
        patterns_kept=patterns.kept,
        patterns_invented=patterns.invented,
    )


def _generator(rng: np.random.Generator) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=rng.integers(0, 2**64, 2, np.uint64)))


def measure_sequences(
    seal: Seal, rows: Rows, plan: SequencePlan, taxonomy: Taxonomy, options: MeasureOptions
) -> Measures | None:
    """Measure the release of a sealed window. The same arguments give the same figures.

    The window is anonymized once more, which gives the same result: no release ever carries raw visits along for
    somebody to measure.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How it was released.
        taxonomy: What the locations mean.
        options: How much is drawn.

    Returns:
        The measures; None where nothing can be released.
    """
    window = assemble_sequences(rows, plan.locator, plan.limits)
    if window.n_users < plan.guarantee.k:
        return None
    result = plan.generalizer.generalize(window, plan.guarantee)
    if result is None or not result.kept.any():
        return None
    tree = LocationTree(taxonomy.paths(window.vocabulary))
    rng = keyed_generator(plan.secret, seal.release_id, "measures")
    return measure_window(window, result, tree, rng, k=plan.guarantee.k, options=options)
