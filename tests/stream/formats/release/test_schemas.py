"""The published schemas of the encodings are those of the messages that are written."""

from __future__ import annotations

import json

import fastavro
import pytest

from core.models.registry import FAMILIES, family_of, models_of
from core.records.record import INPUT_KINDS
from docs.extensions.replays import replayed
from stream.formats.release.avro import to_avro
from stream.formats.release.avro_schemas import AVRO_SCHEMAS, fingerprint
from stream.formats.release.encoding import positions_of
from stream.formats.release.encodings import has_points
from stream.formats.release.geojson import GEOJSON
from stream.formats.release.json_schemas import geojson_schema, geojson_windows_schema, mf_json_schema
from stream.formats.release.mf_json import MF_JSON
from stream.formats.schemas import released_schema, windows_schema
from tests.builders.json_schemas import complaints

MODELS = [model for kind in INPUT_KINDS for model in models_of(kind)]


@pytest.mark.parametrize("model", MODELS)
def test_geojson_fits_its_schema(model: str) -> None:
    """
    Every message of a replay under a model, of the released and of the withheld window.
    """
    messages, schema = replayed(model), geojson_schema(family_of(model).released)
    positions = positions_of(messages.windows[0])
    for content in messages.anonymized:
        assert complaints(schema, json.loads(GEOJSON.trajectory(content, positions))) == []
    for content in messages.windows:
        assert complaints(geojson_windows_schema(), json.loads(GEOJSON.window(content))) == []


@pytest.mark.parametrize("model", [model for model in MODELS if has_points(model)])
def test_mf_json_fits_its_schema(model: str) -> None:
    """
    Moving points, and windows messages as in GeoJSON.
    """
    messages, schema = replayed(model), mf_json_schema(family_of(model).released)
    for content in messages.anonymized:
        assert complaints(schema, json.loads(MF_JSON.trajectory(content, {}))) == []
    for content in messages.windows:
        assert complaints(geojson_windows_schema(), json.loads(MF_JSON.window(content))) == []


def test_a_schema_refuses_what_is_not_its_message() -> None:
    """
    A field more, a position of three numbers, latitude first, or a line of one position is a fault.
    """
    messages = replayed("w4m")
    schema = geojson_schema(family_of("w4m").released)
    feature = json.loads(GEOJSON.trajectory(messages.anonymized[0], {}))
    assert complaints(schema, feature | {"user": "u1"})
    assert complaints(schema, feature | {"properties": feature["properties"] | {"user": "u1"}})
    for coordinates in ([[13.0, 52.0, 30.0]] * 2, [[13.0, 95.0]] * 2, [[13.0, 52.0]]):
        assert complaints(schema, feature | {"geometry": {"type": "LineString", "coordinates": coordinates}})
    moving = json.loads(MF_JSON.trajectory(messages.anonymized[0], {}))
    moving["temporalGeometry"]["interpolation"] = "Step"
    assert complaints(mf_json_schema(family_of("w4m").released), moving)


@pytest.mark.parametrize("model", MODELS)
def test_avro_messages_fit_their_schema(model: str) -> None:
    """
    No field is lost on the way to Avro, and none is missing.
    """
    messages = replayed(model)
    for topic, contents in (("anonymized", messages.anonymized), ("windows", messages.windows)):
        schema = fastavro.parse_schema(AVRO_SCHEMAS[topic])
        for content in contents:
            assert fastavro.validate(to_avro(content), schema)
            fields = {field["name"] for field in AVRO_SCHEMAS[topic]["fields"]}
            assert to_avro(content).keys() <= fields


def test_avro_has_a_field_for_every_field_of_json() -> None:
    """
    One schema for each topic covers the messages of all models; the window is two instants.
    """
    fields = {topic: {field["name"] for field in schema["fields"]} for topic, schema in AVRO_SCHEMAS.items()}
    of_json = {name for family in FAMILIES for name in released_schema(family.released)["properties"]}
    assert fields["anonymized"] == of_json - {"window"} | {"window_start", "window_end"}
    of_windows = {name for part in windows_schema()["oneOf"] for name in part["properties"]}
    assert fields["windows"] == of_windows - {"window"} | {"window_start", "window_end"}


def test_the_text_of_the_avro_schemas_is_part_of_the_format() -> None:
    """
    Another text has another id at a registry, and gives all messages other bytes. Change this on purpose alone.
    """
    assert fingerprint() == "c6b11cff1b029c82"
