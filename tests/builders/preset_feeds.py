"""Feeds of several people in the form of a preset, made of its example by changing person, time and place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

from google.protobuf import json_format
from google.transit.gtfs_realtime_pb2 import FeedMessage

from core.records.record import INPUT_KINDS, Kind
from stream.formats.presets.preset import Example
from stream.formats.presets.registry import PRESETS

__all__ = ["EXAMPLES", "START", "files", "messages", "place_of", "time_of"]

START = datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)
"""The time in every example."""

EXAMPLES: list[tuple[str, Example, Kind]] = [
    (name, example, kind)
    for name, preset in PRESETS.items()
    for example in preset.examples
    for kind in INPUT_KINDS
    if kind in example.kinds
]
"""All examples, for every kind of feed that reads them."""

_PLACES = (("48.2082", "16.3738"), ("48.21", "16.36"))
_FORMS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%a %b %d %H:%M:%S")


def time_of(user: int, step: int) -> datetime:
    """Return when a person is at a place."""
    return START + timedelta(seconds=10 * user + 60 * step)


def place_of(step: int) -> tuple[float, float]:
    """Return where everybody is in a step."""
    lat, lon = _PLACES[step % 2]
    return float(lat), float(lon)


def messages(name: str, example: Example, people: int = 6, steps: int = 2) -> list[tuple[bytes | None, bytes]]:
    """Return keys and values of messages, people after people in each step."""
    return [
        (None if example.key is None else _of(example.key, user, step).encode(), _value(name, example, user, step))
        for step, user in product(range(steps), range(people))
    ]


def files(name: str, example: Example, folder: Path, people: int = 6, steps: int = 2) -> Iterator[Path]:
    """Write a file for every person and step, and yield them."""
    for step, user in product(range(steps), range(people)):
        path = folder / f"{user}-{step}" / _of(example.file, user, step)
        path.parent.mkdir(parents=True)
        value = _value(name, example, user, step)
        is_latin = "text_encoding" in PRESETS[name].settings.get("input", {})
        path.write_bytes(value.decode().encode("latin-1") if is_latin else value)
        yield path


def _value(name: str, example: Example, user: int, step: int) -> bytes:
    text = _of(example.text, user, step)
    if name == "gtfs-realtime":
        return json_format.ParseDict(json.loads(text), FeedMessage()).SerializeToString()
    return text.encode()


def _of(text: str, user: int, step: int) -> str:
    """Return an example of another person, time and place."""
    time = time_of(user, step)
    changes = {START.strftime(form): time.strftime(form) for form in _FORMS}
    changes[str(round(START.timestamp()))] = str(round(time.timestamp()))
    for before, after in zip(_PLACES[0], _PLACES[step % 2], strict=True):
        changes |= {before: after, _e7(before): _e7(after)}
    changes["p01"] = f"p{user + 1:02}"
    for before, after in changes.items():
        text = text.replace(before, after)
    return text


def _e7(degrees: str) -> str:
    return str(round(float(degrees) * 10**7))
