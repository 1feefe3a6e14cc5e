"""Measure what a release in clusters lost against the raw window, for whoever may see both. Never published."""

from __future__ import annotations

from dataclasses import dataclass

from core.assemble import assemble_sequences
from core.figures import Figures
from core.plan import ClusterPlan
from core.records import Rows
from core.release_clusters import organize
from core.utility import label_statistics, normalized_distance, recoded_distance

__all__ = ["ClusterMeasures", "measure_clusters"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMeasures(Figures):
    """The measures of one window; NaN where there is nothing to measure. Formulas: :mod:`core.utility`."""

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


def measure_clusters(rows: Rows, plan: ClusterPlan) -> ClusterMeasures | None:
    """Measure the release of a window. The same arguments give the same figures.

    The window is anonymized once more, which gives the same result: no release ever carries raw visits along for
    somebody to measure.

    Args:
        rows: The window's rows.
        plan: How it was released.

    Returns:
        The measures; None where nothing can be released.
    """
    window = assemble_sequences(rows, plan.locator, plan.limits)
    if window.n_users < plan.guarantee.k:
        return None
    found = organize(window, plan)
    if not found.recoding.kept.any():
        return None
    xy_m, sequences = window.vocabulary.xy_m, window.sequences
    statistics = label_statistics(xy_m, found.recoding)
    hidden = window.vocabulary.among(plan.sensitive)
    of_sensitive = found.recoding.kept[hidden[sequences.locations]]
    distance_m = recoded_distance(sequences, xy_m, found.recoding)
    return ClusterMeasures(
        distance_m=distance_m,
        distance_share=normalized_distance(distance_m, xy_m),
        clusters=found.clusters,
        labels=statistics.generalized,
        label_size=statistics.mean_size,
        sensitive_kept_share=float(of_sensitive.mean()) if len(of_sensitive) else float("nan"),
    )
