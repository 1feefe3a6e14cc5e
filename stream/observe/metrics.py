"""Metrics: declared once, on a given registry. Labels come from closed sets, and name no user, location or shard.

The documentation site lists these declarations (``docs/extensions/metrics.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from core.models.registry import models_of
from core.records.record import Kind, Reason
from core.release.attacks.risk import Attack
from core.release.outcome import WithholdReason
from stream.formats.release.result import WindowResult
from stream.kafka.client import Operation
from stream.kafka.log_start import Jump
from stream.settings.feeds import ShardKind

__all__ = ["LABELS", "Metrics"]

_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

_ROUNDING = 1e-9
"""A risk this little above the promise equals it: it is a sum of fractions."""

LABELS: dict[str, tuple[str, ...]] = {
    "kind": tuple(Kind),
    "outcome": (
        *("read", "tombstone", "filtered", "forwarded", "rejected", "buffered", "late", "duplicate", "reread"),
        *("released", "suppressed", "withheld", "refused", "condensed", "nowhere"),
    ),
    "reason": (*Reason, *WithholdReason),
    "stage": ("ingest", "seal", "anonymize", "emit"),
    "attack": tuple(Attack),
    "statistic": ("highest", "mean", "chance"),
    "measure": (
        *("distance_m", "distance_share", "generalized_size", "generalized_distance_share", "semantic_penalty"),
        *("mean_space_translation_m", "mean_time_translation_s", "ncp", "ul"),
    ),
    "model": (*models_of(Kind.CHECKINS), *models_of(Kind.FRAGMENTS)),
    "shard_kind": get_args(ShardKind),
    "jump": tuple(Jump),
    "operation": get_args(Operation),
    "seen_by": ("input", "brokers"),
    "version": (),  # one value, of this build
}
"""Values of each label."""


_STOP_OUTCOMES = ("released", "suppressed", "withheld", "duplicate", "nowhere")


@dataclass(frozen=True, slots=True)
class Declared:
    """The documentation of a metric."""

    name: str
    type: str
    labels: tuple[str, ...]
    documentation: str


class Metrics:
    """The metrics of a worker. Their prefix is ``shoal_``; their units are seconds, metres and bytes.

    Args:
        registry: Where the metrics are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.declared: list[Declared] = []

        # Promise and observation.
        self.feed_info = self._gauge(
            "feed_info",
            "1 for each feed; its labels name the model and the kind of shards.",
            "kind",
            "model",
            "shard_kind",
        )
        self.promised_k = self._gauge("promised_k", "The k that the settings promise to everybody.", "kind")
        self.smallest_support = self._gauge(
            "smallest_support", "Smallest support in the last release, in people, as verified.", "kind"
        )
        self.below_promise = self._counter(
            "windows_below_promise",
            "Released windows with a smallest support below k. Always 0, unless Shoal has a bug.",
            "kind",
        )
        self.epsilon_spent = self._counter(
            "epsilon_spent",
            "Sum of the epsilons of all windows that were released with noise, or withheld because of it.",
            "kind",
        )
        self.risk = self._gauge(
            "reidentification_risk",
            "Probability that a simulated attack finds a person in the last release, on a sample of its people.",
            *("kind", "attack", "statistic"),
        )
        self.above_promise = self._counter(
            "windows_above_promised_risk",
            "Released windows in which the risk of a simulated attack exceeded 1/k.",
            "kind",
            "attack",
        )

        self.linkage = self._gauge(
            "linkage_risk",
            "Probability that a simulated attack follows a person from the release before the last one of a shard to "
            "the last one; chance: the same by blind guesses.",
            *("kind", "statistic"),
        )
        self.promised_linkage = self._gauge(
            "promised_linkage_risk",
            "Largest linkage risk that the settings promise; NaN if they promise nothing of several windows.",
            "kind",
        )
        self.above_promised_linkage = self._counter(
            "windows_above_promised_linkage",
            "Released windows in which the linkage risk exceeded what the settings promise.",
            "kind",
        )

        self._declare_fates()

        # Utility.
        self.loss = self._gauge(
            "information_loss", "Information loss of the last release, by measure.", "kind", "measure"
        )
        self.people = self._gauge(
            "release_people", "People in the last release; NaN if the count is not published.", "kind"
        )
        self.trajectories = self._gauge("release_trajectories", "Trajectories in the last release.", "kind")
        self.points = self._gauge("release_points", "Visits or points in the last release.", "kind")

        # How it runs.
        self.stage_seconds = self._histogram(
            "stage_seconds",
            "Duration of one unit of work: of a batch for ingest, of a window for the other stages.",
            "stage",
        )
        self.close_to_release_seconds = self._histogram(
            "close_to_release_seconds",
            "Time from the decision to seal a window until all that is public of it is acknowledged.",
            "kind",
        )
        self.open_windows = self._gauge("open_windows", "Windows that hold rows.")
        self.buffered_rows = self._gauge("buffered_rows", "Rows held in memory until their window is released.")
        self.buffered_rows_limit = self._gauge("buffered_rows_limit", "Most rows held in memory: limits.buffered_rows.")
        self.partitions = self._gauge("partitions", "Partitions of the shards topic assigned to this worker.")
        self.input_lag_records = self._gauge(
            "input_lag_records", "Unread records in the assigned input partitions.", "kind"
        )
        self.input_lag_seconds = self._gauge(
            "input_lag_seconds", "Age of the record read last; 0 if no more records are unread.", "kind"
        )
        self.event_lag_seconds = self._gauge(
            "event_lag_seconds", "How far the newest event time read is behind the clock.", "kind"
        )
        self.watermark_delay_seconds = self._gauge(
            "watermark_delay_seconds", "How far the slowest watermark is behind the clock.", "kind"
        )
        self.source_lead_seconds = self._gauge(
            "source_lead_seconds", "How far the event time of one source is ahead of all others.", "kind"
        )
        self.shards_lag_chunks = self._gauge(
            "shards_lag_chunks", "Unread chunks in the assigned partitions of the shards topic."
        )
        self.passed_over_chunks = self._counter(
            "passed_over_chunks",
            "Chunks of the shards topic that Faust skipped after a rebalance, and that the worker read itself.",
        )
        self.last_release_timestamp = self._gauge(
            "last_release_timestamp_seconds", "Time of the last released window, Unix time.", "kind"
        )
        self.loop_lag_seconds = self._gauge(
            "loop_lag_seconds", "Longest delay of a timer by the event loop in the last ten seconds."
        )
        self.pool_memory_bytes = self._gauge("pool_resident_memory_bytes", "Memory of the processes that anonymize.")
        self.rebalances = self._counter("rebalances", "Rebalances of the windows group.")
        self.kafka_up = self._gauge("kafka_up", "1 while the cluster answers, else 0.")
        self.reconnects = self._counter("kafka_reconnects", "Times that the cluster answered again after a failure.")
        self.kafka_trouble = self._counter(
            "kafka_trouble", "Failed operations on the cluster; each is retried.", "operation"
        )
        for operation in LABELS["operation"]:
            self.kafka_trouble.labels(operation)
        self.clock_wrong = self._gauge(
            "clock_wrong",
            "1 while this machine's clock is over a minute behind the input's time stamps (input), or brokers refuse "
            "its time as a time stamp (brokers).",
            "seen_by",
        )
        for seen_by in LABELS["seen_by"]:
            self.clock_wrong.labels(seen_by)
        self.clock_behind_seconds = self._gauge(
            "clock_behind_seconds",
            "How far this machine's clock is behind the input's time stamps; 0 up to one minute.",
        )
        self.clock_jumps = self._counter("clock_jumps", "Times that this machine's clock jumped by 10 seconds or more.")
        self.unreadable_partitions = self._gauge(
            "unreadable_partitions", "Assigned input partitions whose next records cannot be read."
        )
        self.build_info = self._gauge("build_info", "1; its label is the version of the worker.", "version")
        ProcessCollector(namespace="shoal", registry=registry)
        for name, what in (
            ("process_resident_memory_bytes", "Memory of the worker process."),
            ("process_cpu_seconds_total", "CPU time of the worker process."),
            ("process_open_fds", "Open file descriptors of the worker process."),
            ("process_start_time_seconds", "Start of the worker, Unix time."),
        ):
            type_ = "counter" if name.endswith("_total") else "gauge"
            self.declared.append(Declared(f"shoal_{name}", type_, (), what))

    def _declare_fates(self) -> None:
        """Declare the counters of records and windows by outcome."""
        self.records = self._counter(
            "records",
            "Records and points by outcome; reread: read again after a rebalance; condensed: points in which stops "
            "were looked for, see shoal_stops_total.",
            *("kind", "outcome"),
        )
        self.stops = self._counter(
            "stops", "Stops found in fragments, by outcome; nowhere: outside all locations.", "outcome"
        )
        self.rejected = self._counter(
            "rejected_records", "Rejected records by reason; each has a dead letter.", "kind", "reason"
        )
        self.left_out_points = self._counter(
            "left_out_points", "Points without a position, left out of accepted fragments.", "kind", "reason"
        )
        self.input_jumps = self._counter(
            "input_jumps",
            "Times that reading of an input partition did not continue at the committed offset, by cause.",
            *("kind", "jump"),
        )
        self.lost_input_records = self._counter(
            "lost_input_records", "Input offsets that were deleted before they were read.", "kind"
        )
        self.lost_chunks = self._counter(
            "lost_chunks", "Offsets of the shards topic that were deleted before their windows were emitted."
        )
        self.windows = self._counter("windows", "Windows by outcome.", "kind", "outcome")
        self.withheld = self._counter("withheld_windows", "Withheld windows by reason.", "kind", "reason")
        self.early_seals = self._counter(
            "early_seals",
            "Windows sealed early because buffers were full or a shard had too many open windows.",
            "kind",
        )

    def expect(self, kind: Kind, *, model: str, shard_kind: str, required_k: int, linkage: float | None = None) -> None:
        """Create the series of a feed at zero: Prometheus cannot see the first increase of a series that is missing.

        Args:
            kind: Kind of feed.
            model: Its model.
            shard_kind: Its kind of shards.
            required_k: The k that is promised to everybody.
            linkage: The linkage risk that is promised; None if nothing is promised of several windows.
        """
        self.promised_linkage.labels(kind).set(math.nan if linkage is None else linkage)
        self.above_promised_linkage.labels(kind)
        self.feed_info.labels(kind, model, shard_kind).set(1)
        self.promised_k.labels(kind).set(required_k)
        self.below_promise.labels(kind)
        self.epsilon_spent.labels(kind)
        self.early_seals.labels(kind)
        self.lost_input_records.labels(kind)
        for jump in Jump:
            self.input_jumps.labels(kind, jump)
        for attack in Attack:
            self.above_promise.labels(kind, attack)
        for outcome in ("released", "withheld", "refused"):
            self.windows.labels(kind, outcome)
        for outcome in LABELS["outcome"]:
            if outcome not in ("refused", "nowhere"):
                self.records.labels(kind, outcome)
        if kind is Kind.STOPS:
            for outcome in _STOP_OUTCOMES:
                self.stops.labels(outcome)
        for rejected in Reason:
            self.rejected.labels(kind, rejected)
        for withheld in WithholdReason:
            self.withheld.labels(kind, withheld)

    def count_window(
        self,
        kind: Kind,
        result: WindowResult,
        seconds: float,
        *,
        required_k: int,
        linkage: float | None = None,
        exemplar: dict[str, str] | None = None,
    ) -> None:
        """Count a window that was emitted, and set the gauges of its release.

        Args:
            kind: Kind of feed.
            result: The outcome of the window.
            seconds: From the decision to seal it until all that is public of it is acknowledged.
            required_k: The k that is promised to everybody.
            linkage: The linkage risk that is promised; None if nothing is promised of several windows.
            exemplar: Labels that lead to the window's trace, if it has one.
        """
        facts, account = result.facts, result.account
        fates = {
            "released": account.released,
            "suppressed": account.suppressed,
            "withheld": account.withheld,
            "duplicate": account.duplicates,
            "nowhere": account.nowhere,
        }
        if kind is Kind.STOPS:
            self.records.labels(kind, "condensed").inc(account.condensed or 0)
            for outcome in _STOP_OUTCOMES:
                self.stops.labels(outcome).inc(fates[outcome])
        else:
            for outcome in ("released", "suppressed", "withheld", "duplicate"):
                self.records.labels(kind, outcome).inc(fates[outcome])
        self.windows.labels(kind, result.outcome).inc()
        self.close_to_release_seconds.labels(kind).observe(seconds, exemplar)
        if result.outcome != "released":
            self.withheld.labels(kind, facts["reason"]).inc()
            return
        self.last_release_timestamp.labels(kind).set_to_current_time()
        smallest = int(facts["smallest_support"] or 0)
        self.smallest_support.labels(kind).set(smallest)
        if smallest < required_k:
            self.below_promise.labels(kind).inc()
        for attack, risk in result.risks.items():
            self.risk.labels(kind, attack, "highest").set(risk.highest)
            self.risk.labels(kind, attack, "mean").set(risk.mean)
            if risk.highest > 1 / required_k:
                self.above_promise.labels(kind, attack).inc()
        self._count_linkage(kind, result, linkage)
        for gauge, name in (
            (self.people, "people"),
            (self.trajectories, "trajectories"),
            (self.points, "points_released"),
            *((self.loss, measure) for measure in LABELS["measure"]),
        ):
            if name in facts:
                labels = (kind, name) if gauge is self.loss else (kind,)
                value = facts[name]
                gauge.labels(*labels).set(math.nan if value is None else float(value))

    def _count_linkage(self, kind: Kind, result: WindowResult, promised: float | None) -> None:
        risk = result.linkage
        if risk is None:
            return
        for statistic, value in (("highest", risk.highest), ("mean", risk.mean), ("chance", risk.chance)):
            self.linkage.labels(kind, statistic).set(value)
        if promised is not None and risk.highest > promised + _ROUNDING:
            self.above_promised_linkage.labels(kind).inc()

    def _note(self, name: str, type_: str, labels: tuple[str, ...], what: str) -> str:
        suffix = "_total" if type_ == "counter" else ""
        self.declared.append(Declared(f"shoal_{name}{suffix}", type_, labels, what))
        return f"shoal_{name}"

    def _gauge(self, name: str, what: str, *labels: str) -> Gauge:
        return Gauge(self._note(name, "gauge", labels, what), what, labels, registry=self.registry)

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(self._note(name, "counter", labels, what), what, labels, registry=self.registry)

    def _histogram(self, name: str, what: str, *labels: str) -> Histogram:
        full = self._note(name, "histogram", labels, what)
        return Histogram(full, what, labels, buckets=_SECONDS, registry=self.registry)
