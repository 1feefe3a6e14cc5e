"""Workloads in files: every line is a query, or one sentence says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.utility.workload import AroundPlace, CellPlace, LocationPlace, RectanglePlace, TimeOfDay
from stream.formats.files.record_file import FileFormatError
from stream.replay.query_file import read_queries, workload_of


def test_every_kind_of_place_and_condition_is_read(tmp_path: Path) -> None:
    """
    Names, rectangles, cells and discs; in order unless it says otherwise; times of day and attributes.
    """
    path = tmp_path / "queries.ndjson"
    path.write_text(
        '{"places": ["mall", {"area": [40.7, -74.0, 40.8, -73.9]}, {"h3": "892a100d2c3ffff"}]}\n\n'
        '{"places": [{"around": [40.7, -74.0], "radius_m": 500}], "in_order": false, "between": ["22:00", "24:00"],'
        ' "attributes": {"age": [20, 30], "origin": "Europe"}}\n'
    )
    first, second = read_queries(path)
    assert first.places == (
        LocationPlace("mall"),
        RectanglePlace(south=40.7, west=-74.0, north=40.8, east=-73.9),
        CellPlace("892a100d2c3ffff"),
    )
    assert first.in_order
    assert second.places == (AroundPlace(lat_deg=40.7, lon_deg=-74.0, radius_m=500),)
    assert not second.in_order
    assert second.during == TimeOfDay(from_ms=79_200_000, to_ms=86_400_000)
    assert second.attributes == {"age": (20, 30), "origin": "Europe"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nonsense", "this is not JSON"),
        ("[1]", "a query is a JSON object"),
        ('{"locations": ["a"]}', "has no field 'locations': its fields are places"),
        ('{"places": []}', "places is a list of 1 to 5 places"),
        ('{"places": ["a", "b", "c", "d", "e", "f"]}', "places is a list of 1 to 5 places"),
        ('{"places": [7]}', "a place is a location's name"),
        ('{"places": [{"area": [41.7654, 1, 2]}]}', "a place is a location's name"),
        ('{"places": [{"area": [41.7654, 1, 40, 2]}]}', "south < north"),
        ('{"places": [{"h3": "41.7654"}]}', "not the index of an H3 cell"),
        ('{"places": [{"around": [41.7654, 2], "radius_m": 0}]}', "a radius in metres above 0"),
        ('{"places": [{"around": [41.7654, true], "radius_m": 5}]}', "a place is a location's name"),
        ('{"places": ["a"], "in_order": "no"}', "in_order is true or false"),
        ('{"places": ["a"], "between": ["22:00"]}', "two times of day"),
        ('{"places": ["a"], "between": ["7pm", "22:00"]}', 'written as "08:30"'),
        ('{"places": ["a"], "between": ["22:00", "22:00"]}', "two different times"),
        ('{"places": ["a"], "attributes": ["age"]}', "attributes is an object"),
        ('{"places": ["a"], "attributes": {"age": [30, 20]}}', "[smallest, largest] number"),
    ],
)
def test_a_line_that_is_no_query_is_named(line: str, says: str, tmp_path: Path) -> None:
    """
    File and line, what is allowed, and no position.
    """
    path = tmp_path / "queries.ndjson"
    path.write_text(f'{{"places": ["a"]}}\n{line}\n')
    with pytest.raises(FileFormatError) as fault:
        read_queries(path)
    assert f"{path}, line 2: " in str(fault.value)
    assert says in str(fault.value)
    assert "41.7654" not in str(fault.value)


def test_a_workload_is_a_file_or_drawn(tmp_path: Path) -> None:
    """
    ``drawn:N`` draws; anything else is a file, which must have a query.
    """
    assert workload_of("drawn", sanity_percent=0.1).n_drawn == 100
    assert workload_of("drawn:7", sanity_percent=2).n_drawn == 7
    with pytest.raises(ValueError, match=r"drawn:0: draw 1 to"):
        workload_of("drawn:0", sanity_percent=0.1)
    with pytest.raises(FileFormatError, match="does not exist"):
        workload_of(str(tmp_path / "missing"), sanity_percent=0.1)
    empty = tmp_path / "empty"
    empty.write_text("\n")
    with pytest.raises(FileFormatError, match="has no query"):
        workload_of(str(empty), sanity_percent=0.1)
