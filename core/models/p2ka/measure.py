"""Measure what a release by patterns lost against the raw window. Operator only; never published."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.p2ka.anonymize.p2ka import PatternRelease
from core.models.p2ka.pattern_similarity import pattern_similarity
from core.models.p2ka.plan import P2kAPlan
from core.records.record import Rows
from core.trajectories.assemble import SequenceWindow
from core.utility.window_answers import WindowAnswers, sequence_answers
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures, exact_loss
from core.windows.seal import Seal

__all__ = ["PatternMeasures", "answers", "loss", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternMeasures(WindowMeasures):
    """The measures of one window; NaN where there is nothing to measure.

    See :mod:`core.models.p2ka.pattern_similarity`.
    """

    sim1: float
    """How near the supports of the release's k-frequent patterns are to those of the window."""

    sim2: float
    """How near the number of the release's k-frequent patterns is to that of the window."""

    visits_kept_share: float
    """Share of the visits that are released for the person who made them."""

    visits_added_share: float
    """Visits released for a person who did not make them, per visit of the window."""


def loss(window: SequenceWindow, result: PatternRelease, plan: P2kAPlan) -> WindowLoss:
    """Measure the loss that all models are compared by.

    Visits released for a person who did not make them have no distance: SIM1 and SIM2 measure them.
    """
    return exact_loss(window.sequences.users[result.kept > 0])


def measure(
    seal: Seal, window: SequenceWindow, result: PatternRelease, plan: P2kAPlan, inputs: MeasureInputs
) -> PatternMeasures:
    """Measure which frequent patterns are kept, and how many visits."""
    sequences = window.sequences
    similarity = pattern_similarity(
        sequences, result.sequences, min_support=plan.guarantee.k, longest=plan.longest_pattern
    )
    n_visits = len(sequences.locations)
    return PatternMeasures(
        sim1=similarity.support,
        sim2=similarity.size,
        visits_kept_share=float(result.kept.sum()) / n_visits,
        visits_added_share=float(result.added.sum()) / n_visits,
    )


def answers(seal: Seal, rows: Rows, window: SequenceWindow, result: PatternRelease, plan: P2kAPlan) -> WindowAnswers:
    """Answer queries by the released sequences as they are."""
    return sequence_answers(rows, plan.locator, window, result.sequences)
