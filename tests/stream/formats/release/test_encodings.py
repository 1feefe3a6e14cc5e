"""Encodings of a release: every one of them holds the same content, in a form that its readers accept."""

from __future__ import annotations

import json
import pickle
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.registry import models_of
from core.records.instants import rfc3339
from core.records.record import INPUT_KINDS, Kind
from core.release.outcome import Outcome
from docs.extensions.replays import replayed
from stream.formats.release.avro import AvroRelease
from stream.formats.release.avro_schemas import AVRO_SCHEMAS
from stream.formats.release.encoding import Content, ReleaseEncoding, positions_of
from stream.formats.release.encodings import WITHOUT_REGISTRY, has_points, needs_points
from stream.formats.release.geojson import GEOJSON
from stream.formats.release.json import JSON
from stream.formats.release.messages import outcome_messages
from stream.formats.release.mf_json import MF_JSON
from stream.formats.release.places import places_of
from tests.budgets import examples
from tests.builders.live_windows import sequences, tracks, withheld

MODELS = [model for kind in INPUT_KINDS for model in models_of(kind)]
AVRO = AvroRelease(anonymized_id=7, windows_id=2**31 + 5)
ENCODINGS: list[ReleaseEncoding] = [*WITHOUT_REGISTRY.values(), AVRO]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.name)
def test_every_encoding_of_a_release_gives_back_its_content(encoding: ReleaseEncoding, model: str) -> None:
    """
    What a reader decodes is what the JSON message states, for released and withheld windows and under every model.
    """
    messages = replayed(model)
    positions = positions_of(messages.windows[0])
    if needs_points(encoding.name, model) is None:
        for content in messages.anonymized:
            assert encoding.read_trajectory(encoding.trajectory(content, positions)) == content
    for content in messages.windows:
        assert encoding.read_window(encoding.window(content)) == content


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.name)
@pytest.mark.parametrize("outcome", [sequences(), tracks(), withheld()], ids=["sequences", "tracks", "withheld"])
def test_an_outcome_has_the_same_messages_in_every_encoding(encoding: ReleaseEncoding, outcome: Outcome) -> None:
    """
    Keys, topics and time stamps do not depend on the encoding, values hold what the JSON ones do. A repetition, also
    in another process, has the same bytes.
    """
    if encoding is MF_JSON and outcome.key.kind is Kind.CHECKINS:
        return
    plain, encoded = list(outcome_messages(outcome)), list(outcome_messages(outcome, encoding))
    assert [one._replace(value=b"") for one in encoded] == [one._replace(value=b"") for one in plain]
    for one, expected in zip(encoded, plain, strict=True):
        as_json = encoding.window_as_json if one.topic == "windows" else encoding.trajectory_as_json
        assert json.loads(as_json(one.value)) == json.loads(expected.value)
    assert list(outcome_messages(outcome, pickle.loads(pickle.dumps(encoding)))) == encoded  # noqa: S301 - our own


NAMES = st.text(min_size=1, max_size=5)
PLACES = st.lists(NAMES, min_size=1, max_size=3)
DEGREES = st.floats(-90, 90)
TIMES = st.integers(0, 4_102_444_800_000).map(rfc3339)
CHUNKS = st.lists(st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=3), max_size=3)
HEAD = st.fixed_dictionaries(
    {"schema": st.just(1), "release": st.just("0123456789abcdef"), "window": st.tuples(TIMES, TIMES).map(list)},
).flatmap(lambda head: NAMES.map(lambda shard: head | {"shard": shard}))
MESSAGES: st.SearchStrategy[Content] = st.one_of(
    st.fixed_dictionaries({"pseudonym": NAMES, "locations": st.lists(PLACES, min_size=1, max_size=5)}),
    st.fixed_dictionaries(
        {"pseudonym": NAMES, "points": st.lists(st.tuples(TIMES, DEGREES, DEGREES).map(list), min_size=1, max_size=5)}
    ),
    st.fixed_dictionaries(
        {
            "pseudonym": NAMES,
            "visits": st.lists(st.tuples(NAMES, NAMES).map(list), min_size=1, max_size=5),
            "sensitive": st.lists(NAMES, max_size=3),
        }
    ),
    st.fixed_dictionaries(
        {
            "pseudonym": NAMES,
            "visits": st.lists(st.tuples(NAMES, NAMES).map(list), min_size=1, max_size=5),
            "one_of": st.lists(st.none() | NAMES, max_size=3),
        }
    ),
    st.fixed_dictionaries(
        {
            "pseudonym": NAMES,
            "attributes": st.dictionaries(NAMES, NAMES | st.tuples(DEGREES, DEGREES).map(list), max_size=3),
            "locations": st.lists(PLACES, max_size=5),
        },
        optional={"sensitive": st.lists(NAMES, min_size=1, max_size=3)},
    ),
    st.fixed_dictionaries(
        {
            "clusters": st.lists(
                st.fixed_dictionaries(
                    {"size": st.integers(2, 99), "record_chunks": CHUNKS, "term_chunk": st.lists(NAMES, max_size=3)}
                ),
                min_size=1,
                max_size=3,
            ),
            "joint_clusters": st.lists(
                st.fixed_dictionaries({"first": st.just(0), "end": st.integers(1, 3), "shared_chunks": CHUNKS}),
                max_size=2,
            ),
        }
    ),
    st.fixed_dictionaries(
        {"origin": NAMES, "destination": NAMES, "people": st.integers(2, 99)}, optional={"trips": st.integers(2, 999)}
    ),
)


@settings(max_examples=examples(400))
@given(HEAD, MESSAGES, st.data())
def test_any_message_is_read_back_from_every_encoding(head: Content, message: Content, data: st.DataObject) -> None:
    """
    Whatever names, positions and times a release has: signs of other scripts, the names of types, single positions.
    """
    content = head | message
    at: dict[tuple[str, ...], tuple[float, float]] = {}
    for place in places_of(content):
        at[place] = data.draw(st.tuples(DEGREES, DEGREES))
    for encoding in ENCODINGS:
        if encoding is MF_JSON and "points" not in content:
            continue
        value = encoding.trajectory(content, at)
        assert encoding.read_trajectory(value) == content
        assert json.loads(encoding.trajectory_as_json(value)) == json.loads(JSON.trajectory(content, at))


def test_geojson_has_longitude_first_and_places_where_their_centroids_are() -> None:
    """
    Sequences are points in the order of the visits, with repetitions; a set has each of its places once; a group of
    clusters, too; nothing has no geometry.
    """
    at = {("a",): (1.0, 2.0), ("b", "c"): (3.0, 4.0), ("s",): (5.0, 6.0)}

    def geometry(**content: Any) -> Any:
        return json.loads(GEOJSON.trajectory(content, at))["geometry"]

    visits = geometry(locations=[["b", "c"], ["a"], ["b", "c"]])
    assert visits == {"type": "MultiPoint", "coordinates": [[4.0, 3.0], [2.0, 1.0], [4.0, 3.0]]}
    person = geometry(attributes={}, locations=[["a"]], sensitive=["s"])
    assert person["coordinates"] == [[2.0, 1.0], [6.0, 5.0]]
    assert geometry(attributes={}, locations=[]) is None
    cluster = {"size": 3, "record_chunks": [[["a"], ["a", "s"]]], "term_chunk": ["s"]}
    assert geometry(clusters=[cluster], joint_clusters=[])["coordinates"] == [[2.0, 1.0], [6.0, 5.0]]
    assert geometry(points=[["t", 1.0, 2.0]]) == {"type": "Point", "coordinates": [2.0, 1.0]}
    line = geometry(points=[["t", 1.0, 2.0], ["u", 3.0, 4.0]])
    assert line == {"type": "LineString", "coordinates": [[2.0, 1.0], [4.0, 3.0]]}


def test_avro_begins_with_the_id_of_its_schema_and_any_reader_understands_the_rest() -> None:
    """
    A zero, four bytes of the id, big-endian; then Avro in the schema of the topic.
    """
    messages = replayed("w4m")
    value = AVRO.trajectory(messages.anonymized[0], {})
    assert value[:5] == b"\x00\x00\x00\x00\x07"
    record: Any = fastavro.schemaless_reader(BytesIO(value[5:]), AVRO_SCHEMAS["anonymized"], None)
    assert record["pseudonym"] == messages.anonymized[0]["pseudonym"]
    assert record["points"][0]["time"].isoformat().replace("+00:00", "Z") == messages.anonymized[0]["points"][0][0]
    assert record["locations"] is None
    assert AVRO.window(messages.windows[0])[:5] == b"\x00\x80\x00\x00\x05"


@pytest.mark.parametrize("model", MODELS)
def test_only_points_can_move(model: str) -> None:
    """
    Every model's releases can be written in every encoding, but for MF-JSON, which needs times of positions.
    """
    assert [needs_points(name, model) for name in ("json", "avro", "geojson")] == [None] * 3
    refused = needs_points("mf-json", model)
    assert (refused is None) == has_points(model) == (model in models_of(Kind.FRAGMENTS))
    assert refused is None or (model in refused and "w4m" in refused)


def test_times_of_a_trajectory_have_one_form() -> None:
    """
    Where one has milliseconds all have: pandas takes the form of the first for that of all. What is read back has the
    form of JSON again.
    """
    points = [["2026-01-01T00:00:00Z", 1.0, 2.0], ["2026-01-01T00:00:01.500Z", 1.0, 2.0]]
    content = {"schema": 1, "points": points}
    times = ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.500Z"]
    value = GEOJSON.trajectory(content, {})
    assert json.loads(value)["properties"]["times"] == times
    assert GEOJSON.read_trajectory(value) == content
    value = MF_JSON.trajectory(content, {})
    assert json.loads(value)["temporalGeometry"]["datetimes"] == times
    assert MF_JSON.read_trajectory(value) == content
