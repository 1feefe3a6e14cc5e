"""The reference of messages: fields, JSON Schema and an example of each, from the code that reads and writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from core.models.common.family import Family
from core.models.registry import FAMILIES, models_of
from core.records.record import INPUT_KINDS, Kind
from core.release.outcome import Released
from docs.extensions.markdown import code, listed, plain, shown_json, table
from docs.extensions.replays import dead_letter_example, records, replayed
from stream.formats.schemas import dead_letter_schema, record_schema, released_schema, windows_schema

__all__ = ["SCHEMAS", "TOPICS", "described", "figures_markdown", "message_markdown", "parameters_markdown"]

Json = dict[str, Any]

_TYPES: tuple[type[Released], ...] = tuple(dict.fromkeys(family.released for family in FAMILIES))

_NAMES = {kind: "check-in" if kind is Kind.CHECKINS else "fragment" for kind in INPUT_KINDS}

SCHEMAS: dict[str, Callable[[], Json]] = {
    **{_NAMES[kind]: partial(record_schema, kind) for kind in INPUT_KINDS},
    **{f"anonymized-{released.__name__}": partial(released_schema, released) for released in _TYPES},
    "windows": windows_schema,
    "dead-letter": dead_letter_schema,
}
"""Schemas by the name of their file on the site."""

TOPICS = (*_NAMES.values(), "anonymized", "windows", "dead-letter")
"""What `message_markdown` can describe."""


def message_markdown(topic: str) -> str:
    """Return the fields, an example and the schema of the messages of a topic, one of :data:`TOPICS`."""
    return "\n\n".join(_parts(topic))


def _parts(topic: str) -> Iterator[str]:
    if topic == "anonymized":
        for released in _TYPES:
            models = [model for family in FAMILIES if family.released is released for model in family.models]
            yield f"### {listed(models, 'and')}"
            example = _shortest(replayed(models[0]).anonymized)
            yield from _described(f"anonymized-{released.__name__}", example)
    elif topic == "windows":
        released_window, withheld_window = replayed(models_of(Kind.CHECKINS)[0]).windows
        schema = windows_schema()
        for part, example in zip(schema["oneOf"], (released_window, withheld_window), strict=True):
            yield f"### {part['title']}"
            yield part["description"]
            yield _fields(part)
            yield _example(example)
        yield _schema("windows", schema)
    elif topic == "dead-letter":
        yield from _described("dead-letter", dead_letter_example())
    else:
        kind = next(kind for kind, name in _NAMES.items() if name == topic)
        example = records(kind)[0]
        if kind is Kind.FRAGMENTS:
            example = example | {"points": example["points"][:3]}
        yield from _described(topic, example)


def _described(name: str, example: Json) -> Iterator[str]:
    return described(name, SCHEMAS[name](), example)


def described(name: str, schema: Json, example: Json) -> Iterator[str]:
    """Yield the table of fields, the example and the schema, whose file has this name."""
    yield _fields(schema)
    yield _example(example)
    yield _schema(name, schema)


def _fields(schema: Json) -> str:
    return table(["field", "type", "meaning"], _rows(schema, ""))


def _rows(schema: Json, prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in schema["properties"].items():
        needed = "" if name in schema.get("required", ()) else ", optional"
        yield code(prefix + name), _type(field) + needed, plain(field["description"])
        items = field.get("items", {})
        if items.get("type") == "object":
            yield from _rows(items, f"{prefix}{name}[].")


def _type(schema: Json) -> str:
    if "const" in schema:
        return code(schema["const"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"] if one.get("type") != "null"))
    if "enum" in schema:
        return "text"
    named: list[str] = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    words: list[str] = [_WORDS.get(one, one) for one in named]
    if "items" in schema and "prefixItems" not in schema:
        members = schema["items"]["type"]
        of = [members] if isinstance(members, str) else members
        words = [" or ".join([f"list of {_PLURALS.get(of[0], 'values')}", *of[1:]])]
    return " or ".join(words)


_WORDS = {"string": "text", "integer": "whole number", "array": "list"}
_PLURALS = {"string": "texts", "integer": "whole numbers", "array": "lists", "object": "objects"}


def _example(example: Json) -> str:
    return f"```json\n{shown_json(example)}\n```"


def _schema(name: str, schema: Json) -> str:
    link = f'<a href="schemas/{name}.json">schemas/{name}.json</a>'
    return (
        f"````{{dropdown}} JSON Schema\n```{{raw}} html\n<p>{link}</p>\n```\n"
        f"```json\n{json.dumps(schema, indent=2, ensure_ascii=False)}\n```\n````"
    )


def _shortest(messages: list[Json]) -> Json:
    """Return a short message, if possible with a value in every field, and with a location of several members."""

    def rank(message: Json) -> tuple[int, bool, int]:
        filled = sum(value != [] for value in message.values())
        several = any(isinstance(one, list) and len(one) > 1 for one in message.get("locations", ()))
        return -filled, not several, len(json.dumps(message))

    return min(messages, key=rank)


def figures_markdown() -> str:
    """Return the table of the figures of `information_loss`."""
    return _by_model("information_loss", lambda family, name: family.figures[name])


def parameters_markdown() -> str:
    """Return the table of the `parameters` of a windows message."""
    return _by_model("parameters", lambda family, name: family.parameters.get(name) or f"{code(f'privacy.{name}')}.")


def _by_model(field: str, meaning: Callable[[Family[Any, Any, Any, Any, Any], str], str]) -> str:
    models: dict[tuple[str, str], list[str]] = {}
    for family in FAMILIES:
        for model in family.models:
            for name in replayed(model).windows[0][field]:
                models.setdefault((name, meaning(family, name)), []).append(model)
    n_models = sum(len(family.models) for family in FAMILIES)
    rows = [
        (code(name), "all" if len(of) == n_models else ", ".join(map(code, of)), text)
        for (name, text), of in sorted(models.items())
    ]
    return table(["name", "models", "meaning"], rows)
