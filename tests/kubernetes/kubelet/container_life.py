"""The life of one container of a Pod: started, probed, ended, and started again where the Pod says so."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.helm.manifests import Object
from tests.kubernetes.kubelet.container import Process, Sandbox, image_folder
from tests.kubernetes.kubelet.probes import Probe, act

__all__ = ["ENDED", "ContainerLife", "OfPod", "now"]

ENDED = "ended"
"""The file beside the logs of a Pod with a line for each end of a container: its name and exit code."""

_FIRST_BACKOFF_S, _MOST_BACKOFF_S = 1.0, 10.0
"""Wait before a container is started again; a kubelet waits 10 seconds to five minutes."""


def now() -> str:
    """Return this moment as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class OfPod:
    """What a container has of its Pod."""

    pod: Object
    images: Path | None
    """Where images are; None if all containers are pretended."""

    sandbox: Sandbox
    ip: str
    ending: asyncio.Event
    """Set when nothing is to be started any more."""

    variables: Callable[[Object], Awaitable[dict[str, str]]]
    """Finds the variables of a container; waits until what they name exists."""

    changed: Callable[[], Awaitable[None]]
    """Called after each change of a container's status."""

    @property
    def policy(self) -> str:
        """When containers are started again."""
        return str(self.pod["spec"].get("restartPolicy", "Always"))

    @property
    def grace_s(self) -> float:
        """Time to end after SIGTERM."""
        return float(self.pod["spec"].get("terminationGracePeriodSeconds", 30))


class ContainerLife:
    """Runs one container.

    Args:
        spec: The container of the Pod's ``spec``.
        is_init: Whether it runs before the others.
    """

    def __init__(self, spec: Object, *, is_init: bool) -> None:
        self._spec, self._is_init = spec, is_init
        self._state: Object = {"waiting": {"reason": "ContainerCreating"}}
        self._before: Object = {}
        """The state of the last run."""

        self._restarts, self._started = 0, False
        self._process: Process | None = None
        self.ready = False

    def status(self) -> Object:
        """Return its part of the Pod's status."""
        return {
            "name": self._spec["name"],
            "image": self._spec["image"],
            "imageID": "",
            "ready": self.ready,
            "started": self._started,
            "restartCount": self._restarts,
            "state": self._state,
            "lastState": self._before,
        }

    @property
    def exit_code(self) -> int | None:
        """Its exit code, None while it runs or waits."""
        ended = self._state.get("terminated")
        return None if ended is None else int(ended["exitCode"])

    async def keep(self, of: OfPod) -> None:
        """Run it, again and again where the Pod says so."""
        wait_s = _FIRST_BACKOFF_S
        while not of.ending.is_set():
            await self._run(of)
            is_done = self.exit_code == 0 and (self._is_init or of.policy == "OnFailure")
            if is_done or of.policy == "Never" or of.ending.is_set():
                return
            self._before, self._state = self._state, {"waiting": {"reason": "CrashLoopBackOff"}}
            await of.changed()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(of.ending.wait(), wait_s)
            self._restarts, wait_s = self._restarts + 1, min(2 * wait_s, _MOST_BACKOFF_S)

    async def _run(self, of: OfPod) -> None:
        """Run it to its end."""
        begun, code = now(), of.images and image_folder(of.images, self._spec["image"])
        if code is None or not code.is_dir():  # of somebody else: it is said to run, or to have ended
            await self._pretend(of, begun)
            return
        variables = await of.variables(self._spec)
        process = self._process = Process(self._spec, of.pod, code.resolve(), of.sandbox, variables)
        await process.start()
        self._state = {"running": {"startedAt": begun}}
        self._started = "startupProbe" not in self._spec
        self.ready = not self._is_init and not {"startupProbe", "readinessProbe"} & self._spec.keys()
        await of.changed()
        probing = asyncio.create_task(self._probe(of, process))
        try:
            exit_code = await process.wait()
        finally:
            probing.cancel()
        await self._ended(of, begun, exit_code)

    async def _pretend(self, of: OfPod, begun: str) -> None:
        if not self._is_init and of.policy != "Never":
            self._state, self._started, self.ready = {"running": {"startedAt": begun}}, True, True
            await of.changed()
            await of.ending.wait()
        await self._ended(of, begun, 0)

    async def _ended(self, of: OfPod, begun: str, code: int) -> None:
        self.ready = self._started = False
        of.sandbox.logs.mkdir(parents=True, exist_ok=True)
        with (of.sandbox.logs / ENDED).open("a") as file:  # its object may be gone before anybody looks
            file.write(f"{self._spec['name']} {code}\n")
        reason = "Completed" if code == 0 else "Error"
        self._state = {"terminated": {"exitCode": code, "reason": reason, "startedAt": begun, "finishedAt": now()}}
        await of.changed()

    # ------------------------------------------------------------------ probes

    async def _probe(self, of: OfPod, process: Process) -> None:
        async for has_started in self._decisions(of, process, "startupProbe"):
            if not has_started:
                await self.end(of, of.grace_s)
                return
            self._started, self.ready = True, "readinessProbe" not in self._spec
            await of.changed()
            break
        await asyncio.gather(self._stay_alive(of, process), self._stay_ready(of, process))

    async def _stay_alive(self, of: OfPod, process: Process) -> None:
        async for is_alive in self._decisions(of, process, "livenessProbe"):
            if not is_alive:
                await self.end(of, of.grace_s)
                return

    async def _stay_ready(self, of: OfPod, process: Process) -> None:
        async for is_ready in self._decisions(of, process, "readinessProbe"):
            if is_ready != self.ready:
                self.ready = is_ready
                await of.changed()

    async def _decisions(self, of: OfPod, process: Process, name: str) -> AsyncIterator[bool]:
        """Yield what a probe says, each time that enough tries agree."""
        if name not in self._spec:
            return
        probe = Probe(self._spec[name])
        await asyncio.sleep(probe.spec.get("initialDelaySeconds", 0))
        while True:
            success = await act(probe.spec, self._spec, of.ip, process.run, within_s=probe.within_s)
            if (decided := probe.count(success=success)) is not None:
                yield decided
            await asyncio.sleep(probe.period_s)

    # ------------------------------------------------------------------ its end

    async def end(self, of: OfPod, grace_s: float) -> None:
        """End it: its hook, SIGTERM, and SIGKILL after the grace period."""
        process = self._process
        if process is None or self.exit_code is not None:
            return
        hook = (self._spec.get("lifecycle") or {}).get("preStop")
        if hook is not None:
            await act(hook, self._spec, of.ip, process.run, within_s=grace_s)
        process.signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), grace_s)
        except TimeoutError:
            process.kill()

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
