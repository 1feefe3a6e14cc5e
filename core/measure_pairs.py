"""Measure what a release of pairs lost against the raw window, for whoever may see both. Never published."""

from __future__ import annotations

from dataclasses import dataclass

from core.figures import Figures
from core.plan import PairPlan
from core.records import Rows
from core.release_pairs import pair_window, suppressed
from core.seal import Seal
from core.utility import pair_shares

__all__ = ["LONGEST_SEQUENCE", "PairMeasures", "measure_pairs"]

LONGEST_SEQUENCE = 3
"""Most pairs of the frequent sequences that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMeasures(Figures):
    """The measures of one window; NaN where there is nothing to measure. Formulas: :mod:`core.utility`."""

    visits_kept_share: float
    pairs_kept_share: float
    people_kept_share: float
    """Share of the people of whom a visit is released."""

    sequences_kept_share: float
    """Share of the window's frequent sequences that the release still has."""


def measure_pairs(seal: Seal, rows: Rows, plan: PairPlan) -> PairMeasures | None:
    """Measure the release of a sealed window. The same arguments give the same figures.

    The window is anonymized once more, which gives the same result: no release ever carries raw visits along for
    somebody to measure.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How it was released.

    Returns:
        The measures; None where nothing can be released.
    """
    window = pair_window(rows, plan, start_ms=seal.key.start_ms)
    if window.n_users < plan.guarantee.k:
        return None
    kept = suppressed(window, plan).kept
    if not kept.any():
        return None
    shares = pair_shares(
        window.sequences,
        window.stands_for,
        kept,
        min_support=plan.options.min_support(window.n_users, plan.guarantee.k),
        longest=LONGEST_SEQUENCE,
    )
    return PairMeasures(
        visits_kept_share=shares.visits,
        pairs_kept_share=shares.pairs,
        people_kept_share=shares.people,
        sequences_kept_share=shares.sequences,
    )
