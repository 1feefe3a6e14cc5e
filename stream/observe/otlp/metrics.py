"""Metrics over OTLP: those of the Prometheus registry, so that each is declared once."""

from __future__ import annotations

import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import Metric as PrometheusMetric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from stream.observe.otlp.sending import Deliveries, exporter_options, resource_of
from stream.settings.model import Settings

__all__ = ["OtlpMetrics", "as_otlp"]

_CUMULATIVE = AggregationTemporality.CUMULATIVE
_UNITS = {"seconds": "s", "bytes": "By"}
_SCOPE = InstrumentationScope("shoal")

_Labels = tuple[tuple[str, str], ...]


class OtlpMetrics:
    """Sends metrics to an OTLP receiver at regular times, from a thread.

    OpenTelemetry's own reader sends instruments of its SDK alone, and every metric would have to be registered twice.

    Args:
        settings: All settings; ``telemetry.endpoint`` is set.
        source: The metrics, as they are served to Prometheus.
    """

    def __init__(self, settings: Settings, source: Collector) -> None:
        self._source, self._resource = source, resource_of(settings)
        self._exporter = OTLPMetricExporter(**exporter_options(settings, "metrics"))
        self._deliveries = Deliveries("readings of metrics")
        self._every_s = settings.telemetry.metrics_every / 1000
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics over OTLP", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending.wait(self._every_s):
            self._send()
        self._send()

    def _send(self) -> None:
        with self._deliveries.attempt(1) as attempt:
            data = as_otlp(self._source.collect(), self._resource, now_ns=time.time_ns())
            attempt.is_accepted = self._exporter.export(data) is MetricExportResult.SUCCESS

    def close(self) -> None:
        """Send once more, and stop."""
        self._ending.set()
        self._thread.join()
        self._exporter.shutdown()


def as_otlp(metrics: Iterable[PrometheusMetric], resource: Resource, *, now_ns: int) -> MetricsData:
    """Write metrics of Prometheus as those of OpenTelemetry, under the same names.

    Args:
        metrics: Counters, gauges and histograms with cumulative buckets.
        resource: What is measured.
        now_ns: The present, Unix nanoseconds.
    """
    # A Prometheus refuses the whole request for a metric without a value.
    found = [one for metric in metrics if (one := _metric(metric, now_ns)).data.data_points]
    scope = ScopeMetrics(_SCOPE, found, schema_url="")
    return MetricsData([ResourceMetrics(resource, [scope], schema_url="")])


def _metric(metric: PrometheusMetric, now_ns: int) -> Metric:
    data: Sum | Gauge | Histogram
    name = metric.name
    if metric.type == "counter":
        name = f"{name}_total"
        data = Sum(list(_numbers(metric, name, now_ns)), _CUMULATIVE, is_monotonic=True)
    elif metric.type == "histogram":
        data = Histogram(list(_histograms(metric, now_ns)), _CUMULATIVE)
    else:
        data = Gauge(list(_numbers(metric, name, now_ns)))
    unit = next((short for long, short in _UNITS.items() if metric.name.endswith(f"_{long}")), "")
    return Metric(name, metric.documentation, unit, data)


def _numbers(metric: PrometheusMetric, name: str, now_ns: int) -> Iterator[NumberDataPoint]:
    created_ns = _created_ns(metric)
    for sample in metric.samples:
        if sample.name == name:
            begun_ns = created_ns.get(_labels(sample), 0)  # 0 means that it is not known
            yield NumberDataPoint(sample.labels, begun_ns, now_ns, sample.value)


def _histograms(metric: PrometheusMetric, now_ns: int) -> Iterator[HistogramDataPoint]:
    created_ns, buckets = _created_ns(metric), defaultdict[_Labels, list[Sample]](list)
    sums = {_labels(sample): sample.value for sample in metric.samples if sample.name == f"{metric.name}_sum"}
    for sample in metric.samples:
        if sample.name == f"{metric.name}_bucket":
            buckets[_labels(sample)].append(sample)
    for labels, its in buckets.items():
        bounds = [float(sample.labels["le"]) for sample in its]
        up_to = [0, *(round(sample.value) for sample in its)]
        yield HistogramDataPoint(
            attributes=dict(labels),
            start_time_unix_nano=created_ns.get(labels, 0),
            time_unix_nano=now_ns,
            count=up_to[-1],
            sum=sums[labels],
            bucket_counts=[above - below for below, above in itertools.pairwise(up_to)],
            explicit_bounds=bounds[:-1],  # the last one is infinite, and implied
            min=None,  # type: ignore[arg-type] # Prometheus does not know them, and they are optional in OTLP
            max=None,  # type: ignore[arg-type]
            exemplars=list(_exemplars(its)),
        )


def _exemplars(samples: Iterable[Sample]) -> Iterator[Exemplar]:
    for sample in samples:
        found = sample.exemplar
        if found is not None:
            yield Exemplar(
                filtered_attributes={},
                value=float(found.value),
                time_unix_nano=round(float(found.timestamp or 0) * 1e9),
                span_id=int(found.labels["span_id"], 16),
                trace_id=int(found.labels["trace_id"], 16),
            )


def _created_ns(metric: PrometheusMetric) -> dict[_Labels, int]:
    """Return when the counters or histograms of a metric began, Unix nanoseconds."""
    name = f"{metric.name}_created"
    return {_labels(sample): round(sample.value * 1e9) for sample in metric.samples if sample.name == name}


def _labels(sample: Sample) -> _Labels:
    return tuple((name, value) for name, value in sample.labels.items() if name != "le")
