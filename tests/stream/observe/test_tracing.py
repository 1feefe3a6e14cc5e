"""What spans say: what logs and metrics say too, of no user, place or shard, and under the same rounding."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from core.release.outcome import Account, WithholdReason
from stream.formats.release.result import WindowResult
from stream.observe.rounding import DEFECTS
from stream.observe.tracing import NO_TRACING, WindowTimes, window_facts
from tests.builders.windows import seal_of, sequence_plan, visits
from tests.paths import ROOT

SEAL = seal_of(visits(), sequence_plan())
FIGURES: dict[str, float | int | str | None] = {
    "people": 20,
    "trajectories": 21,
    "points_released": 40,
    "smallest_support": 5,
    "distance_m": 7.5,
    "risk_highest": 0.2,
}
BARE = {"shoal.model": "seqanon", "shoal.again": False}


def result(outcome: str = "released", facts: dict[str, Any] | None = None, **more: Any) -> WindowResult:
    return WindowResult(
        seal=SEAL, messages=(), account=Account(), seconds=0.5, outcome=outcome, facts=facts or FIGURES, **more
    )


def withheld(reason: str) -> WindowResult:
    outcome = "refused" if reason == "verification_failed" else "withheld"
    return result(outcome, {"reason": reason})


def facts_of(*results: WindowResult, count_step: int = 1, is_again: bool = False) -> dict[str, Any]:
    return dict(window_facts("seqanon", results, is_again=is_again, count_step=count_step))


def test_a_release_has_the_figures_that_it_publishes() -> None:
    """
    And no other: losses and risks are gauges.
    """
    published = {"shoal.people": 20, "shoal.trajectories": 21, "shoal.points_released": 40, "shoal.smallest_support": 5}
    assert facts_of(result()) == BARE | {"shoal.outcome": "released"} | published
    assert facts_of(result(facts=FIGURES | {"people": None})).get("shoal.people") is None


@pytest.mark.parametrize("reason", WithholdReason)
def test_a_withheld_window_has_its_reason(reason: WithholdReason) -> None:
    """
    And no number.
    """
    one = withheld(reason)
    assert facts_of(one) == BARE | {"shoal.outcome": one.outcome, "shoal.reason": reason.value}


def test_the_cells_of_a_window_are_not_told_apart() -> None:
    """
    What all have in common is stated; figures of one cell are not the window's.
    """
    assert facts_of(result(), result()) == BARE | {"shoal.outcome": "released"}
    mixed = facts_of(result(), withheld("too_few_people"), is_again=True)
    expected = {"shoal.outcome": "several", "shoal.reason": "too_few_people", "shoal.again": True}
    assert mixed == BARE | expected


@pytest.mark.parametrize("reason", [None, *WithholdReason])
def test_with_rounded_counts_a_span_states_only_defects(reason: WithholdReason | None) -> None:
    """
    metrics.count_step: whoever reads metrics or traces must not learn that single windows were withheld, and a span
    that states a release would tell it of all others.
    """
    one = result() if reason is None else withheld(reason)
    found = facts_of(one, count_step=10)
    if reason is not None and {one.outcome, reason.value} & DEFECTS:
        assert found == BARE | {"shoal.outcome": one.outcome, "shoal.reason": reason.value}
    else:
        assert found == BARE


def test_anonymizing_takes_the_time_that_it_took_in_its_process() -> None:
    """
    From the first region's begin to the last one's end; of what was withheld without being anonymized nothing.
    """
    times = WindowTimes()
    times.anonymized([replace(result(), begun_ns=10**9), replace(result(), begun_ns=3 * 10**9), result("withheld")])
    times.anonymized([result("withheld")])
    assert [(one.name, one.begun_ns, one.ended_ns) for one in times.stages] == [("anonymize", 10**9, 3_500_000_000)]


def test_a_stage_that_fails_has_no_span() -> None:
    """
    It is tried again.
    """
    times = WindowTimes()
    with pytest.raises(KeyError), times.stage("seal"):
        raise KeyError
    with times.stage("seal"):
        pass
    assert [one.name for one in times.stages] == ["seal"]
    assert times.begun_ns <= times.stages[0].begun_ns <= times.stages[0].ended_ns


def test_without_tracing_messages_and_metrics_stay_as_they_are() -> None:
    """
    No header, no exemplar.
    """
    trace = NO_TRACING.window(SEAL, WindowTimes())
    trace.end("seqanon", [result()], is_again=False)
    assert (list(trace.headers), trace.exemplar) == ([], None)


def test_a_worker_without_a_receiver_does_not_load_opentelemetry() -> None:
    """
    Nothing of it is imported unless it is configured.
    """
    program = """if True:
        import sys
        from prometheus_client import CollectorRegistry
        from stream.observe.telemetry import Telemetry
        from stream.settings.load import load_settings
        import stream.worker.run
        Telemetry(load_settings(), CollectorRegistry())
        sys.exit(sum(name.startswith("opentelemetry") for name in sys.modules))
    """
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
