"""A seeded feed of check-ins with what feeds have: dirt, repetitions, and records that come late."""

from __future__ import annotations

import json

import numpy as np

__all__ = ["SIZE_S", "START_S", "feed"]

SIZE_S = 900
START_S = 1_700_000_000 - 1_700_000_000 % SIZE_S

_DIRT = (b"", b"{", b"[1, 2]", b'{"user": "u1"}', b'{"user": "u1", "ts": 1, "lat": 91, "lon": 0}', b"\xff\xfe")


def feed(
    first: int, n_windows: int, *, people: int = 60, visits: int = 4, in_fragments: bool = False
) -> list[tuple[bytes, bytes]]:
    """Return key and value of the records of some windows, about in the order of their times.

    Args:
        first: Number of the first window; it seeds what is drawn.
        n_windows: How many windows.
        people: Who is there.
        visits: Visits of each in a window.
        in_fragments: Whether each visit is a fragment of one point.
    """
    rng = np.random.default_rng(first)
    found: list[tuple[bytes, bytes]] = []
    for window in range(first, first + n_windows):
        times = np.sort(rng.integers(0, SIZE_S, people * visits))
        users = rng.permutation(np.repeat(np.arange(people), visits))
        for t, user in zip(times.tolist(), users.tolist(), strict=True):
            late_s = int(rng.choice([0, 0, 0, 20, SIZE_S])) if rng.random() < 0.05 else 0
            row, column = rng.integers(0, 4, 2).tolist()
            at_s, lat, lon = START_S + window * SIZE_S + t - late_s, 48.2 + row / 100, 16.3 + column / 100
            where = {"points": [[at_s, lat, lon]]} if in_fragments else {"ts": at_s, "lat": lat, "lon": lon}
            ward = "surgery" if user % 6 == 0 else "none"
            value = json.dumps({"user": f"u{user}", **where, "ward": ward}).encode()
            key = b"u%d" % user
            found.append((key, value))
            if rng.random() < 0.03:
                found.append((key, value))  # sent again by its producer
            if rng.random() < 0.02:
                found.append((key, _DIRT[int(rng.integers(len(_DIRT)))]))
    return found
