"""The presets: a table of all of them, and for each its settings and an example, from the code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from core.records.record import INPUT_KINDS, Kind
from docs.extensions.markdown import code, shown_json, table
from stream.formats.presets.preset import Example, Preset
from stream.formats.presets.registry import PRESETS

__all__ = ["presets_markdown"]

_NAMES = {Kind.CHECKINS: "check-ins", Kind.FRAGMENTS: "fragments"}


def presets_markdown() -> str:
    """Return the table of the presets, and below it the settings and the examples of each."""
    rows = [(code(name), preset.title, _sources(preset), preset.note or "-") for name, preset in PRESETS.items()]
    parts = [table(["`input.preset`", "feed", "on", "to know"], rows)]
    parts += [_details(name, preset) for name, preset in PRESETS.items()]
    return "\n\n".join(parts)


def _sources(preset: Preset) -> str:
    return "files" if all(example.is_file for example in preset.examples) else "topics, files"


def _details(name: str, preset: Preset) -> str:
    parts = [_yaml(preset.settings, name, "")]
    parts += [_yaml(sections, name, f", as {_NAMES[kind]}") for kind, sections in preset.of_kind.items()]
    parts += [_example(example) for example in preset.examples]
    return f"````{{dropdown}} {name}\n{chr(10).join(filter(None, parts))}\n````"


def _yaml(sections: Mapping[str, Mapping[str, Any]], name: str, kind: str) -> str:
    if not sections:
        return ""
    plain = {section: dict(_plain(values)) for section, values in sections.items()}
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=110).rstrip()
    return f"`input.preset: {name}`{kind} stands for\n\n```yaml\n{text}\n```\n"


def _plain(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, list(value) if isinstance(value, tuple) else value) for name, value in values.items())


def _example(example: Example) -> str:
    kinds = "" if len(example.kinds) == len(INPUT_KINDS) else f", as {_NAMES[example.kinds[0]]}"
    key = "" if example.key is None else f", the key of the message is `{example.key}`"
    language, text = (
        ("text", example.content) if isinstance(example.content, str) else ("json", shown_json(example.content))
    )
    return f"It reads{kinds} (`{example.file}`{key})\n\n```{language}\n{text}\n```\n"
