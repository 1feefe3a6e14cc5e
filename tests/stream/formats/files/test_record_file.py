"""Files: CSV and NDJSON, gzipped or not, as people have them; a bad line costs that line, a bad file is named."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyproj import Transformer

from core.ingest.validate import validate_fragments
from core.places.geo import geocentric
from core.records.profile import Categorical, Numeric, Profile
from core.records.record import INPUT_KINDS, CheckIn, Fragment, Kind, Point, Reason, attribute_field
from stream.feeds.feed import Feed
from stream.formats.files.columns import Columns
from stream.formats.files.csv_files.csv_records import CsvLines, HeaderError
from stream.formats.files.csv_files.dialect import Dialect
from stream.formats.files.forms import Form, form_of
from stream.formats.files.json_values import elements
from stream.formats.files.metric_projection import MetricProjection
from stream.formats.files.record_file import FileFormatError
from stream.formats.input.mapping import Entry, Unreadable
from stream.replay.replay import Replay
from stream.settings.input import FieldSettings
from stream.settings.load import load_settings
from tests.budgets import examples
from tests.builders.inputs import record_file
from tests.builders.windows import NOW_MS, SOURCE, rules

NAMES: dict[str, str] = FieldSettings().model_dump()
HEADER = "user,lat,lon,ts,venue,category\n"
ROWS = HEADER + "u1,52.5,13.4,1600000000,v1,Park\nu2,52.6,13.5,1600000060,v2,\n"
RECORDS = [
    CheckIn(user="u1", ts=1_600_000_000.0, lat=52.5, lon=13.4, venue="v1", category="Park"),
    CheckIn(user="u2", ts=1_600_000_060.0, lat=52.6, lon=13.5, venue="v2"),
]
LINES = (
    '{"user":"u1","lat":52.5,"lon":13.4,"ts":1600000000,"venue":"v1","category":"Park"}\n'
    '{"user":"u2","lat":52.6,"lon":13.5,"ts":1600000060,"venue":"v2"}\n'
)


def read(
    path: Path,
    content: str | bytes,
    kind: Kind = Kind.CHECKINS,
    names: dict[str, str] = NAMES,
    max_bytes: int = 10_000,
    projection: MetricProjection | None = None,
    attributes: tuple[str, ...] = (),
) -> list[Entry]:
    """Write a file and read its entries."""
    return [entry for _, entry in read_with_numbers(path, content, kind, names, max_bytes, projection, attributes)]


def read_with_numbers(
    path: Path,
    content: str | bytes,
    kind: Kind = Kind.CHECKINS,
    names: dict[str, str] = NAMES,
    max_bytes: int = 10_000,
    projection: MetricProjection | None = None,
    attributes: tuple[str, ...] = (),
    needed: tuple[str, ...] = (),
) -> list[tuple[int, Entry]]:
    """Write a file and read its entries, each with its number."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    file = record_file(
        path, kind, names, max_bytes=max_bytes, projection=projection, attributes=attributes, needed=needed
    )
    try:
        return list(file)
    finally:
        file.close()


def reasons(entries: list[Entry]) -> list[Reason | None]:
    """Return for each entry why it cannot be read, None where it can."""
    return [entry[0] if isinstance(entry, tuple) else None for entry in entries]


# What is read


@pytest.mark.parametrize("name", ["feed.csv", "feed", "feed.txt"])
@pytest.mark.parametrize("packed", [False, True])
def test_csv_is_read_gzipped_or_not(name: str, packed: bool, tmp_path: Path) -> None:
    """
    A header tells the columns; gzip is known by its bytes, whatever the file is called.
    """
    content = ROWS.encode()
    assert read(tmp_path / name, gzip.compress(content) if packed else content) == RECORDS


@pytest.mark.parametrize("name", ["feed.ndjson", "feed.jsonl", "feed.json", "feed", "feed.ndjson.gz"])
@pytest.mark.parametrize("packed", [False, True])
def test_ndjson_is_read_gzipped_or_not(name: str, packed: bool, tmp_path: Path) -> None:
    """
    NDJSON is known by its name or its first character; its numbers may be whole.
    """
    content = LINES.encode()
    assert read(tmp_path / name, gzip.compress(content) if packed else content) == RECORDS


@pytest.mark.parametrize(
    "content",
    [
        ROWS.replace("\n", "\r\n"),
        ROWS.replace("\n", "\r"),
        "\n \r\n" + ROWS,
        "\ufeff" + ROWS,
        ROWS.removesuffix("\n"),
        ROWS.replace("\n", "\n\n").replace("u2", "  \nu2"),
        ROWS.replace("u1,", '"u1",').replace("Park", '"Park"'),
        ROWS.replace(",", " , "),
        "\n".join(f"x,{line},y" for line in ROWS.splitlines()),
    ],
    ids=[
        "crlf",
        "cr",
        "blank first lines",
        "byte order mark",
        "no last newline",
        "blank lines",
        "quotes",
        "spaces",
        "more columns",
    ],
)
def test_csv_as_other_programs_write_it_is_the_same(content: str, tmp_path: Path) -> None:
    """
    Line ends, byte order marks, blank lines, quotes, spaces and further columns change nothing.
    """
    assert read(tmp_path / "feed.csv", content) == RECORDS


def test_ndjson_as_other_programs_write_it_is_the_same(tmp_path: Path) -> None:
    """
    Line ends, blank lines and a byte order mark change nothing, and the first character is found behind them.
    """
    for content in (
        LINES.replace("\n", "\r\n\r\n \n"),
        LINES.replace("\n", "\r"),
        LINES.removesuffix("\n"),
        "\ufeff" + LINES,
        "\ufeff\r\n  " + LINES,
        LINES.replace("\n", "\n\ufeff", 1),
    ):
        for name in ("feed.ndjson", "feed.txt", "feed"):
            assert read(tmp_path / name, content) == RECORDS


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    """
    Their order does not count; what a check-in can do without may be missing.
    """
    entries = read(tmp_path / "feed.csv", "venue,ts,user\nv1,5,u1\n,6,u2\nv3,7\n")
    assert entries == [
        CheckIn(user="u1", ts=5.0, venue="v1"),
        CheckIn(user="u2", ts=6.0),
        Unreadable(Reason.MISSING_FIELD, "user is needed"),
    ]


def test_a_quoted_value_may_hold_commas_and_quotes(tmp_path: Path) -> None:
    """
    Quoting is that of RFC 4180, within a line.
    """
    (entry,) = read(tmp_path / "feed.csv", HEADER + '"a,""b"" c",1,2,3,, "x, y" \n')
    assert entry == CheckIn(user='a,"b" c', ts=3.0, lat=1.0, lon=2.0, category="x, y")


def test_a_csv_of_fragments_has_one_point_a_line(tmp_path: Path) -> None:
    """
    A user's own demands may be columns.
    """
    entries = read(tmp_path / "feed.csv", "user,ts,lat,lon,k,delta_m\nu1,5,1,2,8,300\nu2,6,3,4,,\n", Kind.FRAGMENTS)
    assert entries == [
        Fragment(user="u1", points=[Point(5.0, 1.0, 2.0)], k=8, delta_m=300.0),
        Fragment(user="u2", points=[Point(6.0, 3.0, 4.0)]),
    ]


def test_a_field_map_names_columns_and_keys(tmp_path: Path) -> None:
    """
    ``fields.user: driver`` holds for files of both forms.
    """
    names = NAMES | {"user": "driver", "ts": "when"}
    (from_csv,) = read(tmp_path / "feed.csv", "driver,when,lat,lon\nd1,5,1,2\n", names=names)
    (from_ndjson,) = read(tmp_path / "feed.ndjson", '{"driver":"d1","when":5,"lat":1,"lon":2}\n', names=names)
    assert from_csv == CheckIn(user="d1", ts=5.0, lat=1.0, lon=2.0)
    assert isinstance(from_ndjson, CheckIn)
    assert msgspec.structs.astuple(from_csv) == msgspec.structs.astuple(from_ndjson)


def test_a_time_is_a_number_or_rfc_3339(tmp_path: Path) -> None:
    """
    CSV tells times as JSON does.
    """
    lines = "user,ts\nu,1600000000.5\nu,2020-09-13T12:26:40Z\nu,2020-09-13T14:26:40+02:00\nu,2020-09-13T12:26:40\n"
    first, second, third, fourth = read(tmp_path / "feed.csv", lines)
    assert isinstance(first, CheckIn)
    assert isinstance(second, CheckIn)
    assert isinstance(third, CheckIn)
    assert first.ts == 1_600_000_000.5
    assert second.ts == third.ts
    assert reasons([fourth]) == [Reason.WRONG_TYPE]  # whose noon?


def test_an_empty_ndjson_file_holds_nothing(tmp_path: Path) -> None:
    """
    A feed may have been silent.
    """
    assert read(tmp_path / "feed.ndjson", "") == []
    assert read(tmp_path / "feed.csv", HEADER) == []


def test_the_position_grows_to_the_size(tmp_path: Path) -> None:
    """
    Progress is told in bytes of the file as it lies there, also after its end.
    """
    for name, content in (("a.csv", ROWS.encode()), ("a.csv.gz", gzip.compress(ROWS.encode())), ("b.ndjson", b"{}\n")):
        path = tmp_path / name
        path.write_bytes(content)
        file = record_file(path, Kind.CHECKINS, NAMES, max_bytes=10_000)
        assert 0 <= file.position <= file.size == len(content)
        list(file)
        assert file.position == file.size
        file.close()
        assert file.position == file.size


# Metres


GREEK = MetricProjection("EPSG:2100", start=1_000_000.0)
METRES = "7\t0\t486253.85\t4207591.63\n7\t30.5\t486261.87\t4207540.77\n"


def greek_grid(lat_deg: float, lon_deg: float) -> tuple[float, float]:
    """Project WGS 84 to EPSG:2100: a shift of its ellipsoid, then the series of Snyder 1987, page 61; metres."""
    a_m, e2 = 6_378_137.0, 0.00669438002290
    x, y, z = geocentric(np.array([lat_deg]), np.array([lon_deg]))[0] - np.array([-199.87, 74.79, 246.62])
    lon, lat = math.atan2(y, x), math.atan2(z, math.hypot(x, y) * (1 - e2))
    for _ in range(5):
        n_m = a_m / math.sqrt(1 - e2 * math.sin(lat) ** 2)
        lat = math.atan2(z + e2 * n_m * math.sin(lat), math.hypot(x, y))
    n_m, t, c = a_m / math.sqrt(1 - e2 * math.sin(lat) ** 2), math.tan(lat) ** 2, e2 / (1 - e2) * math.cos(lat) ** 2
    a = (lon - math.radians(24)) * math.cos(lat)
    meridian_m = a_m * (
        (1 - e2 / 4 - 3 * e2**2 / 64 - 5 * e2**3 / 256) * lat
        - (3 * e2 / 8 + 3 * e2**2 / 32 + 45 * e2**3 / 1024) * math.sin(2 * lat)
        + (15 * e2**2 / 256 + 45 * e2**3 / 1024) * math.sin(4 * lat)
        - 35 * e2**3 / 3072 * math.sin(6 * lat)
    )
    east_m = n_m * (a + (1 - t + c) * a**3 / 6)
    north_m = meridian_m + n_m * math.tan(lat) * (a**2 / 2 + (5 - t + 9 * c + 4 * c**2) * a**4 / 24)
    return 500_000 + 0.9996 * east_m, 0.9996 * north_m


@pytest.mark.parametrize("name", ["feed.tsv", "feed.TSV.gz", "feed.tsv.old"])
@pytest.mark.parametrize("packed", [False, True])
def test_metres_are_read_where_a_projection_says_what_they_mean(name: str, packed: bool, tmp_path: Path) -> None:
    """
    Lines of user, time, x and y, without a header: the projection gives them a place on the earth and a time.
    """
    content = METRES.encode()
    first, second = read(
        tmp_path / name, gzip.compress(content) if packed else content, Kind.FRAGMENTS, projection=GREEK
    )
    assert isinstance(first, Fragment)
    assert isinstance(second, Fragment)
    assert (first.user, second.user) == ("7", "7")
    (point,), (later,) = first.points, second.points
    assert (point.ts, later.ts) == (1_000_000.0, 1_000_030.5)
    for one, metres in ((point, (486_253.85, 4_207_591.63)), (later, (486_261.87, 4_207_540.77))):
        assert one.lat is not None
        assert one.lon is not None
        assert greek_grid(one.lat, one.lon) == pytest.approx(metres, abs=0.01)


def test_metres_read_back_are_the_same(tmp_path: Path) -> None:
    """
    Degrees made of metres are projected to the same metres, to some millimetres (the way back forgets a height),
    however many lines there are.
    """
    x_m, y_m = np.linspace(456_869, 501_411, 5_003), np.linspace(4_184_492, 4_238_451, 5_003)
    lines = "".join(f"u\t{i}\t{x!r}\t{y!r}\n" for i, (x, y) in enumerate(zip(x_m.tolist(), y_m.tolist(), strict=True)))
    entries = read(tmp_path / "feed.tsv", lines, Kind.FRAGMENTS, projection=MetricProjection("EPSG:2100"))
    points = [entry.points[0] for entry in entries if isinstance(entry, Fragment)]
    assert [point.ts for point in points] == list(range(5_003))
    back = Transformer.from_crs("EPSG:4326", "EPSG:2100", always_xy=True)
    again = back.transform([point.lon for point in points], [point.lat for point in points])
    assert np.abs(np.array(again) - [x_m, y_m]).max() < 0.01


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("id\tseconds\tx\ty", Reason.WRONG_TYPE),
        ("7\t0\t486253", Reason.MISSING_FIELD),
        ("7\t0\t486253\t4207591\t5", Reason.MISSING_FIELD),
        ("7,0,486253,4207591", Reason.MISSING_FIELD),
        ("7\t\t486253\t4207591", Reason.WRONG_TYPE),
        ("7\tnoon\t486253\t4207591", Reason.WRONG_TYPE),
        ("7\t0\teast\t4207591", Reason.WRONG_TYPE),
        ("\xff\t0\t1\t2", Reason.NOT_UTF8),
        ("7\0\t0\t1\t2", Reason.NOT_CSV),
    ],
)
def test_a_bad_line_of_metres_has_a_reason_and_the_next_is_read(line: str, reason: Reason, tmp_path: Path) -> None:
    """
    It is rejected by a sentence without its values; blank lines are nothing.
    """
    content = METRES.replace("\n", f"\n\r\n \n{line}\r\n", 1).encode("latin-1")
    good, bad, next_one = read(tmp_path / "feed.tsv", content, Kind.FRAGMENTS, projection=GREEK)
    assert isinstance(bad, tuple)
    assert bad[0] is reason
    assert not any(value in bad[1] for value in ("486253", "4207591", "noon", "east"))
    assert [good, next_one] == read(tmp_path / "feed.tsv", METRES, Kind.FRAGMENTS, projection=GREEK)


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ("0\tnan\t0", Reason.MISSING_FIELD),
        ("0\tinf\t0", Reason.POSITION_OUT_OF_RANGE),
        ("0\t1e300\t0", Reason.POSITION_OUT_OF_RANGE),
        ("0\t486253\t-inf", Reason.MISSING_FIELD),
    ],
)
def test_metres_that_are_nowhere_become_a_position_that_is_rejected(
    numbers: str, reason: Reason, tmp_path: Path
) -> None:
    """
    Not a number of degrees: validation refuses it as out of range or as no position, and the lines around it stay.
    """
    entries = read(tmp_path / "feed.tsv", METRES + f"8\t{numbers}\n" + METRES, Kind.FRAGMENTS, projection=GREEK)
    assert reasons(entries) == [None] * 5
    bad = entries[2]
    assert isinstance(bad, Fragment)
    assert not any(math.isfinite(degrees or 0.0) for degrees in (bad.points[0].lat, bad.points[0].lon))
    accepted, rejected, _ = validate_fragments(
        [(i, entry) for i, entry in enumerate(entries) if isinstance(entry, Fragment)],
        rules(earliest_ms=0),
        source=SOURCE,
        now_ms=NOW_MS,
    )
    assert (accepted["offset"].tolist(), [one.reason for one in rejected]) == (
        [0, 1, 3, 4],
        [reason],
    )


def test_metres_without_a_projection_are_refused(tmp_path: Path) -> None:
    """
    Without one a .tsv is a CSV with tabs. The sentence names the setting for the case that it is not.
    """
    with pytest.raises(FileFormatError) as fault:
        read(tmp_path / "feed.tsv", METRES, Kind.FRAGMENTS)
    assert str(fault.value).startswith(f"{tmp_path / 'feed.tsv'}: its first line holds values, not names")
    assert str(fault.value).endswith("; lines of user, time, x and y in metres need files.metres")
    assert read(tmp_path / "feed.tsv", ROWS) == RECORDS


def test_a_damaged_file_of_metres_is_named(tmp_path: Path) -> None:
    """
    As every other damaged file is.
    """
    packed = gzip.compress(METRES.encode() * 3000)
    with pytest.raises(FileFormatError, match=r"\.gz: (is damaged or cut off|cannot be read \(damaged gzip\))"):
        read(tmp_path / "feed.tsv.gz", packed[:-20], Kind.FRAGMENTS, projection=GREEK)


# A bad line costs that line


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("u1,52.5,13.4,,,", Reason.MISSING_FIELD),
        ("u1,52.5,13.4,noon,,", Reason.WRONG_TYPE),
        ("u1,north,13.4,5,,", Reason.WRONG_TYPE),
        ("u1,52.5,13.4,1_7,,", Reason.WRONG_TYPE),
        ("u1,5_2.5,13.4,5,,", Reason.WRONG_TYPE),
        ("u1,52.5,1_3.4,5,,", Reason.WRONG_TYPE),
        ("u1,52.5,east,5,,", Reason.WRONG_TYPE),
        ("u1", Reason.MISSING_FIELD),
        (",,,,,", Reason.MISSING_FIELD),
        ("u1,48,2082,16,3738,5,v,w", Reason.NOT_CSV),
        ("u1,52.5,13.4,5,,,,x", Reason.NOT_CSV),
        ('"u1,52.5,13.4,5,,', Reason.NOT_CSV),
        ('u1,52.5,13.4,5,,"', Reason.NOT_CSV),
        ('u1,52.5,13.4,5,5" pipe,', Reason.NOT_CSV),
        ('u1,52.5,13.4,5,"v"1,', Reason.NOT_CSV),
        ("u1,52.5,13.4,5,v\0,", Reason.NOT_CSV),
        ("u1,52.5,13.4,5,v,Caf\xe9", Reason.NOT_UTF8),
        ("u1,52.5,13.4,2016-12-30T23:59:60Z,,", Reason.WRONG_TYPE),
        ("u1,52.5,13.4,2016-12-31T23:58:60Z,,", Reason.WRONG_TYPE),
        ("u1,52.5,13.4,5,v," + "w" * 10_000, Reason.MESSAGE_TOO_LARGE),
    ],
)
def test_a_bad_csv_row_has_a_reason_and_the_next_is_read(row: str, reason: Reason, tmp_path: Path) -> None:
    """
    A row is rejected with a reason from the closed set, by a sentence without its values.
    """
    bad, *good = read(tmp_path / "feed.csv", ROWS.replace("\n", f"\n{row}\n", 1).encode("latin-1"))
    assert isinstance(bad, tuple)
    assert bad[0] is reason
    assert not any(value in bad[1] for value in ("u1", "52.5", "13.4", "noon", "north", "east", "pipe", "2082", "23:"))
    assert good == RECORDS


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("u1,5,1,,,", Reason.MISSING_FIELD),
        ("u1,5,,2,,", Reason.MISSING_FIELD),
        ("u1,5,1,2,8.5,", Reason.WRONG_TYPE),
        ("u1,5,1,2,nan,", Reason.WRONG_TYPE),
        ("u1,5,1,2,inf,", Reason.WRONG_TYPE),
        ("u1,5,1,2,many,", Reason.WRONG_TYPE),
        ("u1,5,1,2,1_0,", Reason.WRONG_TYPE),
        ("u1,5,1,2,8,5_0", Reason.WRONG_TYPE),
        ("u1,\u0665,1,2,,", Reason.WRONG_TYPE),
        ("u1,5,\u0661,2,,", Reason.WRONG_TYPE),
        ("u1,5,1,\uff12,,", Reason.WRONG_TYPE),
        ("u1,5,1,2,8,far", Reason.WRONG_TYPE),
    ],
)
def test_a_bad_point_has_a_reason(row: str, reason: Reason, tmp_path: Path) -> None:
    """
    A point needs a place and a time, and demands are numbers.
    """
    entries = read(tmp_path / "feed.csv", f"user,ts,lat,lon,k,delta_m\n{row}\n", Kind.FRAGMENTS)
    assert reasons(entries) == [reason]


def test_a_bad_ndjson_line_has_a_reason_and_the_next_is_read(tmp_path: Path) -> None:
    """
    The reasons are those of messages.
    """
    bad = [b"{", b'{"user":"u1"}', b'{"user":"u1","ts":[5]}', b'{"user":"\xff","ts":5}', b'{"user":' + b"[" * 5000]
    entries = read(tmp_path / "feed.ndjson", b"\n".join([*bad, LINES.encode()]))
    assert reasons(entries) == [
        Reason.NOT_JSON,
        Reason.MISSING_FIELD,
        Reason.WRONG_TYPE,
        Reason.NOT_UTF8,
        Reason.WRONG_TYPE,
        None,
        None,
    ]


def test_a_line_may_be_as_long_as_a_message(tmp_path: Path) -> None:
    """
    The limit is that of messages: line ends do not count.
    """
    line = LINES.splitlines()[0]
    assert reasons(read(tmp_path / "a.ndjson", f"{line}\r\n", max_bytes=len(line))) == [None]
    assert reasons(read(tmp_path / "a.ndjson", f"{line}\r\n", max_bytes=len(line) - 1)) == [Reason.MESSAGE_TOO_LARGE]


# A bad file is named


@pytest.mark.parametrize(
    ("content", "kind", "missing"),
    [
        ("who;lat;lon;when\n", Kind.CHECKINS, "user, ts; it has who, lat, lon, when"),
        ("user,time\n", Kind.CHECKINS, "ts; it has user, time"),
        ("User,Latitude,Timestamp\n", Kind.CHECKINS, "ts; it has User, Latitude, Timestamp"),
        ("user,ts\n", Kind.FRAGMENTS, "lat, lon; it has user, ts"),
        ("user,,t\x01s\n", Kind.CHECKINS, "ts; it has user, (empty), and 1 more, which may be"),
        (",".join(["user", *["speed"] * 30]), Kind.CHECKINS, "ts; it has user, speed, speed, speed"),
        (
            ",".join(["user", *(f"c{i}" for i in range(30))]),
            Kind.CHECKINS,
            "ts; it has user, and 30 more, which may be",
        ),
    ],
)
def test_a_csv_without_its_columns_is_refused(content: str, kind: Kind, missing: str, tmp_path: Path) -> None:
    """
    The sentence names the file, the columns that are missing and those that are there, and what is needed.
    """
    with pytest.raises(FileFormatError) as fault:
        read(tmp_path / "feed.csv", content, kind)
    said = str(fault.value)
    assert said.startswith(f"{tmp_path / 'feed.csv'}: the header has no column {missing}")
    assert ": a CSV begins with a header of the columns user, ts" in said
    assert len(said) < len(str(tmp_path)) + 400


@pytest.mark.parametrize(
    ("needed", "content", "says"),
    [
        (("lat", "lon"), "user,ts,geom\n", "lat, lon; it has user, ts, geom:"),
        (("lat", "lon"), "user,ts,lat\n", "lon; it has user, ts, lat:"),
        (("venue",), HEADER.replace("venue", "place"), "venue; it has"),
        (("venue", "attribute_0"), "user,ts,venue\n", "plan; it has"),
    ],
)
def test_a_csv_without_what_the_settings_need_is_refused(
    needed: tuple[str, ...], content: str, says: str, tmp_path: Path
) -> None:
    """
    Positions for a grid, venues for a list of venues, attributes that must be there: at once, before a line is read.
    """
    with pytest.raises(FileFormatError, match="the header has no column") as fault:
        read_with_numbers(tmp_path / "feed.csv", content, attributes=("plan",), needed=needed)
    assert f"the header has no column {says}" in str(fault.value)


@pytest.mark.parametrize(
    "line",
    [
        "Zw9qK,52.5,13.4,5,,",
        "Zw9qK,52.5,13.4,2025-10-09T08:53:20Z",
        "Zw9qK;52,5;13,4;1600000000",
        "Zw9qK\t2010-10-19T23:55:27Z\t30.23\t-97.79\tpark",
        "user,52.5,13.4,1600000000",
        "Zw9qK,2025-10-09 08:53:20+00,home",
        "Zw9qK,Thu Oct 09 08:53:20 +0000 2025,home",
        "Zw9qK,-.5,home",
    ],
)
def test_a_file_without_a_header_is_refused_without_a_word_of_it(line: str, tmp_path: Path) -> None:
    """
    Its first line is a record of somebody, so no sentence repeats any of it.
    """
    with pytest.raises(FileFormatError, match="its first line holds values, not names: a header is needed") as fault:
        read(tmp_path / "feed.csv", f"{line}\n{line}\n")
    said = str(fault.value).replace(str(tmp_path), "")
    assert not any(part in said for part in ("Zw9qK", "52", "13", "16000", "2025", "home", "park", "Oct"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1" * 1_000_000 + "x", "its first line holds values, not names"),
        ("1," * 100_000 + "x", "its first line holds values, not names"),
        ("x" * 1_000_000, "nor any other known name"),
        ("user" * 100_000, "nor any other known name"),
    ],
    ids=["digits", "numbers", "letters", "words"],
)
def test_a_first_line_of_any_length_is_refused_at_once(line: str, says: str) -> None:
    """
    The cost is linear in its length: this would take hours if it were its square.
    """
    with pytest.raises(HeaderError, match=says):
        CsvLines(line.encode(), Columns(used=["user", "ts"], needed=[["user"], ["ts"]]), Dialect())


@pytest.mark.parametrize("line", ["Zw9qK,noon,home", "Zw9qK;Zw9qK", "Zw9qK", "a,b,c"])
def test_a_first_line_that_may_be_anything_is_not_repeated(line: str, tmp_path: Path) -> None:
    """
    Only what has a word of headers in it is taken for one.
    """
    with pytest.raises(FileFormatError, match="the header has no column user, ts, nor any other known name") as fault:
        read(tmp_path / "feed.csv", f"{line}\n{line}\n")
    assert not any(part in str(fault.value) for part in ("Zw9qK", "noon", "home", "a, b"))


@pytest.mark.parametrize("twice", ["user", "ts", "lat", "lon", "venue", "category"])
def test_a_column_that_stands_there_twice_is_refused(twice: str, tmp_path: Path) -> None:
    """
    Which of the two counts is not for their order to say; other columns may share a name.
    """
    with pytest.raises(FileFormatError, match=f"the header has the column {twice} more than once"):
        read(tmp_path / "feed.csv", HEADER.replace("\n", f", {twice}\n"))
    assert read(tmp_path / "feed.csv", HEADER.replace("\n", ",x,x\n")) == []


@pytest.mark.parametrize("content", ["", "\n", " \r\n\t\n", "\ufeff"])
def test_a_csv_without_a_line_is_refused(content: str, tmp_path: Path) -> None:
    """
    A header says that nothing came; an empty file may be half of one.
    """
    for data in (content.encode(), gzip.compress(content.encode())):
        with pytest.raises(FileFormatError, match="is empty: a CSV must begin with a header"):
            read(tmp_path / "feed.csv", data)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('"user,lat,lon,ts\n', "its first line is not a header: the line has a quotation mark"),
        ("us\0er,lat,lon,ts\n", "its first line is not a header: the line has a NUL character"),
        (b"user,lat,lon,ts,Stra\xdfe\n", "its first line is not UTF-8: save the file as UTF-8"),
        ("user,lat,lon,ts," + "x" * 20_000, "its header does not end within 10000 bytes"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused(content: str | bytes, says: str, tmp_path: Path) -> None:
    """
    Without a header no line can be read.
    """
    with pytest.raises(FileFormatError) as fault:
        read(tmp_path / "feed.csv", content)
    assert str(fault.value).startswith(f"{tmp_path / 'feed.csv'}: {says}")


@pytest.mark.parametrize("name", ["feed.csv", "feed.ndjson", "feed.txt", "feed.json", "feed.tsv"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        *((ROWS.encode(code), "is UTF-16 or UTF-32") for code in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")),
        *((LINES.encode(code), "is UTF-16 or UTF-32") for code in ("utf-16", "utf-16-be", "utf-32-le", "utf-32-be")),
        (b"PK\x03\x04" + b"x" * 100, "is a ZIP archive or a spreadsheet: unpack or export it"),
        (gzip.compress(gzip.compress(ROWS.encode())), "is gzip inside gzip"),
        (bz2.compress(ROWS.encode()), "is bzip2"),
        (lzma.compress(ROWS.encode()), "is xz"),
        (b"PAR1\x15\x04" + b"\0" * 100, "is damaged, or is Parquet of a kind that pyarrow does not read"),
        (b"Obj\x01" + b"\0" * 100, "is Avro whose schema cannot be used"),
        (b"<kml><Document/></kml>", "is XML or HTML, but not GPX"),
        (b"SQLite format 3\0" + b"\0" * 100, "is an SQLite database"),
        (bytes(range(256)), "is not text"),
        (b"\0" * 4096, "is not text"),
    ],
)
def test_a_file_that_is_no_text_in_utf_8_is_refused_at_once(
    content: bytes, says: str, name: str, tmp_path: Path
) -> None:
    """
    Its bytes say so, whatever it is called: every one of its lines would be turned away.
    """
    with pytest.raises(FileFormatError) as fault:
        read(tmp_path / name, content, Kind.FRAGMENTS, projection=GREEK)
    assert str(fault.value).startswith(f"{tmp_path / name}: {says}")


# Every line is in one count


STRAY = [
    'u1,52.5,13.4,5,"Joe Bar,\n',
    '"u1,52.5,13.4,5,v,\n',
    'u1,52.5,13.4,5,Joe" Bar,\n',
    'u1,52.5,13.4,5,v,"\n',
]


@pytest.mark.parametrize("first", STRAY)
@pytest.mark.parametrize("second", ["", *STRAY])
def test_a_stray_quote_costs_its_own_line(first: str, second: str, tmp_path: Path) -> None:
    """
    A value ends in the line in which it begins: neither one quote nor a second one below takes in what is between.
    """
    good = "u1,52.5,13.4,1600000000,v1,Park\n"
    content = HEADER + good + first + good * 3 + second + good
    found = read_with_numbers(tmp_path / "feed.csv", content)
    bad = {3: Reason.NOT_CSV} | ({7: Reason.NOT_CSV} if second else {})
    assert [number for number, _ in found] == list(range(2, 8 + bool(second)))
    assert reasons([entry for _, entry in found]) == [bad.get(number) for number, _ in found]
    assert {entry[1] for _, entry in found if isinstance(entry, tuple)} == {
        "the line has a quotation mark that is not closed, or that is inside a value"
    }


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n"])
def test_entries_carry_the_numbers_of_their_lines(end: str, start: str, tmp_path: Path) -> None:
    """
    As an editor counts them: blank lines count, whatever lines end in, however the file is read in blocks.
    """
    blank = start.count("\n")
    rows = ["u1,52.5,13.4,5,,", "", "u1,52.5,13.4,6,,", "   ", "u1,x,13.4,7,,"] * 9_000
    content = start.replace("\n", end) + end.join([HEADER.strip(), *rows])
    found = read_with_numbers(tmp_path / "feed.csv", content)
    assert [number for number, _ in found] == [2 + blank + i for i, row in enumerate(rows) if row.strip()]
    lines = ['{"user":"u1","ts":5}', "", "{"] * 9_000
    found = read_with_numbers(tmp_path / "feed.ndjson", start.replace("\n", end) + end.join(lines))
    assert [number for number, _ in found] == [1 + blank + i for i, line in enumerate(lines) if line]
    metres = ["7\t0\t486253\t4207591", "", "7"] * 3_000
    content = start.replace("\n", end) + end.join(metres)
    found = read_with_numbers(tmp_path / "feed.tsv", content, Kind.FRAGMENTS, projection=GREEK)
    assert [number for number, _ in found] == [1 + blank + i for i, line in enumerate(metres) if line]
    assert reasons([entry for _, entry in found]) == [None, Reason.MISSING_FIELD] * 3_000


@pytest.mark.parametrize(
    "ts",
    [
        "2016-12-31T23:59:60Z",
        "2016-12-31t23:59:60.25z",
        "2017-01-01T00:59:60+01:00",
        "2017-01-01 05:29:60.999999+05:30",
    ],
)
def test_a_leap_second_is_the_last_millisecond_before_it(ts: str, tmp_path: Path) -> None:
    """
    In CSV, NDJSON and points alike, whatever the offset.
    """
    (of_csv,) = read(tmp_path / "feed.csv", f"user,ts\nu1,{ts}\n")
    (of_json,) = read(tmp_path / "feed.ndjson", f'{{"user":"u1","ts":"{ts}","name":"{ts}"}}\n')
    lines = f'{{"user":"u1","points":[[5,1,2],["{ts}",1,2]]}}\n'
    (fragment,) = read(tmp_path / "feed.ndjson", lines, Kind.FRAGMENTS)
    assert isinstance(of_csv, CheckIn)
    assert isinstance(of_json, CheckIn)
    assert isinstance(fragment, Fragment)
    expected = datetime(2016, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    assert of_csv.ts == of_json.ts == fragment.points[1].ts == expected


# One JSON array


@pytest.mark.parametrize("name", ["feed.json", "feed.txt", "feed.ndjson", "feed.csv", "feed.json.gz"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n \t"])
@pytest.mark.parametrize("indent", [None, 1])
def test_the_elements_of_one_json_array_are_records(name: str, start: str, indent: int | None, tmp_path: Path) -> None:
    """
    On one line or over many; each element has its number.
    """
    content = start + json.dumps([json.loads(line) for line in LINES.splitlines()], indent=indent)
    packed = gzip.compress(content.encode()) if name.endswith("gz") else content
    found = read_with_numbers(tmp_path / name, packed)
    assert found == list(enumerate(RECORDS, 1))
    assert read(tmp_path / name, f"{start}[ ]\n") == []


GOOD = '{"user":"u1","ts":5}'


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("5", Reason.WRONG_TYPE),
        ("[[]]", Reason.WRONG_TYPE),
        ("{}", Reason.MISSING_FIELD),
        ('{"user":"u1","ts":noon}', Reason.NOT_JSON),
        ('{"user":"u1" "ts":5}', Reason.NOT_JSON),
        ('{"user":"u1","ts":5]', Reason.NOT_JSON),
        ("", Reason.NOT_JSON),
        ('{"user":"\xff","ts":5}', Reason.NOT_UTF8),
        ('{"user":"u1","ts":5,"x":"' + "x" * 10_000 + '"}', Reason.MESSAGE_TOO_LARGE),
        ('{"user":"u1","ts":5,"x":NaN,"y":"],[ \\" }{"}', None),
        ('{"user":"u1","ts":5,"x":[[{"y":[1,2]}]]}', None),
    ],
)
def test_a_bad_element_costs_that_element(bad: str, reason: Reason | None, tmp_path: Path) -> None:
    """
    The others are read, as long as it is clear where they begin.
    """
    content = f"[{GOOD},\n{bad},\n{GOOD}]".encode("latin-1")
    found = read_with_numbers(tmp_path / "feed.json", content)
    assert [number for number, _ in found] == [1, 2, 3]
    assert reasons([entry for _, entry in found]) == [None, reason, None]


def test_an_element_may_be_a_list_of_records_itself(tmp_path: Path) -> None:
    """
    An empty one holds none.
    """
    found = read_with_numbers(tmp_path / "feed.json", f"[[{GOOD}, {{}}], [], {GOOD}]")
    assert [number for number, _ in found] == [1, 1, 3]
    assert reasons([entry for _, entry in found]) == [None, Reason.MISSING_FIELD, None]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f"[\n{GOOD},\n{GOOD}\n", "the JSON array that begins in line 1 has no end: is the file cut off?"),
        (f'[\n{GOOD},\n{{"user":"u1', "line 3: a text is not closed"),
        (f"[{GOOD},\n{GOOD}],\n{GOOD}\n", "line 2: something follows the end of the JSON array"),
        (f"\n[\n{GOOD}\n]\n\n[\n{GOOD}\n]\n", "line 6: something follows the end of the JSON array"),
    ],
)
def test_an_array_without_its_end_is_refused(content: str, says: str, tmp_path: Path) -> None:
    """
    Half a file is not to be taken for the whole.
    """
    with pytest.raises(FileFormatError) as fault:
        read(tmp_path / "feed.json", content)
    assert str(fault.value).startswith(f"{tmp_path / 'feed.json'}: {says}")


def test_lines_that_are_arrays_are_lines(tmp_path: Path) -> None:
    """
    Where more lines follow a complete one, the file is NDJSON, and an array is a list of records.
    """
    found = read_with_numbers(tmp_path / "feed.ndjson", f"[{GOOD}]\n{GOOD}\n[{GOOD}, {GOOD}, 5]\n")
    assert [number for number, _ in found] == [1, 2, 3, 3, 3]
    assert reasons([entry for _, entry in found]) == [None] * 4 + [Reason.WRONG_TYPE]


@pytest.mark.parametrize("name", ["feed.json", "feed.ndjson", "feed.txt"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (json.dumps({"type": "FeatureCollection", "features": [{"x": 1}] * 5}, indent=2), "is GeoJSON: set"),
        (json.dumps({"type": "FeatureCollection", "features": [{"x": 1}] * 50_000}, indent=2), "is GeoJSON: set"),
        ('{"records": [\n' + f"{GOOD},\n{GOOD}" + "\n]}", "is one JSON document over several lines, and not a record"),
        ('\ufeff\n{\n"a": NaN\n}', "is one JSON document over several lines, and not a record"),
    ],
    ids=["object", "large object", "records inside", "NaN"],
)
def test_one_json_object_over_several_lines_is_refused(content: str, says: str, name: str, tmp_path: Path) -> None:
    """
    The sentence says what it is, and which setting reads it, instead of turning away its lines one by one.
    """
    with pytest.raises(FileFormatError) as refused:
        read(tmp_path / name, content)
    assert str(refused.value).startswith(f"{tmp_path / name}: {says}")
    assert "input.preset" in str(refused.value)


@pytest.mark.parametrize("n", [1, 2, 50])
@pytest.mark.parametrize("name", ["feed.json", "feed.ndjson", "feed.txt"])
def test_records_over_several_lines_are_read(n: int, name: str, tmp_path: Path) -> None:
    """
    Some programs write one after the other and indent each of them.
    """
    record = json.dumps(json.loads(GOOD), indent=2)
    found = read_with_numbers(tmp_path / name, "\n".join([record] * n))
    assert [number for number, _ in found] == list(range(1, n + 1))
    assert reasons([entry for _, entry in found]) == [None] * n


@pytest.mark.parametrize("end", ["", "\\", '"'], ids=["open", "backslash", "closed"])
def test_a_first_line_with_a_long_text_is_looked_at_once(end: str) -> None:
    """
    The cost is linear in its length, whether the text ends or not: this would take hours if it were its square.
    """
    first = '{"x": nan, "user": "' + '\\"' * 1_000_000 + end
    head = f"{first}\n{GOOD}\n".encode()
    assert form_of(Path("feed.txt"), head, is_whole=True, is_metres=False) is Form.NDJSON


@pytest.mark.parametrize("first", ["{", '{"user":"u1"', '{"user":"u1,"ts":5}', '{"user":', "{{", '{"a":[{'])
def test_a_first_line_that_is_cut_off_costs_that_line(first: str, tmp_path: Path) -> None:
    """
    NDJSON whose first record is damaged is no document over several lines.
    """
    found = read(tmp_path / "feed.ndjson", f"{first}\n{GOOD}\n{GOOD}\n{GOOD}\n")
    assert reasons(found) == [Reason.NOT_JSON, None, None, None]


# Whatever the bytes


parts = st.one_of(
    st.binary(max_size=12),
    st.sampled_from([b"\n", b"\r", b"\r\n", b'"', b",", b"\t", b"\0", b"\xef\xbb\xbf", b"[", b"]", b"{", b"}", b" "]),
    st.sampled_from([HEADER.encode(), LINES.encode(), ROWS.encode(), METRES.encode(), GOOD.encode(), b"NaN", b"inf"]),
    st.sampled_from([b"user,ts\n", b"u1,5\n", b'"u,1",5\n', b'{"user":"u","ts":NaN}\n', b"2016-12-31T23:59:60Z"]),
)


@given(
    content=st.lists(parts, max_size=12).map(b"".join),
    name=st.sampled_from(["a.csv", "a.ndjson", "a.json", "a.tsv", "a.txt"]),
    kind=st.sampled_from(INPUT_KINDS),
    pack=st.booleans(),
)
@example(content=HEADER.encode() + b'u,1,2,3,"x\nu,1,2,3\nu,1,2,3,y"\n', name="a.csv", kind=Kind.CHECKINS, pack=False)
@example(content=b"[1,\n2", name="a.json", kind=Kind.CHECKINS, pack=False)
@example(content=b'{"user":"u","ts":5}\r\r\n\n{', name="a.txt", kind=Kind.CHECKINS, pack=True)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(400))
def test_every_line_is_in_one_count_or_the_file_is_refused(
    content: bytes, name: str, kind: Kind, pack: bool, tmp_path: Path
) -> None:
    """
    For any bytes: a replay refuses the file, or each line that is not blank (or each element) is accepted, rejected or
    late, once; nothing else comes of it.
    """
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if pack else content)
    feed = Feed(load_settings(), kind, secret="a secret of the tests")  # noqa: S106 - of no real deployment
    try:
        file = record_file(path, kind, NAMES, max_bytes=10_000, projection=GREEK)
        summary = Replay(feed, [file], now_ms=NOW_MS, max_bytes=10**6).run(tmp_path / "out")
    except FileFormatError:
        return
    filled = [line for line in content.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    in_lines = len(filled) - file.has_header
    assert summary.records == (len(list(elements(content))) if file.unit == "element" else in_lines)
    assert sum(one.records for one in summary.rejections.sorted()) == summary.rejected
    if kind is Kind.CHECKINS or file.has_header:
        assert summary.records == summary.rejected + summary.rows


PACKED = gzip.compress((HEADER + "u1,52.5,13.4,1600000000,v1,Park\n" * 3000).encode())


@pytest.mark.parametrize(
    "content",
    [
        PACKED[:-20],
        PACKED[: len(PACKED) // 2],
        PACKED[:12],
        PACKED[:2],
        PACKED[:-6] + b"\0\0" + PACKED[-4:],
        PACKED[:60] + b"\xff" * 8 + PACKED[68:],
        PACKED[:14] + b"\xff" * 8 + PACKED[22:],
        PACKED + b"junk",
        b"\x1f\x8b" + b"junk" * 10,
    ],
    ids=["end", "half", "start", "magic", "checksum", "middle", "first block", "behind", "not gzip"],
)
def test_a_damaged_gzip_is_named(content: bytes, tmp_path: Path) -> None:
    """
    Wherever the damage is, it is told in a sentence with the file's name.
    """
    path = tmp_path / "feed.csv.gz"
    with pytest.raises(FileFormatError) as fault:
        read(path, content)
    assert str(fault.value).startswith(f"{path}: ")
    assert "damaged" in str(fault.value)


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """
    The sentence says why.
    """
    with pytest.raises(FileFormatError, match="cannot be read \\(No such file or directory\\)"):
        record_file(tmp_path / "nowhere.csv", Kind.CHECKINS, NAMES, max_bytes=10_000)
    with pytest.raises(FileFormatError, match="cannot be read \\(Is a directory\\)"):
        record_file(tmp_path, Kind.CHECKINS, NAMES, max_bytes=10_000)


# What else is told of a person


def test_attributes_are_columns_of_a_csv_and_fields_of_ndjson(tmp_path: Path) -> None:
    """
    Both forms give records that encode alike; an empty cell and a column that is not there are nothing.
    """
    table = "plan,user,ts,lat,lon,age\nplus,u1,5,52.5,13.4, 41 \n,u2,6,52.5,13.4,\n"
    lines = '{"user":"u1","ts":5,"lat":52.5,"lon":13.4,"plan":"plus","age":41}\n'
    lines += '{"user":"u2","ts":6,"lat":52.5,"lon":13.4}\n'
    names = ("age", "plan", "device")
    of_csv = read(tmp_path / "a.csv", table, attributes=names)
    of_json = read(tmp_path / "a.ndjson", lines, attributes=names)
    profile = Profile(
        (Numeric("age", 18, 99, True), Categorical("plan", ("plus",), True), Numeric("device", 0, 9, True))
    )
    told = []
    for records in (of_csv, of_json):
        assert reasons(records) == [None, None]
        columns = [[getattr(record, attribute_field(i)) for record in records] for i in range(3)]
        encoded = profile.encode(columns)
        assert (encoded.missing.tolist(), encoded.wrong.tolist()) == ([-1, -1], [-1, -1])
        told.append([column.tolist() for column in profile.decode(encoded.codes)])
    assert told[0] == told[1] == [[41, -1], [0, -1], [-1, -1]]
    assert [getattr(of_csv[1], attribute_field(i)) for i in range(3)] == [None, None, None]


def test_fragments_of_a_file_tell_no_attributes(tmp_path: Path) -> None:
    """
    Only check-ins do.
    """
    (entry,) = read(tmp_path / "a.csv", "user,ts,lat,lon,age\nu1,5,1,2,7\n", Kind.FRAGMENTS, attributes=("age",))
    assert isinstance(entry, Fragment)
