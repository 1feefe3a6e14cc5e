"""The live page of a folder: it shows what a worker's page shows of the same releases, and reads files of any size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from core.places.locate import Area, AreaGrid, H3Cells, MetricGrid
from core.release.outcome import WithholdReason
from stream.windows.report import EmittedWindow
from stream.worker import replayed_windows
from stream.worker.recent_windows import MAPPED_TRAJECTORIES
from stream.worker.replayed_windows import ReplayedWindows, ViewError
from stream.worker.shapes import outline
from tests.builders.live_windows import live, many, sequences, told, tracks, withheld
from tests.builders.windows import VENUES


def folder_of(folder: Path, windows: Sequence[EmittedWindow]) -> Path:
    """A folder as a replay writes it."""
    for topic in ("anonymized", "windows"):
        lines = [one.value for window in windows for one in window.messages if one.topic == topic]
        (folder / f"{topic}.ndjson").write_bytes(b"".join(line + b"\n" for line in lines))
    return folder


def test_a_folder_is_shown_as_a_worker_shows_its_windows(tmp_path: Path) -> None:
    """
    The same figures, newest first, and the same shapes; only durations are not known.
    """
    windows = [told(sequences()), told(tracks()), renamed(told(withheld()), "e" * 16)]
    worker = live()
    for window in windows:
        worker.add(window)
    shown = ReplayedWindows(folder_of(tmp_path, windows), locators=[VENUES])
    expected = [msgspec.structs.replace(one, close_to_release_s=0.0, emitted="") for one in worker.windows()]
    assert shown.windows() == expected
    for one in expected:
        if one.kind == "checkins" and one.on_map:
            theirs = shown.shapes(one.release)
            assert theirs is not None
            assert len(theirs.regions) == theirs.n_regions
            assert all(region.cells for region in theirs.regions)
        elif one.on_map:
            assert shown.shapes(one.release) == worker.shapes(one.release)
    assert shown.shapes("0" * 16) is None
    assert shown.shapes("e" * 16) is None


def test_the_status_counts_windows_and_says_what_the_models_promise(tmp_path: Path) -> None:
    """
    As a worker does, with numbers in the promise; a refused window is told apart from a withheld one.
    """
    windows = [told(sequences()), told(withheld()), told(withheld(WithholdReason.VERIFICATION_FAILED))]
    windows[2] = renamed(windows[2], "f" * 16)
    status = ReplayedWindows(folder_of(tmp_path, windows)).status([])
    assert status.replay == tmp_path.name
    assert status.counts == {"released": 1, "withheld": 1, "refused": 1}
    assert {one.reason: one.windows for one in status.withheld} == {"too_few_people": 1, "verification_failed": 1}
    assert all(one.meaning for one in status.withheld)
    (feed,) = status.feeds
    assert (feed.kind, feed.model, feed.shard) == ("checkins", "seqanon", "1 shard")
    assert "up to 2 locations" in feed.promise
    assert "at least 3 people" in feed.promise
    assert status.ready


def renamed(window: EmittedWindow, release: str) -> EmittedWindow:
    """A window under another release."""
    (mark,) = window.messages
    return replace(
        window, messages=(mark._replace(value=json.dumps(json.loads(mark.value) | {"release": release}).encode()),)
    )


@pytest.mark.parametrize(
    ("name", "locator", "fits"),
    [
        ("r0c1", AreaGrid(Area(south=52.0, west=13.0, north=53.0, east=14.0), rows=2, columns=2), True),
        ("r0c1", AreaGrid(Area(south=48.0, west=13.0, north=49.0, east=14.0), rows=2, columns=2), False),
        ("r0c1", MetricGrid(500.0), False),
    ],
)
def test_cells_are_drawn_only_where_they_are(tmp_path: Path, name: str, locator: AreaGrid, fits: bool) -> None:
    """
    Outlines come from the settings; under other settings than those of the replay they would be in the wrong place, so
    the map shows centres alone.
    """
    write_places(tmp_path, [{"members": [name], "lat": 52.25, "lon": 13.75}])
    shown = ReplayedWindows(tmp_path, locators=[] if locator is None else [locator])
    assert (shown.locator is locator) is fits
    assert shown.n_locations == 1
    shapes = shown.shapes("0123456789abcdef")
    assert shapes is not None
    assert [len(region.cells) for region in shapes.regions] == [1 if fits else 0]


def test_cells_of_h3_need_no_settings(tmp_path: Path) -> None:
    """
    Their names say where they are.
    """
    name = "881f1d4885fffff"
    corners = outline(H3Cells(8), name)
    lat, lon = (sum(corner[i] for corner in corners) / len(corners) for i in (0, 1))
    write_places(tmp_path, [{"members": [name], "lat": round(lat, 6), "lon": round(lon, 6)}])
    shapes = ReplayedWindows(tmp_path, locators=[MetricGrid(500.0)]).shapes("0123456789abcdef")
    assert shapes is not None
    assert len(shapes.regions[0].cells) == 1


def write_places(folder: Path, places: list[dict[str, object]]) -> None:
    """A folder with one release that has these generalized locations, and a visit of each."""
    folder_of(folder, [told(sequences())])
    mark = json.loads((folder / "windows.ndjson").read_bytes())
    mark |= {"release": "0123456789abcdef", "locations": places, "trajectories": 1}
    (folder / "windows.ndjson").write_text(json.dumps(mark) + "\n")
    visits = {"release": "0123456789abcdef", "pseudonym": "p", "locations": [place["members"] for place in places]}
    (folder / "anonymized.ndjson").write_text(json.dumps(visits) + "\n")


def test_many_windows_take_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The last windows are shown, all are counted, and of a large release the first trajectories are drawn.
    """
    monkeypatch.setattr(replayed_windows, "SHOWN_WINDOWS", 5)
    windows = many(tracks(people=MAPPED_TRAJECTORIES + 50), 2) + many(sequences(), 7, first=2)
    shown = ReplayedWindows(folder_of(tmp_path, windows))
    assert shown.n_windows == 9
    assert [one.release for one in shown.windows()] == [w.messages[-1].key.decode() for w in windows[:3:-1]]
    folder_of(tmp_path, windows[:1])
    one = ReplayedWindows(tmp_path)
    shapes = one.shapes(windows[0].messages[-1].key.decode())
    assert shapes is not None
    assert len(shapes.trajectories) == MAPPED_TRAJECTORIES < shapes.n_trajectories
    monkeypatch.setattr(replayed_windows, "MAPPED_BYTES", 10_000)
    fewer = one.shapes(windows[0].messages[-1].key.decode())
    assert fewer is not None
    assert 0 < len(fewer.trajectories) < MAPPED_TRAJECTORIES
    assert fewer.trajectories == shapes.trajectories[: len(fewer.trajectories)]


def test_progress_goes_up_to_the_size_of_the_files(tmp_path: Path) -> None:
    """
    So that a bar ends where it should.
    """
    seen: list[int] = []
    folder = folder_of(tmp_path, many(sequences(), 4))
    ReplayedWindows(folder, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == ReplayedWindows.size(folder)


def test_without_trajectories_there_are_figures_and_no_map(tmp_path: Path) -> None:
    """
    Somebody may have only the windows.
    """
    folder_of(tmp_path, [told(sequences())])
    (tmp_path / "anonymized.ndjson").unlink()
    (one,) = ReplayedWindows(tmp_path).windows()
    assert one.people
    assert not one.on_map


def test_a_folder_without_windows_is_refused(tmp_path: Path) -> None:
    """
    The sentence says what to name instead.
    """
    with pytest.raises(ViewError, match=r"has no windows\.ndjson: name the folder that `shoal replay --output` wrote"):
        ReplayedWindows(tmp_path)


@pytest.mark.parametrize("topic", ["windows", "anonymized"])
@pytest.mark.parametrize("line", [b"{}", b"not json", b'{"release": 1}', b"\xff"])
def test_a_line_that_is_no_message_is_named_without_its_content(tmp_path: Path, topic: str, line: bytes) -> None:
    """
    By file and number.
    """
    file = folder_of(tmp_path, [told(sequences())]) / f"{topic}.ndjson"
    n = len(file.read_bytes().splitlines())
    file.write_bytes(file.read_bytes() + line + b"\n")
    with pytest.raises(ViewError, match=rf"{topic}\.ndjson, line {n + 1}, is not a message of a release") as fault:
        ReplayedWindows(tmp_path)
    assert "not json" not in str(fault.value)
