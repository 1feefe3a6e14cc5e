"""GPX: every point is a document; what is damaged is named by its line."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.formats.files.form_error import FormError
from stream.formats.files.gpx import gpx_points
from tests.budgets import examples

TRACK = b"""<?xml version="1.0"?>
<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>p01</name><trkseg>
<trkpt lat="48.2082" lon="16.3738"><ele>170</ele><time>2025-10-09T08:53:20Z</time></trkpt>
</trkseg><trkseg>
<trkpt lat="48.21" lon="16.36"><time>2025-10-09T08:54:20Z</time></trkpt>
</trkseg></trk></gpx>"""
POINTS = [
    {"lat": 48.2082, "lon": 16.3738, "ele": 170.0, "time": "2025-10-09T08:53:20Z", "track": "p01", "segment": 1},
    {"lat": 48.21, "lon": 16.36, "time": "2025-10-09T08:54:20Z", "track": "p01", "segment": 2},
]
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn")), min_size=1, max_size=20)


def read(content: bytes, block: int = 2**18, max_bytes: int = 10_000) -> list[dict[str, Any]]:
    """Return the points of a file that arrives in blocks of a size."""
    blocks = [content[i : i + block] for i in range(0, len(content), block)]
    found = list(gpx_points(blocks, max_bytes))
    assert [number for number, _ in found] == list(range(1, len(found) + 1))
    return [point for _, point in found]


@pytest.mark.parametrize("block", [1, 7, 100, 2**18])
def test_a_point_has_its_position_its_values_and_its_track(block: int) -> None:
    """
    Numbers are numbers, times stay texts, and blocks of any size are the same file.
    """
    assert read(TRACK, block) == [point | {"type_of_point": "trkpt"} for point in POINTS]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_any_encoding_that_xml_states_is_read(encoding: str) -> None:
    """
    Names of people have letters beyond ASCII, and old devices write Latin-1.
    """
    text = '<gpx><trk><name>Zo\u00eb</name><trkseg><trkpt lat="1" lon="2"/></trkseg></trk></gpx>'
    declared = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    (point,) = read(f'<?xml version="1.0" encoding="{declared}"?>{text}'.encode(encoding))
    assert point["track"] == "Zo\u00eb"


def test_routes_and_waypoints_need_a_time_and_track_points_are_all_there() -> None:
    """
    A route is mostly a plan. A track point without a time is a fault of the track, which is counted later.
    """
    found = read(
        b'<gpx><wpt lat="1" lon="2"><name>Hut</name><time>t1</time></wpt><wpt lat="1" lon="2"><name>Plan</name></wpt>'
        b'<rte><name>r</name><rtept lat="3" lon="4"/><rtept lat="3" lon="4"><time>t2</time></rtept></rte>'
        b'<trk><trkseg><trkpt lon="4"/></trkseg></trk></gpx>'
    )
    assert found == [
        {"type_of_point": "wpt", "lat": 1.0, "lon": 2.0, "name": "Hut", "time": "t1"},
        {"type_of_point": "rtept", "track": "r", "lat": 3.0, "lon": 4.0, "time": "t2"},
        {"type_of_point": "trkpt", "segment": 1, "lon": 4.0},
    ]


def test_values_of_extensions_are_there_under_their_own_names() -> None:
    """
    Prefixes do not matter, declared or not, and a value of the point itself comes first.
    """
    (point,) = read(
        b'<gpx><trk><trkseg><trkpt lat="1" lon="nowhere"><speed>2</speed><extensions><a:b><a:speed>9</a:speed>'
        b"<a:hr>80</a:hr></a:b></extensions></trkpt></trkseg></trk></gpx>"
    )
    assert (point["speed"], point["hr"], point["lon"]) == (2.0, "80", "nowhere")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (TRACK[:-10], "line 6: the XML is damaged (unclosed token)"),
        (TRACK.replace(b"</time>", b"</tim>", 1), "line 3: the XML is damaged (mismatched tag)"),
        (TRACK + b"<gpx/>", "line 6: the XML is damaged (junk after document element)"),
        (TRACK.replace(b"p01", b"&p01;"), "line 2: the XML is damaged (undefined entity)"),
        (TRACK.replace(b"?>", b' encoding="EBCDIC-X"?>'), "unknown encoding"),
        (b"", "no element found"),
        (b"<kml><Placemark/></kml>", "is XML, but not GPX"),
        (b"<gpx>" + b"<a>" * 60, "nested deeper"),
        (b"<gpx><!--" + b"x" * 100_000, "longer than 10000 bytes"),
        (b'<gpx><trk><trkseg><trkpt lat="' + b"1" * 100_000, "longer than 10000 bytes"),
    ],
)
def test_a_file_that_is_damaged_or_not_gpx_is_refused(content: bytes, says: str) -> None:
    """
    The sentence names the line, and repeats nothing of the file.
    """
    with pytest.raises(FormError) as refused:
        read(content, block=1_000)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "inside",
    ['<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">', '<!ENTITY a SYSTEM "file:///etc/hostname">', ""],
    ids=["an entity of entities", "another file", "nothing"],
)
def test_a_document_type_is_refused_before_its_entities_are_read(inside: str) -> None:
    """
    Entities can grow without end, or read other files.
    """
    with pytest.raises(FormError, match="document type"):
        read(f"<!DOCTYPE gpx [{inside}]><gpx><trk><name>&b;</name></trk></gpx>".encode())


def test_a_long_text_is_cut() -> None:
    """
    A description of any length costs no memory.
    """
    (point,) = read(
        b'<gpx><trk><trkseg><trkpt lat="1" lon="2"><desc>' + b"x" * 9_000 + b"</desc></trkpt></trkseg></trk></gpx>"
    )
    assert len(point["desc"]) == 1_000


@settings(max_examples=examples(200), deadline=None)
@given(
    tracks=st.lists(
        st.tuples(
            TEXTS,
            st.lists(st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180), TEXTS), max_size=3), max_size=3),
        ),
        max_size=4,
    ),
    block=st.integers(1, 300),
)
def test_what_another_program_writes_is_read_back(tracks: list[Any], block: int) -> None:
    """
    Every point of every segment of every track, in order, with its values.
    """
    root = ElementTree.Element("{http://www.topografix.com/GPX/1/1}gpx")
    expected = []
    for name, segments in tracks:
        track = ElementTree.SubElement(root, "{http://www.topografix.com/GPX/1/1}trk")
        ElementTree.SubElement(track, "{http://www.topografix.com/GPX/1/1}name").text = name
        for number, segment in enumerate(segments, 1):
            below = ElementTree.SubElement(track, "{http://www.topografix.com/GPX/1/1}trkseg")
            for lat, lon, time in segment:
                point = ElementTree.SubElement(
                    below, "{http://www.topografix.com/GPX/1/1}trkpt", lat=repr(lat), lon=repr(lon)
                )
                ElementTree.SubElement(point, "{http://www.topografix.com/GPX/1/1}time").text = time
                values = {"type_of_point": "trkpt", "lat": lat, "lon": lon, "segment": number}
                texts = {"track": name.strip(), "time": time.strip()}
                expected.append(values | {key: text for key, text in texts.items() if text})
    assert read(ElementTree.tostring(root), block) == expected


@settings(max_examples=examples(1_000), deadline=None)
@given(st.data())
def test_damage_gives_points_or_the_one_error(data: st.DataObject) -> None:
    """
    Whatever bytes are changed or missing: points are read, or the file is refused.
    """
    content = bytearray(TRACK)
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=4)):
        content[at] = data.draw(st.integers(0, 255))
    try:
        found = read(bytes(content[: data.draw(st.integers(0, len(content)))]), data.draw(st.integers(1, 500)))
    except FormError:
        return
    assert all(isinstance(value, (str, int, float)) for point in found for value in point.values())
    assert not any(isinstance(point.get("segment"), float) and math.isnan(point["segment"]) for point in found)
