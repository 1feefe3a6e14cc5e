"""Measure what a release of sequences lost against the raw window. Operator only; never published.

Every figure is computed from raw visits: the difference between two figures could reveal a single person.
:mod:`core.utility.published` computes the figures that are published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.models.km.anonymize.seqanon import Generalization
from core.models.km.plan import KmPlan
from core.places.taxonomy import LocationTree
from core.records.record import Rows
from core.trajectories.assemble import SequenceWindow
from core.utility.distance import dataset_distance, normalized_distance
from core.utility.divergence import draw_subtrajectories, support_divergence
from core.utility.locations import location_statistics
from core.utility.patterns import pattern_shares
from core.utility.queries import average_relative_error, draw_queries
from core.utility.semantics import semantic_penalty
from core.utility.window_answers import WindowAnswers, sequence_answers
from core.utility.window_measures import MeasureInputs, MeasureOptions, WindowLoss, WindowMeasures
from core.windows.seal import Seal

__all__ = ["KmMeasures", "answers", "compare", "loss", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KmMeasures(WindowMeasures):
    """The measures of one window; NaN where there is nothing to measure. For formulas see :mod:`core.utility`."""

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
    """Mean distance within a generalized location over the largest distance between locations of the release."""

    are: float
    """Average relative error of COUNT queries."""

    kl_locations: float
    """KL divergence of the supports of all locations, nats."""

    kl_locations_lost: float
    """Share of their supports that belongs to locations with nothing released."""

    kl_pairs: float
    """KL divergence of the supports of drawn subtrajectories of two locations, nats."""

    kl_pairs_lost: float
    """Share of their supports that belongs to subtrajectories with nothing released."""

    patterns_frequent: float
    """Frequent patterns of the raw window."""

    patterns_kept: float
    """Share of these patterns that is found in the release."""

    patterns_invented: float
    """Share of the patterns found in the release that are not frequent in the raw window."""


def compare(
    window: SequenceWindow,
    result: Generalization,
    tree: LocationTree,
    rng: np.random.Generator,
    *,
    k: int,
    options: MeasureOptions,
) -> KmMeasures:
    """Compare a window with what is released of it.

    Args:
        window: The raw window.
        result: What is released, at least one visit.
        tree: The taxonomy over the window's locations.
        rng: The only source of randomness.
        k: Fewest people behind what is released.
        options: Sizes of the samples to draw.
    """
    sequences, xy_m, group_of, kept = window.sequences, window.vocabulary.xy_m, result.group_of, result.kept
    released = result.released(sequences)
    distance_m = dataset_distance(sequences, xy_m, group_of, kept)
    dissimilarity = tree.dissimilarity(group_of)
    held = np.isin(group_of, group_of[sequences.locations[kept]])
    statistics = location_statistics(xy_m[held], group_of[held])
    # Each measure has its own generator, so that drawing more for one changes no other.
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
    return KmMeasures(
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


def loss(window: SequenceWindow, result: Generalization, plan: KmPlan) -> WindowLoss:
    """Measure the loss that all models are compared by: the dataset distance D."""
    sequences, kept = window.sequences, result.kept
    distance_m = dataset_distance(sequences, window.vocabulary.xy_m, result.group_of, kept)
    return WindowLoss.of(distance_m, sequences.owners[kept])


def measure(
    seal: Seal, window: SequenceWindow, result: Generalization, plan: KmPlan, inputs: MeasureInputs
) -> KmMeasures:
    """Measure distances, meaning, queries and patterns.

    Raises:
        ValueError: The inputs have no taxonomy.
    """
    if inputs.taxonomy is None:
        raise ValueError("the inputs have no taxonomy: these measures need the categories of locations")
    tree = LocationTree(inputs.taxonomy.paths(window.vocabulary))
    rng = plan.generator(seal, "measures")
    return compare(window, result, tree, rng, k=plan.guarantee.k, options=inputs.options)


def answers(seal: Seal, rows: Rows, window: SequenceWindow, result: Generalization, plan: KmPlan) -> WindowAnswers:
    """Answer queries by the members of generalized locations."""
    members: list[list[int]] = [[] for _ in window.vocabulary.names]
    for location, group in enumerate(result.group_of.tolist()):
        members[group].append(location)
    # A location that is no group's name labels no visit; a label must have a member all the same.
    labels = [tuple(some) or (location,) for location, some in enumerate(members)]
    return sequence_answers(rows, plan.locator, window, result.released(window.sequences), labels)
