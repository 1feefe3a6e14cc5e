"""A release as Avro, framed as Confluent's registry asks: a zero, the id of the schema in four bytes, the message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from io import BytesIO
from typing import Any, ClassVar

from core.records.instants import rfc3339
from stream.formats.input.framing import FRAME_BYTES, frame_of
from stream.formats.release.avro_schemas import AVRO_SCHEMAS
from stream.formats.release.encoding import COUNTS, Content, PlacePositions, ReleaseEncoding

__all__ = ["AvroRelease", "from_avro", "parsed", "to_avro"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroRelease(ReleaseEncoding):
    """Messages in the schemas of :mod:`stream.formats.release.avro_schemas`."""

    name: ClassVar[str] = "avro"

    anonymized_id: int
    """Id of the schema of ``anonymized`` at the registry."""

    windows_id: int
    """Id of the schema of ``windows`` at the registry."""

    def trajectory(self, content: Content, positions: PlacePositions) -> bytes:
        """See :meth:`ReleaseEncoding.trajectory`."""
        return _written("anonymized", self.anonymized_id, content)

    def window(self, content: Content) -> bytes:
        """See :meth:`ReleaseEncoding.window`."""
        return _written("windows", self.windows_id, content)

    def read_trajectory(self, value: bytes) -> Content:
        """See :meth:`ReleaseEncoding.read_trajectory`."""
        return _read("anonymized", value)

    def read_window(self, value: bytes) -> Content:
        """See :meth:`ReleaseEncoding.read_window`."""
        return _read("windows", value)


@cache
def parsed(topic: str) -> Any:
    """Return the schema of a topic, ready for fastavro (extra ``avro``)."""
    import fastavro  # noqa: PLC0415 - an extra, loaded where it is used

    return fastavro.parse_schema(AVRO_SCHEMAS[topic])


def _written(topic: str, schema_id: int, content: Content) -> bytes:
    import fastavro  # noqa: PLC0415

    out = BytesIO()
    out.write(frame_of(schema_id))
    # Without disable_tuple_notation a location of two members would be taken for the name of a type and its value.
    fastavro.schemaless_writer(out, parsed(topic), to_avro(content), disable_tuple_notation=True)
    return out.getvalue()


def _read(topic: str, value: bytes) -> Content:
    import fastavro  # noqa: PLC0415

    return from_avro(fastavro.schemaless_reader(BytesIO(value[FRAME_BYTES:]), parsed(topic), None))


def to_avro(content: Content) -> Content:
    """Return the content of a message as fastavro writes it: times are instants; points, visits and ranges records."""
    shown = {name: _TO_AVRO[name](value) if name in _TO_AVRO else value for name, value in content.items()}
    start, end = shown.pop("window")
    return shown | {"window_start": datetime.fromisoformat(start), "window_end": datetime.fromisoformat(end)}


def from_avro(record: Any) -> Content:
    """Return the content of a message that fastavro read: what is null is left out, except hidden counts."""
    start, end = record["window_start"], record["window_end"]
    content: Content = {
        "schema": record["schema"],
        "release": record["release"],
        "window": [_text(start), _text(end)],
        "shard": record["shard"],
    }
    is_released = record.get("outcome") == "released"
    for name, value in record.items():
        if name in content or name in ("window_start", "window_end"):
            continue
        if value is not None:
            content[name] = _FROM_AVRO[name](value) if name in _FROM_AVRO else value
        elif is_released and name in COUNTS:
            content[name] = None
    return content


def _text(moment: datetime) -> str:
    return rfc3339(round(moment.timestamp() * 1000))


def _ranges(attributes: Content) -> Content:
    return {
        name: value if isinstance(value, str) else {"least": value[0], "most": value[1]}
        for name, value in attributes.items()
    }


_TO_AVRO: dict[str, Callable[[Any], Any]] = {
    "points": lambda points: [
        {"time": datetime.fromisoformat(time), "lat": lat, "lon": lon} for time, lat, lon in points
    ],
    "visits": lambda visits: [{"slot": slot, "location": location} for slot, location in visits],
    "attributes": _ranges,
    "locations": lambda places: [place if isinstance(place, dict) else list(place) for place in places],
    "sensitive": list,
    "one_of": list,
}

_FROM_AVRO: dict[str, Callable[[Any], Any]] = {
    "points": lambda points: [[_text(point["time"]), point["lat"], point["lon"]] for point in points],
    "visits": lambda visits: [[visit["slot"], visit["location"]] for visit in visits],
    "attributes": lambda attributes: {
        name: value if isinstance(value, str) else [value["least"], value["most"]] for name, value in attributes.items()
    },
    "locations": lambda places: [
        {name: value for name, value in place.items() if value is not None and value is not False}
        if isinstance(place, dict)
        else place
        for place in places
    ],
}
