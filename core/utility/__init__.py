"""Utility: how much of the original a release keeps. One measure a module.

Of generalized sequences:

    distance.py     how far a released location is from the true one, metres
    locations.py    how many locations are generalized together, and how far apart they are
    semantics.py    how different in meaning they are
    queries.py      how wrong COUNT queries become
    divergence.py   how far the distribution of supports moves
    patterns.py     which frequent sequential patterns are kept, and which invented

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
from core.utility.patterns import PatternShares, frequent_patterns, pattern_shares, project
from core.utility.queries import average_relative_error, draw_queries, expected_count
from core.utility.ranges import (
    RangeDistortion,
    RangeQueries,
    RangeQueryOptions,
    count_inside,
    draw_range_queries,
    range_query_distortion,
)
from core.utility.semantics import semantic_penalty

__all__ = [
    "Divergence",
    "LocationStatistics",
    "PatternShares",
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
    "frequent_patterns",
    "generalized",
    "location_distance",
    "location_statistics",
    "lost_locations",
    "normalized_distance",
    "pair_error",
    "pattern_shares",
    "project",
    "range_query_distortion",
    "semantic_penalty",
    "support_divergence",
    "top_deviation",
    "top_itemsets",
    "trajectory_distance",
]
