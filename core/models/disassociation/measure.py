"""Measure the information loss of a disassociated release against the raw window. Never published."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from core.models.common.location_nodes import LocationNodes
from core.models.disassociation.anonymize.disassociate import Disassociation
from core.models.disassociation.lost_locations import lost_locations
from core.models.disassociation.plan import DisassociationPlan
from core.models.disassociation.reconstruct import reconstruct
from core.records.record import Rows
from core.trajectories.assemble import SequenceWindow
from core.trajectories.location_sets import location_sets
from core.utility.answers import MeanAnswers
from core.utility.itemsets import pair_error, top_deviation
from core.utility.multilevel import multilevel_deviation
from core.utility.window_answers import WindowAnswers, draw_visit_queries, raw_visits, visits_over
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures, exact_loss
from core.windows.seal import Seal

__all__ = ["SetMeasures", "answers", "loss", "measure"]

_RECONSTRUCTIONS = 10
"""Number of reconstructions that answer a query, by the mean of their answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMeasures(WindowMeasures):
    """The measures of one window; NaN if there is nothing to measure. See :mod:`core.utility.itemsets`."""

    tkd: float
    """Share of the most frequent sets of locations that are not among those of a reconstruction."""

    re: float
    """Mean relative error of the supports of pairs of frequent locations in a reconstruction."""

    tlost: float
    """Share of the locations visited by at least k people that are in term chunks alone
    (:mod:`core.models.disassociation.lost_locations`)."""

    tkd_ml2: float
    """The same at all levels of the taxonomy of locations (:mod:`core.utility.multilevel`)."""

    visits_kept_share: float


def loss(window: SequenceWindow, result: Disassociation, plan: DisassociationPlan) -> WindowLoss:
    """Measure the loss by which all models are compared; released locations are exact."""
    return exact_loss(window.sequences.owners[result.kept])


def measure(
    seal: Seal, window: SequenceWindow, result: Disassociation, plan: DisassociationPlan, inputs: MeasureInputs
) -> SetMeasures:
    """Measure one reconstruction against the raw window.

    Raises:
        ValueError: The inputs have no taxonomy.
    """
    if inputs.taxonomy is None:
        raise ValueError("the inputs have no taxonomy: these measures need the hierarchy of locations")
    nodes = LocationNodes(inputs.taxonomy.paths(window.vocabulary))
    original = location_sets(window.sequences)
    rebuilt = reconstruct(result.release, plan.generator(seal, "measures"))
    return SetMeasures(
        tkd=top_deviation(original, rebuilt),
        re=pair_error(original, [rebuilt]),
        tlost=lost_locations(original, result.release, k=plan.guarantee.k),
        tkd_ml2=multilevel_deviation(original.lists(), rebuilt.lists(), nodes.above),
        visits_kept_share=float(result.kept.mean()),
    )


def answers(
    seal: Seal, rows: Rows, window: SequenceWindow, result: Disassociation, plan: DisassociationPlan
) -> WindowAnswers:
    """Answer queries by the mean of reconstructions, in which locations have no order."""
    generator = plan.generator(seal, "answers")
    rebuilt = (reconstruct(result.release, generator) for _ in range(_RECONSTRUCTIONS))
    raw = raw_visits(rows, plan.locator)
    return WindowAnswers(
        people=window.n_users,
        raw=raw,
        released=MeanAnswers(windows=[visits_over(one, window.vocabulary, ordered=False) for one in rebuilt]),
        draw=partial(draw_visit_queries, raw, in_order=False),
    )
