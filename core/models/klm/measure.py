"""Measure what a release in clusters lost against the raw window. Operator only; never published."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.klm.anonymize.window import Clustered
from core.models.klm.plan import KLmPlan
from core.records.record import Rows
from core.trajectories.assemble import SequenceWindow
from core.utility.distance import normalized_distance
from core.utility.recoded import label_statistics, recoded_distance, recoding_loss
from core.utility.window_answers import WindowAnswers, sequence_answers
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures
from core.windows.seal import Seal

__all__ = ["ClusterMeasures", "answers", "loss", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMeasures(WindowMeasures):
    """The measures of one window; NaN where there is nothing to measure. See :mod:`core.utility.recoded`."""

    distance_m: float
    """D of Definition 6, for each visit to the members of its own label, metres."""

    distance_share: float
    """D over the largest distance between locations of the window."""

    clusters: float
    labels: float
    """Different labels of the release."""

    label_size: float
    """Mean members of a label that has several."""

    sensitive_kept_share: float
    """Share of the visits to sensitive locations that are released."""


def loss(window: SequenceWindow, result: Clustered, plan: KLmPlan) -> WindowLoss:
    """Measure the loss that all models are compared by: D, for each visit to the members of its own label."""
    return recoding_loss(window, result.recoding)


def measure(
    seal: Seal, window: SequenceWindow, result: Clustered, plan: KLmPlan, inputs: MeasureInputs
) -> ClusterMeasures:
    """Measure distances, labels and what is kept of sensitive locations."""
    xy_m, sequences, recoding = window.vocabulary.xy_m, window.sequences, result.recoding
    statistics = label_statistics(xy_m, recoding)
    hidden = window.vocabulary.among(plan.sensitive)
    of_sensitive = recoding.kept[hidden[sequences.locations]]
    distance_m = recoded_distance(sequences, xy_m, recoding)
    return ClusterMeasures(
        distance_m=distance_m,
        distance_share=normalized_distance(distance_m, xy_m),
        clusters=result.clusters,
        labels=statistics.generalized,
        label_size=statistics.mean_size,
        sensitive_kept_share=float(of_sensitive.mean()) if len(of_sensitive) else float("nan"),
    )


def answers(seal: Seal, rows: Rows, window: SequenceWindow, result: Clustered, plan: KLmPlan) -> WindowAnswers:
    """Answer queries by the members of labels."""
    recoding = result.recoding
    return sequence_answers(rows, plan.locator, window, recoding.apply(window.sequences), recoding.labels)
