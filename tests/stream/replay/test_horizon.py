"""A replay of a promise that spans windows: the history is that of the files, and tables have what messages state."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet

from core.records.record import Kind
from stream.feeds.feed import Feed
from stream.replay.replay import Replay
from stream.settings.load import load_settings
from tests.builders.inputs import record_file

HOUR_S = 3600
SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment


def replayed(folder: Path, *, horizon: int, finest: int | None = None) -> Path:
    """Replay three windows of eight people at one place, of whom two carry a value and one stays away at times."""
    feed_file = folder / "feed.ndjson"
    lines = [
        {
            "user": f"u{user}",
            "ts": 1_700_000_000 // HOUR_S * HOUR_S + window * HOUR_S + user,
            "lat": 52.5,
            "lon": 13.4,
            "ward": "surgery" if user < 2 else None,
        }
        for window in range(3)
        for user in range(8)
        if (window, user) != (1, 0)
    ]
    feed_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given: dict[str, object] = {
        "privacy.secret": SECRET,
        "privacy.model": "lkc",
        "privacy.k": 2,
        "privacy.sensitive_field": "ward",
        "privacy.sensitive_values": "surgery",
        "privacy.horizon": horizon,
        "window.size": "1h",
    }
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
    assert (summary.windows_refused, summary.windows_released) == (0, 3)
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


def test_regions_of_a_window_share_their_history(tmp_path: Path) -> None:
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
