"""The reference of the HTTP API: fields, an example and the JSON Schema of each answer, from the server's types."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from itertools import pairwise
from typing import Any

import msgspec

from core.models.registry import models_of
from core.records.record import Kind
from core.windows.window import WindowKey
from docs.extensions.markdown import plain
from docs.extensions.messages import described
from docs.extensions.replays import replayed, shared_settings
from stream.feeds.feed import Feed
from stream.formats.release.messages import OutMessage
from stream.settings.secret import new_secret
from stream.settings.service import WebSettings
from stream.windows.report import EmittedWindow
from stream.worker import api, shapes
from stream.worker.api import Refusal, WindowList, WorkerStatus
from stream.worker.recent_windows import RecentWindows
from stream.worker.shapes import Shapes
from stream.worker.web import PAGE_IS_OFF

__all__ = ["ANSWERS", "ANSWER_SCHEMAS", "answer_markdown", "answer_schema", "example"]

Json = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

ANSWERS: dict[str, type[msgspec.Struct]] = {
    "status": WorkerStatus,
    "windows": WindowList,
    "geometry": Shapes,
    "refusal": Refusal,
}
"""The answers by name."""

_STRUCTS: dict[str, type[msgspec.Struct]] = {
    name: found
    for module in (api, shapes)
    for name, found in vars(module).items()
    if isinstance(found, type) and issubclass(found, msgspec.Struct)
}

_SHOWN = 2
"""Most regions and trajectories in the example of a geometry."""


def answer_markdown(name: str) -> str:
    """Return the fields, an example and the schema of an answer, one of :data:`ANSWERS`."""
    return "\n\n".join(described(f"api-{name}", answer_schema(name), example(name)))


# ---------------------------------------------------------------- schemas


def answer_schema(name: str) -> Json:
    """Return the JSON Schema of an answer, with the docstrings of its fields as their meaning."""
    kind = ANSWERS[name]
    _, definitions = msgspec.json.schema_components([kind], ref_template="{name}")
    return {"$schema": _DIALECT, **_object(kind.__name__, definitions)}


ANSWER_SCHEMAS: dict[str, Callable[[], Json]] = {f"api-{name}": partial(answer_schema, name) for name in ANSWERS}
"""Schemas by the name of their file on the site."""


def _object(name: str, definitions: Json) -> Json:
    kind, schema = _STRUCTS[name], definitions[name]
    # Msgspec calls a field required if a client must send it. The server sends all, unless it leaves out defaults.
    has_all = not kind.__struct_config__.omit_defaults
    meanings = _meanings(kind)
    properties = {
        field: {**_resolved(of, definitions, or_null=has_all), "description": meanings[field]}
        for field, of in schema["properties"].items()
    }
    required = list(properties) if has_all else schema.get("required", [])
    return {
        "title": name,
        "description": plain(schema["description"]),
        "type": "object",
        "properties": properties,
        "required": required,
    }


def _resolved(schema: Json, definitions: Json, *, or_null: bool = True) -> Json:
    """Return a schema without references and defaults; null is allowed only in fields that are never left out."""
    if "$ref" in schema:
        return _object(schema["$ref"], definitions)
    made = {key: value for key, value in schema.items() if key != "default" and value is not False}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _resolved(made[key], definitions)
    if "anyOf" in made:
        parts = [_resolved(part, definitions) for part in made.pop("anyOf")]
        kept = [part for part in parts if or_null or part != {"type": "null"}]
        is_plain = all(part.keys() == {"type"} for part in kept)
        made |= kept[0] if len(kept) == 1 else {"type": [one["type"] for one in kept]} if is_plain else {"anyOf": kept}
    return made


def _meanings(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return the docstrings below the fields of a type; the names of numbers in them become the numbers."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    names = vars(sys.modules[kind.__module__])

    def meaning(docstring: str) -> str:
        return plain(re.sub(r":data:`(\w+)`", lambda found: f"{names[found[1]]:,}", docstring))

    return {
        field.target.id: meaning(below.value.value)
        for field, below in pairwise(tree.body if isinstance(tree, ast.ClassDef) else ())
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


# ---------------------------------------------------------------- examples


@cache
def example(name: str) -> Json:
    """Return an answer of a worker that has released the windows of the reference's feed."""
    recent = _recent()
    if name == "status":
        answer: msgspec.Struct | None = recent.status([])
    elif name == "windows":
        answer = WindowList(windows=recent.windows())
    elif name == "geometry":
        answer = recent.shapes(next(one.release for one in recent.windows() if one.on_map))
    else:
        answer = Refusal(error=PAGE_IS_OFF)
    shown: Json = json.loads(msgspec.json.encode(answer))
    if name == "geometry":
        shown |= {list_: shown[list_][:_SHOWN] for list_ in ("regions", "trajectories")}
    return shown


@cache
def _recent() -> RecentWindows:
    kind = Kind.CHECKINS
    settings = shared_settings().model_copy(update={"web": WebSettings(page=True)})
    messages = replayed(models_of(kind)[0])
    keys = [_key(kind, window) for window in messages.windows]
    feed = Feed(settings, kind, secret=new_secret())
    recent = RecentWindows(settings, {kind: feed}, started_ms=min(key.start_ms for key in keys))
    for key, window in zip(keys, messages.windows, strict=True):
        trajectories = [one for one in messages.anonymized if one["release"] == window["release"]]
        sent = [("anonymized", one) for one in trajectories] + [("windows", window)]
        recent.add(
            EmittedWindow(
                key=key,
                outcome=window["outcome"],
                close_to_release_s=0.083,
                emitted_at_s=key.end_ms / 1000 + 65.2,
                messages=tuple(OutMessage(topic, b"", json.dumps(one).encode(), key.end_ms) for topic, one in sent),
            )
        )
    return recent


def _key(kind: Kind, window: Json) -> WindowKey:
    start_ms, end_ms = (round(datetime.fromisoformat(one).timestamp() * 1000) for one in window["window"])
    return WindowKey(end_ms=end_ms, kind=kind, shard=window["shard"], start_ms=start_ms)
