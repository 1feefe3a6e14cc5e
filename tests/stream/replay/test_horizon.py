"""A replay of a promise that spans windows: the history is that of the files, and tables have what messages state."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

import pyarrow.parquet
import pytest

from core.records.record import Kind
from stream.feeds.feed import Feed
from stream.replay.replay import Replay
from stream.settings.load import load_settings
from tests.builders.inputs import record_file

HOUR_S = 3600
Told = Mapping[str, object]
SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment


def replayed(folder: Path, *, horizon: int, finest: int | None = None) -> Path:
    """Replay three windows of eight people at one place, of whom two carry a value and one stays away at times."""
    given: dict[str, object] = {
        "privacy.model": "lkc",
        "privacy.sensitive_field": "ward",
        "privacy.sensitive_values": "surgery",
    }
    people = {user: {"ward": "surgery" if user < 2 else None} for user in range(8)}
    others = {user: told for user, told in people.items() if user > 0}
    return _replayed(folder, [people, others, people], given, horizon=horizon, finest=finest)


def _replayed(
    folder: Path,
    windows: Sequence[Mapping[int, Told]],
    given: dict[str, object],
    *,
    horizon: int,
    finest: int | None,
    all_released: bool = True,
) -> Path:
    """Replay windows of people at one place, if records tell no other, of whom records tell something."""
    feed_file = folder / "feed.ndjson"
    lines = [
        {
            "user": f"u{user}",
            "ts": 1_700_000_000 // HOUR_S * HOUR_S + window * HOUR_S + user,
            "lat": 52.5,
            "lon": 13.4,
            **told,
        }
        for window, people in enumerate(windows)
        for user, told in people.items()
    ]
    feed_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given |= {"privacy.secret": SECRET, "privacy.k": 2, "privacy.horizon": horizon, "window.size": "1h"}
    if finest is not None:
        given |= {"shard.kind": "region", "shard.h3_resolution": 4, "shard.finest_resolution": finest}
    settings = load_settings(given=given)
    feed = Feed(settings, Kind.CHECKINS, secret=SECRET)
    file = record_file(feed_file, Kind.CHECKINS, settings.fields.model_dump(), attributes=feed.attributes)
    try:
        output = folder / "out"
        replay = Replay(feed, [file], now_ms=1_900_000_000_000, max_bytes=10**6)
        summary = replay.run(output, formats=("ndjson", "csv", "parquet"))
    finally:
        file.close()
    assert summary.windows_refused == 0
    assert (summary.windows_released == len(windows)) == all_released
    return output


def numbers(output: Path) -> list[int]:
    """How many people of each window have a signature."""
    counts: dict[str, int] = {}
    for line in (output / "anonymized.ndjson").read_text().splitlines():
        one = json.loads(line)
        counts[one["release"]] = counts.get(one["release"], 0) + bool(one["one_of"])
    return list(counts.values())


def test_a_replay_remembers_who_had_which_signature(tmp_path: Path) -> None:
    """
    One carrier stays away in the second window: a person who serves is left out, and back in the third.
    """
    assert numbers(replayed(tmp_path, horizon=3)) == [4, 2, 4]


def test_cells_of_a_window_share_their_history(tmp_path: Path) -> None:
    """
    The same where windows are divided.
    """
    assert numbers(replayed(tmp_path, horizon=3, finest=6)) == [4, 2, 4]


def test_tables_have_the_entries_of_signatures(tmp_path: Path) -> None:
    """
    In CSV as JSON, in Parquet as lists with null for no sensitive value.
    """
    output = replayed(tmp_path, horizon=2)
    with (output / "anonymized.csv").open(newline="") as lines:
        assert {row["one_of"] for row in csv.DictReader(lines)} == {'["surgery",null]', "[]"}
    (file,) = output.glob("anonymized*.parquet")
    table = pyarrow.parquet.read_table(file)
    assert {tuple(its) for its in table.column("one_of").to_pylist()} == {("surgery", None), ()}
    assert set(table.column("sensitive").to_pylist()) == {None}


@pytest.mark.parametrize("finest", [None, 6])
@pytest.mark.parametrize(("horizon", "people"), [(1, [4, 2, 2]), (2, [4, 0, 2]), (3, [4, 0, 0])])
def test_a_replay_remembers_the_sequences_of_earlier_windows(
    horizon: int, people: list[int], finest: int | None, tmp_path: Path
) -> None:
    """
    Of four people at a place, two in each later window come back, alone from their place; also in cells.
    """
    given: dict[str, object] = {"privacy.model": "seqanon", "location.cell_m": 1000}
    north, south = {"lat": 52.5}, {"lat": 52.52}
    windows = [{0: north, 1: north, 2: south, 3: south}, {0: south, 2: south}, {1: south, 3: south}]
    output = _replayed(tmp_path, windows, given, horizon=horizon, finest=finest, all_released=horizon == 1)
    releases = [json.loads(line)["release"] for line in (output / "anonymized.ndjson").read_text().splitlines()]
    assert [len(list(same)) for _, same in groupby(releases)] == [n for n in people if n]


@pytest.mark.parametrize("finest", [None, 6])
@pytest.mark.parametrize(("horizon", "ages"), [(1, [21, 23]), (2, [20, 23]), (3, [20, 23])])
def test_a_replay_remembers_the_attributes_that_people_were_released_with(
    horizon: int, ages: list[int], finest: int | None, tmp_path: Path
) -> None:
    """
    20 and 21 in the first window, 21 and 23 in the second: with a horizon the second begins at 20; also in cells.
    """
    given: dict[str, object] = {"privacy.model": "tum-bound", "privacy.attributes": {"age": "18..90"}}
    windows = [{0: {"age": 20}, 1: {"age": 21}}, {1: {"age": 21}, 2: {"age": 23}}]
    output = _replayed(tmp_path, windows, given, horizon=horizon, finest=finest)
    shown = [json.loads(line)["attributes"]["age"] for line in (output / "anonymized.ndjson").read_text().splitlines()]
    assert shown == [[20, 21], [20, 21], ages, ages]
