"""Readers of raw feeds and releases: every form gives the same journeys, and what is damaged is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from core.trajectories.journeys import Journeys
from stream.formats.files.record_file import FileFormatError
from stream.replay.evaluation.itemsets import ItemRows, read_hierarchy, read_items
from stream.replay.evaluation.sources import read_source
from tests.paths import DATA

T_S = 1_600_000_000

WINDOW = {
    "schema": 1,
    "release": "r1",
    "window": ["2020-09-13T12:00:00Z", "2020-09-13T13:00:00Z"],
    "shard": "all",
    "outcome": "released",
    "model": "seqanon",
    "parameters": {"k": 2},
    "information_loss": {"distance_m": 10.0, "note": None},
    "locations": [
        {"members": ["a", "b"], "lat": 41.0, "lon": 12.0},
        {"members": ["c"], "lat": 41.5, "lon": 12.5},
    ],
}
SAID = {name: WINDOW[name] for name in ("release", "window", "shard")}


def visits(journeys: Journeys) -> list[list[tuple[str, ...]]]:
    """Return the labels of each journey, in order."""
    assert journeys.label_of is not None
    rows = [journeys.labels[i] for i in journeys.label_of.tolist()]
    return [rows[a:b] for a, b in zip(journeys.starts[:-1], journeys.starts[1:], strict=True)]


def folder(at: Path, messages: list[dict[str, object]], window: dict[str, object] = WINDOW) -> Path:
    (at / "anonymized.ndjson").write_text("".join(json.dumps(SAID | one) + "\n" for one in messages))
    (at / "windows.ndjson").write_text(json.dumps(window) + "\n")
    return at


@pytest.mark.parametrize(
    "content",
    [
        "lon,lat,timestamp,trajectory_id,user_id\n12.5,41.9,2020/09/13 12:26:40,5,7\n12.6,42,2020/09/13 12:27:40,6,7\n",
        "lat,lng,datetime,uid\n41.9,12.5,2020-09-13 12:26:40,7\n42,12.6,2020-09-13 12:27:40,7\n",
        f"user,lat,lon,ts\n7,42,12.6,{T_S + 60}\n7,41.9,12.5,{T_S}\n7,41.9,12.5,{T_S}\n",
    ],
    ids=["mdl-anonymizer", "scikit-mobility", "shoal, out of order and with a duplicate"],
)
def test_tables_of_points_are_read_whatever_tool_wrote_them(content: str, tmp_path: Path) -> None:
    """
    The usual names of columns are known; times without an offset are UTC; points are in time order, each once.
    """
    path = tmp_path / "points.csv"
    path.write_text(content)
    source = read_source(path)
    journeys = source.journeys
    assert journeys.people == ("7",)
    assert journeys.t_ms is not None
    assert journeys.t_ms.tolist() == [T_S * 1000, T_S * 1000 + 60_000]
    assert journeys.xy is not None
    assert journeys.xy.tolist() == [[12.5, 41.9], [12.6, 42.0]]
    assert (source.left_out, journeys.is_metres) == (0, False)


def test_parquet_is_read_as_csv_is(tmp_path: Path) -> None:
    """
    A Parquet file with the same columns gives the same journeys.
    """
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"uid": ["7", "7"], "lat": [41.9, 42.0], "lng": [12.5, 12.6], "ts": [T_S, T_S + 60]})
    pq.write_table(table, tmp_path / "points.parquet")
    journeys = read_source(tmp_path / "points.parquet").journeys
    assert journeys.xy is not None
    assert (journeys.people, journeys.xy.tolist()) == (("7",), [[12.5, 41.9], [12.6, 42.0]])


def test_points_in_metres_are_paired_by_their_numbers(tmp_path: Path) -> None:
    """
    Wait for Me writes raw numbers with two decimals and its own with three: people keep their ids.
    """
    (tmp_path / "a.tsv").write_text("9\t30\t1.5\t2\n9\t0\t1\t2\n10\t0\t5\t6\n")
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(b"10\t0.0\t5.000\t6.000\n9\t0\t1.000\t2.000\n"))
    raw, released = (read_source(tmp_path / name).journeys for name in ("a.tsv", "b.tsv.gz"))
    assert raw.is_metres
    assert (raw.people, released.people) == (("9", "10"), ("9", "10"))
    assert raw.t_ms is not None
    assert raw.t_ms.tolist() == [0, 30_000, 0]


def test_sequences_of_shoal_have_members_and_places(tmp_path: Path) -> None:
    """
    A generalized location is its members, at the place that the windows message states; windows keep their length.
    """
    source = read_source(folder(tmp_path, [{"pseudonym": "p", "locations": [["b", "a"], ["c"]]}] * 2))
    assert visits(source.journeys) == [[("a", "b"), ("c",)]] * 2
    assert source.journeys.xy is not None
    assert source.journeys.xy[1].tolist() == [12.5, 41.5]
    assert (source.window_ms, source.model, source.stated) == (3_600_000, "seqanon", {"distance_m": 10.0})
    assert source.journeys.people is None


def test_points_of_shoal_have_times(tmp_path: Path) -> None:
    """
    A released trajectory of points keeps times and positions.
    """
    window = {**WINDOW, "model": "w4m", "locations": []}
    points = [["2020-09-13T12:00:00Z", 41.0, 12.0], ["2020-09-13T12:00:30Z", 41.1, 12.1]]
    journeys = read_source(folder(tmp_path, [{"pseudonym": "p", "points": points}], window)).journeys
    assert journeys.t_ms is not None
    assert np.diff(journeys.t_ms).tolist() == [30_000]
    assert (journeys.label_of, journeys.windows_ms.tolist()) == (None, [1_599_998_400_000])


def test_every_trip_of_a_flow_is_a_journey(tmp_path: Path) -> None:
    """
    Three trips from a place to another are three journeys of two visits.
    """
    window = {
        **WINDOW,
        "model": "flows",
        "locations": [{"members": ["A"], "lat": 1.0, "lon": 2.0}, {"members": ["B"], "lat": 3.0, "lon": 4.0}],
    }
    journeys = read_source(
        folder(tmp_path, [{"origin": "A", "destination": "B", "people": 2, "trips": 3}], window)
    ).journeys
    assert visits(journeys) == [[("A",), ("B",)]] * 3


def test_items_are_sets_names_or_nodes(tmp_path: Path) -> None:
    """
    Braces hold the members of a generalized item, also with the separator inside; an inner node is its leaves; what is
    suppressed is left out; sets have no order and no repetition.
    """
    (tmp_path / "tree.csv").write_text("item,parent\na,X\nb,X\nX,All\nc,All\n")
    (tmp_path / "rows.csv").write_text("items\n{b,a},c,*\nX,(null),c,X\n\n")
    tree = read_hierarchy(tmp_path / "tree.csv")
    assert tree == {"X": ("a", "b"), "All": ("a", "b", "c")}
    rows = ItemRows(form="sequences", has_header=True, hierarchy=tree)
    assert visits(read_items(tmp_path / "rows.csv", rows)) == [
        [("a", "b"), ("c",)],
        [("a", "b"), ("c",), ("a", "b")],
        [],
    ]
    sets = read_items(tmp_path / "rows.csv", ItemRows(form="sets", has_header=True, hierarchy=tree))
    assert visits(sets) == [[("a", "b"), ("c",)], [("a", "b"), ("c",)], []]
    assert not sets.is_ordered


def test_rows_of_items_may_begin_with_an_id(tmp_path: Path) -> None:
    """
    The first item is then the person's id, and no location.
    """
    (tmp_path / "rows.csv").write_text("p1|a|b\np2|b\n")
    journeys = read_items(tmp_path / "rows.csv", ItemRows(form="sequences", has_ids=True))
    assert (journeys.people, visits(journeys)) == (("p1", "p2"), [[("a",), ("b",)], [("b",)]])


@pytest.mark.parametrize(
    ("content", "rows", "said"),
    [
        ("{a,b|c\n", ItemRows(form="sets"), "a brace is not closed"),
        ("a},b\n", ItemRows(form="sets"), "a brace is not closed"),
        ("", ItemRows(form="sets"), "has no rows of items"),
        ("p|a\np|b\n", ItemRows(form="sets", has_ids=True), "several rows"),
        ("|a\n", ItemRows(form="sets", has_ids=True), "the id of its person is empty"),
        ("user,lat,lon,ts\n7,95,12,1600000000\n", None, "none of its 1 records is valid"),
        ("0\t0\t1\t2\n0\t30\t1\tx\n", None, "is not id, seconds, x and y"),
    ],
)
def test_what_is_wrong_is_refused_without_its_values(
    content: str, rows: ItemRows | None, said: str, tmp_path: Path
) -> None:
    """
    The sentence names file and fault, and no value of the file.
    """
    path = tmp_path / "rows.csv"
    path.write_text(content)
    with pytest.raises(FileFormatError, match=said):
        read_source(path, items=rows)


@pytest.mark.parametrize("table", ["item,parent\na,X\na,Y\n", "item,parent\na,X\nX,Y\nY,X\n", "x,y\n"])
def test_a_hierarchy_is_a_tree(table: str, tmp_path: Path) -> None:
    """
    Two parents, a circle and another header are refused.
    """
    (tmp_path / "tree.csv").write_text(table)
    with pytest.raises(FileFormatError):
        read_hierarchy(tmp_path / "tree.csv")


def test_a_folder_without_a_release_is_refused(tmp_path: Path) -> None:
    """
    A folder needs both files, a released window, and messages of its releases.
    """
    with pytest.raises(FileFormatError, match="has no anonymized and windows files"):
        read_source(tmp_path)
    with pytest.raises(FileFormatError, match="no window is released"):
        read_source(folder(tmp_path, [], {**WINDOW, "outcome": "withheld"}))
    with pytest.raises(FileFormatError, match=r"message 1 is not of a release in windows\.ndjson"):
        read_source(folder(tmp_path, [{"release": "other", "locations": [["a"]]}]))


@pytest.mark.skipif(not (DATA / "w4m_reference_trucks_k5.out.gz").is_file(), reason="the trucks of Athens are not here")
def test_the_authors_release_has_the_numbers_of_their_log() -> None:
    """
    276 trajectories with 112,203 points, 2 of them with 1,090 points in the trash.
    """
    raw = read_source(DATA / "athens_trucks_w4m.tsv.gz").journeys
    released = read_source(DATA / "w4m_reference_trucks_k5.out.gz").journeys
    assert (len(raw), raw.n_visits, len(raw) - len(released)) == (276, 112_203, 2)
    assert raw.people is not None
    assert released.people is not None
    trash = [i for i, name in enumerate(raw.people) if name not in set(released.people)]
    assert int(np.diff(raw.starts)[trash].sum()) == 1_090
