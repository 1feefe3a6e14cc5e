"""Workers that are changed while they work: what they shall be, and those that are processes of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tests.cluster.workers import SECRET, Place, Worker

__all__ = ["Fleet", "Processes", "Wanted"]

_READY_WITHIN_S = 180.0
"""On a machine that builds something else at the same time."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the workers shall be."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings by dotted name that differ from those of the run."""

    secret: str = field(default=SECRET, repr=False)
    replicas: int = 3
    image: str = "shoal:1"
    """Names the bytes that they run; processes know only one image, and start anew when it changes."""

    def having(self, **settings: Any) -> Wanted:
        """Return the same with other settings, whose names have two underscores for each dot."""
        return replace(self, settings={**self.settings, **{k.replace("__", "."): v for k, v in settings.items()}})

    def values(self) -> dict[str, Any]:
        """Return the settings and the secret, by dotted name."""
        return {**self.settings, "privacy.secret": self.secret}


class Fleet(Protocol):
    """Workers of one place."""

    def become(self, wanted: Wanted) -> None:
        """Change the workers one after the other, and return once all of them are ready."""

    def drain(self) -> None:
        """Let a machine be emptied: its worker ends, and another one starts elsewhere."""

    def trouble(self) -> list[str]:
        """Return what went wrong with workers since the last call, such as an exit code."""


class Processes:
    """Workers as processes, replaced as the chart replaces Pods: none starts before another one has ended.

    Args:
        place: Their topics and common settings.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._workers: list[Worker] = []
        self._is: Wanted | None = None
        self._trouble: list[str] = []

    def become(self, wanted: Wanted) -> None:
        """See :meth:`Fleet.become`."""
        before, self._is = self._is, wanted
        for worker in self._workers[wanted.replicas :]:
            self._end(worker)
        is_new = before is not None and replace(before, replicas=0) != replace(wanted, replicas=0)
        old = list(self._workers) if is_new else []
        if before is not None and before.values() != wanted.values():
            self._approve(wanted)
        while old:
            self._end(old.pop(0))
            self._start(wanted)
            # Workers whose settings are replaced have ended by themselves; the others follow at the same time.
            for worker in [one for one in old if one.returncode is not None]:
                old.remove(worker)
                self._end(worker)
        self._start(wanted, wanted.replicas - len(self._workers))

    def _approve(self, wanted: Wanted) -> None:
        """Let workers with these settings replace those that run, as the chart's Job does."""
        with self._place.worker(wanted.values(), ready=False, program=("stream.cli.main", "approve")) as approval:
            if (code := approval.wait(_READY_WITHIN_S)) != 0:
                self._trouble.append(f"shoal approve ended with {code}")

    def drain(self) -> None:
        """See :meth:`Fleet.drain`."""
        assert self._is is not None
        self._end(self._workers[0])
        self._start(self._is)

    def trouble(self) -> list[str]:
        """See :meth:`Fleet.trouble`."""
        found, self._trouble = self._trouble, []
        return found

    def _start(self, wanted: Wanted, n: int = 1) -> None:
        """Start workers at the same time, and wait until all are ready."""
        started = [Worker(self._place.values() | wanted.values()) for _ in range(n)]
        self._workers += started
        for worker in started:
            worker.wait_until_ready(_READY_WITHIN_S)

    def _end(self, worker: Worker) -> None:
        self._workers.remove(worker)
        if (code := worker.stop()) != 0:
            self._trouble.append(f"a worker ended with {code}")
        worker.close()

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.close()
