"""The operations dashboard, for operators: whether workers keep up, what limits them, what they wait for."""

from __future__ import annotations

from deploy.grafana.build import Panel, Row, document
from deploy.grafana.queries import FEED_LEGEND, only_what_happens, per_feed, quantile_of_an_hour, rate, records, series

__all__ = ["operations"]

_KIND = "{{kind}}"
_WORKER = "{{instance}}"


def operations() -> str:
    """Return the operations dashboard."""
    rows = [
        Row(
            title="Do the workers keep up?",
            panels=[
                Panel(
                    title="Input lag",
                    description="Age of the record read last, by the producers' time stamps; 0 if no more records are "
                    "unread. If it is above a minute and grows, the workers cannot keep up. It has no meaning for an "
                    "old feed that is sent with its old time stamps.",
                    unit="s",
                    red_from=60,
                    queries=[(f"max by (kind) ({series('shoal_input_lag_seconds')})", _KIND)],
                ),
                Panel(
                    title="Event time behind the clock",
                    description="How far the newest event time read, and the slowest watermark, are behind the clock. "
                    "For a feed that is replayed, large values are normal.",
                    unit="s",
                    queries=[
                        (f"max by (kind) ({series('shoal_event_lag_seconds')})", f"newest record: {_KIND}"),
                        (f"max by (kind) ({series('shoal_watermark_delay_seconds')})", f"watermark: {_KIND}"),
                    ],
                ),
                Panel(
                    title="Close to release",
                    description="Time from the decision to seal a window until its windows message is acknowledged: "
                    "median, 95th and 99th percentile over the last hour. With tracing, points lead to the traces of "
                    "windows.",
                    unit="s",
                    exemplars=True,
                    queries=[
                        (
                            quantile_of_an_hour(quantile, "shoal_close_to_release_seconds_bucket", "kind"),
                            f"{_KIND} {name}",
                        )
                        for quantile, name in ((0.5, "50 %"), (0.95, "95 %"), (0.99, "99 %"))
                    ],
                ),
            ],
        ),
        Row(
            title="Throughput",
            panels=[
                Panel(
                    title="Records in",
                    description="Records read from the input topics.",
                    unit="recps",
                    queries=[(f"sum by (kind) ({rate(records('read'))})", _KIND)],
                ),
                Panel(
                    title="Visits and points out",
                    description="Visits and points released. They come in bursts, when windows close.",
                    unit="recps",
                    queries=[(f"sum by (kind) ({rate(records('released'))})", _KIND)],
                ),
                Panel(
                    title="Backlog",
                    description="Unread records of the input, and unread chunks of the shards topic.",
                    unit="short",
                    queries=[
                        (f"sum by (kind) ({series('shoal_input_lag_records')})", f"records: {_KIND}"),
                        (f"sum ({series('shoal_shards_lag_chunks')})", "chunks"),
                    ],
                ),
                Panel(
                    title="Time spent by stage",
                    description="Seconds of work per second, of all workers. A stage near 1 for each worker is the "
                    "bottleneck; the stage anonymize runs in worker.processes processes, so its limit is higher.",
                    unit="s",
                    look="stack",
                    queries=[(f"sum by (stage) ({rate(series('shoal_stage_seconds_sum'))})", "{{stage}}")],
                ),
                Panel(
                    title="Dead letters",
                    description="Rejected records by reason; 0 if there are none. If one reason suddenly rises, a "
                    "producer has probably changed.",
                    unit="recps",
                    look="stack",
                    queries=[
                        (
                            only_what_happens(
                                f"sum by (kind, reason) ({rate(series('shoal_rejected_records_total'))})", "kind"
                            ),
                            "{{reason}} {{kind}}",
                        )
                    ],
                ),
                Panel(
                    title="One source ahead of all others",
                    description="How far the event time of one source is ahead of all others. If it is many minutes, "
                    "the clock of this source is probably wrong.",
                    unit="s",
                    queries=[(f"max by (kind) ({series('shoal_source_lead_seconds')})", _KIND)],
                ),
            ],
        ),
        Row(
            title="State",
            panels=[
                Panel(
                    title="Open windows",
                    description="Windows that hold rows, by worker.",
                    unit="short",
                    queries=[(f"sum by (instance) ({series('shoal_open_windows')})", _WORKER)],
                ),
                Panel(
                    title="Rows that wait for their window",
                    description="Rows held in memory until their window is released. At limits.buffered_rows a worker "
                    "stops reading until a window is released.",
                    unit="short",
                    queries=[(f"sum by (instance) ({series('shoal_buffered_rows')})", _WORKER)],
                ),
                Panel(
                    title="Windows sealed early",
                    description="Windows of the last hour that were sealed early because buffers were full or a shard "
                    "had too many open windows. Later records of these windows are late. It should be 0.",
                    unit="short",
                    queries=[(per_feed("sum", f"increase({series('shoal_early_seals_total')}[1h])"), FEED_LEGEND)],
                ),
                Panel(
                    title="Partitions and rebalances",
                    description="Partitions of the shards topic assigned to each worker, and rebalances of the last 15 "
                    "minutes. After each rebalance workers read their open windows again.",
                    unit="short",
                    queries=[
                        (f"sum by (instance) ({series('shoal_partitions')})", f"partitions: {_WORKER}"),
                        (f"max (increase({series('shoal_rebalances_total')}[15m]))", "rebalances"),
                    ],
                ),
                Panel(
                    title="Kafka",
                    description="1 while the cluster answers the worker, else 0; and reconnects in 15 minutes.",
                    unit="short",
                    queries=[
                        (f"min by (instance) ({series('shoal_kafka_up')})", f"answers: {_WORKER}"),
                        (f"sum (increase({series('shoal_kafka_reconnects_total')}[15m]))", "reconnects"),
                    ],
                ),
                Panel(
                    title="Clocks",
                    description="How far a worker's clock is behind the input's time stamps, if over a minute; 1 while "
                    "brokers refuse the worker's time as a time stamp, usually because its clock is ahead; and jumps "
                    "of the clock. All should be 0.",
                    unit="s",
                    queries=[
                        (f"max by (instance) ({series('shoal_clock_behind_seconds')})", f"behind: {_WORKER}"),
                        (
                            f"max by (instance) ({series('shoal_clock_wrong', seen_by='brokers')})",
                            f"refused: {_WORKER}",
                        ),
                        (f"sum (increase({series('shoal_clock_jumps_total')}[15m]))", "jumps in 15 minutes"),
                    ],
                ),
                Panel(
                    title="Input that jumped or is lost",
                    description="Times that reading of an input partition did not continue at the committed offset; "
                    "and offsets of the input and of the shards topic that were deleted too early. All should be 0.",
                    unit="short",
                    queries=[
                        (f"sum by (jump) (increase({series('shoal_input_jumps_total')}[15m]))", "{{jump}}"),
                        (f"sum (increase({series('shoal_lost_input_records_total')}[15m]))", "input lost"),
                        (f"sum (increase({series('shoal_lost_chunks_total')}[15m]))", "chunks lost"),
                    ],
                ),
                Panel(
                    title="Points without a position",
                    description="Points without a position per second; they are left out, and the rest of the fragment "
                    "is kept.",
                    unit="short",
                    queries=[
                        (
                            f"sum by (kind, reason) (rate({series('shoal_left_out_points_total')}[5m]))",
                            "{{kind}} {{reason}}",
                        )
                    ],
                ),
                Panel(
                    title="Input that cannot be read",
                    description="Input partitions that wait at a record that is damaged or cannot be decompressed. It "
                    "should be 0.",
                    unit="short",
                    queries=[(f"sum by (instance) ({series('shoal_unreadable_partitions')})", _WORKER)],
                ),
                Panel(
                    title="Failed Kafka operations",
                    description="Failed operations per second; each is retried. 0 if there are none. While its seals "
                    "cannot be read, a partition does no work.",
                    unit="ops",
                    queries=[
                        (
                            f"(sum by (operation) ({rate(series('shoal_kafka_trouble_total'))}) > 0) "
                            f"or 0 * sum ({series('shoal_build_info')})",
                            "trouble {{operation}}",
                        )
                    ],
                ),
            ],
        ),
        Row(
            title="Machine",
            panels=[
                Panel(
                    title="Memory",
                    description="Resident memory of each worker and of its processes that anonymize. "
                    "docs/operate/sizing.md, Memory, says how much a worker needs.",
                    unit="bytes",
                    queries=[
                        (f"max by (instance) ({series('shoal_process_resident_memory_bytes')})", f"worker: {_WORKER}"),
                        (f"max by (instance) ({series('shoal_pool_resident_memory_bytes')})", f"processes: {_WORKER}"),
                    ],
                ),
                Panel(
                    title="CPU of the worker itself",
                    description="CPU seconds per second, without the processes that anonymize. Near 1, one core limits "
                    "ingest; add workers.",
                    unit="s",
                    queries=[
                        (f"max by (instance) ({rate(series('shoal_process_cpu_seconds_total'))})", _WORKER),
                    ],
                ),
                Panel(
                    title="Loop lag",
                    description="Longest delay of a timer by the event loop in ten seconds. Near "
                    "kafka.session_timeout, a worker loses its partitions.",
                    unit="s",
                    queries=[(f"max by (instance) ({series('shoal_loop_lag_seconds')})", _WORKER)],
                ),
                Panel(
                    title="Open file descriptors",
                    description="If the number only grows, there is a leak.",
                    unit="short",
                    queries=[(f"max by (instance) ({series('shoal_process_open_fds')})", _WORKER)],
                ),
                Panel(
                    title="Time since the start",
                    description="Time since each worker started. A sawtooth means that a worker restarts again and "
                    "again.",
                    unit="s",
                    queries=[(f"time() - max by (instance) ({series('shoal_process_start_time_seconds')})", _WORKER)],
                ),
                Panel(
                    title="Versions",
                    description="Number of workers by version.",
                    unit="short",
                    look="figure",
                    queries=[(f"count by (version) ({series('shoal_build_info')})", "{{version}}")],
                ),
            ],
        ),
    ]
    return document(
        "shoal-operations",
        "Shoal: operations",
        "Whether the workers keep up, where they spend their time, and what they wait for.",
        rows,
    )
