"""The information loss that a windows message publishes: functions of the release alone.

A figure that depends on which member of a generalized location was visited, or on a location that is not released,
can reveal what the release hides. A mean distance over five trajectories, known to a decimetre, often fits only one
combination of true locations. The diameter of a window's vocabulary reveals a far location whose only visit was
suppressed. Such measures are for the operator (:mod:`core.models.km.measure`). Here every figure is computed from the
released sequences, the members of their locations and the public vocabulary, so every reader of the release could
compute it.
"""

from __future__ import annotations

import math

import numpy as np

from core.places.geo import LocalProjection
from core.places.meaning import Taxonomy
from core.places.taxonomy import LocationTree
from core.places.vocabulary import Vocabulary
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.trajectories.generalized import generalized
from core.trajectories.recoding import Recoding
from core.trajectories.trajectory import Sequences
from core.utility.distance import diameter, expected_distance
from core.utility.locations import LocationStatistics, location_statistics
from core.utility.recoded import expected_recoded_distance, label_statistics
from core.utility.semantics import semantic_penalty

__all__ = ["LOCATION_FIGURES", "published_loss", "published_recoding_loss"]

LOCATION_FIGURES = {
    "distance_m": "Mean distance between a visited location and the members of its generalized location, metres, as "
    "expected from the release (D of Poulis et al. 2014, Definition 6).",
    "distance_share": "`distance_m` over the largest distance between locations of the release.",
    "original_locations": "Locations that are released as they are.",
    "generalized_locations": "Generalized locations with at least two members.",
    "generalized_size": "Mean number of members of these; null if there are none.",
    "generalized_distance_share": "Average distance between members of these, over the largest distance between "
    "locations of the release; null if there are none.",
}
"""Meaning of the figures of every model that releases generalized locations in sequences."""


def published_loss(
    trajectories: Sequences,
    vocabulary: Vocabulary,
    group_of: IntArray,
    kept: BoolArray,
    taxonomy: Taxonomy | None = None,
) -> dict[str, float | int | None]:
    """Measure a release of sequences by figures that follow from the release itself.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits, at least one of which is kept.
        vocabulary: Their ``L`` locations.
        group_of: Generalized location of each location, named by a member's id, shape ``(L,)``.
        kept: False for each suppressed visit, shape ``(p,)``.
        taxonomy: The taxonomy of the locations, if the model used one.

    Returns:
        ``distance_m``, the dataset distance as expected from the release
        (:func:`core.utility.distance.expected_distance`); ``distance_share``, the same divided by the largest distance
        between locations of the release, members included; ``original_locations`` and ``generalized_locations``;
        ``generalized_size`` and ``generalized_distance_share``, the mean number of members of a generalized location
        and the average distance between them, None if there is none; with a taxonomy ``semantic_penalty``, P over the
        leaves in the release.
    """
    held = np.flatnonzero(np.isin(group_of, group_of[trajectories.locations[kept]]))  # (h,) locations and members
    number = np.full(len(group_of), -1)
    number[held] = np.arange(len(held))
    # From here on only the release is used: not the order, number or position of any other location.
    released = generalized(trajectories, number, kept)
    lat, lon = vocabulary.lat_deg[held], vocabulary.lon_deg[held]
    xy_m: FloatArray = LocalProjection.around(lat, lon).to_metres(lat, lon)
    groups = np.searchsorted(held, group_of[held])  # again named by a member's row
    everything = np.ones(len(released.locations), np.bool_)

    distance_m = expected_distance(released, xy_m, groups, everything)
    loss = _information_loss(distance_m, diameter(xy_m), location_statistics(xy_m, groups))
    if taxonomy is not None:
        paths = taxonomy.paths(vocabulary)
        dissimilarity = LocationTree([paths[i] for i in held.tolist()]).dissimilarity(groups)
        loss["semantic_penalty"] = round(semantic_penalty(released, dissimilarity, everything), 6)
    return loss


def published_recoding_loss(
    trajectories: Sequences, vocabulary: Vocabulary, recoding: Recoding
) -> dict[str, float | int | None]:
    """Measure a release of local recoding by figures that follow from the release itself.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        vocabulary: Their ``L`` locations.
        recoding: Their release, of at least one visit.

    Returns:
        The figures of :func:`published_loss` except ``semantic_penalty``. Locations are counted as labels: a location
        that is released under two labels counts twice.
    """
    held = sorted({location for label in recoding.labels for location in label})
    number = {location: row for row, location in enumerate(held)}
    # From here on only the release is used: not the order, number or position of any other location.
    labels = tuple(tuple(number[location] for location in label) for label in recoding.labels)
    released = Recoding(labels=labels, label_of=recoding.label_of)
    lat, lon = vocabulary.lat_deg[held], vocabulary.lon_deg[held]
    xy_m: FloatArray = LocalProjection.around(lat, lon).to_metres(lat, lon)

    distance_m = expected_recoded_distance(trajectories, xy_m, released)
    return _information_loss(distance_m, diameter(xy_m), label_statistics(xy_m, released))


def _information_loss(
    distance_m: float, widest_m: float, statistics: LocationStatistics
) -> dict[str, float | int | None]:
    return {
        "distance_m": round(distance_m, 1),
        "distance_share": round(distance_m / widest_m, 6) if widest_m > 0 else 0.0,
        "generalized_locations": statistics.generalized,
        "original_locations": statistics.original,
        "generalized_size": _rounded(statistics.mean_size, 3),
        "generalized_distance_share": _rounded(statistics.mean_distance_share, 6),
    }


def _rounded(value: float, digits: int) -> float | None:
    return None if math.isnan(value) else round(value, digits)
