"""Compression: what to do where records are compressed by a codec that this installation lacks.

aiokafka decompresses gzip by itself, and snappy, lz4 and zstd by the package cramjam, which a plain installation has.
"""

from __future__ import annotations

import re

from aiokafka import codec
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError, UnsupportedCodecError

__all__ = ["is_missing", "unreadable"]

_CURE = "install the Python package cramjam, as `pip install shoal` does, and start the worker again"


def is_missing(compression_type: str | None) -> bool:
    """Return whether a topic's ``compression.type`` names a codec that this installation lacks."""
    has = getattr(codec, f"has_{compression_type}", None)
    return has is not None and not has()


def unreadable(topic: str, fault: KafkaError | str) -> str:
    """Return a sentence on what cannot be read of a topic, and what to do.

    Args:
        topic: The topic.
        fault: What the client says, or the name of a codec that is missing.
    """
    if isinstance(fault, str):
        return f"topic {topic} has compression.type={fault}, and nothing here decompresses that: {_CURE}"
    if isinstance(fault, TopicAuthorizationFailedError):
        return f"topic {topic} may not be read by the worker's user: allow it what `shoal topics acls` prints"
    if not isinstance(fault, UnsupportedCodecError):
        return f"topic {topic} holds records that the Kafka client cannot read ({type(fault).__name__})"
    named = re.search(r"for (\w+) compression codec", str(fault))
    if named is None:
        return f"topic {topic} holds records compressed by a codec that the Kafka client does not know"
    return f"topic {topic} holds records compressed with {named[1]}, and nothing here decompresses that: {_CURE}"
