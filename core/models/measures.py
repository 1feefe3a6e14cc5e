"""Measure the release of a sealed window against its raw records. Operator only; never published.

The window is anonymized once more, which gives the same result. So a release need not carry raw records to be measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.plan import Plan
from core.models.registry import family_of
from core.records.record import Rows
from core.utility.window_answers import QueryMeasures, measure_queries
from core.utility.window_measures import NOTHING_RELEASED, MeasureInputs, WindowLoss, WindowMeasures
from core.windows.seal import Seal

__all__ = ["MeasuredWindow", "measure_loss", "measure_window"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredWindow:
    """All figures of a window."""

    measures: WindowMeasures
    """The measures of the model."""

    queries: QueryMeasures | None
    """How exactly the release answers the workload; None without a workload."""

    def as_dict(self) -> dict[str, float]:
        """Return the figures by name, in order."""
        return self.measures.as_dict() | ({} if self.queries is None else self.queries.as_dict())


def measure_window(seal: Seal, rows: Rows, plan: Plan, inputs: MeasureInputs) -> MeasuredWindow | None:
    """Measure a window by the measures of its model, and by a workload. The same arguments give the same figures.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How it was released.
        inputs: What the measures need besides.

    Returns:
        The figures; None if nothing can be released.
    """
    family = family_of(plan.model)
    rows = _visits(seal, rows, plan)
    if not len(rows):
        return None
    window = family.assemble(seal, rows, plan)
    if window.n_users < plan.guarantee.k:
        return None
    result = family.anonymize(seal, window, plan)
    if result is None or family.candidate(window, result, plan) is None:
        return None
    measures = family.measure(seal, window, result, plan, inputs)
    if inputs.workload is None:
        return MeasuredWindow(measures=measures, queries=None)
    answers = family.answers(seal, rows, window, result, plan)
    queries = measure_queries(answers, inputs.workload, plan.generator(seal, "queries"))
    return MeasuredWindow(measures=measures, queries=queries)


def measure_loss(seal: Seal, rows: Rows, plan: Plan) -> WindowLoss:
    """Measure the loss that all models are compared by. The same arguments give the same figures.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How it was released.
    """
    family = family_of(plan.model)
    rows = _visits(seal, rows, plan)
    if not len(rows):
        return NOTHING_RELEASED
    window = family.assemble(seal, rows, plan)
    result = family.anonymize(seal, window, plan)
    return NOTHING_RELEASED if result is None else family.loss(window, result, plan)


def _visits(seal: Seal, rows: Rows, plan: Plan) -> Rows:
    """Return the rows that a window releases: its own, or the stops that ended in it."""
    return rows if plan.stop_rule is None else plan.find_stops(seal, rows).visits
