"""The rows of the comparison: what each of them runs, how often, and how much faster it should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.wait4me.checkouts import Checkout
from tests.benchmarks.wait4me.inputs import CABS, SHIPS
from tests.benchmarks.wait4me.processes import Measured

__all__ = ["GENERATED_OPTIONS", "ROWS", "TRUCKS_OPTIONS", "Row"]

TRUCKS_OPTIONS: dict[str, Any] = {"time_tolerance_s": 60.0, "trash_share": 2 / 276}
"""As many trucks in the trash as the authors' program leaves there."""

GENERATED_OPTIONS: dict[str, Any] = {"time_tolerance_s": 60.0, "trash_share": 0.1, "translation": "minimal"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the comparison, a call of Wait for Me or a whole ``shoal replay``."""

    name: str
    """What ``ONLY=`` calls it."""

    label: str
    """What the table calls it."""

    goal: float
    """How many times as fast it should be."""

    rounds: int
    """How often both sides run it in turns; the table shows medians."""

    input: str | None = None
    """Input of a call; None is a replay."""

    delta_m: float = 500.0
    """Delta of a call, metres; k is 5."""

    options: dict[str, Any] = field(default_factory=dict)
    """Options of a call."""

    feed: str = ""
    """File of a replay."""

    settings: dict[str, object] = field(default_factory=dict)
    """Settings of a replay by dotted name, where they are not the defaults (k=5, delta 500 m, 15 minutes)."""

    demanding: bool = False
    """Whether a seeded tenth of a replay's people demand more."""

    def run(self, checkout: Checkout, data: Path, inputs: Callable[[str], Path]) -> Measured:
        """Run the row once.

        Args:
            checkout: The side that runs it.
            data: Folder of the real feeds.
            inputs: Gives the file of a named input.
        """
        if self.input is not None:
            file = str(inputs(self.input))
            return checkout.call({"input": file, "k": 5, "delta_m": self.delta_m, "options": self.options})
        demands: dict[str, object] = {"privacy.demands_file": inputs("demands")} if self.demanding else {}
        return checkout.replay(data / self.feed, {**self.settings, **demands})


def _trucks(name: str, label: str, goal: float, rounds: int, **options: object) -> Row:
    return Row(
        name=name,
        label=f"trucks by {label}",
        goal=goal,
        rounds=rounds,
        input="trucks",
        options={**TRUCKS_OPTIONS, **options},
    )


ROWS: tuple[Row, ...] = (
    _trucks("trucks-published", "LSTD, published, minimal", 7, 3, refined=False, translation="minimal"),
    _trucks("trucks-default", "LSTD, refined, exchangeable (default)", 7, 3),
    Row(
        name="generated",
        label="2,000 generated trajectories of 30 points, refined, minimal, chunks of 250",
        goal=7,
        rounds=3,
        input="area-2000",
        delta_m=200.0,
        options={**GENERATED_OPTIONS, "chunk_size": 250},
    ),
    _trucks("edr-published", "EDR, published, minimal", 10, 1, refined=False, translation="minimal", distance="edr"),
    _trucks("edr-refined", "EDR, refined, exchangeable", 10, 1, distance="edr"),
    Row(name="cabs", label="a day of cabs, `w4m`, whole process", goal=4, rounds=1, feed=CABS),
    Row(
        name="ships",
        label="20 minutes of ships, `w4m`, whole process",
        goal=4,
        rounds=1,
        feed=SHIPS,
        settings={"privacy.max_radius_m": 50_000},
    ),
    Row(
        name="pw4m-tr",
        label="a day of cabs, `pw4m-tr`, a tenth demand more, whole process",
        goal=4,
        rounds=1,
        feed=CABS,
        settings={"privacy.model": "pw4m-tr"},
        demanding=True,
    ),
    Row(
        name="bounded-pw4m",
        label="a day of cabs, `bounded-pw4m`, a tenth demand more, whole process",
        goal=8,
        rounds=1,
        feed=CABS,
        settings={"privacy.model": "bounded-pw4m"},
        demanding=True,
    ),
)
"""Rows of seconds run three times; a row that took the earlier commit half a minute or more runs once."""
