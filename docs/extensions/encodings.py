"""The reference of release encodings: an example and the schema of each, from the code that writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from core.models.registry import FAMILIES, models_of
from core.records.record import INPUT_KINDS
from core.release.outcome import Released
from docs.extensions.markdown import code, listed, shown_json
from docs.extensions.replays import replayed
from stream.formats.release.avro_schemas import AVRO_SCHEMAS
from stream.formats.release.encoding import Content, positions_of
from stream.formats.release.encodings import has_points
from stream.formats.release.geojson import GEOJSON
from stream.formats.release.json_schemas import geojson_schema, geojson_windows_schema, mf_json_schema
from stream.formats.release.mf_json import MF_JSON
from stream.formats.release.tables import TableColumn, anonymized_columns, location_columns, window_columns

__all__ = ["ENCODING_SCHEMAS", "EXAMPLES", "encoding_markdown", "tables_markdown"]

Json = dict[str, Any]

_TYPES: tuple[type[Released], ...] = tuple(dict.fromkeys(family.released for family in FAMILIES))
_MOVING = next(family.released for family in FAMILIES if has_points(family.models[0]))
_SEQUENCES, _TRACKS = (models_of(kind)[0] for kind in INPUT_KINDS)

ENCODING_SCHEMAS: dict[str, Callable[[], Json]] = {
    **{f"geojson-anonymized-{released.__name__}": partial(geojson_schema, released) for released in _TYPES},
    "geojson-windows": geojson_windows_schema,
    "mf-json-anonymized": partial(mf_json_schema, _MOVING),
}
"""JSON Schemas by the name of their file on the site."""

EXAMPLES = ("avro", "geojson", "mf-json")
"""What `encoding_markdown` can show."""


def encoding_markdown(name: str) -> str:
    """Return examples of an encoding, one of :data:`EXAMPLES`, and links to its schemas."""
    if name == "avro":
        links = [f'<a href="schemas/{topic}.avsc">schemas/{topic}.avsc</a>' for topic in AVRO_SCHEMAS]
        shown = "\n\n".join(
            f"````{{dropdown}} Schema of `{topic}`\n```json\n{shown_json(schema)}\n```\n````"
            for topic, schema in AVRO_SCHEMAS.items()
        )
        return f"{_html(links)}\n\n{shown}"
    links = [
        f'<a href="schemas/{one}.json">schemas/{one}.json</a>' for one in ENCODING_SCHEMAS if one.startswith(f"{name}-")
    ]
    if name == "mf-json":
        return f"{_shown(MF_JSON.trajectory(_few_points(), {}))}\n\n{_html(links)}"
    messages = replayed(_SEQUENCES)
    window, positions = messages.windows[0], positions_of(messages.windows[0])
    sequence = min((one for one in messages.anonymized if len(one["locations"]) > 1), key=lambda one: len(str(one)))
    parts = [
        f"A sequence of `{_SEQUENCES}`:",
        _shown(GEOJSON.trajectory(sequence, positions)),
        f"A trajectory of `{_TRACKS}`:",
        _shown(GEOJSON.trajectory(_few_points(), {})),
        "A windows message, with two of its locations:",
        _shown(GEOJSON.window(window | {"locations": window["locations"][:2]})),
        _html(links),
    ]
    return "\n\n".join(parts)


def tables_markdown() -> str:
    """Return the columns of the tables of `shoal replay`, by what is released."""
    lines = ["| table | under | columns |", "| --- | --- | --- |"]
    for released in _TYPES:
        models = [model for family in FAMILIES if family.released is released for model in family.models]
        columns = anonymized_columns(models[0], replayed(models[0]).anonymized[0])
        lines.append(f"| `anonymized` | {listed(models, 'and')} | {_named(columns[4:])} |")
    losses = {f"loss_{figure}" for family in FAMILIES for figure in family.figures}
    of_windows = [column for column in window_columns(_SEQUENCES) if column.name not in losses]
    lines.append(f"| `windows` | all | {_named(of_windows[4:])}, and {code('loss_NAME')} for each figure |")
    lines.append(f"| `locations` | all but {listed(_moving_models(), 'and')} | {_named(location_columns()[4:])} |")
    return "\n".join(lines)


def _moving_models() -> list[str]:
    return [model for family in FAMILIES for model in family.models if has_points(model)]


def _named(columns: list[TableColumn] | tuple[TableColumn, ...]) -> str:
    return ", ".join(code(column.name) for column in columns)


def _few_points() -> Content:
    content = replayed(_TRACKS).anonymized[0]
    return content | {"points": content["points"][:3]}


def _shown(value: bytes) -> str:
    return f"```json\n{shown_json(json.loads(value))}\n```"


def _html(links: list[str]) -> str:
    return f"```{{raw}} html\n<p>{', '.join(links)}</p>\n```"
