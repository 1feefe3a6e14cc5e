"""Noise by OpenDP: what it confirms, what it draws, and what the start says without it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from core.models.common.noise import LaplaceNoise
from core.models.flows.plan import FlowPlan
from core.records.record import Kind
from core.windows.draw import Counts
from stream.feeds.feed import Feed
from stream.feeds.noise import check_noise, with_noise
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from tests.budgets import examples

pytest.importorskip("opendp", reason="the extra dp is not installed")

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
NOISE = LaplaceNoise(epsilon=1.0, delta=1e-6, most_counts=4)
GIVEN: dict[str, Any] = {
    "privacy.model": "flows",
    "privacy.noise": "laplace",
    "privacy.epsilon": 1.0,
    "privacy.epsilon_per_day": 1.0,
    "window.size": "1d",
}


def feed(**changes: Any) -> Feed:
    given = GIVEN | {name.replace("__", "."): value for name, value in changes.items()}
    return Feed(load_settings(given=given), Kind.CHECKINS, secret=SECRET)


@pytest.mark.parametrize("most", [1, 4, 100])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 0.01])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0, 20.0])
def test_opendp_confirms_what_the_settings_promise(epsilon: float, delta: float, most: int) -> None:
    """
    Its own map from how much a person changes to epsilon and delta, which shares no code with ours.
    """
    check_noise(LaplaceNoise(epsilon=epsilon, delta=delta, most_counts=most))


def test_large_counts_come_out_with_noise_and_small_ones_do_not() -> None:
    """
    Names are as they were, of any signs; every draw is another one, around the true number.
    """
    counts: Counts = {("a", "b"): 1000, ("b\x1f", '"a'): 1000, ("c", "d"): 3}
    drawn = [with_noise(counts, NOISE) for _ in range(examples(200))]
    assert all(one.keys() == {("a", "b"), ("b\x1f", '"a')} for one in drawn)
    values = [people for one in drawn for people in one.values()]
    assert len(set(values)) > 5
    assert abs(sum(values) / len(values) - 1000) < 20
    assert with_noise({}, NOISE) == {}


def test_a_threshold_that_is_too_low_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If our formula were wrong, OpenDP would say so.
    """
    monkeypatch.setattr(LaplaceNoise, "threshold", property(lambda _: 10))
    with pytest.raises(SettingsError, match=r"are not kept by the noise: OpenDP computes 1 and 0\.\d+; choose"):
        check_noise(NOISE)


def test_without_opendp_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The extra is named; other feeds never load it.
    """
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(SettingsError, match=r"it needs OpenDP; install the extra dp, pip install 'shoal\[dp\]'"):
        feed()
    assert feed(privacy__noise="none").plan.noise is None


def test_settings_become_noise() -> None:
    """
    Each reaches the plan, and is part of the digest; the budget is checked.
    """
    plan = feed(privacy__max_flows_per_person=7, privacy__dp_delta=1e-8).plan
    assert isinstance(plan, FlowPlan)
    assert plan.noise == LaplaceNoise(epsilon=1.0, delta=1e-8, most_counts=7)
    assert plan.parameters["threshold"] == plan.noise.threshold
    assert plan.promise == "differentially private flows"
    assert len({feed(**{"privacy__dp_delta": delta}).plan.digest for delta in (1e-8, 1e-6)}) == 2
    with pytest.raises(
        SettingsError, match=r"privacy.epsilon is 1: the records of a day are in up to 24 windows of 1h"
    ):
        feed(**{"window__size": "1h"})


def test_noise_and_regions_do_not_go_together() -> None:
    """
    Which regions a window is divided into depends on where its people are.
    """
    regions = {"shard__kind": "region", "shard__h3_resolution": 5, "shard__finest_resolution": 7}
    with pytest.raises(SettingsError, match=r"set shard\.finest_resolution to none"):
        feed(**regions)


def test_the_library_is_loaded_only_where_it_is_used() -> None:
    """
    No module imports it at the top.
    """
    root = Path(__file__).parents[3]
    files = [path for folder in ("core", "stream") for path in (root / folder).rglob("*.py")]
    assert [path.name for path in files if "opendp" in path.read_text()] == ["noise.py"]
