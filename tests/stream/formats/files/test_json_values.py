"""JSON files: their elements, documents and features are found without being decoded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.formats.files.form_error import FormError
from stream.formats.files.geojson import features, is_collection
from stream.formats.files.json_values import documents, elements, list_in, texts_of_sequence
from tests.budgets import examples
from tests.builders.reference_systems import OTHERS

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=3)
FEATURE = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [16.0, 48.0]}, "properties": {"user": "]},"}}


def decoded(found: list[bytes]) -> list[Any]:
    return [json.loads(one) for one in found]


@settings(max_examples=examples(300), deadline=None)
@given(values=st.lists(VALUES, max_size=5), indent=st.sampled_from([None, 1]), is_strict=st.booleans())
def test_the_elements_of_a_list_are_found(values: list[Any], indent: int | None, is_strict: bool) -> None:
    """
    Also where one of them is no JSON, and the list has to be split at its commas.
    """
    text = json.dumps([*values, *([] if is_strict else [float("nan")])], indent=indent)
    found = [one for _, one in elements(text.encode())]
    assert decoded(found[: len(values)]) == values
    assert found[len(values) :] == ([] if is_strict else [b"NaN"])


@settings(max_examples=examples(300), deadline=None)
@given(
    values=st.lists(VALUES, max_size=5),
    others=st.dictionaries(st.text(max_size=8).filter(lambda name: name != "features"), VALUES, max_size=3),
    is_first=st.booleans(),
    indent=st.sampled_from([None, 1]),
    is_strict=st.booleans(),
)
def test_the_list_of_an_object_is_found_and_the_rest_stays(
    values: list[Any], others: dict[str, Any], is_first: bool, indent: int | None, is_strict: bool
) -> None:
    """
    Wherever it stands, and whatever texts with brackets stand around it.
    """
    broken = [] if is_strict else [float("nan")]
    members: dict[str, Any] = {"features": [*values, *broken]}
    text = json.dumps(members | others if is_first else others | members, indent=indent)
    found, rest = list_in(text.encode(), "features")
    assert decoded(found[: len(values)]) == values
    assert len(found) == len(values) + len(broken)
    assert json.loads(rest) == others | {"features": []}


@settings(max_examples=examples(300), deadline=None)
@given(
    values=st.lists(OBJECTS | st.lists(VALUES, max_size=3), min_size=1, max_size=5),
    between=st.sampled_from(["", "\n", ",\n", "\r\n\r\n"]),
    indent=st.sampled_from([None, 1]),
)
def test_documents_one_after_the_other_are_found(values: list[Any], between: str, indent: int | None) -> None:
    """
    However they are separated, and over however many lines each of them goes.
    """
    content = between.join(json.dumps(value, indent=indent) for value in values).encode()
    assert decoded(list(documents(content))) == values


@settings(max_examples=examples(300), deadline=None)
@given(values=st.lists(OBJECTS, max_size=5), block=st.integers(1, 50), indent=st.sampled_from([None, 1]))
def test_the_texts_of_a_sequence_are_found(values: list[Any], block: int, indent: int | None) -> None:
    """
    Each begins with a record separator; blocks of any size are the same file.
    """
    content = "".join(f"\x1e{json.dumps(value, indent=indent)}\n" for value in values).encode()
    blocks = [content[i : i + block] for i in range(0, len(content), block)]
    found = list(texts_of_sequence(blocks, 10_000))
    assert [number for number, _ in found] == list(range(1, len(values) + 1))
    assert decoded([text for _, text in found]) == values


def test_a_long_text_of_a_sequence_is_cut() -> None:
    """
    A file without separators costs no more memory than its longest record may.
    """
    ((_, text),) = texts_of_sequence([b"\x1e", *([b"x" * 1_000] * 50)], 100)
    assert len(text) <= 1_101


@pytest.mark.parametrize("end", [b"}", b"]}", b"}]}", b'"]}'])
def test_a_collection_that_is_cut_off_is_refused(end: bytes) -> None:
    """
    Wherever it is cut: a list without an end may lack any number of records.
    """
    content = json.dumps({"type": "FeatureCollection", "features": [FEATURE, {"user": "x"}]}).encode()
    with pytest.raises(FormError, match="no end"):
        features(content.removesuffix(b"}]}").removesuffix(b'"') + end[:-1])


def test_what_follows_a_collection_is_refused() -> None:
    """
    A second document would not be read; the sentence says how to write several.
    """
    with pytest.raises(FormError) as fault:
        features(b'{"type": "FeatureCollection", "features": [NaN]}\n{"features": []}')
    assert str(fault.value) == (
        "something follows the end of the JSON document: write one document in a file, or one record a line"
    )


@pytest.mark.parametrize("content", [b'{"a": {"c": []}}', b'{"a": []}', b'{"a": {"b": 5}}', b'{"a": {"b": [NaN]}'])
def test_a_list_that_is_not_at_its_path_is_refused(content: bytes) -> None:
    """
    The sentence names the path, and the setting with which another is chosen.
    """
    with pytest.raises(FormError) as fault:
        list_in(content, "a", "b")
    assert str(fault.value) == ("has no list a.b, or is not JSON: set input.records to the path of its list of records")


def test_a_bad_feature_is_yielded_as_it_is() -> None:
    """
    It alone is rejected later; its neighbours are read.
    """
    content = json.dumps({"features": [FEATURE, 0, FEATURE]}).replace(", 0,", ", {oops},").encode()
    found, _ = features(content)
    assert (json.loads(found[0]), found[1], json.loads(found[2])) == (FEATURE, b"{oops}", FEATURE)


@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        ("urn:ogc:def:crs:OGC:1.3:CRS84", True),
        ("EPSG:4326", True),
        ("urn:ogc:def:crs:EPSG::4326", True),
        ("urn:ogc:def:crs:EPSG::31256", False),
        ("EPSG:3857", False),
        ("EPSG:4258", True),
        ("a plane of my own", False),
    ],
)
def test_a_reference_system_in_metres_is_refused(name: str, is_read: bool) -> None:
    """
    Before RFC 7946, GeoJSON could state one; metres near its origin would pass for degrees.
    """
    crs = {"type": "name", "properties": {"name": name}}
    content = json.dumps({"type": "FeatureCollection", "crs": crs, "features": [FEATURE]}).encode()
    if is_read:
        assert len(features(content)[0]) == 1
    else:
        with pytest.raises(FormError, match="EPSG:4326"):
            features(content)


@pytest.mark.parametrize("stated", OTHERS)
def test_another_reference_system_is_refused_however_it_is_stated(stated: dict[str, Any]) -> None:
    """
    The file is refused, and no feature of it is read.
    """
    content = json.dumps({"type": "FeatureCollection", "features": [FEATURE], **stated}).encode()
    with pytest.raises(FormError, match="is not longitude and latitude: write the file in EPSG:4326"):
        features(content)


@pytest.mark.parametrize(
    ("start", "found"),
    [
        (b'{"type": "FeatureCollection", "features": [', True),
        (b'{"features":\n[ {"type"', True),
        (b'{"name": "walk", "crs": {"type": "name"}, "type":"FeatureCollection"', True),
        (b'{"type": "Feature", "geometry": {"type"', False),
        (b'{"locations": [', False),
        (b'[{"type": "FeatureCollection"}]', False),
    ],
)
def test_a_collection_is_known_by_its_start(start: bytes, found: bool) -> None:
    """
    The order of its members is free.
    """
    assert is_collection(start) is found


@settings(max_examples=examples(1_000), deadline=None)
@given(st.data())
def test_damage_gives_values_or_the_one_error(data: st.DataObject) -> None:
    """
    Whatever bytes are changed or missing: parts of the file are yielded, or it is refused.
    """
    content = bytearray(json.dumps({"a": [1], "features": [FEATURE, FEATURE]}, indent=1).encode())
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=4)):
        content[at] = data.draw(st.sampled_from(b'[]{},"\\:\x00\xffa1'))
    cut = bytes(content[: data.draw(st.integers(1, len(content)))])
    for read in (features, documents):
        try:
            found: list[Any] = list(read(cut))
        except FormError:
            continue
        assert all(isinstance(one, (bytes, list, dict, tuple)) for one in found)
