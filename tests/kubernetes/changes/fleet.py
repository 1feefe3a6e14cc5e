"""Workers that are changed while they work: what they shall be, and those that are processes of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tests.cluster.workers import SECRET, Place, Worker

__all__ = ["Fleet", "Processes", "Wanted"]


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
        for worker in list(self._workers) if is_new else []:
            self._end(worker)
            self._start(wanted)
        while len(self._workers) < wanted.replicas:
            self._start(wanted)

    def drain(self) -> None:
        """See :meth:`Fleet.drain`."""
        assert self._is is not None
        self._end(self._workers[0])
        self._start(self._is)

    def trouble(self) -> list[str]:
        """See :meth:`Fleet.trouble`."""
        found, self._trouble = self._trouble, []
        return found

    def _start(self, wanted: Wanted) -> None:
        worker = Worker(self._place.values() | wanted.values())
        self._workers.append(worker)
        worker.wait_until_ready()

    def _end(self, worker: Worker) -> None:
        self._workers.remove(worker)
        if (code := worker.stop()) != 0:
            self._trouble.append(f"a worker ended with {code}")
        worker.close()

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.close()
