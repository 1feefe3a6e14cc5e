"""Paths: what each form leads to, in records of any shape."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.records.record import CheckIn, Fragment, Kind, Reason
from stream.feeds.trial.guessing.shape import escaped
from stream.formats.input.mapping import DocumentMapping, MappingOptions, Skipped, Unreadable
from stream.formats.input.paths import (
    NO_TEXT,
    NOWHERE,
    Origin,
    PathError,
    is_of_lists,
    names_in,
    needed_names,
    path_from,
)
from stream.formats.input.positions.texts import NO_POSITION
from stream.formats.input.record_path import MISSING, RecordPath
from tests.builders.inputs import NAMES


@pytest.mark.parametrize(
    ("path", "record", "value"),
    [
        ("a & b", {"a": 1, "b": 2}, [1, 2]),
        ("x|a & b", {"a": 1}, [1, None]),
        ("a & b|c", {"c": 3}, 3),
        (r"a\&b", {"a&b": 1}, 1),
        ("=a & b", {}, "a & b"),
        ("a + b", {"a": "1", "b": "2"}, "1 2"),
        ("a + b.c + =x", {"a": "1", "b": {"c": "2"}}, "1 2 x"),
        ("a + b", {"a": "1"}, None),
        ("a + b", {"a": "1", "b": 85320}, None),
        ("a + b|c", {"a": "1", "c": 3}, 3),
        ("a + b & c + d", {"a": "1", "b": "2", "c": "3", "d": "4"}, ["1 2", "3 4"]),
        (r"a\+b", {"a+b": 1}, 1),
        ("=a + b", {}, "a + b"),
        ("c[][1]|c[1]", {"c": [16.4, 48.2]}, 48.2),
        ("c[][1]|c[1]", {"c": [[16.4, 48.2], [16.5, 48.3]]}, [48.2, 48.3]),
        ("c[][1]", {"c": []}, []),
        ("p[0]", {"p": "48.2082°, 16.3738°"}, 48.2082),
        ("p[1]", {"p": "48.2082, -16.3738"}, -16.3738),
        ("p[1]", {"p": "geo:48.2,16.4;u=35"}, 16.4),
        ("p[0]", {"p": "SRID=4326;POINT(16.4 48.2)"}, 16.4),
        ("p[1]", {"p": "POINT Z (16.4 48.2 171)"}, 48.2),
        ("p[1]", {"p": "0101000020E610000000000000000030400000000000004840"}, 48.0),
        ("p[0]", {"p": "\\x000000000140300000000000004048000000000000"}, 16.0),
        ("p.wkb[1]", {"p": {"wkb": "AQEAAAAAAAAAAAAwQAAAAAAAAEhA", "srid": 4326}}, 48.0),
        ("p[2]", {"p": "48.2,16.4"}, None),
        ("p[0]", {"p": "somewhere"}, NO_POSITION),
        ("p[0]|a", {"p": "somewhere", "a": 1}, 1),
        ("p[0]|a", {"p": "somewhere"}, NO_POSITION),
        ("p[0].a|p[][0]", {"p": "somewhere"}, None),
        ("p[][0]|p[0]", {"p": ["somewhere"]}, "somewhere"),
        ("p[0]", {"p": 48.2}, None),
        ("p[0]", {"p": "1," * 10**6}, NO_POSITION),
    ],
)
def test_a_path_leads_to_a_value(path: str, record: dict[str, Any], value: object) -> None:
    """
    Several paths make a list, positions in one text have two numbers, and a list without any value is no value.
    """
    assert path_from(path)(record, NOWHERE) == value


def test_the_whole_message() -> None:
    """
    A slash alone is the message, for a record that is only a part of it.
    """
    assert path_from("/")({}, Origin(document={"a": 1})) == {"a": 1}
    assert path_from("/a")({}, Origin(document={"a": 1})) == 1


def test_names_of_columns() -> None:
    """
    All parts of a path that name fields of the record are names of columns, and lists are known as such.
    """
    assert names_in(r"start & end|x\&y|kafka:key|/") == ["start", "end", "x&y"]
    assert [is_of_lists(path) for path in ("a & b", "a[].b", r"a\&b", "a[0]|b")] == [True, True, False, False]


def test_signs_in_the_name_of_a_header() -> None:
    """
    A backslash takes away the meaning of a sign, in a header's name as in that of a field.
    """
    origin = Origin(headers=(("a+b", b"1"), ("c", b"2")))
    assert path_from(r"kafka:header:a\+b + kafka:header:c")({}, origin) == "1 2"


@pytest.mark.parametrize(
    ("key", "text", "integer"),
    [
        (b"p01", "p01", NO_TEXT),
        (b"p1", "p1", 0x7031),
        ("Jos\u00e9\n".encode(), "Jos\u00e9\n", NO_TEXT),
        (bytes([0, 0, 0, 0, 0, 0, 0, 65]), NO_TEXT, 65),
        (bytes([0, 0, 0, 0, 0, 0, 0, 97]), NO_TEXT, 97),
        (bytes([255, 255, 255, 254]), NO_TEXT, -2),
        (bytes([0, 0, 0, 0, 65, 6]) + b"p01", NO_TEXT, NO_TEXT),
        (bytes([8]) + b"p012", NO_TEXT, NO_TEXT),
        (None, None, None),
    ],
)
def test_a_key_is_a_text_or_a_number_in_bytes(key: bytes | None, text: Any, integer: Any) -> None:
    """
    Bytes that are no text lead to no text: their control characters would not count in an id.
    """
    origin = Origin(key=key, headers=[("h", key)])
    assert path_from("kafka:key")({}, origin) == text
    assert path_from("kafka:header:h")({}, origin) == text
    assert path_from("kafka:key:integer")({}, origin) == integer
    assert path_from("kafka:key|a")({"a": 1}, origin) == (1 if text in (NO_TEXT, None) else text)


def test_a_key_in_json_may_have_a_schema() -> None:
    """
    The id of its schema before it does not matter.
    """
    for key in (b'{"id": 7}', bytes([0, 0, 0, 0, 9]) + b'{"id": 7}'):
        assert path_from("kafka:key.id")({}, Origin(key=key)) == 7


DEEP: dict[str, Any] = {"a": {"b": [{"c": [48.2, 16.3]}]}}


def folded(value: Any, data: st.DataObject) -> Any:
    """Return plain data in which some objects and lists are texts that hold them as JSON."""
    if isinstance(value, dict):
        value = {name: folded(one, data) for name, one in value.items()}
    elif isinstance(value, list):
        value = [folded(one, data) for one in value]
    else:
        return value
    how = data.draw(st.sampled_from(["as it is", "text", "base64"]))
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])))
    return {"as it is": value, "text": text, "base64": base64.b64encode(text.encode()).decode()}[how]


@given(st.data())
def test_a_path_goes_on_in_a_text_that_is_json(data: st.DataObject) -> None:
    """
    However deep, and whichever of the objects and lists on the way are texts.
    """
    record = {"a": folded(DEEP["a"], data)}
    assert path_from("a.b[0].c[1]")(record, NOWHERE) == 16.3
    assert path_from("a.b[].c[0]")(record, NOWHERE) == [48.2]
    assert path_from("a.x|a.b[1]")(record, NOWHERE) is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1",
        "{} {}",
        "48.2",
        "eyJ",
        "eyJhbGciOiJIUzI1NiJ9.eyJ9",
        "e30x",
        "W3",
        "e30=\n",
        "null",
        '"x"',
        "",
        "[" * 100_000,
    ],
)
def test_a_path_ends_at_a_text_that_is_not_json(text: str) -> None:
    """
    As at any other text.
    """
    assert path_from("a.b")({"a": text}, NOWHERE) is None
    assert path_from("a.b.c")({"a": text}, NOWHERE) is None
    assert path_from("a")({"a": text}, NOWHERE) == text


@given(st.lists(st.text("ab +&|\\.", min_size=1, max_size=4), min_size=1, max_size=3, unique=True), st.data())
def test_joined_texts(names: list[str], data: st.DataObject) -> None:
    """
    Whatever the names, joined paths lead to their texts with spaces between them, or to nothing if one is missing.
    """
    record = {name: data.draw(st.text(max_size=3) | st.none() | st.integers()) for name in names}
    values = list(record.values())
    path = " + ".join(map(escaped, (name.strip() for name in names)))
    assume(all(name == name.strip() for name in names))
    texts = [value for value in values if isinstance(value, str)]
    expected = values[0] if len(values) == 1 else " ".join(texts) if len(texts) == len(values) else None
    assert path_from(path)(record, NOWHERE) == expected


def test_columns_that_are_needed() -> None:
    """
    Of alternatives one column is needed, of joined texts every one, and none if the value may be elsewhere.
    """
    assert needed_names(r"ts|day + a\+t") == [["ts", "day"], ["ts", "a+t"]]
    assert needed_names("start & end") == [["start", "end"]]
    assert needed_names("day + =UTC") == [["day"]]
    assert needed_names("day & kafka:timestamp") == []


@pytest.mark.parametrize("path", ["a & ", "& a", "a | b &", "a +", "+", "a + + b", "a[].b + c"])
def test_a_wrong_path_is_refused(path: str) -> None:
    """
    A list of paths has no empty one, and lists cannot be joined.
    """
    with pytest.raises(PathError):
        path_from(path)


@given(
    st.floats(-90, 90),
    st.floats(-180, 180),
    st.sampled_from(
        [
            "{}, {}",
            "{}°, {}°",
            " {},{},170.5 ",
            "{}, {}, -12",
            "geo:{},{}",
            "geo:{},{},170",
            "GEO:{},{};crs=WGS84;u=35.5",
            "geo:{},{};u=35;z=11;a",
            "geo:{},{};crsx=EPSG%3A1",
        ]
    ),
)
def test_positions_in_one_text(lat: float, lon: float, form: str) -> None:
    """
    Whatever a position is, its two numbers come back from a text with them; an altitude and other parameters of a geo
    URI change nothing.
    """
    record = {"p": form.format(f"{lat:.7f}", f"{lon:.7f}")}
    found = path_from("p[0]")(record, NOWHERE), path_from("p[1]")(record, NOWHERE)
    assert found == (float(f"{lat:.7f}"), float(f"{lon:.7f}"))


@given(
    st.floats(-90, 90),
    st.floats(-180, 180),
    st.integers(0, 4),
    st.sampled_from(
        [
            *("{}, {}, 170", "{},{}", "{}, {}", "{}; {}", "{};{}", "{}°, {}°", "{}° / {}°", "{} {}", "geo:{},{}"),
            *("POINT({} {})", "{}, {},", "({}, {})", "{}, {} N"),
        ]
    ),
)
def test_decimal_commas_in_one_text(lat: float, lon: float, n_digits: int, form: str) -> None:
    """
    They are never taken for what stands between two numbers; whole numbers without an altitude are a position.
    """
    numbers = [f"{value:.{n_digits}f}" for value in (lat, lon)]
    assume(n_digits or form == "{}, {}, 170")
    text = form.format(*(number.replace(".", ",") for number in numbers))
    for index in (0, 1):
        assert path_from(f"p[{index}]")({"p": text}, NOWHERE) is NO_POSITION


@pytest.mark.parametrize("kind", [Kind.CHECKINS, Kind.FRAGMENTS])
@pytest.mark.parametrize(
    "text",
    [
        "48,20; 16,37",
        "48,20,16,37",
        "48,2;16,3",
        "48,12,29.5; 16,22,25.7",
        "48°12'29.5\"N, 16°22'25.7\"E",
        "48° 12.5, 16° 22.4",
        "48,20°, 16,37°",
        "48,2°, 16,3°",
        "33.80°, 70.6°, S W",
        "33.80, 70.6, S",
        "33.80; 70.6",
        "48.2, 16.4, 1.5, 7",
        "48.2, 16.4;u=35",
        "48.2, 16.4 (Vienna)",
        "48.2, 16.4\n48.3, 16.5",
        "geo:48.2,16.3;crs=EPSG:31287",
        "geo:48.2,16.3;u=35;crs=nad27",
        "geo:48.2,16.3;CRS=wgs72",
        "geo:48.2,16.3;crs",
        "geo:48.2,16.3;crs=wgs84x",
        "geo:48,2;u=16,3",
        "geo:0,0?q=48.2,16.3",
        "SRID=31287;POINT(16 48)",
        "SRID=3857;POINT(16 48)",
        "POINT(16,4 48,2)",
        "POINT EMPTY",
        "0101000020110F000000000000000030400000000000004840",
        "0101000000000000000000F87F000000000000F87F",
        "0101000000000000000000304000000000000048",
        "010200000001000000000000000000304000000000000048400",
        "AQEAAAAAAAAAAAAwQAAAAAAAAEh=",
        "LINESTRING(16 48, 17 48)",
        "somewhere",
        "",
    ],
)
def test_a_text_that_is_no_position_rejects_its_record(kind: Kind, text: str) -> None:
    """
    With what is allowed, and nothing of the text: also in the list of points of a fragment, or beside a time as list.
    """
    names = NAMES | {"lat": "at.p[0]|p[0]", "lon": "at.p[1]|p[1]"}
    records: list[dict[str, Any]] = [{"user": "a", "ts": 1, "p": text}]
    if kind is Kind.FRAGMENTS:
        records.append({"user": "a", "points": [{"ts": 1, "p": text}]})
    for record in records:
        for numbers_as_text in (False, True):
            (found,) = entries(kind, record, MappingOptions(names=names, numbers_as_text=numbers_as_text))
            assert isinstance(found, Unreadable)
            assert found.reason is Reason.WRONG_TYPE
            assert "p[0] must be a number of a position such as" in found.detail
            assert len(text) < 5 or text not in found.detail


def test_a_person_in_a_text_that_is_no_position() -> None:
    """
    Whatever field an index of a text is for, the sentence says what was found.
    """
    (found,) = entries(Kind.CHECKINS, {"name": "a", "ts": 1}, MappingOptions(names=NAMES | {"user": "name[0]"}))
    assert found == (
        Reason.WRONG_TYPE,
        "name[0] must be a text or a number; a text that is no position was found",
    )


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({"payload": {"after": {"a": 1}}}, {"a": 1}),
        ({"payload": {"after": None}}, None),
        ({"after": None, "before": {}}, None),
        ({"payload": {"a": 1}}, {"a": 1}),
        ({"payload": None}, None),
        ({"a": 1}, {"a": 1}),
        (None, None),
    ],
)
def test_the_first_place_that_is_there_decides(document: Any, found: Any) -> None:
    """
    Null in the place of the record is a deletion, although a later alternative would find something.
    """
    assert RecordPath("payload.after|after|payload|/")(document, Origin(document=document)) == found


def test_a_document_without_a_record() -> None:
    """
    Nothing in any of the places is another thing than null in one of them.
    """
    assert RecordPath("a.b|c")({"d": 1}, NOWHERE) is MISSING


# ---------------------------------------------------------------------- places side by side

ENDS = MappingOptions(
    names=NAMES | {"ts": "start & end", "lat": "lat[]", "lon": "lon[]"},
)


def entries(kind: Kind, record: dict[str, Any], options: MappingOptions = ENDS) -> list[Any]:
    return [entry for _, entry in DocumentMapping(kind, options).entries(record, Origin())]


def test_two_places_of_one_record() -> None:
    """
    A record with two times and two places is a fragment of two points, or two check-ins.
    """
    record = {"user": "a", "start": 1, "end": 2, "lat": [48.1, 48.2], "lon": [16.1, 16.2]}
    (fragment,) = entries(Kind.FRAGMENTS, record)
    assert isinstance(fragment, Fragment)
    assert [(point.ts, point.lat, point.lon) for point in fragment.points] == [(1, 48.1, 16.1), (2, 48.2, 16.2)]
    found = entries(Kind.CHECKINS, record)
    assert [(one.ts, one.lat, one.lon) for one in found if isinstance(one, CheckIn)] == [
        (1, 48.1, 16.1),
        (2, 48.2, 16.2),
    ]


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(
    "record",
    [
        {"user": "a", "start": 1, "end": 2, "lat": [48.1, 48.2, 48.3], "lon": [16.1, 16.2, 16.3]},
        {"user": "a", "t": 1, "lat": [48.1, 48.2], "lon": [16.1, 16.2]},
    ],
)
def test_lists_of_different_lengths(kind: Kind, record: dict[str, Any]) -> None:
    """
    As many times are needed as places: one time for several would say that somebody was everywhere at once.
    """
    options = MappingOptions(names=NAMES | {"ts": "t|start & end", "lat": "lat[]", "lon": "lon[]"})
    (found,) = entries(kind, record, options)
    assert isinstance(found, Unreadable)
    assert "lists of the same length" in found.detail


def test_a_record_without_any_place() -> None:
    """
    Where lists would be, but nothing is, what is missing is named.
    """
    (found,) = entries(Kind.FRAGMENTS, {"user": "a"})
    assert isinstance(found, Unreadable)
    assert found.detail == "points is needed"
    assert entries(Kind.CHECKINS, {"a": None}, MappingOptions(names=NAMES, records="a")) == [Skipped.TOMBSTONE]
