"""Metrics: what is declared is documented, labels are closed sets, and a window tells what it promised and gave."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from core.records.record import Kind
from core.release.attacks.linkage import LinkageRisk
from core.release.attacks.risk import Attack, Risk
from core.release.outcome import Account
from stream.formats.release.result import WindowResult
from stream.observe.metrics import LABELS, Metrics
from tests.builders.windows import seal_of, sequence_plan, visits


@pytest.fixture
def metrics() -> Metrics:
    metrics = Metrics(CollectorRegistry())
    for kind in Kind:
        metrics.expect(kind, model="a model", shard_kind="single", required_k=5)
    return metrics


def result(outcome: str = "released", **facts: float | int | str | None) -> WindowResult:
    return WindowResult(
        seal=seal_of(visits(), sequence_plan()),
        messages=(),
        account=Account(),
        seconds=0.1,
        outcome=outcome,
        facts={"smallest_support": 5, "people": 20, "trajectories": 21, "points_released": 40, "distance_m": 7.5}
        | facts,
        risks={
            Attack.PLACES: Risk(highest=0.2, mean=0.1, people=20),
            Attack.TIMES: Risk(highest=0.5, mean=0.3, people=20),
        },
    )


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"shoal_{name}", labels)


def test_points_and_the_stops_found_in_them_are_counted_apart(metrics: Metrics) -> None:
    """
    Every point is condensed; what becomes of a stop is counted in another metric, and in none of the records.
    """
    account = Account(condensed=90, released=7, suppressed=2, withheld=1, duplicates=3, nowhere=4)
    metrics.count_window(Kind.STOPS, replace(result(), account=account), 0.5, required_k=5)
    outcomes = {"released": 7, "suppressed": 2, "withheld": 1, "duplicate": 3, "nowhere": 4}
    assert {one: value(metrics, "stops_total", outcome=one) for one in outcomes} == outcomes
    assert value(metrics, "records_total", kind="stops", outcome="condensed") == 90
    assert value(metrics, "records_total", kind="stops", outcome="released") == 0


def test_what_is_declared_is_what_is_served(metrics: Metrics) -> None:
    """
    Every metric of the registry is documented, under its name and with its labels, and no other is.
    """
    served = {
        (family.name + ("_total" if family.type == "counter" else ""), family.type)
        for family in metrics.registry.collect()
    }
    declared = {(one.name, one.type) for one in metrics.declared}
    assert served - declared <= {("shoal_process_virtual_memory_bytes", "gauge"), ("shoal_process_max_fds", "gauge")}
    assert declared - served == set()


def test_every_label_has_a_closed_set(metrics: Metrics) -> None:
    """
    Users, places and shards are no labels: whoever adds a label has to name its values.
    """
    labels = {label for one in metrics.declared for label in one.labels}
    assert labels == LABELS.keys()
    assert all(LABELS[label] or label == "version" for label in labels)
    assert {"seqanon", "w4m"} <= set(LABELS["model"])
    assert set(LABELS["shard_kind"]) == {"single", "region", "user"}


def test_a_release_tells_what_it_promised_and_gave(metrics: Metrics) -> None:
    """
    Support, attacks, sizes and losses of a release; with k = 5 an attack that comes to one half is above the promise.
    """
    metrics.count_window(Kind.CHECKINS, result(), 1.5, required_k=5)
    assert value(metrics, "windows_total", kind="checkins", outcome="released") == 1
    assert value(metrics, "smallest_support", kind="checkins") == 5
    assert value(metrics, "windows_below_promise_total", kind="checkins") == 0
    assert value(metrics, "reidentification_risk", kind="checkins", attack="times", statistic="highest") == 0.5
    assert value(metrics, "reidentification_risk", kind="checkins", attack="places", statistic="mean") == 0.1
    assert value(metrics, "windows_above_promised_risk_total", kind="checkins", attack="times") == 1
    assert value(metrics, "windows_above_promised_risk_total", kind="checkins", attack="places") == 0
    assert value(metrics, "information_loss", kind="checkins", measure="distance_m") == 7.5
    assert value(metrics, "release_people", kind="checkins") == 20
    assert value(metrics, "close_to_release_seconds_count", kind="checkins") == 1


def test_a_release_below_its_promise_is_counted(metrics: Metrics) -> None:
    """
    A smallest support of 4 where 5 are promised: the counter that the alert looks at goes up.
    """
    metrics.count_window(Kind.FRAGMENTS, result(smallest_support=4), 1.0, required_k=5)
    assert value(metrics, "windows_below_promise_total", kind="fragments") == 1


LINKAGE = LinkageRisk(highest=0.5, mean=0.1, chance=0.02, people=40, stayed=30, company=1)


@pytest.mark.parametrize(("promised", "breaches"), [(None, 0), (0.5, 0), (0.25, 1)])
def test_following_people_counts_only_against_a_promise(
    metrics: Metrics, promised: float | None, breaches: int
) -> None:
    """
    Half of a set was followed: without a promise over windows, or with one of a half, nothing is broken.
    """
    metrics.expect(Kind.FRAGMENTS, model="a model", shard_kind="single", required_k=5, linkage=promised)
    linked = replace(result(), linkage=LINKAGE)
    metrics.count_window(Kind.FRAGMENTS, linked, 1.0, required_k=5, linkage=promised)
    told = value(metrics, "promised_linkage_risk", kind="fragments")
    assert told == promised or (promised is None and math.isnan(told or 0))
    assert value(metrics, "windows_above_promised_linkage_total", kind="fragments") == breaches
    for statistic in ("highest", "mean", "chance"):
        expected = getattr(LINKAGE, statistic)
        assert value(metrics, "linkage_risk", kind="fragments", statistic=statistic) == expected


def test_a_figure_that_may_not_be_told_is_none(metrics: Metrics) -> None:
    """
    A release that does not tell its people leaves no number, not that of the release before.
    """
    metrics.count_window(Kind.CHECKINS, result(), 1.0, required_k=5)
    metrics.count_window(Kind.CHECKINS, result(people=None), 1.0, required_k=5)
    assert math.isnan(value(metrics, "release_people", kind="checkins") or 0)


def test_a_withheld_window_tells_its_reason(metrics: Metrics) -> None:
    """
    A withheld window counts by its reason and shows no support.
    """
    metrics.count_window(Kind.CHECKINS, result("withheld", reason="too_few_people"), 1.0, required_k=5)
    assert value(metrics, "withheld_windows_total", kind="checkins", reason="too_few_people") == 1
    assert value(metrics, "windows_total", kind="checkins", outcome="withheld") == 1
    assert value(metrics, "smallest_support", kind="checkins") is None
