"""The offset from which a partition is read: the committed one, if the log is still the same one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import msgspec

__all__ = ["AgreedStart", "Jump", "LogId", "Mark", "Start", "mark_from_text", "start_from"]


class Jump(StrEnum):
    """Why reading of a partition does not continue at the committed offset: a closed set, safe as a metric label."""

    RECREATED = "recreated"
    WENT_BACK = "went_back"
    DELETED = "deleted"
    FORGOTTEN = "forgotten"


class LogId(NamedTuple):
    """Identifies the log to which the offsets of a partition belong."""

    topic_id: str = ""
    """Kafka's id of the topic; empty if the cluster has no topic ids."""

    turn: int = 0
    """How many times its offsets have gone back."""

    @property
    def name(self) -> str:
        """Both as one string."""
        return f"{self.topic_id}+{self.turn}" if self.turn else self.topic_id


class AgreedStart(NamedTuple):
    """The offset at which all workers begin a partition that the group has never read; see ``kafka.start``."""

    offset: int
    topic_id: str = ""
    """Id of the topic; empty if the cluster has no topic ids."""


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """The metadata of a committed offset of an input partition, as JSON."""

    topic: str = ""
    """Id of the input topic."""

    before: str = ""
    """The previous id, if the topic was created again: a broker that lags behind may still report it."""

    turn: int = 0
    """See :class:`LogId`."""

    internal: dict[str, str] = {}
    """Ids of the shards topic and the seals topic, by name, at the time of the commit."""


_mark_decoder = msgspec.json.Decoder(Mark)


def mark_from_text(text: str | None) -> Mark:
    """Read the mark of a commit; an empty one if the commit has none, for instance of another program."""
    try:
        mark = _mark_decoder.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return Mark()
    return mark if re.fullmatch("([0-9a-f]{32})?", mark.topic) else Mark()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The offset from which to read a partition."""

    offset: int
    log_id: LogId
    jump: Jump | None = None
    lost: int = 0
    """Number of offsets that were skipped; at most as many records are lost."""


def start_from(
    committed: int | None,
    known: LogId | None,
    *,
    topic_id: str,
    first: int,
    end: int,
    has_worked: bool,
    went_back: bool = False,
    agreed: AgreedStart | None = None,
) -> Start:
    """Decide from which offset a partition is read.

    Args:
        committed: The committed offset, or None.
        known: The log to which that offset belongs; None if unknown.
        topic_id: The topic's current id; empty if the cluster has no topic ids.
        first: The first offset that the log holds now.
        end: The offset that its next record will get.
        has_worked: Whether windows of this feed were sealed before.
        went_back: Whether the log is known to have ended before the committed offset.
        agreed: Where the feed began in this partition, if not at its beginning.

    >>> before = LogId("a")
    >>> start_from(12, before, topic_id="a", first=0, end=40, has_worked=True)
    Start(offset=12, log_id=LogId(topic_id='a', turn=0), jump=None, lost=0)
    >>> start_from(12, before, topic_id="b", first=0, end=40, has_worked=True).jump
    <Jump.RECREATED: 'recreated'>
    """
    if known is not None and topic_id and known.topic_id and known.topic_id != topic_id:
        return Start(offset=first, log_id=LogId(topic_id), jump=Jump.RECREATED)
    turn = 0 if known is None else known.turn
    if committed is None and agreed is not None and agreed.topic_id == topic_id:
        if not has_worked:
            committed = agreed.offset
        elif agreed.offset <= end:
            first = max(first, agreed.offset)
    if committed is None:
        return Start(offset=first, log_id=LogId(topic_id, turn), jump=Jump.FORGOTTEN if has_worked else None)
    if went_back or committed > end:
        return Start(offset=first, log_id=LogId(topic_id, turn + 1), jump=Jump.WENT_BACK)
    if committed < first:
        return Start(offset=first, log_id=LogId(topic_id, turn), jump=Jump.DELETED, lost=first - committed)
    return Start(offset=committed, log_id=LogId(topic_id, turn))
