"""Parquet: rows become plain data, whatever types their columns have."""

from __future__ import annotations

import io
import json
import random
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.formats.files.columns import Columns
from stream.formats.files.form_error import FormError
from stream.formats.files.parquet import ParquetRows
from tests.budgets import examples

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'shoal[parquet]'")
pq = pytest.importorskip("pyarrow.parquet")

EARLY = datetime(2, 1, 1)  # noqa: DTZ001 - the zone is drawn beside it
OFFSETS = st.sampled_from([UTC, timezone(timedelta(hours=9))])
NOON = datetime(2025, 10, 9, 12, tzinfo=UTC)


def written(columns: dict[str, Any], metadata: dict[str, str] | None = None, **options: Any) -> bytes:
    """Return a Parquet file of some columns."""
    table = pa.table(columns)
    if metadata is not None:
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def rows(content: bytes, columns: Columns | None = None) -> list[dict[str, Any]]:
    """Return the rows of a file, and check their numbers."""
    file = ParquetRows(io.BytesIO(content))
    if columns is not None:
        file.choose(columns)
    found = list(file.read())
    assert [number for number, _ in found] == list(range(1, file.n_rows + 1))
    assert file.n_read == file.n_rows
    return [row for _, row in found]


def values(column: Any) -> list[Any]:
    """Return what the values of one column become."""
    return [row["x"] for row in rows(written({"x": column}))]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Vienna", "+05:30"])
def test_a_time_stamp_with_a_zone_is_an_instant(unit: str, zone: str) -> None:
    """
    It depends on no setting, in any unit and any zone.
    """
    assert values(pa.array([NOON, None], pa.timestamp(unit, zone))) == [NOON, None]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_time_stamp_without_a_zone_is_a_text_without_an_offset(unit: str) -> None:
    """
    Only the settings can say where its clock stood.
    """
    local = NOON.replace(tzinfo=None, microsecond=250_000)
    assert values(pa.array([local, None], pa.timestamp(unit))) == ["2025-10-09T12:00:00.250000", None]


def test_an_instant_that_python_cannot_write_is_the_nearest_that_it_can() -> None:
    """
    It costs its record, which the settings of time reject, and not the file.
    """
    column = pa.array([2**62, -(2**62), 1_760_000_000_123_456_789 // 1000], pa.timestamp("us", "UTC"))
    found = values(column)
    assert [one.year for one in found] == [9999, 1, 2025]


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (lambda: pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
        (lambda: pa.array([Decimal("48.25"), None]), [48.25, None]),
        (lambda: pa.array([Decimal("-1.5")], pa.decimal256(50, 2)), [-1.5]),
        (lambda: pa.array([date(2025, 10, 9), None]), ["2025-10-09", None]),
        (lambda: pa.array([date(2025, 10, 9)], pa.date64()), ["2025-10-09"]),
        (lambda: pa.array([time(1, 2, 3)]), ["01:02:03.000000"]),
        (lambda: pa.array([timedelta(seconds=1)], pa.duration("ms")), [1000]),
        (lambda: pa.array([1.5], pa.float16()), [1.5]),
        (lambda: pa.array([b"abc", b"\xff\x00", None]), ["abc", "ff00", None]),
        (lambda: pa.array([UUID(int=7).bytes], pa.uuid()), [str(UUID(int=7))]),
        (lambda: pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2)), [[1.0, 2.0], None]),
        (lambda: pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), [{"a": 1}]),
        (lambda: pa.array([[(1, NOON)]], pa.map_(pa.int64(), pa.timestamp("ns", "UTC"))), [{"1": NOON}]),
        (lambda: pa.array([None, None]), [None, None]),
        (lambda: pa.array([True, None]), [True, None]),
    ],
    ids=[
        "dictionary", "decimal", "long decimal", "date", "date of milliseconds", "time of day", "duration", "half",
        "bytes", "uuid", "list of a fixed length", "map", "map of time stamps", "null", "boolean",
    ],
)  # fmt: skip
def test_every_type_becomes_plain_data(column: Any, found: list[Any]) -> None:
    """
    Documents hold only what JSON has, and instants.
    """
    assert values(column()) == found


def test_times_inside_lists_and_structures_are_times_too() -> None:
    """
    A trajectory is often a list of points in one row.
    """
    point = pa.struct([("t", pa.timestamp("ns", "UTC")), ("lat", pa.float32()), ("day", pa.date32())])
    given_points = [{"t": NOON, "lat": 0.5, "day": date(2025, 10, 9)}, None]
    column = pa.array([given_points, [], None], pa.large_list(point))
    assert values(column) == [[{"t": NOON, "lat": 0.5, "day": "2025-10-09"}, None], [], None]


def test_only_the_columns_that_are_needed_are_read() -> None:
    """
    Names that the file does not have are no fault where a path has alternatives.
    """
    content = written({"user": ["a"], "at": [{"lat": 1.0, "t": 5}], "t.x": [2], "note": ["long"]})
    columns = Columns(used=["user", "at.lat", "t.x", "gone"], needed=[["id", "user"], ["at.t"]])
    assert rows(content, columns) == [{"user": "a", "at": {"lat": 1.0, "t": 5}, "t.x": 2}]
    assert ParquetRows(io.BytesIO(content)).columns == ["user", "at", "t.x", "note"]


def test_a_file_without_a_column_is_refused_with_the_columns_that_it_has() -> None:
    """
    So that the settings can name them.
    """
    content = written({"person": ["a"], "when": [1]} | {f"c{i}": [0] for i in range(30)})
    with pytest.raises(FormError) as refused:
        rows(content, Columns(used=[], needed=[["user", "id"], ["when"]]))
    text = str(refused.value)
    assert text.startswith("has no column user or id (fields.*); it has person, when, c0")
    assert text.endswith("and 12 more")


@settings(max_examples=examples(200), deadline=None)
@given(
    table=st.lists(
        st.fixed_dictionaries(
            {
                "user": st.none() | st.text(st.characters(codec="utf-8"), max_size=5),
                "ts": st.none() | st.datetimes(EARLY, timezones=OFFSETS),
                "lat": st.none() | st.floats(allow_nan=False),
                "n": st.none() | st.integers(-(2**63), 2**63 - 1),
                "points": st.none()
                | st.lists(st.fixed_dictionaries({"at": st.datetimes(timezones=st.just(UTC)), "x": st.floats(0, 1)})),
            }
        ),
        max_size=20,
    ),
    group=st.integers(1, 7),
    compression=st.sampled_from(["none", "snappy", "zstd", "gzip"]),
    version=st.sampled_from(["1.0", "2.6"]),
)
def test_what_pyarrow_writes_is_read_back(
    table: list[dict[str, Any]], group: int, compression: str, version: str
) -> None:
    """
    In every version, compression and size of row groups.
    """
    schema = pa.schema(
        [
            ("user", pa.string()),
            ("ts", pa.timestamp("us", "UTC")),
            ("lat", pa.float64()),
            ("n", pa.int64()),
            ("points", pa.list_(pa.struct([("at", pa.timestamp("us", "UTC")), ("x", pa.float64())]))),
        ]
    )
    stream = io.BytesIO()
    written_table = pa.Table.from_pylist(table, schema=schema)
    pq.write_table(written_table, stream, row_group_size=group, compression=compression, version=version)
    assert rows(stream.getvalue()) == table


# ------------------------------------------------------------------ geometries


def geo(crs: Any = "missing", encoding: str = "WKB") -> dict[str, str]:
    """Return the metadata of GeoParquet for a column ``at``."""
    column = {"encoding": encoding, "geometry_types": ["Point"]} | ({} if crs == "missing" else {"crs": crs})
    return {"geo": json.dumps({"version": "1.1.0", "primary_column": "at", "columns": {"at": column}})}


POINT = bytes.fromhex("0101000000" + "0000000000003040" + "0000000000004840")
AT = {"type": "Point", "coordinates": [16.0, 48.0]}


@pytest.mark.parametrize("crs", ["missing", None, {"type": "GeographicCRS", "name": "WGS 84"}, "text"])
def test_points_of_geoparquet_are_points_of_geojson(crs: Any) -> None:
    """
    Longitude comes first, as in GeoJSON; what is no geometry is null.
    """
    content = written({"user": ["a", "b", "c"], "at": [POINT, None, b"?"]}, geo(crs))
    assert [row["at"] for row in rows(content)] == [AT, None, None]


def test_points_as_structures_are_points_of_geojson() -> None:
    """
    GeoParquet 1.1 may store x and y as columns of their own.
    """
    assert rows(written({"at": [{"x": 16.0, "y": 48.0}, None]}, geo(encoding="point"))) == [{"at": AT}, {"at": None}]


@pytest.mark.parametrize(
    "crs",
    [
        {"type": "ProjectedCRS", "name": "MGI / Austria GK East"},
        {"type": "BoundCRS", "source_crs": {"type": "DerivedProjectedCRS"}},
    ],
)
def test_geometries_in_metres_are_refused(crs: dict[str, Any]) -> None:
    """
    Metres near the origin of a projection would pass for degrees.
    """
    with pytest.raises(FormError, match="not in degrees"):
        rows(written({"at": [POINT]}, geo(crs)))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"columns": 5}', '{"columns": {"at": 5}}', '{"columns": {"gone": {}}}']
)
def test_damaged_metadata_of_geometries_says_nothing(text: str) -> None:
    """
    The rows are still there; their geometries are bytes.
    """
    assert len(rows(written({"at": [POINT]}, {"geo": text}))) == 1


def test_a_file_of_geopandas_is_read(tmp_path: Any) -> None:
    """
    What analysts write, with times in a zone and positions as geometries.
    """
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    frame = geopandas.GeoDataFrame(
        {"user": ["a", "b"], "t": [NOON, NOON + timedelta(minutes=1)]},
        geometry=geopandas.points_from_xy([16.0, 17.0], [48.0, 49.0]),
        crs="EPSG:4326",
    )
    for i, options in enumerate([{}, {"geometry_encoding": "geoarrow", "schema_version": "1.1.0"}]):
        path = tmp_path / f"{i}.parquet"
        frame.to_parquet(path, index=True, **options)
        first, second = rows(path.read_bytes())[:2]
        assert (first["user"], first["t"], first["geometry"]) == ("a", NOON, AT)
        assert second["geometry"]["coordinates"] == [17.0, 49.0]
    frame.to_crs("EPSG:31256").to_parquet(path)
    with pytest.raises(FormError, match="not in degrees"):
        rows(path.read_bytes())


# ------------------------------------------------------------------ damage


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1", b"PAR1\x15\x00"])
def test_what_only_begins_as_parquet_is_refused(content: bytes) -> None:
    """
    A file that was cut off has no index at its end.
    """
    with pytest.raises(FormError, match="is damaged"):
        rows(content)


def test_damage_gives_rows_or_the_one_error() -> None:
    """
    Whatever bytes are changed or missing: rows are read, or the file is refused.
    """
    content = written(
        {
            "user": pa.array(["a", "b", None] * 50).dictionary_encode(),
            "ts": pa.array([1_760_000_000_123_456_789, None, -1] * 50, pa.timestamp("ns", "UTC")),
            "points": pa.array([[{"t": NOON, "lat": 1.0}], [], None] * 50),
            "at": pa.array([POINT] * 150),
        },
        geo(),
    )
    numbers = random.Random(7)
    for _ in range(examples(4_000)):
        damaged = bytearray(content)
        for _ in range(numbers.randint(1, 3)):
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        if numbers.random() < 0.1:
            del damaged[numbers.randrange(len(damaged)) :]
        try:
            rows(bytes(damaged))
        except (FormError, AssertionError):  # a file may state another number of rows than it has
            continue
