"""The arithmetic of ``shoal size``: it never contradicts itself, and gives back what was measured."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.models.registry import FAMILIES
from stream.cli.sizing.figures import FamilyFigures, FeedFigures, Figures, MeasuredRun, ModelFigures, WindowCost
from stream.cli.sizing.fleet import LARGEST_WINDOW, Fleet, Load, Measured, expected_s, size_fleet
from tests.budgets import examples

FIGURES = Figures.packaged()
SECONDS_OF_DAY = 86_400


def of_model(name: str) -> Measured:
    return Measured.of(name, FIGURES)


positive = st.floats(0.1, 1e4, allow_nan=False)

measured = st.builds(
    Measured,
    model=st.builds(
        ModelFigures,
        family=st.just("any"),
        cost=st.builds(
            WindowCost,
            factor=st.floats(1e-7, 1e-3),
            people=st.floats(0, 2),
            rows=st.floats(0.05, 2),
            error=st.just(1.0),
        ),
        windows=st.just([]),
        row_bytes=positive,
    ),
    family=st.builds(
        FamilyFigures,
        kind=st.just("checkins"),
        run=st.just(MeasuredRun(records=1, people=1, windows=1, worker_s=1, pool_s=1, broker_s=1)),
        worker_us=st.floats(1, 1000),
        process_mb=positive,
        release_bytes=positive,
        window_bytes=positive,
        seal_bytes=positive,
        roster_bytes=st.floats(0, 100),
    ),
    feed=st.builds(
        FeedFigures,
        records=st.just(1),
        worker_mb=positive,
        row_bytes=positive,
        input_bytes=positive,
        shard_bytes=positive,
        dead_letter_bytes=positive,
    ),
)

loads = st.builds(
    Load,
    records_per_s=st.floats(0.001, 1e6),
    people=st.integers(1, 10**8),
    window_s=st.floats(1, 10 * SECONDS_OF_DAY),
    lateness_s=st.floats(0, 3600),
    rejected=st.floats(0, 1),
    shards=st.none() | st.integers(1, 10_000),
    processes=st.integers(1, 16),
)


def growing(fleet: Fleet) -> dict[str, float]:
    """What must not fall when a feed of a given number of shards grows."""
    return {
        "cores": fleet.cores,
        "workers": fleet.workers,
        "partitions": fleet.partitions,
        "open rows": fleet.open_rows,
        "seconds": fleet.window_seconds,
        **asdict(fleet.topics),
    }


def fallen(before: dict[str, float], after: dict[str, float]) -> list[str]:
    return [name for name, value in before.items() if after[name] < value * (1 - 1e-9)]


@settings(max_examples=examples(200))
@given(load=loads, figures=measured)
def test_nothing_is_zero_and_every_worker_has_a_partition(load: Load, figures: Measured) -> None:
    """
    Workers, shards, memory and CPU of any feed are more than zero, and no worker is without a partition.
    """
    fleet = size_fleet(load, figures)
    assert fleet.workers >= 1
    assert fleet.partitions >= fleet.workers
    assert fleet.partitions & (fleet.partitions - 1) == 0
    assert fleet.shards >= 1
    assert fleet.cores > 0
    assert fleet.cores_a_worker > 0
    assert fleet.memory_mb > 0
    assert fleet.rows_a_worker > 0
    assert fleet.buffered_rows > fleet.rows_a_worker
    assert min(value for name, value in asdict(fleet.topics).items() if name not in _OF_SHARES) > 0


_OF_SHARES = {"shards", "anonymized", "dead_letters"}
"""Nothing, if all records are rejected or none is."""


@settings(max_examples=examples(200))
@given(load=loads, figures=measured, more=st.floats(1, 100), shards=st.integers(1, 10_000))
def test_a_larger_feed_needs_no_less(load: Load, figures: Measured, more: float, shards: int) -> None:
    """
    With a given number of shards, more records or more people never need fewer cores, workers, partitions, rows or
    bytes.
    """
    load = replace(load, shards=shards)
    small = growing(size_fleet(load, figures))
    assert fallen(small, growing(size_fleet(replace(load, records_per_s=load.records_per_s * more), figures))) == []
    assert fallen(small, growing(size_fleet(replace(load, people=round(load.people * more)), figures))) == []


@settings(max_examples=examples(200))
@given(load=loads, figures=measured, more=st.floats(1, 100), shards=st.integers(1, 10_000))
def test_a_longer_window_needs_no_less_memory(load: Load, figures: Measured, more: float, shards: int) -> None:
    """
    Longer windows, or more lateness, hold more rows, and a worker's memory rises as long as no worker joins. (Cores may
    fall: a longer window has the same people more often.)
    """
    load = replace(load, shards=shards)
    small = size_fleet(load, figures)
    for larger in (replace(load, window_s=load.window_s * more), replace(load, lateness_s=load.lateness_s * more)):
        fleet = size_fleet(larger, figures)
        assert fleet.open_rows >= small.open_rows * (1 - 1e-9)
        if fleet.workers == small.workers:
            assert fleet.memory_mb >= small.memory_mb


@settings(max_examples=examples(200))
@given(load=loads, figures=measured)
def test_as_many_shards_are_chosen_as_the_load_needs(load: Load, figures: Measured) -> None:
    """
    Windows are anonymized in time with the number of shards that is chosen, none is very large, and several workers
    have several shards each, unless windows cost nearly as much however small they are.
    """
    fleet = size_fleet(replace(load, shards=None), figures)
    assert fleet.is_in_time
    assert load.rows / fleet.shards <= LARGEST_WINDOW
    cost = figures.model.cost
    assert fleet.workers == 1 or fleet.shards >= 4 * fleet.workers or cost.people + cost.rows < 0.5


@settings(max_examples=examples(100))
@given(load=loads, figures=measured)
def test_more_rejected_records_leave_fewer_to_release(load: Load, figures: Measured) -> None:
    """
    Every record is either in the shards topic or a dead letter.
    """
    assume(load.rejected < 1)
    none, some = (size_fleet(replace(load, rejected=share), figures).topics for share in (0.0, load.rejected))
    assert some.shards == pytest.approx(none.shards * (1 - load.rejected))
    assert some.dead_letters == pytest.approx(
        load.records_per_s * SECONDS_OF_DAY * load.rejected * figures.feed.dead_letter_bytes
    )
    assert some.input == none.input


@pytest.mark.parametrize("name", FIGURES.models)
def test_a_measured_window_is_given_back(name: str) -> None:
    """
    The time of each window that was measured is that of the law, within the error that stands beside it.
    """
    figures = of_model(name)
    for window in figures.model.windows:
        load = Load(records_per_s=window.rows / 900, people=window.people, window_s=900, shards=1)
        ratio = size_fleet(load, figures).window_seconds / window.seconds
        assert 1 / figures.model.cost.error * 0.99 <= ratio <= figures.model.cost.error * 1.01


@pytest.mark.parametrize("name", FIGURES.families)
def test_a_measured_feed_is_given_back(name: str) -> None:
    """
    The CPU time of the worker is that of the run end to end; that of its pool, which is predicted from windows that
    were measured by themselves, is within a factor of two.
    """
    run = FIGURES.families[name].run
    worker_s, pool_s = expected_s(run, of_model(name))
    assert worker_s == pytest.approx(run.worker_s, rel=0.02)
    assert 0.5 <= pool_s / run.pool_s <= 2


@pytest.mark.parametrize("name", FIGURES.checks)
def test_a_feed_of_another_size_is_predicted(name: str) -> None:
    """
    The CPU time of a run of another size, which no figure comes from, is within a factor of two.
    """
    run = FIGURES.checks[name]
    assert 0.5 <= sum(expected_s(run, of_model(name))) / (run.worker_s + run.pool_s) <= 2


def test_every_model_has_figures() -> None:
    """
    No model is missing in the packaged figures, and each belongs to a family that ran end to end, of its kind of feed.
    """
    assert set(FIGURES.models) == {model for family in FAMILIES for model in family.models}
    for family in FAMILIES:
        for model in family.models:
            assert FIGURES.models[model].family == family.models[0]
            assert of_model(model).family.kind == family.kind.value
