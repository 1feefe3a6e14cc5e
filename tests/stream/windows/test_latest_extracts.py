"""The latest extract of each shard: of an earlier window only, and in bounded memory."""

from __future__ import annotations

import numpy as np

from core.records.record import Kind
from core.release.attacks.linked_places import VisitedPlaces
from core.windows.window import WindowKey
from stream.windows.latest_extracts import LatestExtracts


def extract(n: int = 3) -> VisitedPlaces:
    return VisitedPlaces.of([[i] for i in range(n)], [[("a",)]] * n, np.arange(n, dtype=np.uint64))


def key(number: int, shard: str = "all", kind: Kind = Kind.CHECKINS) -> WindowKey:
    return WindowKey(10 * number + 10, kind, shard, 10 * number)


def test_a_window_is_compared_with_an_earlier_one_of_its_shard() -> None:
    """
    Not with itself when it is released again, nor with another shard or kind, and not with nothing. After a gap there
    is no figure: nothing is promised of windows that do not follow one another.
    """
    latest, first = LatestExtracts(), extract()
    latest.keep(key(1), first)
    latest.keep(key(2), None)
    assert latest.before(key(2)) is first
    assert latest.before(key(7)) is None
    assert latest.before(key(1)) is None
    assert latest.before(key(0)) is None
    assert latest.before(key(2, "other")) is None
    assert latest.before(key(2, kind=Kind.FRAGMENTS)) is None


def test_memory_is_bounded() -> None:
    """
    Room for two extracts: of three shards, the one that was used longest ago is forgotten.
    """
    latest = LatestExtracts(most_bytes=2 * extract().n_bytes)
    for number, shard in ((0, "a"), (1, "b"), (2, "a"), (2, "b"), (2, "c")):
        latest.keep(key(number, shard), extract())
    assert [latest.before(key(3, shard)) is None for shard in "abc"] == [True, False, False]
