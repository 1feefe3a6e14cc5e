"""Measure what a release of pairs lost against the raw window. Operator only; never published."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from core.models.lkc.anonymize.suppress import Suppression
from core.models.lkc.assemble import PairWindow
from core.models.lkc.kept import kept_shares
from core.models.lkc.plan import LKCPlan
from core.records.record import Rows
from core.utility.answers import PossibleVisits, VisitLabels
from core.utility.window_answers import WindowAnswers, draw_visit_queries, raw_visits, spots_of
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures, exact_loss
from core.windows.seal import Seal

__all__ = ["PairMeasures", "answers", "loss", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMeasures(WindowMeasures):
    """The measures of one window; NaN where there is nothing to measure. See :mod:`core.models.lkc.kept`."""

    visits_kept_share: float
    pairs_kept_share: float
    people_kept_share: float
    """Share of the people with a released visit."""

    sequences_kept_share: float
    """Share of the window's frequent sequences that the release still has."""


def loss(window: PairWindow, result: Suppression, plan: LKCPlan) -> WindowLoss:
    """Measure the loss that all models are compared by: released visits are released as they are."""
    return exact_loss(window.sequences.owners[result.kept])


def measure(seal: Seal, window: PairWindow, result: Suppression, plan: LKCPlan, inputs: MeasureInputs) -> PairMeasures:
    """Measure how much is kept."""
    shares = kept_shares(
        window.sequences,
        window.stands_for,
        result.kept,
        min_support=plan.options.min_support(window.n_users, plan.guarantee.k),
        longest=plan.longest_sequence,
    )
    return PairMeasures(
        visits_kept_share=shares.visits,
        pairs_kept_share=shares.pairs,
        people_kept_share=shares.people,
        sequences_kept_share=shares.sequences,
    )


def answers(seal: Seal, rows: Rows, window: PairWindow, result: Suppression, plan: LKCPlan) -> WindowAnswers:
    """Answer queries by the released visits: each was at any instant of its slot, all equally likely.

    Visits of one slot are in the order of the message, that of the locations' names.
    """
    shown = window.sequences.where(result.kept)
    pairs, vocabulary = window.pairs, window.vocabulary
    begins_ms = plan.slots.begins_ms(pairs.slots[shown.locations], start_ms=seal.key.start_ms)
    raw = raw_visits(rows, plan.locator)
    return WindowAnswers(
        people=window.n_users,
        raw=raw,
        released=PossibleVisits(
            users=shown.users,
            starts=shown.starts,
            spots=spots_of(vocabulary),
            labels=VisitLabels.alone(pairs.locations[shown.locations], len(vocabulary.names)),
            times_ms=(begins_ms, begins_ms + plan.slots.granularity_ms),
        ),
        draw=partial(draw_visit_queries, raw, in_order=True),
    )
