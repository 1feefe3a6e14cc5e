"""Distances of a local recoding, in metres, and statistics of its labels (Select-Organize-Anonymize, Definition 4).

Like :mod:`core.utility.distance` and :mod:`core.utility.locations`, but a location may be released under several
labels. The distances cover the visits that are released; suppressed visits must be counted separately.
"""

from __future__ import annotations

import numpy as np

from core.records.arrays import FloatArray
from core.trajectories.assemble import SequenceWindow
from core.trajectories.recoding import Recoding
from core.trajectories.trajectory import Sequences
from core.utility.distance import diameter, location_distance
from core.utility.locations import LocationStatistics
from core.utility.window_measures import WindowLoss

__all__ = [
    "expected_recoded_distance",
    "label_statistics",
    "recoded_distance",
    "recoded_visit_distance",
    "recoding_loss",
]


def recoded_visit_distance(trajectories: Sequences, xy_m: FloatArray, recoding: Recoding) -> FloatArray:
    """Mean distance of each visit's location to the members of its label: D_loc.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        recoding: Their release.

    Returns:
        Metres, shape ``(p,)``; NaN for a suppressed visit.

    Raises:
        ValueError: A visit's label does not contain its location.
    """
    distance_m = np.full(len(trajectories.locations), np.nan)
    order = np.argsort(recoding.label_of, kind="stable")
    bounds = np.searchsorted(recoding.label_of[order], np.arange(len(recoding.labels) + 1))
    for label, start, end in zip(recoding.labels, bounds[:-1], bounds[1:], strict=True):
        visits, members = order[start:end], np.array(label)
        locations = trajectories.locations[visits]
        if not np.isin(locations, members).all():
            raise ValueError("a visit's label does not contain its location: this is a recoding of another window")
        of_member_m = location_distance(xy_m[members], np.zeros(len(members), np.int64))
        distance_m[visits] = of_member_m[np.searchsorted(members, locations)]
    return distance_m


def recoded_distance(trajectories: Sequences, xy_m: FloatArray, recoding: Recoding) -> float:
    """The distance D: the mean, over released trajectories, of the mean D_loc of their released visits.

    Arguments and errors as for :func:`recoded_visit_distance`.

    Returns:
        Metres; NaN when nothing is released.
    """
    means_m = _means(trajectories, recoded_visit_distance(trajectories, xy_m, recoding))
    return float(means_m.mean()) if len(means_m) else float("nan")


def recoding_loss(window: SequenceWindow, recoding: Recoding) -> WindowLoss:
    """Return the loss by which models that release labels are compared: D, and the number of people."""
    distance_m = recoded_distance(window.sequences, window.vocabulary.xy_m, recoding)
    return WindowLoss.of(distance_m, window.sequences.owners[recoding.kept])


def expected_recoded_distance(trajectories: Sequences, xy_m: FloatArray, recoding: Recoding) -> float:
    """D as expected with the release alone, if all members of a label are equally likely at every visit.

    It depends only on the release and the positions of its members, so it may be published with it. Arguments as for
    :func:`recoded_visit_distance`.

    Returns:
        Metres; NaN when nothing is released.
    """
    of_label_m = np.array([_mean_distance(xy_m, label) for label in recoding.labels] + [np.nan])  # the last for -1
    means_m = _means(trajectories, of_label_m[recoding.label_of])
    # Sorted, so that not even a rounding error reveals the order of people.
    return float(np.sort(means_m).mean()) if len(means_m) else float("nan")


def label_statistics(xy_m: FloatArray, recoding: Recoding) -> LocationStatistics:
    """Describe the labels of a release; each counts once, however many trajectories have it.

    Args:
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        recoding: The release.
    """
    held = sorted({location for label in recoding.labels for location in label})
    several = [label for label in recoding.labels if len(label) > 1]
    widest_m = diameter(xy_m[held])
    # D_loc includes a member's distance of 0 to itself: only v - 1 of its v distances are between different members.
    between_m = [_mean_distance(xy_m, label) * len(label) / (len(label) - 1) for label in several]
    share = float(np.mean(between_m)) / widest_m if several and widest_m > 0 else 0.0
    return LocationStatistics(
        original=len(recoding.labels) - len(several),
        generalized=len(several),
        mean_size=float(np.mean([len(label) for label in several])) if several else float("nan"),
        mean_distance_share=share if several else float("nan"),
    )


def _mean_distance(xy_m: FloatArray, label: tuple[int, ...]) -> float:
    """Return the mean distance between two random members of a label, which may be the same."""
    return float(location_distance(xy_m[list(label)], np.zeros(len(label), np.int64)).mean())


def _means(trajectories: Sequences, value_of: FloatArray) -> FloatArray:
    """Return the mean of each trajectory's values that are not NaN, for the trajectories that have any."""
    released = ~np.isnan(value_of)
    trajectory_of = np.repeat(np.arange(len(trajectories.users)), np.diff(trajectories.starts))[released]
    sums = np.bincount(trajectory_of, value_of[released], minlength=len(trajectories.users))
    counts = np.bincount(trajectory_of, minlength=len(trajectories.users))
    means: FloatArray = sums[counts > 0] / counts[counts > 0]
    return means
