"""Well-known binary: points become GeoJSON, whatever program wrote them."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.formats.input.positions.wkb import geometry_from
from stream.formats.input.reference_systems import states_other_system
from tests.budgets import examples

shapely = pytest.importorskip("shapely", reason="shapely is not installed: geometries have no other writer here")

DEGREES = st.floats(-180, 180)
Z, M, SRID = 0x80000000, 0x40000000, 0x20000000


@settings(max_examples=examples(500), deadline=None)
@given(
    position=st.lists(DEGREES, min_size=2, max_size=3),
    flavor=st.sampled_from(["iso", "extended"]),
    byte_order=st.sampled_from([0, 1]),
    has_srid=st.booleans(),
)
def test_a_point_of_another_program_is_read(
    position: list[float], flavor: str, byte_order: int, has_srid: bool
) -> None:
    """
    In both byte orders, with an altitude and a reference system or without.
    """
    point = shapely.Point(position)
    if has_srid and flavor == "extended":
        point = shapely.set_srid(point, 4326)
    wkb = shapely.to_wkb(point, flavor=flavor, byte_order=byte_order, include_srid=has_srid and flavor == "extended")
    assert geometry_from(wkb) == {"type": "Point", "coordinates": position}


@settings(max_examples=examples(300), deadline=None)
@given(
    positions=st.integers(2, 3).flatmap(
        lambda n: st.lists(st.lists(DEGREES, min_size=n, max_size=n), min_size=2, max_size=5)
    ),
    flavor=st.sampled_from(["iso", "extended"]),
)
def test_a_line_string_of_another_program_is_read(positions: list[list[float]], flavor: str) -> None:
    """
    Every position of it, in order.
    """
    wkb = shapely.to_wkb(shapely.LineString(positions), flavor=flavor)
    assert geometry_from(wkb) == {"type": "LineString", "coordinates": positions}


@pytest.mark.parametrize("byte_order", [0, 1])
@pytest.mark.parametrize("geometry", [shapely.Point(16, 48), shapely.LineString([(16, 48), (17, 48)])])
@pytest.mark.parametrize("srid", [3857, 31287])
def test_another_reference_system_is_stated(geometry: Any, byte_order: int, srid: int) -> None:
    """
    As GeoJSON stated it, so that the record is rejected.
    """
    wkb = shapely.to_wkb(shapely.set_srid(geometry, srid), flavor="extended", byte_order=byte_order, include_srid=True)
    assert states_other_system(geometry_from(wkb))


@pytest.mark.parametrize("kind", [2001, 1 | M])
def test_a_measure_is_no_altitude(kind: int) -> None:
    """
    What stands behind the position of such a point is a distance or a time.
    """
    assert geometry_from(struct.pack("<BI3d", 1, kind, 16.0, 48.0, 7.0)) == {
        "type": "Point",
        "coordinates": [16.0, 48.0],
    }


@pytest.mark.parametrize("kind", [3001, 1 | Z | M])
def test_an_altitude_before_a_measure_stays(kind: int) -> None:
    """
    The third of four numbers is the altitude.
    """
    assert geometry_from(struct.pack("<BI4d", 1, kind, 16.0, 48.0, 171.0, 7.0)) == {
        "type": "Point",
        "coordinates": [16.0, 48.0, 171.0],
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("POINT EMPTY", {"type": "Point", "coordinates": []}),
        ("LINESTRING EMPTY", {"type": "LineString", "coordinates": []}),
        ("POLYGON ((0 0, 1 0, 1 1, 0 0))", {"type": "Polygon"}),
        ("MULTIPOINT (16 48, 17 49)", {"type": "MultiPoint"}),
        ("GEOMETRYCOLLECTION EMPTY", {"type": "GeometryCollection"}),
    ],
)
def test_what_is_no_position_has_none(text: str, found: dict[str, Any]) -> None:
    """
    An area or several points are not where a person was at a time.
    """
    assert geometry_from(shapely.to_wkb(shapely.from_wkt(text))) == found


@settings(max_examples=examples(1_000), deadline=None)
@given(st.binary(max_size=60) | st.builds(lambda rest: b"\x01\x02\x00\x00\x00" + rest, st.binary(max_size=40)))
def test_other_bytes_are_no_geometry(wkb: bytes) -> None:
    """
    Nothing is raised, and a number that promises a billion positions costs no memory.
    """
    found = geometry_from(wkb)
    assert found is None or found["type"]
