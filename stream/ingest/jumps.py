"""Reports jumps: reading of an input partition does not continue at the committed offset."""

from __future__ import annotations

import structlog
from aiokafka import TopicPartition

from core.records.record import Kind
from stream.kafka.log_start import Jump
from stream.observe.metrics import Metrics

__all__ = ["report_jump"]

log = structlog.get_logger("shoal.ingest")

_WHY = {
    Jump.RECREATED: "the topic was deleted and created again: its id has changed",
    Jump.WENT_BACK: "the log ends before the committed offset: it was truncated, or restored from a backup",
    Jump.DELETED: "records were deleted before they were read: by retention, or by hand",
    Jump.FORGOTTEN: "no offset is committed although windows were released: the topic or the partition is new, or the "
    "group's offsets have expired or were deleted",
}
_ACTION = {
    Jump.RECREATED: "reading from the beginning; records of windows that were emitted are late",
    Jump.WENT_BACK: "reading from the beginning; records of windows that were emitted are late",
    Jump.DELETED: "reading from the first record left; raise retention.ms of the topic, or add workers",
    Jump.FORGOTTEN: "reading from the beginning; records of windows that were emitted are late",
}


def report_jump(metrics: Metrics, kind: Kind, at: TopicPartition, jump: Jump, lost: int) -> None:
    """Count a jump and write it to the log.

    Args:
        metrics: The metrics of this worker.
        kind: The kind of records in the topic.
        at: The partition.
        jump: Why reading does not continue at the committed offset.
        lost: Number of offsets that were deleted before they were read.
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
