"""Measure what a disassociated release lost against the raw window, for whoever may see both. Never published."""

from __future__ import annotations

from dataclasses import dataclass

from core.assemble import assemble_sequences
from core.figures import Figures
from core.plan import SetPlan
from core.reconstruct import reconstruct
from core.records import Rows
from core.release import keyed_generator
from core.release_sets import disassociated
from core.seal import Seal
from core.utility import lost_locations, pair_error, top_deviation
from core.visited import visited_sets

__all__ = ["SetMeasures", "measure_sets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMeasures(Figures):
    """The measures of one window; NaN where there is nothing to measure. Formulas: :mod:`core.utility`."""

    tkd: float
    """Share of the most frequent sets of locations that a reconstruction has not."""

    re: float
    """Mean relative error of the supports of pairs of frequent locations in a reconstruction."""

    tlost: float
    """Share of the locations of at least k people that stand in term chunks alone."""

    visits_kept_share: float


def measure_sets(seal: Seal, rows: Rows, plan: SetPlan) -> SetMeasures | None:
    """Measure the release of a sealed window, by one reconstruction. The same arguments give the same figures.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How it was released.

    Returns:
        The measures; None where nothing can be released.
    """
    window = assemble_sequences(rows, plan.locator, plan.limits)
    if window.n_users < plan.guarantee.k:
        return None
    result = disassociated(window, seal, plan)
    if not result.release.clusters:
        return None
    original = visited_sets(window.sequences)
    rebuilt = reconstruct(result.release, keyed_generator(plan.secret, seal.release_id, "measures"))
    return SetMeasures(
        tkd=top_deviation(original, rebuilt),
        re=pair_error(original, [rebuilt]),
        tlost=lost_locations(original, result.release, k=plan.guarantee.k),
        visits_kept_share=float(result.kept.mean()),
    )
