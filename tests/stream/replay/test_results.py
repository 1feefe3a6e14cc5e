"""The files of a replay in every format: third-party programs read them, and they hold what the messages state."""

from __future__ import annotations

import csv
import json
import warnings
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from core.models.registry import models_of
from core.records.record import Kind
from docs.extensions.replays import replayed
from stream.formats.files.record_file import FileFormatError
from stream.formats.release.avro import from_avro
from stream.formats.release.encoding import ReleaseEncoding, positions_of
from stream.formats.release.encodings import has_points, needs_points
from stream.formats.release.geojson import GEOJSON, read_collection
from stream.formats.release.messages import OutMessage
from stream.formats.release.mf_json import MF_JSON
from stream.replay.results.formats import FORMATS, open_results
from stream.replay.results.part_files import PartFiles
from stream.replay.results.results import WindowMessages
from stream.replay.stored.stored_release import StoredRelease

MODELS = [model for kind in Kind for model in models_of(kind)]
MOVING = [model for model in MODELS if has_points(model)]
Rows = list[dict[str, Any]]


def windows_of(model: str) -> list[WindowMessages]:
    """A released window and a withheld one, as a replay hands them over."""
    messages = replayed(model)
    released = [OutMessage("anonymized", b"", json.dumps(one).encode(), 0) for one in messages.anonymized]
    marks = [OutMessage("windows", b"", json.dumps(one).encode(), 0) for one in messages.windows]
    return [WindowMessages([*released, marks[0]]), WindowMessages([marks[1]])]


def written(folder: Path, model: str, formats: Iterable[str]) -> Path:
    """A folder with the two windows in some formats."""
    with PartFiles(folder) as files:
        results = open_results(list(formats), files, model)
        for window in windows_of(model):
            for one in results:
                one.add(window)
        for one in results:
            one.finish()
        files.complete()
    return folder


def parquet_rows(file: Path) -> Rows:
    rows: Rows = pq.read_table(file).to_pylist()
    return rows


def csv_rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def rebuilt(rows: Rows) -> dict[Any, Any]:
    """The contents of messages, without their heads, from their flat rows."""
    messages: dict[Any, Any] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if "group" in row:
            place = tuple(
                row[name] for name in ("chunk_kind", "cluster", "cluster_end", "people", "chunk", "subrecord")
            )
            messages[row["group"]][place].append(row["members"][0])
            continue
        if "origin" in row:
            flow = {name: row[name] for name in ("people", "trips") if row[name] is not None}
            messages[row["origin"], row["destination"]] = flow
            continue
        message = messages[row["trajectory"]]
        if "time" in row:
            message["points"].append([row["time"].isoformat(), row["lat"], row["lon"]])
        elif "slot" in row:
            message["visits"].append([row["slot"], row["members"][0]])
            stated = "sensitive" if row["one_of"] is None else "one_of"
            message[stated] = row[stated]
        elif row["seq"] is not None:
            message["sensitive" if row.get("sensitive") else "locations"].append(row["members"])
        for name, value in row.items():
            if name.startswith("attribute_"):
                message[name] = value
    return {whose: dict(message) for whose, message in messages.items()}


def expected(contents: Rows) -> dict[Any, Any]:
    """The same from the messages themselves."""
    if "clusters" in contents[0]:
        return {number: chunks(content) for number, content in enumerate(contents)}
    if "origin" in contents[0]:
        return {
            (content["origin"], content["destination"]): {
                name: content[name] for name in ("people", "trips") if name in content
            }
            for content in contents
        }
    return {content["pseudonym"]: fields(content) for content in contents}


def chunks(content: dict[str, Any]) -> dict[Any, Any]:
    """The locations of a group by where they stand."""
    found: dict[Any, Any] = {}
    for i, cluster in enumerate(content["clusters"]):
        for j, chunk in enumerate(cluster["record_chunks"]):
            found |= {("record", i, i + 1, cluster["size"], j, n): names for n, names in enumerate(chunk)}
        if cluster["term_chunk"]:
            found["term", i, i + 1, cluster["size"], 0, 0] = cluster["term_chunk"]
    for joint in content["joint_clusters"]:
        for j, chunk in enumerate(joint["shared_chunks"]):
            found |= {("shared", joint["first"], joint["end"], None, j, n): names for n, names in enumerate(chunk)}
    return found


def fields(content: dict[str, Any]) -> dict[Any, Any]:
    """What a message of a person states, with a name for each attribute."""
    message: dict[Any, Any] = {}
    if "points" in content:
        message["points"] = [[time.replace("Z", "+00:00"), lat, lon] for time, lat, lon in content["points"]]
    elif "visits" in content:
        stated = "one_of" if "one_of" in content else "sensitive"
        message = {"visits": content["visits"], stated: content[stated]}
    else:
        message = {"locations": content["locations"]} if content["locations"] else {}
        if "sensitive" in content:
            message["sensitive"] = [[name] for name in content["sensitive"]]
    for name, value in content.get("attributes", {}).items():
        if isinstance(value, str):
            message[f"attribute_{name}"] = value
        else:
            message[f"attribute_{name}_least"], message[f"attribute_{name}_most"] = value
    return message


@pytest.mark.parametrize("model", MODELS)
def test_the_rows_of_a_table_are_the_messages(tmp_path: Path, model: str) -> None:
    """
    From the rows of Parquet every message can be built again, and from those of the windows their figures.
    """
    folder = written(tmp_path, model, ["parquet"])
    messages = replayed(model)
    rows = parquet_rows(folder / "anonymized.parquet")
    assert rebuilt(rows) == expected(messages.anonymized)
    assert len({row["release"] for row in rows}) == 1
    windows = parquet_rows(folder / "windows.parquet")
    assert len(windows) == len(messages.windows)
    for row, content in zip(windows, messages.windows, strict=True):
        assert [row["window_start"].isoformat(), row["window_end"].isoformat()] == [
            time.replace("Z", "+00:00") for time in content["window"]
        ]
        for name in ("release", "shard", "kind", "model", "outcome", "verified", "people", "smallest_support"):
            assert row[name] == content.get(name), name
        assert json.loads(row["parameters"]) == content["parameters"]
        assert json.loads(row["versions"]) == content["versions"]
        for name, value in content.get("information_loss", {}).items():
            assert row[f"loss_{name}"] == value
        assert row["k"] == content["parameters"]["k"]
    if has_points(model):
        assert not (folder / "locations.parquet").exists()
    else:
        places = parquet_rows(folder / "locations.parquet")
        assert [
            {"members": row["members"], "lat": row["lat"], "lon": row["lon"]}
            | ({"sensitive": True} if row["sensitive"] else {})
            | ({} if row["radius_m"] is None else {"radius_m": row["radius_m"]})
            for row in places
        ] == messages.windows[0]["locations"]


@pytest.mark.parametrize("model", MODELS)
def test_csv_has_the_rows_of_parquet(tmp_path: Path, model: str) -> None:
    """
    The same columns and rows; numbers and times as text, lists as JSON, and nothing where a value is missing.
    """
    folder = written(tmp_path, model, ["csv", "parquet"])
    for file in sorted(folder.glob("*.csv")):
        table = pq.read_table(file.with_suffix(".parquet"))
        names = [name for name in table.column_names if name != "geometry"]
        rows = csv_rows(file)
        assert list(rows[0]) == names
        assert len(rows) == table.num_rows
        for given, row in zip(rows, table.to_pylist(), strict=True):
            for name in names:
                assert is_written_as(row[name], given[name]), name


def is_written_as(value: Any, text: str) -> bool:
    if isinstance(value, float):
        return float(text) == value
    if isinstance(value, datetime):
        return datetime.fromisoformat(text) == value
    if isinstance(value, list):
        return bool(json.loads(text) == value)
    return text == ("" if value is None else str(value).lower() if isinstance(value, bool) else str(value))


@pytest.mark.parametrize("model", MODELS)
def test_geopandas_reads_the_geometries(tmp_path: Path, model: str) -> None:
    """
    GeoParquet gives a frame in degrees whose points are those of the columns; GeoJSON a feature for each message.
    """
    geopandas = pytest.importorskip("geopandas")
    folder = written(tmp_path, model, ["parquet", "geojson"])
    for table in ["anonymized"] + ([] if has_points(model) else ["locations"]):
        frame = geopandas.read_parquet(folder / f"{table}.parquet")
        assert frame.crs.equals("OGC:CRS84")
        placed = frame[frame["lat"].notna()]
        assert len(placed)
        assert placed.geometry.x.tolist() == placed["lon"].tolist()
        assert placed.geometry.y.tolist() == placed["lat"].tolist()
        assert frame[frame["lat"].isna()].geometry.isna().all()
    messages = replayed(model)
    frame = geopandas.read_file(folder / "anonymized.geojson")
    assert len(frame) == len(messages.anonymized)
    assert set(frame.geom_type.dropna()) <= {"LineString", "Point", "MultiPoint"}
    places = geopandas.read_file(folder / "windows.geojson")
    assert len(places[places.geometry.notna()]) == len(messages.windows[0].get("locations", []))
    assert places[places.geometry.isna()]["outcome"].tolist() == ["released", "withheld"]


@pytest.mark.parametrize("model", MOVING)
def test_movingpandas_reads_moving_features(tmp_path: Path, model: str) -> None:
    """
    Every trajectory with its times and positions, by its pseudonym.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        movingpandas = pytest.importorskip("movingpandas")
        folder = written(tmp_path, model, ["mf-json"])
        read = movingpandas.read_mf_json(folder / "anonymized.mfjson", traj_id_property="pseudonym")
    contents = {content["pseudonym"]: content["points"] for content in replayed(model).anonymized}
    assert {trajectory.id for trajectory in read.trajectories} == set(contents)
    for trajectory in read.trajectories:
        points = contents[trajectory.id]
        frame = trajectory.df
        assert list(zip(frame.geometry.y, frame.geometry.x, strict=True)) == [(lat, lon) for _, lat, lon in points]
        # movingpandas reads times without their zone, which is UTC
        assert [moment.isoformat() for moment in frame.index] == [time.removesuffix("Z") for time, _, _ in points]


@pytest.mark.parametrize("model", MODELS)
def test_avro_files_hold_the_messages(tmp_path: Path, model: str) -> None:
    """
    A container file has its schema within, and each message in its order.
    """
    folder = written(tmp_path, model, ["avro"])
    messages = replayed(model)
    for topic, contents in (("anonymized", messages.anonymized), ("windows", messages.windows)):
        with (folder / f"{topic}.avro").open("rb") as file:
            assert [from_avro(record) for record in fastavro.reader(file)] == contents


def test_every_format_can_be_written_at_once_and_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    """
    Formats do not disturb one another, and a file depends on the release alone.
    """
    first, second = (written(tmp_path / name, "w4m", FORMATS) for name in ("first", "second"))
    names = sorted(file.name for file in first.iterdir())
    assert names == [
        *("anonymized.avro", "anonymized.csv", "anonymized.geojson", "anonymized.mfjson", "anonymized.ndjson"),
        *("anonymized.parquet", "windows.avro", "windows.csv", "windows.geojson", "windows.ndjson", "windows.parquet"),
    ]
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    collection = json.loads((first / "windows.geojson").read_bytes())
    assert [feature["properties"]["outcome"] for feature in collection["features"]] == ["released", "withheld"]
    lines = (first / "windows.ndjson").read_bytes().splitlines()
    assert [read_collection({"features": []} | json.loads(line)) for line in lines] == replayed("w4m").windows


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_of_nothing_is_a_file_all_the_same(tmp_path: Path, name: str) -> None:
    """
    A replay without a window has files with a header, a schema or an empty collection, which programs read.
    """
    with PartFiles(tmp_path) as files:
        for one in open_results([name], files, "w4m"):
            one.finish()
        files.complete()
    for file in tmp_path.iterdir():
        if file.suffix in (".geojson", ".mfjson"):
            assert json.loads(file.read_bytes())["features"] == []
        elif file.suffix == ".parquet":
            assert pq.read_table(file).num_rows == 0
        elif file.suffix == ".csv":
            assert csv_rows(file) == []
        elif file.suffix == ".avro":
            with file.open("rb") as content:
                assert list(fastavro.reader(content)) == []
        else:
            assert file.read_bytes() == b""
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_has_its_final_name_only_when_it_is_complete(tmp_path: Path, name: str) -> None:
    """
    Where the end was not reached there are parts, and nothing that could be taken for a result.
    """
    with PartFiles(tmp_path) as files:
        (first, *_) = open_results([name], files, "w4m")
        first.add(windows_of("w4m")[0])
    assert {file.suffix for file in tmp_path.iterdir()} == {".part"}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("model", MODELS)
def test_every_format_is_read_back_as_the_messages(tmp_path: Path, model: str, name: str) -> None:
    """
    Windows and trajectories are what the messages state, in their order. Tables do not say the version of the schema,
    and leave a figure out that is null.
    """
    if needs_points(name, model):
        return
    stored = StoredRelease.find(written(tmp_path, model, [name]))
    assert stored is not None
    messages = replayed(model)
    as_told = in_tables if name in ("csv", "parquet") else dict[str, Any]
    assert list(stored.windows()) == [as_told(one) for one in messages.windows]
    assert list(stored.trajectories()) == [as_told(one) for one in messages.anonymized]


def in_tables(content: dict[str, Any]) -> dict[str, Any]:
    """What rows state of a message."""
    told = {name: value for name, value in content.items() if name != "schema"}
    if "information_loss" in told:
        told["information_loss"] = {
            name: value for name, value in told["information_loss"].items() if value is not None
        }
    return told


@pytest.mark.parametrize("encoding", [GEOJSON, MF_JSON], ids=lambda encoding: encoding.name)
def test_messages_kept_from_the_topics_are_read(tmp_path: Path, encoding: ReleaseEncoding) -> None:
    """
    One message on each line, in the encodings of JSON that a worker writes.
    """
    messages = replayed("w4m")
    positions = positions_of(messages.windows[0])
    lines = {
        "anonymized": [encoding.trajectory(one, positions) for one in messages.anonymized],
        "windows": [encoding.window(one) for one in messages.windows],
    }
    for topic, values in lines.items():
        (tmp_path / f"{topic}.ndjson").write_bytes(b"".join(value + b"\n" for value in values))
    stored = StoredRelease.find(tmp_path / "anonymized.ndjson")
    assert stored is not None
    assert list(stored.trajectories()) == messages.anonymized
    assert list(stored.windows()) == messages.windows


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_something_else_is_refused(tmp_path: Path, name: str) -> None:
    """
    The sentence names the file and the message, and repeats nothing of it.
    """
    folder = written(tmp_path, "w4m", [name])
    for file in folder.glob("anonymized.*"):
        file.write_bytes(b'release,"secret\n{')
    stored = StoredRelease.find(folder)
    assert stored is not None
    with pytest.raises(FileFormatError, match="message 1 is no message of a release"):
        list(stored.trajectories())
