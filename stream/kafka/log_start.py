"""Where a log is read from: what a committed offset says, and whether the log is still the one that it is of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import msgspec

__all__ = ["Jump", "LogId", "Mark", "Start", "mark_from_text", "start_from"]


class Jump(StrEnum):
    """Why a partition is not read on from where it was left: a closed set, safe as a metric label."""

    RECREATED = "recreated"
    WENT_BACK = "went_back"
    DELETED = "deleted"
    FORGOTTEN = "forgotten"


class LogId(NamedTuple):
    """Which log the offsets of a partition are of."""

    topic_id: str = ""
    """Kafka's id of the topic; empty where the cluster has none."""

    turn: int = 0
    """How many times its offsets have gone back."""

    @property
    def name(self) -> str:
        """The same as one text."""
        return f"{self.topic_id}+{self.turn}" if self.turn else self.topic_id


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a committed offset of an input partition says besides its number, as JSON in the commit's metadata."""

    topic: str = ""
    """Id of the input topic."""

    before: str = ""
    """The id that it had before, where it was created again: a broker that lags behind may still name it."""

    turn: int = 0
    """See :class:`LogId`."""

    internal: dict[str, str] = {}
    """Ids of the shards topic and the seals topic, by name, that what was read before went through."""


_mark_decoder = msgspec.json.Decoder(Mark)


def mark_from_text(text: str | None) -> Mark:
    """Read the mark of a commit; one without anything where there is none, as of other programs."""
    try:
        mark = _mark_decoder.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return Mark()
    return mark if re.fullmatch("([0-9a-f]{32})?", mark.topic) else Mark()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where to read a partition from."""

    offset: int
    log_id: LogId
    jump: Jump | None = None
    lost: int = 0
    """How many offsets were passed over, and with them at most as many records."""


def start_from(
    committed: int | None,
    known: LogId | None,
    *,
    topic_id: str,
    first: int,
    end: int,
    has_worked: bool,
    went_back: bool = False,
) -> Start:
    """Decide from where a partition is read.

    Args:
        committed: The offset to go on from; None where there is none.
        known: Which log that offset is of; None where that is not known.
        topic_id: The topic's id now; empty where the cluster has none.
        first: The first offset that the log holds now.
        end: The offset that its next record will get.
        has_worked: Whether windows of this feed were sealed before.
        went_back: Whether the log is known to have ended before that offset.

    >>> before = LogId("a")
    >>> start_from(12, before, topic_id="a", first=0, end=40, has_worked=True)
    Start(offset=12, log_id=LogId(topic_id='a', turn=0), jump=None, lost=0)
    >>> start_from(12, before, topic_id="b", first=0, end=40, has_worked=True).jump
    <Jump.RECREATED: 'recreated'>
    """
    if known is not None and topic_id and known.topic_id and known.topic_id != topic_id:
        return Start(offset=first, log_id=LogId(topic_id), jump=Jump.RECREATED)
    turn = 0 if known is None else known.turn
    if committed is None:
        return Start(offset=first, log_id=LogId(topic_id, turn), jump=Jump.FORGOTTEN if has_worked else None)
    if went_back or committed > end:
        return Start(offset=first, log_id=LogId(topic_id, turn + 1), jump=Jump.WENT_BACK)
    if committed < first:
        return Start(offset=first, log_id=LogId(topic_id, turn), jump=Jump.DELETED, lost=first - committed)
    return Start(offset=committed, log_id=LogId(topic_id, turn))
