"""Utility: how much of the original a release keeps. One measure a module.

Of generalized sequences:

    distance.py     how far a released location is from the true one, metres
    recoded.py      distance and locations, where a location may have several labels
    locations.py    how many locations are generalized together, and how far apart they are
    semantics.py    how different in meaning they are
    queries.py      how wrong COUNT queries become
    divergence.py   how far the distribution of supports moves
    patterns.py     which frequent sequential patterns are kept, and which invented
    pattern_similarity.py   how alike the frequent patterns and their supports are

Of location-time pairs:

    pairs.py        how much of them is kept, and of their frequent sequences

Of sets of locations:

    itemsets.py     which frequent sets are found in a disassociated release, and how wrong supports of pairs become

Of GPS trajectories:

    ranges.py       how wrong range queries become

Most of them compare with the original and are for whoever may see it. What is published with a release is a function
of the release alone: see :mod:`core.loss`.
"""

from core.utility.distance import (
    dataset_distance,
    diameter,
    expected_distance,
    location_distance,
    normalized_distance,
    trajectory_distance,
)
from core.utility.divergence import Divergence, draw_subtrajectories, support_divergence
from core.utility.generalized import generalized
from core.utility.itemsets import lost_locations, pair_error, top_deviation, top_itemsets
from core.utility.locations import LocationStatistics, location_statistics
from core.utility.pairs import PairShares, pair_shares
from core.utility.pattern_similarity import PatternSimilarity, pattern_similarity
from core.utility.patterns import PatternShares, frequent_patterns, pattern_shares, pattern_supports, project
from core.utility.queries import average_relative_error, draw_queries, expected_count
from core.utility.ranges import (
    RangeDistortion,
    RangeQueries,
    RangeQueryOptions,
    count_inside,
    draw_range_queries,
    range_query_distortion,
)
from core.utility.recoded import (
    expected_recoded_distance,
    label_statistics,
    recoded_distance,
    recoded_visit_distance,
)
from core.utility.semantics import semantic_penalty

__all__ = [
    "Divergence",
    "LocationStatistics",
    "PairShares",
    "PatternShares",
    "PatternSimilarity",
    "RangeDistortion",
    "RangeQueries",
    "RangeQueryOptions",
    "average_relative_error",
    "count_inside",
    "dataset_distance",
    "diameter",
    "draw_queries",
    "draw_range_queries",
    "draw_subtrajectories",
    "expected_count",
    "expected_distance",
    "expected_recoded_distance",
    "frequent_patterns",
    "generalized",
    "label_statistics",
    "location_distance",
    "location_statistics",
    "lost_locations",
    "normalized_distance",
    "pair_error",
    "pair_shares",
    "pattern_shares",
    "pattern_similarity",
    "pattern_supports",
    "project",
    "range_query_distortion",
    "recoded_distance",
    "recoded_visit_distance",
    "semantic_penalty",
    "support_divergence",
    "top_deviation",
    "top_itemsets",
    "trajectory_distance",
]
