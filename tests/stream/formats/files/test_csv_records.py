"""CSV in all its dialects."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from encodings.aliases import aliases
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.record import CheckIn, Fragment, Kind, Reason
from stream.formats.files.csv_files.dialect import Dialect, delimiter_of, text_encoding
from stream.formats.files.csv_files.lines import CsvError, cells
from stream.formats.files.record_file import FileFormatError, RecordFile
from stream.formats.input.mapping import Entry, MappingOptions, Skipped, Unreadable
from tests.builders.inputs import NAMES, record_file


def read(path: Path, content: str | bytes, names: dict[str, str] | None = None, **dialect: Any) -> list[Entry]:
    """Write a file and read its entries."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    file = record_file(path, Kind.CHECKINS, NAMES | (names or {}), dialect=Dialect(**dialect))
    try:
        return [entry for _, entry in file]
    finally:
        file.close()


HEADER = ("user", "lat", "lon", "ts")
ROWS = [("p1", "48.2082", "16.3738", "1760000000"), ("p2", "48.21", "16.36", "1760000060.5")]
RECORDS = [CheckIn(user=user, ts=float(ts), lat=float(lat), lon=float(lon)) for user, lat, lon, ts in ROWS]


def table(delimiter: str, *, decimal: str = ".", header: tuple[str, ...] | None = HEADER, quoted: bool = False) -> str:
    """Write the rows as CSV."""
    rows = [*([header] if header else []), *(tuple(value.replace(".", decimal) for value in row) for row in ROWS)]
    return "".join(delimiter.join(f'"{value}"' if quoted else value for value in row) + "\n" for row in rows)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_the_header_tells_what_separates_values(tmp_path: Path, delimiter: str, quoted: bool, named: bool) -> None:
    """
    It is the character with which all columns are there; a setting may name it.
    """
    content = table(delimiter, quoted=quoted)
    assert read(tmp_path / "feed.csv", content, delimiter=delimiter if named else "") == RECORDS


@pytest.mark.parametrize("delimiter", ["~", ":", " ", "^"])
def test_any_character_may_separate_values(tmp_path: Path, delimiter: str) -> None:
    """
    One that is not tried by itself has to be named.
    """
    assert read(tmp_path / "feed.csv", table(delimiter), delimiter=delimiter) == RECORDS
    with pytest.raises(FileFormatError, match="has no column"):
        read(tmp_path / "feed.csv", table(delimiter))


@pytest.mark.parametrize(("delimiter", "quoted"), [(";", False), (";", True), (",", True), ("\t", False)])
def test_a_decimal_comma_is_read_where_a_setting_says_so(tmp_path: Path, delimiter: str, quoted: bool) -> None:
    """
    It is never guessed, and a point is then no decimal sign.
    """
    content = table(delimiter, decimal=",", quoted=quoted)
    assert read(tmp_path / "feed.csv", content, decimal=",") == RECORDS
    assert {type(entry) for entry in read(tmp_path / "feed.csv", content)} == {Unreadable}
    assert {type(entry) for entry in read(tmp_path / "feed.csv", table(";"), decimal=",")} == {Unreadable}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_file_without_a_header_has_the_columns_of_the_settings(tmp_path: Path, delimiter: str) -> None:
    """
    A row with an empty field is rejected by itself.
    """
    content = table(delimiter, header=None) + delimiter.join(("p3", "", "16.3", "")) + "\n"
    found = read(tmp_path / "feed.txt", content, columns=HEADER)
    assert found == [*RECORDS, Unreadable(Reason.MISSING_FIELD, "ts is needed")]
    with pytest.raises(FileFormatError, match=r"input\.columns has no ts"):
        read(tmp_path / "feed.txt", content, columns=("user", "lat", "lon", "when"))


@pytest.mark.parametrize(
    ("content", "dialect", "says"),
    [
        (table("\t"), {"delimiter": ","}, "it is one column, which input.delimiter tab would divide"),
        (table(";"), {"delimiter": ","}, "it is one column, which input.delimiter semicolon would divide"),
        ("who;ts;lat;lon", {}, "it has who, ts, lat, lon"),
        ("user;x\u200by\n", {}, "it has user, and 1 more, which may be a value and no name"),
        (
            "User_ID;UTC TIME;gps.latitude;LONGITUDE_E7;HEIGHT(m);Taux",
            {},
            "it has User_ID, UTC TIME, gps.latitude, "
            "LONGITUDE_E7, HEIGHT(m), and 1 more, which may be a value and no name",
        ),
    ],
)
def test_a_header_without_a_column_is_told_in_a_sentence(
    tmp_path: Path, content: str, dialect: dict[str, Any], says: str
) -> None:
    """
    With the delimiter that divides it, or the columns that it has; names that cannot be printed are counted.
    """
    with pytest.raises(FileFormatError) as fault:
        read(tmp_path / "feed.csv", content, **dialect)
    assert f"; {says}: " in str(fault.value)


ID, PLACE, TIME = "anna.meier", "48.2082\N{DEGREE SIGN}N, 16.3738\N{DEGREE SIGN}E", "Thu Oct 09 08:53:20 +0000 2025"


@pytest.mark.parametrize("known", ["user", "venue", "ts", "LAT", "device_id", "date", "id"])
@pytest.mark.parametrize(
    "record",
    [
        [ID, PLACE, TIME],
        [ID, "u2edhx", "Donnerstag"],
        ["Person Anna", "892a100d2c3ffff", "gestern"],
        ["user_anna", "POINT(16.3 48.2)", "10 past 9"],
        ["Doris Day", "Place Vend\u00f4me", "date: tomorrow"],
        ["id4711", "lat48", "time9"],
    ],
)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_no_value_of_a_first_record_is_shown(tmp_path: Path, known: str, record: list[str], at: int) -> None:
    """
    Even if one of them happens to be a name of a column.
    """
    first = [*record[:at], known, *record[at:]]
    content = "".join(";".join(f'"{value}"' for value in row) + "\n" for row in (first, first))
    with pytest.raises(FileFormatError) as fault:
        read(tmp_path / "feed.csv", content)
    assert not any(value in str(fault.value) for value in record)


def test_a_time_in_two_columns(tmp_path: Path) -> None:
    """
    Both columns are needed, and a line that lacks one of the two texts has no time.
    """
    content = "user,lat,lon,day,at\np1,1,2,2025-10-09,08:53:20Z\np1,1,2,2025-10-09,\n"
    found = read(tmp_path / "feed.csv", content, {"ts": "day + at"})
    assert [getattr(entry, "ts", None) for entry in found] == [datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC), None]
    assert found[1] == Unreadable(Reason.MISSING_FIELD, "day + at is needed")
    with pytest.raises(FileFormatError, match="no column when; it has"):
        read(tmp_path / "feed.csv", content, {"ts": "day + when"})


def test_upper_and_lower_case_of_a_header_do_not_count(tmp_path: Path) -> None:
    """
    Unless the file has both.
    """
    assert read(tmp_path / "feed.csv", table(",", header=("USER", "Lat", "LON", "Ts"))) == RECORDS
    both = "user,USER,lat,lon,ts\np1,p9,48.2082,16.3738,1760000000\n"
    assert read(tmp_path / "feed.csv", both) == RECORDS[:1]
    with pytest.raises(FileFormatError, match="column User more than once"):
        read(tmp_path / "feed.csv", both, {"user": "User"})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32"])
def test_text_may_have_any_encoding_that_is_named(tmp_path: Path, encoding: str) -> None:
    """
    Also those in which a line ends in several bytes.
    """
    content = "user,lat,lon,ts\njosé,48.2,16.3,5\n".encode(encoding)
    standard = text_encoding(encoding)
    assert standard is not None
    assert read(tmp_path / "feed.csv", content, encoding=standard) == [CheckIn(user="josé", ts=5.0, lat=48.2, lon=16.3)]


def test_bytes_that_are_no_text_cost_their_line(tmp_path: Path) -> None:
    """
    In whatever encoding.
    """
    for encoding in ("utf-8", "ascii", "cp1252"):
        found = read(tmp_path / "feed.csv", b"user,lat,lon,ts\n\x81,1,2,5\np,1,2,5\n", encoding=encoding)
        assert [type(entry) for entry in found] == [Unreadable, CheckIn], encoding


BEFORE = {
    "separator": "sep={sign}\n",
    "separator of capitals": "SEP={sign}\n",
    "quoted separator": '"sep={sign}"\n',
    "comment": "# comment\n",
    "comments": "# made by a logger, version 1.5\n#\n\n# 2025-10-09; Vienna | x\n",
    "both": "sep={sign}\n# comment{sign}{sign}\n",
    "blank": "\n\n",
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("has_header", [True, False])
def test_lines_before_the_records(tmp_path: Path, before: str, sign: str, *, has_header: bool) -> None:
    """
    What spreadsheets write before a header is read, and comments are skipped; lines keep their numbers.
    """
    content = (
        before.format(sign=sign) + table(sign, header=HEADER if has_header else None) + sign.join(["p3", "x", "", ""])
    )
    found = read(tmp_path / "feed.csv", content, columns=() if has_header else HEADER)
    assert found[:-1] == RECORDS
    assert isinstance(found[-1], Unreadable)
    file = record_file(tmp_path / "feed.csv", Kind.CHECKINS, dialect=Dialect(columns=() if has_header else HEADER))
    assert [number for number, _ in file][-1] == len(content.splitlines())
    file.close()


@pytest.mark.parametrize("sign", ["~", "^", ":", " ", "!"])
def test_any_separator_that_is_named_is_read(tmp_path: Path, sign: str) -> None:
    """
    The setting wins over the line.
    """
    if sign != " ":
        assert read(tmp_path / "feed.csv", f"sep={sign}\n" + table(sign)) == RECORDS
    assert read(tmp_path / "feed.csv", "sep=;\n" + table(sign), delimiter=sign) == RECORDS


@pytest.mark.parametrize("header", ["# user,lat,lon,ts", "#user,lat,lon,ts", "# made by x\n#user,lat,lon,ts"])
def test_a_header_may_look_like_a_comment(tmp_path: Path, header: str) -> None:
    """
    If it has the columns that are needed, with the sign or without.
    """
    assert read(tmp_path / "feed.csv", f"{header}\n{table(',', header=None)}") == RECORDS
    named = read(tmp_path / "feed.csv", "# t,user,lat,lon\n5,p1,1,2\n", {"ts": "# t"})
    assert named == [CheckIn(user="p1", ts=5, lat=1, lon=2)]


@pytest.mark.parametrize(
    "other",
    [
        "user,lon,lat,ts",
        "USER,Lon,Lat,TS",
        '"user","lon","lat","ts"',
        "ts,lat,lon,user",
        " lat , lon,user,ts",
        "time,lon,lat,user",
        "user,ts",
    ],
)
@pytest.mark.parametrize("has_header", [True, False])
def test_columns_that_change_their_order(tmp_path: Path, other: str, *, has_header: bool) -> None:
    """
    What follows would be read as something else, so the file is refused.
    """
    content = table(",", header=HEADER if has_header else None) + f"{other}\n" + table(",", header=None)
    with pytest.raises(FileFormatError, match=f"line {3 + has_header} is another header, with the columns in another"):
        read(tmp_path / "feed.csv", content, columns=() if has_header else HEADER)


@pytest.mark.parametrize("again", ["user,lat,lon,ts", "User, Lat, Lon, TS"])
def test_a_repeated_header_costs_its_line(tmp_path: Path, again: str) -> None:
    """
    So does a person whose id is the name of a column.
    """
    content = table(",") + f"{again}\n" + table(",", header=None) + "lat,1,2,5\n"
    found = read(tmp_path / "feed.csv", content)
    assert [type(entry) for entry in found] == [CheckIn, CheckIn, Unreadable, CheckIn, CheckIn, CheckIn]


PAIRS = {
    "pair": ("48.2,16.3", "p[0]", "p[1]"),
    "geo": ("geo:48.2,16.3", "p[0]", "p[1]"),
    "well-known text": ("POINT (16.3 48.2)", "p[1]", "p[0]"),
    "list": ("[16.3, 48.2]", "p[1]", "p[0]"),
    "object": ('{"lat": 48.2, "lon": 16.3}', "p.lat", "p.lon"),
    "object of texts": ('{"lat": "48.2", "lon": "16.3"}', "p.lat", "p.lon"),
    "geojson": ('{"type": "Point", "coordinates": [16.3, 48.2]}', "p.coordinates[1]", "p.coordinates[0]"),
    "alternatives": ('{"at": [48.2, 16.3]}', "lat|p.at[0]", "lon|p.at[1]"),
    "other case": ("[16.3, 48.2]", "P[1]", "P[0]"),
}


@pytest.mark.parametrize(("text", "lat", "lon"), PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_position_in_one_column(tmp_path: Path, text: str, lat: str, lon: str, sign: str) -> None:
    """
    The paths are those of JSON; a column whose own name is the path comes first, and broken values cost their line.
    """
    quoted = '"' + text.replace('"', '""') + '"'
    content = "".join(
        sign.join(row) + "\n" for row in (("user", "ts", "p"), ("a", "5", quoted), ("b", "5", "{x"), ("c", "5", ""))
    )
    found = read(tmp_path / "feed.csv", content, {"lat": lat, "lon": lon})
    assert found[0] == CheckIn(user="a", ts=5, lat=48.2, lon=16.3)
    assert [getattr(entry, "lat", None) for entry in found[1:]] == [None, None]
    literal = f"user,ts,{lat},{lon},p\na,5,1,2,{quoted}\n".replace("lat|", "").replace("lon|", "")
    assert read(tmp_path / "feed.csv", literal, {"lat": lat, "lon": lon}) == [CheckIn(user="a", ts=5, lat=1, lon=2)]
    others = NAMES | {"lat": "q[0]", "lon": "q.b"}
    with pytest.raises(FileFormatError, match="no column"):
        record_file(tmp_path / "feed.csv", Kind.CHECKINS, others, needed=("lat", "lon"))


def test_a_condition_on_a_value_in_a_column(tmp_path: Path) -> None:
    """
    Its path leads into a column, too.
    """
    rows = [f'{user};5;"{{""type"":""{kind}"",""at"":[1,2]}}"' for user, kind in (("a", "Point"), ("b", "Line"))]
    (tmp_path / "feed.csv").write_text("\n".join(["user;ts;g", *rows]))
    options = MappingOptions(names=NAMES | {"lat": "g.at[0]", "lon": "g.at[1]"}, only=("g.type=Point",))
    file = RecordFile(tmp_path / "feed.csv", Kind.CHECKINS, options, max_bytes=1000)
    assert [entry for _, entry in file] == [CheckIn(user="a", ts=5, lat=1, lon=2), Skipped.FILTERED]
    file.close()


@pytest.mark.parametrize(
    ("points", "names"),
    [
        ("[[5,48.2,16.3],[6,48.3,16.4]]", {}),
        ('[{"ts":5,"lat":48.2,"lon":16.3},{"ts":6,"lat":48.3,"lon":16.4}]', {}),
        ('[{"t":5,"p":[16.3,48.2]},{"t":6,"p":[16.4,48.3]}]', {"ts": "t", "lat": "p[1]", "lon": "p[0]"}),
        ("[[16.3,48.2,5],[16.4,48.3,6]]", {"ts": "[2]", "lat": "[1]", "lon": "[0]"}),
        ('{"list":[[5,48.2,16.3],[6,48.3,16.4]]}', {"points": "points.list"}),
    ],
)
def test_points_in_one_column(tmp_path: Path, points: str, names: dict[str, str]) -> None:
    """
    A line is then a whole fragment; other lines are rejected by themselves.
    """
    quoted = points.replace('"', '""')
    (tmp_path / "feed.csv").write_text(f'user;points\na;"{quoted}"\nb;x\n')
    file = record_file(tmp_path / "feed.csv", Kind.FRAGMENTS, NAMES | names)
    first, second = [entry for _, entry in file]
    file.close()
    assert isinstance(first, Fragment)
    assert [(point.ts, point.lat, point.lon) for point in first.points] == [(5, 48.2, 16.3), (6, 48.3, 16.4)]
    assert isinstance(second, Unreadable)


def test_points_beside_columns_of_a_point(tmp_path: Path) -> None:
    """
    A table of points stays one, whatever a column that is called points holds.
    """
    (tmp_path / "feed.csv").write_text("user,ts,lat,lon,points\na,5,48.2,16.3,7\n")
    file = record_file(tmp_path / "feed.csv", Kind.FRAGMENTS)
    ((_, entry),) = file
    file.close()
    assert isinstance(entry, Fragment)
    assert len(entry.points) == 1


VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=6).map(str.strip)


@given(st.lists(VALUES, min_size=1, max_size=6), st.sampled_from([",", ";", "\t", "|"]), st.data())
def test_what_was_written_is_read(row: list[str], delimiter: str, data: st.DataObject) -> None:
    """
    Quoted where it must be, and where it need not.
    """
    row = [value.replace("\t", " ").strip() for value in row]

    def written(value: str) -> str:
        must = delimiter in value or '"' in value
        return '"' + value.replace('"', '""') + '"' if must or data.draw(st.booleans()) else value

    assert cells(delimiter.join(map(written, row)), delimiter) == row


@pytest.mark.parametrize("line", ['="p01",1', ' ="p01" ,"1"', '="p01",="1"', '"=""p01""",1', "=p01,1"])
def test_a_value_that_is_protected_in_a_spreadsheet(line: str) -> None:
    """
    The sign before the quotation marks is no part of it; what is inside them, and a sign alone, is.
    """
    expected = "p01" if '="p01"' in line else '="p01"' if '""' in line else "=p01"
    assert cells(line) == [expected, "1"]


@given(st.text(max_size=12), st.sampled_from([",", ";", "\t", "|"]))
def test_no_line_is_anything_but_cells_or_no_csv(line: str, delimiter: str) -> None:
    """
    As many as it has delimiters outside of quotation marks, and at least one.
    """
    try:
        found = cells(line, delimiter)
    except CsvError:
        assert '"' in line or "\0" in line
    else:
        assert 1 <= len(found) <= line.count(delimiter) + 1


@pytest.mark.parametrize("name", ["", "tabs", "a", "1", '"', ".", "-", ",,", "\n"])
def test_what_cannot_separate_values_is_refused(name: str) -> None:
    """
    Letters, digits and the signs of numbers.
    """
    assert delimiter_of(name) is None


WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("form", ["feed.csv", "feed.ndjson", "feed.json"])
def test_the_advice_for_a_wide_encoding_reads_the_file(tmp_path: Path, encoding: str, form: str) -> None:
    """
    Without a byte order mark it names the order, which bytes that are 0 say; with one it need not.
    """
    records = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    lines = [
        json.dumps(one | {"lat": float(one["lat"]), "lon": float(one["lon"]), "ts": float(one["ts"])})
        for one in records
    ]
    content = {"feed.csv": table(","), "feed.ndjson": "\n".join(lines), "feed.json": f"[{','.join(lines)}]"}[form]
    for named in ("utf-8", "latin-1")[: 2 - (encoding == "utf-32")]:
        with pytest.raises(FileFormatError, match="is UTF-16 or UTF-32: save it as UTF-8, or set") as fault:
            read(tmp_path / form, content.encode(encoding), encoding=named)
        advice = str(fault.value).rpartition(" ")[2]
        assert named == "latin-1" or advice == encoding
        assert read(tmp_path / form, content.encode(encoding), encoding=advice) == RECORDS


@pytest.mark.parametrize(
    ("content", "encoding", "says"),
    [
        *((table(",").encode(f"{one}-le"), one, f"its bytes are those of {one}-le") for one in ("utf-16", "utf-32")),
        *((table(",").encode(f"{one}-be"), one, f"its bytes are those of {one}-be") for one in ("utf-16", "utf-32")),
        *((table(",").encode(one)[:-1], one, "it ends within a character: is it cut off?") for one in WIDE),
        *((table(",").encode(one) * 3000 + b"p", one, "it ends within a character") for one in WIDE),
        ("käse".encode("latin-1") * 4, "utf-16", "it has no byte order mark; utf-16-le and utf-16-be need none"),
        ("käse".encode("latin-1") * 4, "utf-32", "it has no byte order mark; utf-32-le and utf-32-be need none"),
        ("käse".encode("latin-1") * 4, "utf-32-le", "name the encoding that it has, or save it as UTF-8"),
        *(
            (f"{table(',')}é".encode(), one, "its bytes are those of utf-8")
            for one in ("utf-16", "utf-32", "utf-32-be")
        ),
        (f"{table(',')}e".encode(), "utf-16-le", "its bytes are those of utf-8"),
        (table(",").encode("utf-16-le"), "utf-32-le", "its bytes are those of utf-16-le"),
        (b"a\xd8b\x20" * 4, "utf-16-le", "name the encoding that it has, or save it as UTF-8"),
    ],
)
def test_bytes_of_another_encoding_end_the_run_with_a_sentence(
    tmp_path: Path, content: bytes, encoding: str, says: str
) -> None:
    """
    At the start, or wherever they are.
    """
    with pytest.raises(FileFormatError) as fault:
        read(tmp_path / "feed.csv", content, encoding=encoding)
    assert f"is not text in {encoding} (input.text_encoding): {says}" in str(fault.value)


@given(
    st.sampled_from(sorted({name for name in aliases.values() if text_encoding(name) is not None})),
    st.sampled_from([table(",").encode(), table(",").encode("utf-16-le"), b"\x80\xff\x00\xd8", b"+AGE-+2AA-"]),
    st.binary(max_size=9),
)
def test_no_bytes_in_any_encoding_are_anything_but_entries_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, encoding: str, start: bytes, rest: bytes
) -> None:
    """
    Of all encodings that may be set.
    """
    path = tmp_path_factory.mktemp("files") / "feed.csv"
    with suppress(FileFormatError):
        assert all(isinstance(entry, (CheckIn, Unreadable)) for entry in read(path, start + rest, encoding=encoding))


@pytest.mark.parametrize(
    "name",
    [
        *("", "klingon", "base64", "rot13", "zip", "uu", "bz2", "hex", "a\0b"),
        *("idna", "punycode", "unicode_escape", "unicode-escape", "raw_unicode_escape", "undefined"),
    ],
)
def test_what_is_no_encoding_of_text_is_refused(name: str) -> None:
    """
    Python knows codecs of bytes, too, and some for names of hosts and source code.
    """
    assert text_encoding(name) is None
