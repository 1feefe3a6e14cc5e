"""What a windows message tells of its information loss: functions of the release, and of nothing else.

A figure that depends on which member of a generalized location was visited, or on a location that is not released,
tells something of people which the release hides: a mean distance of five trajectories, known to a decimetre, is often
that of one combination of true locations only, and the diameter of a window's vocabulary gives away the one far place
whose only visit was suppressed. Such measures are for the operator (:mod:`core.models.km.measure`). Here every figure
is computed from the released sequences, the members of their locations and the public vocabulary: whoever has the
release could compute it as well.
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

__all__ = ["published_loss", "published_recoding_loss"]


def published_loss(
    trajectories: Sequences,
    vocabulary: Vocabulary,
    group_of: IntArray,
    kept: BoolArray,
    taxonomy: Taxonomy | None = None,
) -> dict[str, float | int | None]:
    """Measure a release of sequences by what it tells itself.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits, at least one of which is kept.
        vocabulary: Their ``L`` locations.
        group_of: Generalized location of each, named by a member's id, shape ``(L,)``.
        kept: False where an occurrence is suppressed, shape ``(p,)``.
        taxonomy: What was known of the locations' meaning, if anything.

    Returns:
        ``distance_m``, the dataset distance as expected from the release
        (:func:`core.utility.distance.expected_distance`); ``distance_share``, that over the largest distance between
        locations of the release, members included; ``original_locations`` and ``generalized_locations``;
        ``generalized_size`` and ``generalized_distance_share``, the mean members of a generalized location and the
        average distance between them, None where there is none; with a taxonomy ``semantic_penalty``, P over the leaves
        that the release holds.
    """
    held = np.flatnonzero(np.isin(group_of, group_of[trajectories.locations[kept]]))  # (h,) locations and members
    number = np.full(len(group_of), -1)
    number[held] = np.arange(len(held))
    # Only what the release holds from here on: not the order, the number or the place of any other location.
    released = generalized(trajectories, number, kept)
    lat, lon = vocabulary.lat_deg[held], vocabulary.lon_deg[held]
    xy_m: FloatArray = LocalProjection.around(lat, lon).to_metres(lat, lon)
    groups = np.searchsorted(held, group_of[held])  # named by a member's row again
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
    """Measure a release of local recoding by what it tells itself.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        vocabulary: Their ``L`` locations.
        recoding: What is released of them; at least one visit is.

    Returns:
        The figures of :func:`published_loss` but for the semantic one. Locations are counted as labels: one that is
        released under two counts twice.
    """
    held = sorted({location for label in recoding.labels for location in label})
    number = {location: row for row, location in enumerate(held)}
    # Only what the release holds from here on: not the order, the number or the place of any other location.
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
