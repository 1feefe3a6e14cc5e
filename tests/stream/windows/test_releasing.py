"""Releasing a sealed window, whole or by its cells, and linking it to the one before: what fails stops nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.models.common.noise import LaplaceNoise
from core.places.shard_cells import ShardCells
from core.windows.draw import Draw
from stream.formats.release.result import WindowResult
from stream.windows import releasing
from stream.windows.releasing import link, release_parts
from tests.builders.windows import START_MS, flow_plan, point_plan, points, seal_of, sequence_plan, visits

ROWS = visits(*((user, START_MS + user, 0) for user in range(9)))


def test_a_window_that_cannot_be_divided_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With an alarm that names the fault and no data, as one that cannot be anonymized.
    """

    def fail(*_: object, **__: object) -> None:
        raise ValueError("48.2, 16.4 is in no cell")

    monkeypatch.setattr(ShardCells, "divide", fail)
    plan = sequence_plan(k=3, shard_cells=ShardCells(finest=6, coarsest=3))
    ((rows, result),) = release_parts(seal_of(ROWS, plan), ROWS, plan, max_bytes=2**20)
    assert rows is ROWS
    assert (result.outcome, result.facts["reason"], result.account.withheld) == ("withheld", "anonymizer_failed", 9)
    assert "the anonymizer failed: ValueError at " in str(result.alarm)
    assert "48.2" not in str(result.alarm)


PLAN = sequence_plan(k=3)


def released(n: int = 9) -> list[WindowResult]:
    """The results of a window in which ``n`` people visit one place."""
    rows = visits(*((user, START_MS + user, 0) for user in range(n)))
    return [result for _, result in release_parts(seal_of(rows, PLAN), rows, PLAN, max_bytes=2**20)]


def test_a_release_is_linked_to_the_one_before() -> None:
    """
    The first release has nothing before it. In the second one everybody looks alike: one of nine.
    """
    seal = seal_of(ROWS, PLAN)
    first, extract = link(seal, released(), PLAN, None)
    assert first[0].linkage is None
    assert first[0].extract is None
    again, _ = link(seal, released(), PLAN, extract)
    assert again[0].linkage is not None
    assert again[0].linkage.mean == pytest.approx(1 / 9)
    assert (again[0].linkage.people, again[0].linkage.stayed) == (9, 9)


def test_a_window_without_a_release_has_no_extract() -> None:
    """
    Fewer than k people: withheld, so that the next release is compared with an earlier one.
    """
    results, extract = link(seal_of(ROWS, PLAN), released(2), PLAN, None)
    assert (results[0].outcome, extract) == ("withheld", None)


def test_cells_are_linked_together() -> None:
    """
    Two cells of three people are one window: the first released one has the figure, for all six.
    """
    _, before = link(seal_of(ROWS, PLAN), released(6), PLAN, None)
    results, extract = link(seal_of(ROWS, PLAN), [*released(2), *released(3), *released(3)], PLAN, before)
    assert extract is not None
    assert len(extract.units) == 6
    assert [one.linkage is not None for one in results] == [False, True, False]


def test_the_only_set_of_a_window_is_not_followed() -> None:
    """
    Whoever knows that somebody is released there knows the set: a linkage of 1 would be no news, and no alarm.
    """
    rows = points(*((user, at_s, 48.0, 16.0) for user in range(5) for at_s in (0, 60)))
    plan = point_plan(k=5)
    results = list(release_parts(seal_of(rows, plan), rows, plan, max_bytes=2**20))
    _, extract = link(seal_of(rows, plan), [result for _, result in results], plan, None)
    assert extract is not None
    again, _ = link(seal_of(rows, plan), [result for _, result in results], plan, extract)
    assert (again[0].outcome, again[0].linkage) == ("released", None)


def test_a_metric_that_fails_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The release leaves all the same, with an alarm that contains no data.
    """

    def fail(*_: object, **__: object) -> None:
        raise ValueError("user 7 at 48.2, 16.4")

    _, before = link(seal_of(ROWS, PLAN), released(), PLAN, None)
    monkeypatch.setattr(releasing, "linkage_risk", fail)
    results, extract = link(seal_of(ROWS, PLAN), released(), PLAN, before)
    assert (results[0].outcome, results[0].linkage) == ("released", None)
    assert extract is not None
    assert "the attack over windows failed: ValueError at " in str(results[0].alarm)
    assert "48.2" not in str(results[0].alarm)


def test_noise_is_drawn_once_and_then_given() -> None:
    """
    A release draws if nothing was drawn before, and says what; given that, another one has the same bytes.
    """
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    noise = LaplaceNoise(epsilon=1.0, delta=1e-6, most_counts=2)
    plan = replace(flow_plan(k=2), noise=noise)
    rows = visits(*((user, at, place) for user in range(300) for at, place in enumerate((0, 1))))
    seal = seal_of(rows, plan)
    drawn = [next(iter(release_parts(seal, rows, plan, max_bytes=2**20)))[1] for _ in range(20)]
    assert len({result.messages for result in drawn}) > 1
    for result in drawn:
        assert result.noisy is not None
        draw = Draw(key=seal.key, tables={seal.shard: result.noisy}, writer="w")
        ((_, again),) = release_parts(seal, rows, plan, max_bytes=2**20, draw=draw)
        assert again.messages == result.messages
    ((_, nothing),) = release_parts(seal, rows, plan, max_bytes=2**20, draw=Draw(key=seal.key, tables={}, writer="w"))
    assert (nothing.outcome, nothing.noisy) == ("withheld", {})
