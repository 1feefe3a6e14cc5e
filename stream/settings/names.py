"""Names of topics and consumer groups: a wrong one is refused before a broker is contacted."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from stream.settings.values import empty_for_none

__all__ = ["ConsumerGroup", "OptionalTopicName", "TopicName"]

_TOPIC = r"^[A-Za-z0-9._-]{1,249}$"
_DOTS = (".", "..")
_INTERNAL = (
    "__cluster_metadata",
    "__consumer_offsets",
    "__remote_log_metadata",
    "__share_group_state",
    "__transaction_state",
)
"""Topics of the brokers themselves."""

_GROUP = r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]{0,198}[^\x00-\x20\x7f])?$"


def _topic_name(value: str) -> str:
    """Refuse a name that Kafka does not accept for a topic, and the brokers' own topics."""
    if value in _INTERNAL:
        raise ValueError("it must be another name: this topic is the brokers' own")
    if not re.fullmatch(_TOPIC, value) or value in _DOTS:
        raise ValueError("it must be 1 to 249 of the characters A-Z, a-z, 0-9, '.', '_' and '-', and not '.' or '..'")
    return value


def _optional_topic_name(value: str) -> str:
    return _topic_name(value) if value else value


def _consumer_group(value: str) -> str:
    """Refuse a name that cannot be typed into tools, although brokers accept any text."""
    if not re.fullmatch(_GROUP, value):
        raise ValueError("it must be 1 to 200 characters, none of them a control character, without spaces at the ends")
    return value


def _json_schema(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "not": {"enum": [*_DOTS, *_INTERNAL]}})


TopicName = Annotated[str, AfterValidator(_topic_name), _json_schema(_TOPIC)]
OptionalTopicName = Annotated[
    str,
    BeforeValidator(empty_for_none),
    AfterValidator(_optional_topic_name),
    _json_schema(rf"^$|{_TOPIC}"),
]
ConsumerGroup = Annotated[str, AfterValidator(_consumer_group), WithJsonSchema({"type": "string", "pattern": _GROUP})]
