"""Measure what a disassociated release lost against the raw window, for whoever may see both. Never published."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.disassociation.anonymize.disassociate import Disassociation
from core.models.disassociation.lost_locations import lost_locations
from core.models.disassociation.plan import DisassociationPlan
from core.models.disassociation.reconstruct import reconstruct
from core.trajectories.assemble import SequenceWindow
from core.trajectories.location_sets import location_sets
from core.utility.itemsets import pair_error, top_deviation
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures, exact_loss
from core.windows.seal import Seal

__all__ = ["SetMeasures", "loss", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMeasures(WindowMeasures):
    """The measures of one window; NaN where there is nothing to measure. See :mod:`core.utility.itemsets`."""

    tkd: float
    """Share of the most frequent sets of locations that a reconstruction has not."""

    re: float
    """Mean relative error of the supports of pairs of frequent locations in a reconstruction."""

    tlost: float
    """Share of the locations of at least k people that stand in term chunks alone
    (:mod:`core.models.disassociation.lost_locations`)."""

    visits_kept_share: float


def loss(window: SequenceWindow, result: Disassociation, plan: DisassociationPlan) -> WindowLoss:
    """Measure what all models are compared by: what is released, is released as it is."""
    return exact_loss(window.sequences.owners[result.kept])


def measure(
    seal: Seal, window: SequenceWindow, result: Disassociation, plan: DisassociationPlan, inputs: MeasureInputs
) -> SetMeasures:
    """Measure by one reconstruction."""
    original = location_sets(window.sequences)
    rebuilt = reconstruct(result.release, plan.generator(seal, "measures"))
    return SetMeasures(
        tkd=top_deviation(original, rebuilt),
        re=pair_error(original, [rebuilt]),
        tlost=lost_locations(original, result.release, k=plan.guarantee.k),
        visits_kept_share=float(result.kept.mean()),
    )
