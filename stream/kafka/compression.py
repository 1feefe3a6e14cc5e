"""Compression: error messages for records that are compressed with a codec that is not installed here.

aiokafka decompresses gzip by itself. For snappy, lz4 and zstd it needs the package cramjam, a dependency of Shoal.
"""

from __future__ import annotations

import re

from aiokafka import codec
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError, UnsupportedCodecError

__all__ = ["is_missing", "unreadable"]

_CURE = "install the Python package cramjam, as `pip install shoal` does, and start the worker again"


def is_missing(compression_type: str | None) -> bool:
    """Return whether the codec of a topic's ``compression.type`` is not installed here."""
    has = getattr(codec, f"has_{compression_type}", None)
    return has is not None and not has()


def unreadable(topic: str, fault: KafkaError | str) -> str:
    """Return a message on why a topic cannot be read, and what to do.

    Args:
        topic: The topic.
        fault: The client's error, or the name of a missing codec.
    """
    if isinstance(fault, str):
        return f"topic {topic} has compression.type={fault}, which this installation cannot decompress: {_CURE}"
    if isinstance(fault, TopicAuthorizationFailedError):
        return f"the worker's user may not read topic {topic}: give it the rights that `shoal topics acls` prints"
    if not isinstance(fault, UnsupportedCodecError):
        return f"topic {topic} holds records that the Kafka client cannot read ({type(fault).__name__})"
    named = re.search(r"for (\w+) compression codec", str(fault))
    if named is None:
        return f"topic {topic} holds records compressed by a codec that the Kafka client does not know"
    return f"topic {topic} holds records compressed with {named[1]}, which this installation cannot decompress: {_CURE}"
