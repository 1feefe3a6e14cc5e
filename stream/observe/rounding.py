"""Counters as they are served: rounded, so that their readers do not learn of single people."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

__all__ = ["DEFECTS", "RoundedCounts"]

_COUNTS = frozenset({"shoal_records", "shoal_windows", "shoal_withheld_windows"})
"""Counters that also tell of people of whom nothing is published: those who are suppressed or withheld."""

DEFECTS = frozenset({"refused", "verification_failed", "anonymizer_failed"})
"""Outcomes and reasons that point at a defect and not at few people: the first one must raise an alert."""


class RoundedCounts(Collector):
    """What a registry holds, with the counters of records and windows rounded down.

    Args:
        registry: The metrics, which stay exact.
        step: The counters are shown as multiples of it.
    """

    def __init__(self, registry: CollectorRegistry, step: int) -> None:
        self._exact, self._step = registry, step

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        for metric in self._exact.collect():
            if metric.name in _COUNTS:
                metric.samples = [
                    sample._replace(value=sample.value // self._step * self._step)
                    if sample.name.endswith("_total") and DEFECTS.isdisjoint(sample.labels.values())
                    else sample
                    for sample in metric.samples
                ]
            yield metric
