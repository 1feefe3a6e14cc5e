"""The mapping: the records of documents."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.record import INPUT_KINDS, CheckIn, Fragment, Kind, Reason
from stream.formats.input.mapping import DocumentMapping, Entry, MappingOptions, Skipped, Unreadable
from stream.formats.input.messages import MessageReader
from stream.formats.input.paths import Origin
from stream.formats.input.times.texts import TextTimes
from tests.builders.inputs import NAMES

C, F = Kind.CHECKINS, Kind.FRAGMENTS
NESTED = {"user": "device.uniqueId", "ts": "position.fixTime", "lat": "position.latitude", "lon": "position.longitude"}
IN_LISTS = {"user": "id", "ts": "t.at[]", "lat": "t.xy[][1]", "lon": "t.xy[][0]"}


def read(kind: Kind, document: Any, origin: Origin | None = None, **given_: Any) -> list[tuple[int | None, Entry]]:
    """Return the entries of a document."""
    names = NAMES | given_.pop("names", {})
    mapping = DocumentMapping(kind, MappingOptions(names=names, **given_))
    return list(mapping.entries(document, origin or Origin()))


def plain(entry: Entry) -> Any:
    """Return a record as plain data, and anything else as its reason."""
    if isinstance(entry, (CheckIn, Fragment)):
        values = {name: value for name, value in msgspec.structs.asdict(entry).items() if value is not None}
        if isinstance(entry, Fragment):
            values["points"] = [(point.ts, point.lat, point.lon) for point in entry.points]
        return values
    return entry.reason if isinstance(entry, Unreadable) else entry


def one(kind: Kind, document: Any, origin: Origin | None = None, **given_: Any) -> Any:
    """Return the one entry of a document as plain data."""
    ((number, entry),) = read(kind, document, origin, **given_)
    assert number is None
    return plain(entry)


VISIT = {"user": "p", "ts": 5, "lat": 1.0, "lon": 2.0}
POINT = {"user": "p", "points": [(5, 1.0, 2.0)]}


@pytest.mark.parametrize(
    ("document", "given_"),
    [
        (VISIT, {}),
        (
            {"device": {"uniqueId": "p"}, "position": {"fixTime": 5, "latitude": 1, "longitude": 2, "x": None}},
            {"names": NESTED},
        ),
        (
            {"geometry": {"coordinates": [2, 1, 171]}, "properties": {"user": "p", "at": 5}},
            {
                "names": {
                    "user": "properties.user",
                    "ts": "properties.at",
                    "lat": "geometry.coordinates[1]",
                    "lon": "geometry.coordinates[0]",
                }
            },
        ),
        ({"payload": VISIT, "schema": {}}, {"records": "payload"}),
        ({"payload": {"before": None, "after": VISIT}}, {"records": "payload.after|after"}),
        ({"after": VISIT}, {"records": "payload.after|after"}),
        ({"user": "p", "ts": "5", "lat": " 1", "lon": "2.0"}, {"numbers_as_text": True}),
        ({"user": "p", "ts": "5", "lat": "1", "lon": "2,0"}, {"numbers_as_text": True, "decimal": ","}),
        ({"user": "p", "ts": 5, "lat": 10_000_000, "lon": 20_000_000}, {"degrees_per_unit": 1e-7}),
        ({"id": "p", "t": {"at": [5], "xy": [[2, 1]]}}, {"names": IN_LISTS}),
        (VISIT | {"_type": "location", "valid": True}, {"only": ("_type=location", "valid=true", "lat")}),
        (VISIT, {"only": ("_type!=lwt",)}),
    ],
)
def test_a_record_is_found_wherever_it_is(document: Any, given_: dict[str, Any]) -> None:
    """
    As a check-in, and as a fragment of one point.
    """
    visit = one(C, document, **given_)
    point = one(F, document, **given_)
    assert {name: round(value, 9) if name in ("lat", "lon") else value for name, value in visit.items()} == VISIT
    assert [tuple(round(value, 9) for value in values) for values in point["points"]] == POINT["points"]
    assert point["user"] == "p"


@pytest.mark.parametrize(
    ("document", "given_"),
    [
        ({"user": "p", "points": [[5, 1, 2], [6, 1, 3]]}, {}),
        ({"user": "p", "points": [[5, 1, 2, 171, 4], [6, 1, 3, None, {}]]}, {}),
        ({"user": "p", "points": [{"ts": 5, "lat": 1, "lon": 2}, {"lon": 3, "lat": 1, "ts": 6, "x": 1}]}, {}),
        ({"user": "p", "points": [{"ts": 5, "lat": 1, "lon": 2}, [6, 1, 3]]}, {}),
        ({"user": "p", "points": [[2, 1, 5], [3, 1, 6]]}, {"names": {"ts": "[2]", "lat": "[1]", "lon": "[0]"}}),
        (
            {"user": "p", "route": {"points": [{"p": {"y": 1, "x": 2}, "t": 5}, {"p": {"y": 1, "x": 3}, "t": 6}]}},
            {"names": {"points": "route.points", "ts": "t", "lat": "p.y", "lon": "p.x"}},
        ),
        ({"id": "p", "t": {"at": [5, 6], "xy": [[2, 1], [3, 1]]}}, {"names": IN_LISTS}),
        ({"user": "p", "points": [["5", "1", "2"], [6, "1", 3]]}, {"numbers_as_text": True}),
        ({"user": "p", "points": [[5, 10**7, 2 * 10**7], [6, 10**7, 3 * 10**7]]}, {"degrees_per_unit": 1e-7}),
    ],
)
def test_points_are_lists_objects_or_lists_side_by_side(document: Any, given_: dict[str, Any]) -> None:
    """
    All mean the same fragment, also as a message, which is decoded in a shorter way if it can be.
    """
    found = one(F, document, **given_)
    assert [tuple(round(value, 9) for value in values) for values in found["points"]] == [(5, 1, 2), (6, 1, 3)]
    options = MappingOptions(names=NAMES | given_.get("names", {}), **{k: v for k, v in given_.items() if k != "names"})
    assert [plain(entry) for _, entry in MessageReader(F, options).read(json.dumps(document).encode())] == [found]


def test_a_bad_element_rejects_itself_only() -> None:
    """
    And each entry says which of the list it is.
    """
    document = {"locations": [VISIT, {"user": "p"}, 7, VISIT | {"lat": "x"}, VISIT | {"_type": "lwt"}, None, VISIT]}
    found = read(C, document, records="locations", only=("_type!=lwt",))
    assert [(number, plain(entry)) for number, entry in found] == [
        (1, VISIT),
        (2, Reason.MISSING_FIELD),
        (3, Reason.WRONG_TYPE),
        (4, Reason.WRONG_TYPE),
        (5, Skipped.FILTERED),
        (6, Reason.WRONG_TYPE),
        (7, VISIT),
    ]


@given(
    st.lists(st.sampled_from([VISIT, {"user": "p"}, 7, VISIT | {"lat": []}, VISIT | {"at": 1}]), max_size=8),
    st.sampled_from(INPUT_KINDS),
)
def test_a_list_is_read_as_its_elements_one_by_one(elements: list[Any], kind: Kind) -> None:
    """
    The oracle: each element as a message of its own.
    """
    alone = [plain(entry) for element in elements for _, entry in read(kind, element)]
    for document, records in ((elements, ""), ({"a": {"list": elements}}, "a.list")):
        assert [plain(entry) for _, entry in read(kind, document, records=records)] == alone


def test_a_message_without_its_record_is_a_tombstone_or_a_fault() -> None:
    """
    Null in the place of the record says that it was deleted; a message without that place is of another form.
    """
    assert one(C, {"payload": None}, records="payload") is Skipped.TOMBSTONE
    assert one(C, {"payload": {"after": None, "op": "d"}}, records="payload.after|after") is Skipped.TOMBSTONE
    assert one(C, None, records="payload") is Skipped.TOMBSTONE
    assert one(C, {"pay": VISIT}, records="payload") is Reason.MISSING_FIELD
    assert one(C, None) is Reason.WRONG_TYPE


def test_no_more_than_the_limit_of_a_message_is_read() -> None:
    """
    The records of one message are forwarded together, so they must fit.
    """
    found = [plain(entry) for _, entry in read(C, [VISIT] * 5, max_records=3)]
    assert found == [VISIT] * 3 + [Reason.TOO_MANY_RECORDS]
    trace = {"user": "p", "points": [[1, 2, 3]] * 3}
    assert [plain(entry) for _, entry in read(F, [trace] * 3, max_points=6)][2] is Reason.TOO_MANY_RECORDS
    (((_, entry),)) = read(F, trace, max_points=2)
    assert isinstance(entry, Fragment)  # validation rejects it, and says what is allowed


def test_lists_side_by_side_must_be_of_one_length() -> None:
    """
    A single value counts for all of them.
    """
    document = {"id": "p", "t": {"at": [5, 6], "xy": [[2, 1]]}}
    assert one(C, document, names=IN_LISTS) is Reason.WRONG_TYPE
    same = {"id": "p", "at": [5, 6], "x": 2, "y": 1}
    names = {"user": "id", "ts": "at[]", "lat": "y", "lon": "x"}
    assert [plain(entry)["ts"] for _, entry in read(C, same, names=names)] == [5, 6]


@pytest.mark.parametrize(
    ("kind", "document", "given_", "says"),
    [
        (C, {"device": {}}, {"names": NESTED}, "device.uniqueId is needed"),
        (
            C,
            {"device": {"uniqueId": 1}, "position": {"fixTime": 5, "latitude": "48"}},
            {"names": NESTED},
            "position.latitude must be a number; a text was found",
        ),
        (F, {"user": "p", "ts": 5, "lat": 1}, {}, "lat and lon are needed"),
        (F, {"user": "p", "lat": 1, "lon": 2}, {}, "ts is needed"),
        (F, {"user": "p"}, {}, "points is needed"),
        (F, {"user": "p", "ts": 5, "lat": [], "lon": 2}, {}, "lat must be a number; a list was found"),
        (F, {"user": "p", "points": [{"lat": 1}]}, {}, "points[0] ts is needed"),
        (
            F,
            {"user": "p", "trace": [[5, "x", 2]]},
            {"names": {"points": "trace"}},
            "trace[0] lat must be a number; a text was found",
        ),
        (C, VISIT | {"lat": "1_0"}, {"numbers_as_text": True}, "lat must be a number; a text was found"),
        (
            C,
            VISIT | {"lat": "1.000,5"},
            {"numbers_as_text": True, "decimal": ","},
            "lat must be a number; a text was found",
        ),
    ],
)
def test_a_fault_is_told_in_the_names_of_the_feed(kind: Kind, document: Any, given_: dict[str, Any], says: str) -> None:
    """
    Not in ours, and without a value.
    """
    ((_, entry),) = read(kind, document, **given_)
    assert isinstance(entry, Unreadable)
    assert entry.detail == says


IN_TEXTS: list[tuple[Any, dict[str, Any]]] = [
    (json.dumps(VISIT), {}),
    (json.dumps([VISIT]), {}),
    ([json.dumps(VISIT)], {}),
    ({"Message": json.dumps(VISIT)}, {"records": "Message"}),
    ({"Message": json.dumps({"payload": VISIT})}, {"records": "Message.payload"}),
    ({"Records": [{"body": json.dumps(VISIT)}]}, {"records": "Records[].body"}),
    ({"data": json.dumps([VISIT])}, {"records": "data"}),
    (json.dumps({"data": json.dumps(VISIT)}), {"records": "data"}),
    (
        {"id": "p", "m": json.dumps({"t": 5, "at": "[2, 1]"})},
        {"names": {"user": "id", "ts": "m.t", "lat": "m.at[1]", "lon": "m.at[0]"}},
    ),
]


@pytest.mark.parametrize(("document", "given_"), IN_TEXTS)
def test_records_inside_texts(document: Any, given_: dict[str, Any]) -> None:
    """
    A message, a record or a part of it may be JSON inside a text.
    """
    ((_, entry),) = read(C, document, **given_)
    assert plain(entry) == VISIT


@pytest.mark.parametrize("document", ["{", json.dumps("x"), {"after": "x"}, {"after": "{}{}"}])
def test_texts_that_hold_no_record(document: Any) -> None:
    """
    They are rejected as other texts are.
    """
    ((_, entry),) = read(C, document, records="after|/")
    assert entry == Unreadable(Reason.WRONG_TYPE, "a record must be an object; a text was found")


def test_null_inside_a_text_is_a_tombstone_as_well() -> None:
    """
    And another reference system that is stated there is seen.
    """
    assert one(C, {"m": '{"after": null}'}, records="m.after") is Skipped.TOMBSTONE
    names = {"lat": "g.coordinates[1]", "lon": "g.coordinates[0]"}
    geometry = '{"coordinates": [1, 2], "crs": "EPSG:3857"}'
    assert one(C, {"user": "p", "ts": 5, "g": geometry}, names=names) is Reason.WRONG_TYPE


def test_a_list_of_points_in_a_text() -> None:
    """
    It is read as a list.
    """
    assert one(F, {"user": "p", "points": "[[5, 1, 2]]"}) == POINT


def test_the_person_may_be_in_the_key_and_the_time_in_the_message() -> None:
    """
    Fields lead out of the record.
    """
    origin = Origin(key=b"p", timestamp_ms=5_000)
    found = one(C, {"lat": 1, "lon": 2}, origin, names={"user": "kafka:key", "ts": "kafka:timestamp"})
    assert (found["user"], found["ts"].timestamp()) == ("p", 5.0)


@pytest.mark.parametrize("numbers_as_text", [False, True])
@pytest.mark.parametrize("form", ["%y%m%d%H%M", "%Y%m%d%H%M%S", "%Y%j%H%M%S", "%Y%m%d%H%M%S%f", "%d.%m%y%H%M%S"])
@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_a_stated_form_of_times_is_the_only_one_of_texts(kind: Kind, form: str, numbers_as_text: bool) -> None:
    """
    A text of digits alone, such as 2502251310, is no Unix time then; a number still is one.
    """
    time = datetime(2025, 2, 25, 13, 10, tzinfo=UTC)
    given_: dict[str, Any] = {"times": TextTimes(zone=ZoneInfo("UTC"), format=form), "numbers_as_text": numbers_as_text}
    records = [VISIT | {"ts": value} for value in (time.strftime(form), 1_502_251_310, "1502251310.5")]
    records += [{"user": "p", "points": [[record["ts"], 1, 2]]} for record in records * (kind is Kind.FRAGMENTS)]
    found = [one(kind, record, **given_) for record in records]
    times = [one if isinstance(one, Reason) else one.get("ts", one.get("points", [[0]])[0][0]) for one in found]
    assert times == [time, 1_502_251_310, Reason.WRONG_TYPE] * (len(records) // 3)


@pytest.mark.parametrize("unit", [1e-7, 1e-6, 1e-5, 0.5])
@pytest.mark.parametrize(
    ("lat", "lon"),
    [(48.2082, 16.3738), (482_082_000, 16.3738), (48.2082, 163_738_000), ("48.2082", "16.3738"), (0.5, 0)],
)
@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_degrees_where_whole_numbers_are_meant(kind: Kind, lat: Any, lon: Any, unit: float) -> None:
    """
    They would be a place near 0,0, the same for everybody, so their record is rejected, in any form of points.
    """
    records = [VISIT | {"lat": lat, "lon": lon}]
    if kind is Kind.FRAGMENTS:
        records += [
            {"user": "p", "points": [[5, lat, lon]]},
            {"user": "p", "points": [{"ts": 5, "lat": lat, "lon": lon}]},
        ]
    for record in records:
        ((_, entry),) = read(kind, record, degrees_per_unit=unit, numbers_as_text=True)
        assert isinstance(entry, Unreadable)
        assert entry.reason is Reason.WRONG_TYPE
        assert "must be a whole number, as input.degrees_per_unit is set" in entry.detail


@pytest.mark.parametrize("number", [482_082_000, 482_082_000.0, "482082000", "482082000.0", 0, -0.0])
def test_whole_numbers_however_they_are_written(number: Any) -> None:
    """
    Some formats have one type for all numbers.
    """
    found = one(C, VISIT | {"lat": number}, degrees_per_unit=1e-7, numbers_as_text=True)
    assert found["lat"] == pytest.approx(float(number) * 1e-7)


EMPTY_LISTS = [
    ({"at": [], "xy": []}, "at[]", "xy[][1]", "xy[][0]"),
    ({"at": 5, "xy": []}, "at", "xy[][1]|xy[1]", "xy[][0]|xy[0]"),
    ({"at": 5, "xy": [[], []]}, "at", "xy[][1]|xy[1]", "xy[][0]|xy[0]"),
    ({"at": [], "y": 1, "x": 2}, "at[]", "y", "x"),
    ({"at": [], "y": [], "x": []}, "at[]", "y[]", "x[]"),
    ({"at": [], "xy": None}, "at[]", "xy[][1]", "xy[][0]"),
]


@pytest.mark.parametrize(("record", "ts", "lat", "lon"), EMPTY_LISTS)
@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_a_record_without_places_is_one_entry(kind: Kind, record: dict[str, Any], ts: str, lat: str, lon: str) -> None:
    """
    Alone, or between others in a list: it is a reason, or a fragment without points, which validation rejects.
    """
    names = {"ts": ts, "lat": lat, "lon": lon}
    record = {"user": "p", **record}
    for document, numbers in ((record, [None]), ([record, 7, record], [1, 2, 3])):
        found = read(kind, document, names=names)
        assert [number for number, _ in found] == numbers
        for _, entry in found:
            assert isinstance(entry, Unreadable) or plain(entry) == {"user": "p", "points": []}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "a"]), inner, max_size=4),
    max_leaves=10,
)


@given(JSON, st.sampled_from(INPUT_KINDS), st.sampled_from(["", "a", "a[]", "points"]), st.booleans())
def test_no_document_is_anything_but_records_and_reasons(document: Any, kind: Kind, records: str, text: bool) -> None:
    """
    Whatever JSON comes under whatever mapping, and also if it comes as bytes.
    """
    options = MappingOptions(names=NAMES, records=records, numbers_as_text=text, only=("a!=5",) * text)
    entries = list(DocumentMapping(kind, options).entries(document, Origin()))
    for _, entry in entries:
        assert isinstance(entry, (CheckIn, Fragment, Unreadable, Skipped))
    read_again = MessageReader(kind, options).read(json.dumps(document).encode())
    assert [type(entry) for _, entry in read_again] == [type(entry) for _, entry in entries]


FORMS: list[dict[str, Any]] = [
    {},
    {"names": {"user": "lat", "lat": "user"}},
    {"names": {"user": "a.user", "ts": "a.ts", "lat": "a.p.lat", "lon": "a.p.lon", "points": "a.points"}},
    {"names": {"user": "a.user"}, "records": "a"},
    {"names": {"lat": "user.lat"}},  # an object and a field at once
    {"attributes": ("age", "a.age")},
    {"names": {"ts": "[0]", "lat": "[2]", "lon": "[1]"}},
    {"names": {"lat": "a.p.y", "lon": "a.p.x"}},
    {"records": "payload"},
    {"names": {name: f"payload.{name}" for name in ("user", "ts", "lat", "lon", "points")}},
]

CONNECT: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {
            "field": "user",
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "parameters": {"scale": "0"},
        },
        {"field": "ts", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    ],
}
"""A schema of Kafka Connect, after which a user ``AQ==`` is 1 and a time counts microseconds."""


@st.composite
def documents(draw: st.DrawFn) -> Any:
    """Draw documents of which many have the expected form, or nearly."""
    record = {
        name: draw(value)
        for name, value in {
            "user": st.sampled_from(["p", "AQ==", 5, None, True, [], {"$numberLong": "5"}]),
            "ts": st.sampled_from([5, 5.5, "2025-10-09T08:53:20Z", "2025-10-09 08:53:20+00", "noon", None]),
            "lat": st.sampled_from([48, 48.2, "48", None, float("nan")]),
            "lon": st.sampled_from([16, 16.4, {}]),
            "points": st.sampled_from([[[5, 1, 2]], [{"ts": 5, "lat": 1, "lon": 2}], [], None, [[]]]),
            "age": st.sampled_from([41, "41", None, [41]]),
            "k": st.sampled_from([5, 5.5, "5"]),
        }.items()
        if draw(st.booleans())
    }
    inner = {"p": record, **record, "a": draw(st.sampled_from([None, {}, 5]))}
    outer = {"a": inner, "a.user": draw(st.sampled_from([None, "q"])), "a.p.lat": draw(st.sampled_from([None, 1]))}
    connect = {"schema": draw(st.sampled_from([None, CONNECT, {}, "s"])), "payload": record}
    return draw(st.sampled_from([record, inner, outer, record | outer, [record], [record, outer], connect]))


@given(st.one_of(JSON, documents()), st.sampled_from(INPUT_KINDS), st.sampled_from(FORMS))
def test_the_short_way_reads_what_the_mapping_reads(document: Any, kind: Kind, form: dict[str, Any]) -> None:
    """
    Messages of the expected form are decoded straight into records: the same records as those of the mapping.
    """
    value = json.dumps(document).encode()
    options = MappingOptions(**form | {"names": NAMES | form.get("names", {})})
    short = MessageReader(kind, options).read(value)
    long = MessageReader(kind, replace(options, only=("nothing!=5",))).read(value)
    assert [repr(plain(entry)) for _, entry in short] == [repr(plain(entry)) for _, entry in long]
