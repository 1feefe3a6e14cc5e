"""PromQL queries; only metrics that ``stream.observe.metrics`` declares can be used."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from stream.observe.metrics import LABELS, Declared, Metrics

__all__ = [
    "FEED",
    "FEED_LEGEND",
    "declared",
    "only_what_happens",
    "per_feed",
    "quantile_of_an_hour",
    "rate",
    "records",
    "series",
    "share_of_an_hour",
]

FEED = "kind, model, shard_kind"
FEED_LEGEND = "{{kind}} {{model}} {{shard_kind}}"

_DECLARED = {one.name: one for one in Metrics(CollectorRegistry()).declared}
_OF_A_HISTOGRAM = ("_bucket", "_count", "_sum")


def declared(name: str) -> Declared:
    """Return the declaration of a metric.

    Args:
        name: The metric's name at ``/metrics``.

    Raises:
        ValueError: The metric is not declared.
    """
    histogram = next((name.removesuffix(end) for end in _OF_A_HISTOGRAM if name.endswith(end)), name)
    metric = _DECLARED.get(name) or _DECLARED.get(histogram)
    if metric is None or (metric.type == "histogram") != (name != metric.name):
        raise ValueError(f"{name} is not declared in stream/observe/metrics.py")
    return metric


def series(name: str, **labels: str | tuple[str, ...]) -> str:
    """Select the series of a declared metric, for the jobs and kinds chosen in the dashboard.

    Args:
        name: The metric's name at ``/metrics``.
        labels: For each label its value, or several possible values.

    Raises:
        ValueError: The metric, a label or a value is not declared in ``stream.observe.metrics``.

    >>> series("shoal_windows_total", outcome="refused")
    'shoal_windows_total{job=~"$job",kind=~"$kind",outcome="refused"}'
    """
    metric = declared(name)
    matchers = ['job=~"$job"'] + ['kind=~"$kind"'] * ("kind" in metric.labels)
    for label, wanted in labels.items():
        values = (wanted,) if isinstance(wanted, str) else wanted
        if label not in metric.labels or not set(values) <= set(LABELS[label]):
            raise ValueError(f"{name} has no label {label} with {values}: see stream/observe/metrics.py")
        matchers.append(f'{label}="{values[0]}"' if len(values) == 1 else f'{label}=~"{"|".join(values)}"')
    return f"{name}{{{','.join(matchers)}}}"


def rate(selector: str) -> str:
    """Return the growth of a counter per second."""
    return f"rate({selector}[$__rate_interval])"


def per_feed(aggregation: str, each: str, *labels: str) -> str:
    """Aggregate over workers, by kind of feed, model and kind of shards.

    Args:
        aggregation: The aggregation, such as ``sum``.
        each: A vector with the labels ``job``, ``instance`` and ``kind``.
        labels: More labels to keep.
    """
    kept = ", ".join([FEED, *labels])
    info = series("shoal_feed_info")
    return f"{aggregation} by ({kept}) ({each} * on (job, instance, kind) group_left (model, shard_kind) {info})"


def only_what_happens(counted: str, by: str = FEED) -> str:
    """Leave out zero series, but return one 0 for a feed without any other: zero then differs from missing data.

    Args:
        counted: A vector with one series for each of many reasons.
        by: Its labels that identify a feed.
    """
    return f"({counted} > 0) or 0 * max by ({by}) ({series('shoal_feed_info')})"


def records(*outcomes: str) -> str:
    """Select records by outcome."""
    return series("shoal_records_total", outcome=outcomes)


def share_of_an_hour(outcome: str, *among: str) -> str:
    """Return the share of one outcome among several, over the records in windows of the last hour."""
    part, whole = (per_feed("sum", f"increase({records(*outcomes)}[1h])") for outcomes in ((outcome,), among))
    return f"{part} / ({whole} > 0)"


def quantile_of_an_hour(quantile: float, buckets: str, label: str) -> str:
    """Return a quantile of a histogram over the last hour, for each value of a label."""
    return f"histogram_quantile({quantile}, sum by (le, {label}) (increase({series(buckets)}[1h])))"
