"""Measure what a release with attributes lost against the raw window, for whoever may see both. Never published."""

from __future__ import annotations

from dataclasses import dataclass

from core.anonymize.rt.result import BoundNotMet
from core.assemble import assemble_sequences
from core.figures import Figures
from core.plan import AttributePlan
from core.records import Rows
from core.release_attributes import anonymized

__all__ = ["AttributeMeasures", "measure_attributes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeMeasures(Figures):
    """The measures of one window."""

    ncp: float
    """Mean loss in attributes, in ``0..1``."""

    ul: float
    """Mean loss in locations, in ``0..1``, where who has none left counts 1."""

    groups: float
    visits_kept_share: float


def measure_attributes(rows: Rows, plan: AttributePlan) -> AttributeMeasures | None:
    """Measure the release of a window. The same arguments give the same figures.

    Args:
        rows: The window's rows.
        plan: How it was released.

    Returns:
        The measures; None where nothing can be released.
    """
    window = assemble_sequences(rows, plan.locator, plan.limits)
    if window.n_users < plan.guarantee.k:
        return None
    result = anonymized(rows, window, plan)
    if isinstance(result, BoundNotMet) or not result.groups:
        return None
    return AttributeMeasures(
        ncp=result.ncp, ul=result.ul_bounded, groups=len(result.groups), visits_kept_share=float(result.kept.mean())
    )
