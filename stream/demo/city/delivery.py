"""Delivery of records: adds latency, delays, copies and faults, in the shares that the options name."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from core.records.arrays import IntArray
from core.records.record import Kind
from stream.demo.city.dirt import Dirt, dirt_of, spoil
from stream.demo.city.options import CityOptions

__all__ = ["Message", "SentAs", "deliver"]

_LATENCY_MS = (20, 1_500)
_COPY_AFTER_MS = (1, 5_000)


class SentAs(StrEnum):
    """What happened to a record on its way; each message has exactly one of these values."""

    CLEAN = "clean"
    """Unchanged, with the usual latency."""

    DIRTY = "dirty"
    """Spoiled, see :class:`~stream.demo.city.dirt.Dirt`."""

    DUPLICATE = "duplicate"
    """A repetition of an earlier clean message."""

    DELAYED = "delayed"
    """Unchanged, but later than the usual latency, so that later messages may arrive before it."""


class Message(NamedTuple):
    """One message as a producer would send it."""

    kind: Kind
    """The feed it belongs to; equal to ``"checkins"`` or ``"fragments"``."""

    key: bytes
    """The user's id, UTF-8."""

    value: bytes
    """The record as JSON, or what is left of it."""

    event_ms: int
    """Event time, milliseconds since the epoch: a fragment's newest point; the original time if spoiled."""

    arrival_ms: int
    """When it reaches the broker, milliseconds since the epoch; after ``event_ms``."""

    sent_as: SentAs
    """What happened to it on the way."""

    dirt: Dirt | None
    """How it was spoiled; None unless ``sent_as`` is dirty."""


_FATES = (SentAs.DIRTY, SentAs.DELAYED, SentAs.CLEAN, SentAs.CLEAN)
"""By the random number drawn; records that draw 2 also get a copy."""


def deliver(
    kind: Kind,
    keys: list[bytes],
    values: list[bytes],
    event_ms: IntArray,
    *,
    options: CityOptions,
    rng: np.random.Generator,
) -> list[Message]:
    """Add latency to clean records, and spoil, delay or copy some of them, in the shares of the options.

    Args:
        kind: The feed they belong to.
        keys: The user id of each of ``n`` records.
        values: Each record as JSON.
        event_ms: Their event times, milliseconds since the epoch, shape ``(n,)``.
        options: Shares and the longest delay.
        rng: Source of chance.

    Returns:
        One message for each record, then the copies.
    """
    values = values.copy()
    n = len(values)
    # Shares are of all messages sent: m records and their copies make m / (1 - duplicate_share) messages.
    per_record = 1.0 / (1.0 - options.duplicate_share)
    shares = (options.dirty_share, options.out_of_order_share, options.duplicate_share)
    fate = np.searchsorted(np.cumsum(shares) * per_record, rng.random(n), side="right")
    latest_ms = max(int(options.max_delay_s * 1_000), _LATENCY_MS[1])
    usual_ms = rng.integers(*_LATENCY_MS, n, endpoint=True)
    delayed_ms = rng.integers(_LATENCY_MS[1], latest_ms, n, endpoint=True)
    arrival_ms = event_ms + np.where(fate == 1, delayed_ms, usual_ms)
    variant = rng.integers(2**31, size=n).tolist()
    copy_ms = arrival_ms + rng.integers(*_COPY_AFTER_MS, n, endpoint=True)

    sent_as = [_FATES[number] for number in fate.tolist()]
    dirt: list[Dirt | None] = [None] * n
    kinds_of_dirt = dirt_of(kind)
    for i in np.flatnonzero(fate == 0).tolist():
        chosen = dirt[i] = kinds_of_dirt[variant[i] % len(kinds_of_dirt)]
        values[i] = spoil(values[i], kind, chosen, variant=variant[i] // len(kinds_of_dirt))
    delivered = list(map(Message, [kind] * n, keys, values, event_ms.tolist(), arrival_ms.tolist(), sent_as, dirt))
    for i in np.flatnonzero(fate == 2).tolist():
        delivered.append(delivered[i]._replace(arrival_ms=int(copy_ms[i]), sent_as=SentAs.DUPLICATE))
    return delivered
