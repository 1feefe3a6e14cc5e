"""A crowd that checks in, what a replay releases of it, and what the topics must come to hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from core.records.record import Kind
from core.windows.window import Window
from tests.cluster.workers import Place, Worker, replay, wait_until

__all__ = [
    "ONE_SHARD",
    "SETTINGS",
    "SIZE_S",
    "START_S",
    "WITHIN_S",
    "Messages",
    "assert_all_is_released_in_one_way",
    "crowd",
    "expected",
    "wait_for_windows",
    "window",
]

WITHIN_S = 240.0
SIZE_S = 900
START_S = 1_700_000_000 - 1_700_000_000 % SIZE_S

Messages = list[tuple[bytes, bytes]]

# With cohorts there is work on every partition.
SETTINGS = {
    "topics.fragments": "",
    "window.size": "15m",
    "window.allowed_lateness": "0s",
    "shard.kind": "user",
    "shard.cohorts": "4",
    "location.cell_m": "500",
    "privacy.m": "3",
}

# In one shard of one partition everything has an order.
ONE_SHARD = SETTINGS | {"shard.kind": "single", "kafka.partitions": "1", "window.idle_timeout": "3s"}


def window(n: int) -> Window:
    """Return the n-th window of a crowd, from 0."""
    start_ms = (START_S + n * SIZE_S) * 1000
    return Window(start_ms, start_ms + SIZE_S * 1000)


def crowd(first: int, n_windows: int, *, people: int | Sequence[int] = 120, visits: int = 8) -> Messages:
    """Check-ins of a crowd, so many people or these, over some windows, in the order of their times."""
    generator = np.random.default_rng(first)
    numbers = np.arange(people) if isinstance(people, int) else np.array(people)
    found: Messages = []
    for n in range(first, first + n_windows):
        times = np.sort(generator.integers(0, SIZE_S, len(numbers) * visits))
        users = generator.permutation(np.repeat(numbers, visits))
        places = generator.integers(0, 6, (len(numbers) * visits, 2))
        for t, user, (row, column) in zip(times.tolist(), users.tolist(), places.tolist(), strict=True):
            record: dict[str, object] = {
                "user": f"u{user}",
                "ts": START_S + n * SIZE_S + t,
                "lat": 48.2 + row / 100,
                "lon": 16.3 + column / 100,
            }
            found.append((b"u%d" % user, json.dumps(record).encode()))
    return found


def expected(place: Place, messages: Messages, folder: Path) -> dict[str, dict[bytes, bytes]]:
    """What a replay of the messages releases."""
    file = folder / "feed.ndjson"
    file.write_bytes(b"".join(value + b"\n" for _, value in messages))
    summary, found = replay(place, Kind.CHECKINS, [file], folder / "replay")
    assert summary.late == 0
    assert summary.windows_released > 0
    return found


def wait_for_windows(place: Place, worker: Worker, n: int) -> None:
    """Wait for messages on the windows topic."""
    wait_until(
        lambda: len(place.windows()) >= n,
        within_s=WITHIN_S,
        what=lambda: f"{len(place.windows())} of {n} windows; its log:\n{worker.log[-3000:]}",
        every_s=1.0,
    )


def assert_all_is_released_in_one_way(
    place: Place, workers: Sequence[Worker], wanted: dict[str, dict[bytes, bytes]]
) -> None:
    """The topics come to hold what a replay gives, under each key one content."""

    def logs() -> str:
        n = len(place.outputs()["windows"])
        return f"{n} of {len(wanted['windows'])} windows; logs:\n" + "\n----\n".join(w.log[-3000:] for w in workers)

    wait_until(
        lambda: place.outputs()["windows"].keys() >= wanted["windows"].keys(), within_s=WITHIN_S, what=logs, every_s=1.0
    )
    released = place.released()
    for topic, values in wanted.items():
        more, less = released[topic].keys() - values.keys(), values.keys() - released[topic].keys()
        assert not more | less, f"{topic}: {len(more)} that a replay does not give, {len(less)} missing; {logs()}"
        assert released[topic] == values
