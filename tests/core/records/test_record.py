"""Records: what is printed of them shows nobody's whereabouts."""

from __future__ import annotations

import numpy as np
import pytest

from core.records.record import POINT, ROW_TYPES, VISIT, CheckIn, Chunk, Fragment, Kind
from tests.builders.windows import (
    SECRET,
    SOURCE,
    USER_KEY,
    checkin,
    fragment,
    point_plan,
    rules,
    sequence_plan,
    told,
    visits,
)

CONTENT = ["Mallory", "1795813", "52.5", "13.4", "Bakery", "Food", "2026"]


@pytest.mark.parametrize(
    "record",
    [
        checkin(user="Mallory", venue="Bakery", category="Food"),
        checkin(user="Mallory", lat=None, lon=None),
        told("Bakery", "Food", 52.5, user="Mallory"),
        fragment(user="Mallory", k=7, delta_m=52.5),
    ],
)
@pytest.mark.parametrize("show", [repr, str, "{}".format, "{0!r:>300}".format, lambda record: repr([record])])
def test_a_record_prints_without_its_content(record: CheckIn | Fragment, show: object) -> None:
    """
    However a record gets into a log line, no user, time, position or venue goes with it.
    """
    assert callable(show)
    text = show(record)
    assert type(record).__name__ in text
    assert not [word for word in CONTENT if word in text]


def test_a_fragment_prints_only_how_long_it_is() -> None:
    """
    The number of points is what one needs to see that a fragment is odd.
    """
    assert repr(fragment(user="Mallory")) == "Fragment(<2 points>)"


def test_a_chunk_prints_without_its_rows() -> None:
    """
    A chunk tells where it comes from; its rows, hashes of users among them, stay out.
    """
    rows = visits((1, 0, 3))
    chunk = Chunk(kind=Kind.CHECKINS, shard="all", source=SOURCE, n_partitions=1, vocabulary="v", rows=rows)
    assert "rows" not in repr(chunk)
    assert str(rows["user"][0]) not in repr(chunk)
    assert "checkins" in repr(chunk)


@pytest.mark.parametrize("holder", [rules(), sequence_plan(), point_plan()])
def test_what_holds_a_secret_prints_without_it(holder: object) -> None:
    """
    Rules and plans are printed by error reports; their keys are not.
    """
    assert USER_KEY.decode() not in repr(holder)
    assert SECRET.decode() not in repr(holder)


def test_rows_have_the_size_the_buffers_are_planned_with() -> None:
    """
    A buffered check-in costs 36 bytes and a point 48, on every machine.
    """
    assert ROW_TYPES == {Kind.CHECKINS: VISIT, Kind.FRAGMENTS: POINT, Kind.STOPS: POINT}
    assert (VISIT.itemsize, POINT.itemsize) == (36, 48)
    assert all(kind.newbyteorder("<") == kind for kind in (VISIT, POINT))
    assert np.dtype(VISIT["user"]) == np.uint64
