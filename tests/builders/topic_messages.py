"""Messages as the Kafka client returns them, without a broker."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["Message", "messages_in", "topic_messages"]


class Message(NamedTuple):
    """A message of one partition."""

    offset: int
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    partition: int = 0
    timestamp: int = 1_760_000_000_000
    topic: str = "feed"


def topic_messages(values: Iterable[tuple[bytes | None, bytes | None]]) -> list[Message]:
    """Return messages with keys and values, in this order."""
    return [Message(offset, value, key) for offset, (key, value) in enumerate(values)]


def messages_in(file: Path) -> list[Message]:
    """Return the messages of a case: one a line, its value as text or in Base64."""
    found: list[tuple[bytes | None, bytes | None]] = []
    for line in file.read_text().splitlines():
        one = json.loads(line)
        value = base64.b64decode(one["value_base64"]) if "value_base64" in one else one["value"]
        key = one.get("key")
        found.append((None if key is None else key.encode(), value.encode() if isinstance(value, str) else value))
    return topic_messages(found)
