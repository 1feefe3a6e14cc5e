"""The reference of messages: fields, JSON Schema and an example of each, from the code that reads and writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from core.models.registry import FAMILIES, models_of
from core.records.record import Kind
from core.release.outcome import Released
from docs.extensions.markdown import code, listed, plain, shown_json, table
from docs.extensions.replays import dead_letter_example, records, replayed
from stream.formats.schemas import dead_letter_schema, record_schema, released_schema, windows_schema

__all__ = ["FIGURES", "PARAMETERS", "SCHEMAS", "TOPICS", "figures_markdown", "message_markdown", "parameters_markdown"]

Json = dict[str, Any]

_TYPES: tuple[type[Released], ...] = tuple(dict.fromkeys(family.released for family in FAMILIES))

_NAMES = {kind: "check-in" if kind is Kind.CHECKINS else "fragment" for kind in Kind}

SCHEMAS: dict[str, Callable[[], Json]] = {
    **{_NAMES[kind]: partial(record_schema, kind) for kind in Kind},
    **{f"anonymized-{released.__name__}": partial(released_schema, released) for released in _TYPES},
    "windows": windows_schema,
    "dead-letter": dead_letter_schema,
}
"""Schemas by the name of their file on the site."""

TOPICS = (*_NAMES.values(), "anonymized", "windows", "dead-letter")
"""What `message_markdown` can describe."""

FIGURES = {
    "distance_m": "Mean distance between a visited location and the members of its generalized location, metres, as "
    "expected from the release (D of Poulis et al. 2014, Definition 6).",
    "distance_share": "`distance_m` over the largest distance between locations of the release.",
    "original_locations": "Locations that are released as they are.",
    "generalized_locations": "Generalized locations with at least two members.",
    "generalized_size": "Mean number of members of these; null if there are none.",
    "generalized_distance_share": "Average distance between members of these, over the largest distance between "
    "locations of the release; null if there are none.",
    "semantic_penalty": "Mean loss of meaning by the taxonomy, from 0 to 1.",
    "released_locations": "Locations in the release.",
    "released_pairs": "Pairs of a location and a slot of time in the release.",
    "highest_confidence": "Largest share of one sensitive value among people who match; at most `parameters.c`.",
    "points_added": "Visits in released sequences that their people did not make; null if of 1 to k-1 people.",
    "ncp": "Loss of the attributes, from 0 to 1 (NCP).",
    "ul": "Loss of the locations, from 0 to 1 (UL). A person whose locations are all suppressed counts as 1.",
    "groups": "Groups of people who share their generalized attributes.",
    "clusters": "Clusters of people.",
    "term_chunk_share": "Share of locations that stand in term chunks, where nothing links them to other locations.",
    "mean_space_translation_m": "Mean distance by which points were moved, metres, to two digits.",
    "mean_time_translation_s": "Mean time by which points were moved, seconds, to two digits.",
    "sets": "Sets of at least k people.",
    "people_demanding_more": "People who demand a larger k or a smaller delta; null if that could reveal fewer than k.",
    "people_relaxed": "People who got less than they demand; null if that could reveal fewer than k.",
}
"""Meaning of each figure of `information_loss`."""

PARAMETERS = {
    "k": "`privacy.k`.",
    "m": "`privacy.m`.",
    "l": "`privacy.l`; under `lkc`, as in its paper, the locations and slots that an adversary knows: `privacy.m`.",
    "c": "`privacy.max_confidence`.",
    "delta_m": "`privacy.delta_m`, metres.",
    "taxonomy": "Name of the taxonomy.",
    "constraints": "Name of the constraints.",
    "suppression_percent": "`privacy.suppression_percent`.",
    "suppression_price": "`privacy.suppression_price`.",
    "split_price": "`privacy.split_price`.",
    "max_suppressed": "`privacy.max_suppressed`, percent.",
    "max_split": "`privacy.max_split`, percent.",
    "candidates": "Models that were compared.",
    "chosen": "The model among these that lost least in this window.",
    "sensitive_locations": "How many locations are sensitive.",
    "clusters": "`privacy.clusters`, or `searched`.",
    "key_patterns": "`privacy.key_patterns`.",
    "slot_ms": "`privacy.time_slot`, milliseconds.",
    "slots_of": "`privacy.slots_of`.",
    "alike": "`privacy.alike`.",
    "max_loss": "`privacy.max_loss`.",
    "merge": "`privacy.merge`.",
    "largest_cluster": "Most people of a cluster.",
    "rare_locations": "`privacy.rare_locations`.",
    "distance": "`privacy.distance`; `euclidean` under `nwa`.",
    "translation": "`privacy.translation`.",
    "clustering": "`refined` by local search, or `greedy` (`privacy.refinement`).",
    "improvement": "`privacy.improvement`.",
}
"""Meaning of each of `parameters`."""


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
    schema = SCHEMAS[name]()
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
        words = [f"list of {_PLURALS.get(schema['items']['type'], 'values')}"]
    return " or ".join(words)


_WORDS = {"string": "text", "integer": "whole number", "array": "list"}
_PLURALS = {"string": "texts", "array": "lists", "object": "objects"}


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
    return _by_model("information_loss", FIGURES)


def parameters_markdown() -> str:
    """Return the table of the `parameters` of a windows message."""
    return _by_model("parameters", PARAMETERS)


def _by_model(field: str, meaning: dict[str, str]) -> str:
    models: dict[str, list[str]] = {}
    everyone = [model for kind in Kind for model in models_of(kind)]
    for model in everyone:
        for name in replayed(model).windows[0][field]:
            models.setdefault(name, []).append(model)
    rows = [
        (code(name), "all" if models[name] == everyone else ", ".join(map(code, models[name])), meaning[name])
        for name in sorted(models)
    ]
    return table(["name", "models", "meaning"], rows)
