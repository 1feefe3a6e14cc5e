"""Reference systems that records state."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.records.record import INPUT_KINDS, CheckIn, Fragment, Kind, Reason
from stream.formats.input.mapping import MappingOptions, Unreadable
from stream.formats.input.messages import MessageReader
from stream.formats.input.paths import Origin
from stream.formats.input.reference_systems import states_other_system
from stream.formats.presets.registry import preset_settings
from tests.builders.inputs import NAMES
from tests.builders.reference_systems import DEGREES, OTHERS


@pytest.mark.parametrize(("stated", "is_other"), [*((one, False) for one in DEGREES), *((one, True) for one in OTHERS)])
def test_what_is_no_longitude_and_latitude(stated: dict[str, Any], is_other: bool) -> None:
    """
    However it is stated; a system that is not known is another one, and so are grads from Paris.
    """
    assert states_other_system(stated) is is_other


AT = [16.4, 48.2]
FEATURE = {
    "type": "Feature",
    "geometry": {"type": "Point", "coordinates": AT},
    "properties": {"device_id": "p", "timestamp": 5},
}
LINE = FEATURE | {
    "geometry": {"type": "LineString", "coordinates": [AT, AT]},
    "properties": {"user": "p", "coordTimes": [5, 6]},
}
MOVING = {"type": "MovingPoint", "datetimes": ["2025-10-09T08:53:20Z"], "coordinates": [AT]}
ESRI = {"attributes": {"user": "p", "ts": 5}, "geometry": {"x": 16.4, "y": 48.2}}
TRACE = {"user": "p", "trace": {"points": [[*AT, 5]]}}
OF_POINTS = {"user": "p", "points": [{"ts": 5, "geometry": {"coordinates": AT}}]}

ESRI_PATHS = {"user": "attributes.user", "ts": "attributes.ts", "lat": "geometry.y", "lon": "geometry.x"}
TRACE_PATHS = {"points": "trace.points", "ts": "[2]", "lat": "[1]", "lon": "[0]"}
POINT_PATHS = {"lat": "geometry.coordinates[1]", "lon": "geometry.coordinates[0]"}

FEEDS: list[tuple[str, Any, list[tuple[Any, ...]]]] = [
    ("geojson", FEATURE, [(), ("geometry",)]),
    ("geojson", LINE, [(), ("geometry",)]),
    (
        "geojson",
        {"type": "FeatureCollection", "features": [FEATURE]},
        [(), ("features", 0), ("features", 0, "geometry")],
    ),
    ("overland", {"locations": [FEATURE]}, [(), ("locations", 0), ("locations", 0, "geometry")]),
    ("mf-json", {"id": "p", **MOVING}, [()]),
    ("mf-json", {"id": "p", "temporalGeometry": MOVING}, [(), ("temporalGeometry",)]),
    ("mf-json", {"id": "p", "sequences": [MOVING]}, [(), ("sequences", 0)]),
    ("mf-json", {"id": "p", "temporalGeometry": {"prisms": [MOVING]}}, [(), ("temporalGeometry",)]),
    ("esri", ESRI, [(), ("geometry",)]),
    ("esri", {"features": [ESRI]}, [(), ("features", 0), ("features", 0, "geometry")]),
    ("trace", TRACE, [(), ("trace",)]),
    ("points", OF_POINTS, [("points", 0), ("points", 0, "geometry")]),
]
"""The presets or paths, a message, and the objects in it that may state a reference system."""

PLACES = [(name, message, way) for name, message, ways in FEEDS for way in ways]


def with_system(message: Any, way: tuple[Any, ...], stated: dict[str, Any]) -> Any:
    """Return a message in which one of the objects states a reference system."""
    copy = holder = json.loads(json.dumps(message))
    for step in way:
        holder = holder[step]
    holder.update(stated)
    return copy


def options_of(name: str, kind: Kind) -> MappingOptions:
    """Return how a feed is read."""
    if name in ("esri", "trace", "points"):
        paths = {"esri": ESRI_PATHS, "trace": TRACE_PATHS, "points": POINT_PATHS}[name]
        return MappingOptions(names=NAMES | paths, records="features|/" * (name == "esri"))
    sections = preset_settings(name, kind)
    form = sections.get("input", {})
    names = NAMES | sections["fields"]
    return MappingOptions(names=names, records=form.get("records", ""), only=form.get("only", ()))


@pytest.mark.parametrize("kind", INPUT_KINDS)
@pytest.mark.parametrize(("name", "message", "way"), PLACES)
def test_a_record_in_another_system_is_rejected(kind: Kind, name: str, message: Any, way: tuple[Any, ...]) -> None:
    """
    Wherever it says so: in its geometry, in itself, or in what surrounds it. In degrees it is read.
    """
    if kind is Kind.CHECKINS and name in ("trace", "points"):
        return
    reader = MessageReader(kind, options_of(name, kind))
    for is_other, stated in [*((False, one) for one in DEGREES), *((True, one) for one in OTHERS)]:
        value = json.dumps(with_system(message, way, stated)).encode()
        entries = [entry for _, entry in reader.read(value, Origin())]
        assert entries
        if is_other:
            (entry,) = entries
            assert isinstance(entry, Unreadable), stated
            assert entry.reason is Reason.WRONG_TYPE
            assert "states a reference system" in entry.detail
        else:
            assert all(isinstance(entry, (CheckIn, Fragment)) for entry in entries), (stated, entries)


def test_a_field_of_that_name_in_a_flat_record() -> None:
    """
    It is no statement on positions that have names of their own.
    """
    value = b'{"user": "p", "ts": 5, "lat": 48.2, "lon": 16.4, "crs": "EPSG:3857"}'
    ((_, entry),) = MessageReader(Kind.CHECKINS, MappingOptions(names=NAMES)).read(value)
    assert isinstance(entry, CheckIn)


@pytest.mark.parametrize(("srid", "is_other"), [(None, False), (0, False), (4326, False), (3857, True), (31287, True)])
def test_the_system_of_a_geometry_of_debezium(srid: int | None, is_other: bool) -> None:
    """
    It is a number beside the bytes of the geometry.
    """
    assert states_other_system({"wkb": "AQEAAAA=", "srid": srid}) is is_other
    assert not states_other_system({"srid": srid})
