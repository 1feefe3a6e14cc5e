"""The changes that are made under load, and what each of them may cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.kubernetes.changes.fleet import Fleet, Wanted

__all__ = ["CHANGES", "NOTHING", "SETTINGS", "Change", "Cost"]

WINDOW_S = 5

SETTINGS: dict[str, Any] = {
    "topics.fragments": "",
    "kafka.partitions": 6,
    "kafka.session_timeout": "6s",
    "window.size": f"{WINDOW_S}s",
    "window.allowed_lateness": "2s",
    "window.idle_timeout": "15s",  # longer than a rebalance on a busy machine, or its records would be late
    "shard.kind": "user",
    "shard.cohorts": 6,
    "location.cell_m": 800,
    "logs.level": "info",
}
"""What the workers have before the first change."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a change may cost; nothing else is lost, ever."""

    withheld: frozenset[str] = frozenset()
    """Reasons for which windows may be withheld."""

    rejected: frozenset[str] = frozenset()
    """Reasons for which records may be turned away."""

    is_told_twice: bool = False
    """Whether a record may be in a window and in the dead letters too."""

    is_late: bool = False
    """Whether records may be late."""


NOTHING = Cost()


@dataclass(frozen=True, slots=True)
class Change:
    """One change."""

    name: str
    """For the command line."""

    title: str
    """For the table."""

    make: Callable[[Fleet, Wanted], Wanted]
    """Makes it, waits until it is made, and returns what the workers are now."""

    cost: Cost = NOTHING
    is_of_vocabulary: bool = False
    """Whether it changes where records are located, so that waiting ones have to be located again."""


def _change(change: Callable[[Wanted], Wanted]) -> Callable[[Fleet, Wanted], Wanted]:
    def make(fleet: Fleet, wanted: Wanted) -> Wanted:
        changed = change(wanted)
        fleet.become(changed)
        return changed

    return make


def _to_one_and_back(fleet: Fleet, wanted: Wanted) -> Wanted:
    fleet.become(replace(wanted, replicas=1))
    fleet.become(wanted)
    return wanted


def _drain(fleet: Fleet, wanted: Wanted) -> Wanted:
    fleet.drain()
    return wanted


CHANGES = (
    Change("version", "a new version of Shoal", _change(lambda wanted: replace(wanted, image="shoal:2"))),
    Change("scale", "three workers to one and back", _to_one_and_back),
    Change("drain", "a node is drained", _drain),
    Change("k", "`privacy.k` 5 to 10", _change(lambda wanted: wanted.having(privacy__k=10))),
    Change("window", "`window.size` 5s to 8s", _change(lambda wanted: wanted.having(window__size="8s"))),
    Change(
        "cell",
        "`location.cell_m` 800 to 1,600",
        _change(lambda wanted: wanted.having(location__cell_m=1600)),
        is_of_vocabulary=True,
    ),
    Change(
        "secret",
        "another secret",
        _change(lambda wanted: replace(wanted, secret=f"another, {wanted.secret}")),
        is_of_vocabulary=True,
    ),
    # The last one: with few patterns this model withholds a window whatever else changes.
    Change("model", "`privacy.model` to `p2ka`", _change(lambda wanted: wanted.having(privacy__model="p2ka"))),
)
