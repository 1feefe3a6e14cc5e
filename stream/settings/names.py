"""Names of topics and consumer groups: a wrong one is refused before a broker is contacted."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

__all__ = ["ConsumerGroup", "InputTopicNames", "TopicName"]

_NAME = "[A-Za-z0-9._-]{1,249}"
_TOPIC = f"^{_NAME}$"
_DOTS = (".", "..")
_INTERNAL = (
    "__cluster_metadata",
    "__consumer_offsets",
    "__remote_log_metadata",
    "__share_group_state",
    "__transaction_state",
)
"""Topics of the brokers themselves."""

_RULE = "it must be 1 to 249 of the characters A-Z, a-z, 0-9, '.', '_' and '-', and not '.' or '..'"
_SEVERAL = "several names are separated by commas, and a pattern begins with '^', such as ^gps\\..*"

_NO_REGEX = re.compile(r"\\[1-9]|\(\?P|\(\?\(")
"""What a pattern may not have: the patterns of all feeds become one, in which groups have other numbers."""

_GROUP = r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]{0,198}[^\x00-\x20\x7f])?$"


def _topic_name(value: str) -> str:
    """Refuse a name that Kafka does not accept for a topic, and the brokers' own topics."""
    if value in _INTERNAL:
        raise ValueError("it must be another name: this topic is the brokers' own")
    if not re.fullmatch(_TOPIC, value) or value in _DOTS:
        raise ValueError(_RULE)
    return value


def _one_text(value: object) -> object:
    """Read YAML's empty value and its lists as the text that means the same."""
    if value is None:
        return ""
    if not isinstance(value, (list, tuple)):
        return value
    if not all(isinstance(part, str) and part.strip() for part in value):
        raise ValueError("it must be a list of names, none of them empty")
    if len(value) > 1 and any("," in part for part in value):
        raise ValueError("it must be a list of names; a pattern stands alone")
    return ",".join(value)


def _input_topics(value: str) -> str:
    """Refuse what is neither names of topics nor one pattern."""
    if value.startswith("^"):
        return _pattern(value)
    if not value:
        return value
    names = [name.strip() for name in value.split(",")] if "," in value else [value]
    if any(name.startswith("^") for name in names):
        raise ValueError("it must be names or one pattern: `^(a|b|c.*)` matches several names")
    try:
        return ",".join(_topic_name(name) for name in names)
    except ValueError as fault:
        raise ValueError(f"{fault}; {_SEVERAL}" if str(fault) == _RULE else str(fault)) from None


def _pattern(value: str) -> str:
    if len(value) == 1:
        raise ValueError("it must have the pattern of the names behind '^'")
    try:
        re.compile(value)
    except re.error as fault:
        raise ValueError(f"it must be a regular expression ({fault}), because it begins with '^'") from None
    if _NO_REGEX.search(value):
        raise ValueError("it must be a regular expression without named groups and references to groups")
    return value


def _consumer_group(value: str) -> str:
    """Refuse a name that cannot be typed into tools, although brokers accept any text."""
    if not re.fullmatch(_GROUP, value):
        raise ValueError("it must be 1 to 200 characters, none of them a control character, without spaces at the ends")
    return value


def _json_schema(pattern: str) -> dict[str, object]:
    return {"type": "string", "pattern": pattern, "not": {"enum": [*_DOTS, *_INTERNAL]}}


TopicName = Annotated[str, AfterValidator(_topic_name), WithJsonSchema(_json_schema(_TOPIC))]
InputTopicNames = Annotated[
    str,
    BeforeValidator(_one_text),
    AfterValidator(_input_topics),
    WithJsonSchema(
        # Texts follow the pattern, and elements of a list the one below.
        _json_schema(rf"^$|^\^.+$|{_TOPIC}|^\s*{_NAME}\s*(,\s*{_NAME}\s*)+$")
        | {"type": ["string", "array"], "items": _json_schema(rf"^\^.+$|{_TOPIC}")}
    ),
]
"""Names, separated by commas, or a pattern; a list in YAML is read as well. Empty if the feed is not read."""

ConsumerGroup = Annotated[str, AfterValidator(_consumer_group), WithJsonSchema({"type": "string", "pattern": _GROUP})]
