"""Average relative error of COUNT queries over sets of locations (Poulis et al. 2013, Section 7, after COAT).

A query asks how many people visited all of some locations. With the release alone the answer is estimated: a person
with a generalized location of ``v`` members visited each of them with probability ``1 / v``, independently. The paper
gives no estimator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.support.index import Subtrajectory
from core.support.table import support
from core.trajectories.trajectory import Sequences

__all__ = ["PersonLabels", "estimated_people", "set_query_error"]

PersonLabels = Sequence[Sequence[int]]
"""The generalized locations of a released person, each by its members."""


def set_query_error(sets: Sequences, released: Sequence[PersonLabels], queries: Sequence[Subtrajectory]) -> float:
    """Mean relative error of the answers that a release gives.

    Args:
        sets: The locations that each person visited (:func:`core.trajectories.location_sets.location_sets`).
        released: What is released of each person; people of whom nothing is released may be left out.
        queries: Ascending locations that somebody visited all of, such as those of
            :func:`core.utility.queries.draw_queries`.

    Returns:
        The error, at least 0; NaN if there are no queries.
    """
    asked = {location for query in queries for location in query}
    chances = [
        {location: 1 / len(label) for label in labels for location in asked.intersection(label)} for labels in released
    ]
    errors = []
    for query in queries:
        answer = support(query, sets)
        errors.append(abs(answer - sum(estimated_people(query, chances))) / answer)
    return float(np.mean(errors)) if errors else float("nan")


def estimated_people(query: Subtrajectory, chances: Sequence[Mapping[int, float]]) -> list[float]:
    """Return the probability that each person visited all locations of a query.

    Args:
        query: The locations.
        chances: For each person the probability of each location that may have been visited.

    >>> estimated_people((1, 2), [{1: 1.0, 2: 0.5}, {1: 1.0}])
    [0.5, 0.0]
    """
    found = []
    for of in chances:
        probability = 1.0
        for location in query:
            probability *= of.get(location, 0.0)
        found.append(probability)
    return found
