"""Metrics: declared once, on a registry that is handed in; labels come from closed sets."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

__all__ = ["Metrics"]

_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """What a worker counts. Prefix ``shoal_``; seconds and metres."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.records = Counter(
            "shoal_records", "Records and points by what became of them.", ["kind", "outcome"], registry=registry
        )
        """``read``, ``forwarded``, ``rejected``, ``buffered``, ``late``, ``duplicate``, ``released``, ``suppressed``,
        ``withheld``, and ``reread``: after a rebalance, rows of windows that have left."""
        self.rejected = Counter(
            "shoal_rejected_records", "Rejected records by reason.", ["kind", "reason"], registry=registry
        )
        self.windows = Counter(
            "shoal_windows", "Windows by what became of them.", ["kind", "outcome"], registry=registry
        )
        self.withheld = Counter("shoal_withheld_windows", "Withheld windows by reason.", ["reason"], registry=registry)
        self.stage_seconds = Histogram(
            "shoal_stage_seconds", "Time of one unit of work, by stage.", ["stage"], buckets=_SECONDS, registry=registry
        )
        """``ingest`` (a batch), ``seal``, ``anonymize`` (and verify), ``emit``."""
        self.close_to_release_seconds = Histogram(
            "shoal_close_to_release_seconds",
            "From the decision to seal a window to its windows message.",
            ["kind"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.open_windows = Gauge("shoal_open_windows", "Windows that hold rows.", registry=registry)
        self.buffered_rows = Gauge("shoal_buffered_rows", "Rows that wait for their window.", registry=registry)
        self.partitions = Gauge("shoal_partitions", "Partitions of the shards topic assigned here.", registry=registry)
        self.source_lead_seconds = Gauge(
            "shoal_source_lead_seconds",
            "How far the event time of one source is ahead of all others.",
            ["kind"],
            registry=registry,
        )
        self.watermark_delay_seconds = Gauge(
            "shoal_watermark_delay_seconds",
            "How far the slowest watermark is behind the clock.",
            ["kind"],
            registry=registry,
        )
        self.rebalances = Counter("shoal_rebalances", "Rebalances seen.", registry=registry)
        self.smallest_support = Gauge(
            "shoal_smallest_support",
            "Smallest support or set that the last release showed.",
            ["kind"],
            registry=registry,
        )
        self.kafka_up = Gauge("shoal_kafka_up", "1 while the cluster answers.", registry=registry)
