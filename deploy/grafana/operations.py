"""For whoever keeps it running: is it in time, what limits it, what does it wait for."""

from __future__ import annotations

from deploy.grafana.build import Panel, Row, document
from deploy.grafana.queries import FEED_LEGEND, only_what_happens, per_feed, quantile_of_an_hour, rate, records, series

__all__ = ["operations"]

_KIND = "{{kind}}"
_WORKER = "{{instance}}"


def operations() -> str:
    """Return how the workers run."""
    rows = [
        Row(
            title="Is it in time?",
            panels=[
                Panel(
                    title="Input lag",
                    description="For how long the record read last had been waiting in its topic, while more are, by "
                    "the producers' time stamps. Above a minute and growing: the workers cannot keep up. Of an old "
                    "feed that is sent again under its old time stamps it tells little.",
                    unit="s",
                    red_from=60,
                    queries=[(f"max by (kind) ({series('shoal_input_lag_seconds')})", _KIND)],
                ),
                Panel(
                    title="Event time behind the clock",
                    description="How old the newest record is by its own time, and how far the slowest watermark is "
                    "behind. A feed that is replayed is far behind and may be well.",
                    unit="s",
                    queries=[
                        (f"max by (kind) ({series('shoal_event_lag_seconds')})", f"newest record: {_KIND}"),
                        (f"max by (kind) ({series('shoal_watermark_delay_seconds')})", f"watermark: {_KIND}"),
                    ],
                ),
                Panel(
                    title="Close to release",
                    description="Seconds from the decision to seal a window to its windows message: median, 95 and 99 "
                    "percent of the windows of the last hour.",
                    unit="s",
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
                    description="Visits and points released. They leave in bursts, when windows close.",
                    unit="recps",
                    queries=[(f"sum by (kind) ({rate(records('released'))})", _KIND)],
                ),
                Panel(
                    title="Backlog",
                    description="Records of the input and chunks of the shards topic that are not read yet.",
                    unit="short",
                    queries=[
                        (f"sum by (kind) ({series('shoal_input_lag_records')})", f"records: {_KIND}"),
                        (f"sum ({series('shoal_shards_lag_chunks')})", "chunks"),
                    ],
                ),
                Panel(
                    title="Time spent by stage",
                    description="Seconds of work per second, of all workers. Near 1 for each worker: that stage is the "
                    "bottleneck. anonymize runs in worker.processes processes.",
                    unit="s",
                    look="stack",
                    queries=[(f"sum by (stage) ({rate(series('shoal_stage_seconds_sum'))})", "{{stage}}")],
                ),
                Panel(
                    title="Dead letters",
                    description="Rejected records by reason; 0 where there was none. One reason that jumps: a producer "
                    "has changed.",
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
                    description="How far the event time of one source is ahead. Many minutes: its clock is wrong.",
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
                    description="Windows that hold rows, of all workers.",
                    unit="short",
                    queries=[(f"sum by (instance) ({series('shoal_open_windows')})", _WORKER)],
                ),
                Panel(
                    title="Rows that wait for their window",
                    description="At limits.buffered_rows a worker stops reading until a window has left.",
                    unit="short",
                    queries=[(f"sum by (instance) ({series('shoal_buffered_rows')})", _WORKER)],
                ),
                Panel(
                    title="Windows sealed early",
                    description="Windows of the last hour sealed before their time because buffers were full: what "
                    "came later for them is late. 0 is right.",
                    unit="short",
                    queries=[(per_feed("sum", f"increase({series('shoal_early_seals_total')}[1h])"), FEED_LEGEND)],
                ),
                Panel(
                    title="Partitions and rebalances",
                    description="Partitions of the shards topic that each worker has, and rebalances of the last 15 "
                    "minutes. Each rebalance makes workers read their open windows again.",
                    unit="short",
                    queries=[
                        (f"sum by (instance) ({series('shoal_partitions')})", f"partitions: {_WORKER}"),
                        (f"max (increase({series('shoal_rebalances_total')}[15m]))", "rebalances"),
                    ],
                ),
                Panel(
                    title="Kafka",
                    description="1 while the cluster answers the worker; reconnects in 15 minutes.",
                    unit="short",
                    queries=[
                        (f"min by (instance) ({series('shoal_kafka_up')})", f"answers: {_WORKER}"),
                        (f"sum (increase({series('shoal_kafka_reconnects_total')}[15m]))", "reconnects"),
                    ],
                ),
                Panel(
                    title="Clocks",
                    description="How far a worker's clock is behind the input's time stamps, if over a minute, and 1 "
                    "while brokers refuse its present as a time stamp: it is ahead. 0 is right.",
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
                    description="Partitions that were not read on from where they were left, and offsets that were "
                    "deleted before they were read, of the input and of the shards topic. 0 is right.",
                    unit="short",
                    queries=[
                        (f"sum by (jump) (increase({series('shoal_input_jumps_total')}[15m]))", "{{jump}}"),
                        (f"sum (increase({series('shoal_lost_input_records_total')}[15m]))", "input lost"),
                        (f"sum (increase({series('shoal_lost_chunks_total')}[15m]))", "chunks lost"),
                    ],
                ),
                Panel(
                    title="Points without a position",
                    description="Points that fragments hold and that have no position, left out alone, a second.",
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
                    description="Input partitions that wait at a record that cannot be decompressed, or is damaged. 0 "
                    "is right.",
                    unit="short",
                    queries=[(f"sum by (instance) ({series('shoal_unreadable_partitions')})", _WORKER)],
                ),
                Panel(
                    title="What Kafka did not do as asked",
                    description="Failed operations a second, each repeated; 0 where there was none. Seals that cannot "
                    "be read keep a partition from working.",
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
                    description="Resident memory of each worker and of its processes that anonymize. See "
                    "docs/operate/sizing.md, Memory, for how much to give.",
                    unit="bytes",
                    queries=[
                        (f"max by (instance) ({series('shoal_process_resident_memory_bytes')})", f"worker: {_WORKER}"),
                        (f"max by (instance) ({series('shoal_pool_resident_memory_bytes')})", f"processes: {_WORKER}"),
                    ],
                ),
                Panel(
                    title="CPU of the worker itself",
                    description="CPU seconds a second, without the processes that anonymize. Near 1: ingest is bound "
                    "by one core; more workers help.",
                    unit="s",
                    queries=[
                        (f"max by (instance) ({rate(series('shoal_process_cpu_seconds_total'))})", _WORKER),
                    ],
                ),
                Panel(
                    title="Loop lag",
                    description="Longest that the event loop kept a timer waiting in ten seconds. Near "
                    "kafka.session_timeout a worker loses its partitions.",
                    unit="s",
                    queries=[(f"max by (instance) ({series('shoal_loop_lag_seconds')})", _WORKER)],
                ),
                Panel(
                    title="Open file descriptors",
                    description="A number that only grows is a leak.",
                    unit="short",
                    queries=[(f"max by (instance) ({series('shoal_process_open_fds')})", _WORKER)],
                ),
                Panel(
                    title="Time since the start",
                    description="A saw: a worker that ends again and again.",
                    unit="s",
                    queries=[(f"time() - max by (instance) ({series('shoal_process_start_time_seconds')})", _WORKER)],
                ),
                Panel(
                    title="Versions",
                    description="Workers by the version that they run.",
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
