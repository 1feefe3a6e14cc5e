"""Reports jumps: input partitions that are not read on from where they were left."""

from __future__ import annotations

import structlog
from aiokafka import TopicPartition

from core.records.record import Kind
from stream.kafka.log_start import Jump
from stream.observe.metrics import Metrics

__all__ = ["report_jump"]

log = structlog.get_logger("shoal.ingest")

_WHY = {
    Jump.RECREATED: "the topic was deleted and created again: its id is another",
    Jump.WENT_BACK: "the log ends before the offset that was read last: it was cut, or restored from a copy",
    Jump.DELETED: "records were deleted before they were read: by retention, or by hand",
    Jump.FORGOTTEN: "no offset is committed although windows were released: the topic or the partition is new, or the "
    "group's offsets have expired or were deleted",
}
_ACTION = {
    Jump.RECREATED: "read from its beginning; records of windows that have left are late",
    Jump.WENT_BACK: "read from its beginning; records of windows that have left are late",
    Jump.DELETED: "read from what is left; raise retention.ms of the topic, or add workers",
    Jump.FORGOTTEN: "read from its beginning; records of windows that have left are late",
}


def report_jump(metrics: Metrics, kind: Kind, at: TopicPartition, jump: Jump, lost: int) -> None:
    """Count a jump and write it to the log.

    Args:
        metrics: Where to count.
        kind: What the topic carries.
        at: The partition.
        jump: Why it is not read on from where it was left.
        lost: Offsets that were deleted before they were read.
    """
    metrics.input_jumps.labels(kind, jump).inc()
    metrics.lost_input_records.labels(kind).inc(lost)
    log.error(
        f"input_{jump}",
        topic=at.topic,
        partition=at.partition,
        why=_WHY[jump],
        action=_ACTION[jump],
        **({"at_most_records": lost} if lost else {}),
    )
