"""Measure what a release by patterns lost against the raw window, for whoever may see both. Never published."""

from __future__ import annotations

from dataclasses import dataclass

from core.anonymize.p2ka import p2ka
from core.assemble import assemble_sequences
from core.figures import Figures
from core.plan import PatternPlan
from core.records import Rows
from core.utility import pattern_similarity

__all__ = ["LONGEST_PATTERN", "PatternMeasures", "measure_patterns"]

LONGEST_PATTERN = 3
"""Most locations of the patterns that are compared: the paper has no bound, windows of long trajectories need one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternMeasures(Figures):
    """The measures of one window; NaN where there is nothing to measure. Formulas: :mod:`core.utility`."""

    sim1: float
    """How near the supports of the release's k-frequent patterns are to those of the window."""

    sim2: float
    """How many k-frequent patterns the release has, of the window's."""

    visits_kept_share: float
    """Share of the visits that are released of those who made them."""

    visits_added_share: float
    """Visits that are released of somebody who did not make them, for each visit of the window."""


def measure_patterns(rows: Rows, plan: PatternPlan) -> PatternMeasures | None:
    """Measure the release of a window. The same arguments give the same figures.

    The window is anonymized once more, which gives the same result: no release ever carries raw visits along for
    somebody to measure.

    Args:
        rows: The window's rows.
        plan: How it was released.

    Returns:
        The measures; None where nothing can be released.
    """
    sequences = assemble_sequences(rows, plan.locator, plan.limits).sequences
    result = p2ka(sequences, plan.guarantee)
    if not len(result.sequences.locations):
        return None
    similarity = pattern_similarity(sequences, result.sequences, min_support=plan.guarantee.k, longest=LONGEST_PATTERN)
    n_visits = len(sequences.locations)
    return PatternMeasures(
        sim1=similarity.support,
        sim2=similarity.size,
        visits_kept_share=float(result.kept.sum()) / n_visits,
        visits_added_share=float(result.added.sum()) / n_visits,
    )
