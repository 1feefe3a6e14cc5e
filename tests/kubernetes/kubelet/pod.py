"""The life of one Pod: volumes, network, init containers, containers with their probes, status, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.helm.manifests import Object
from tests.kubernetes.kubelet.container import Process, Sandbox, image_folder
from tests.kubernetes.kubelet.environment import ConfigMissingError, Lookup, variables
from tests.kubernetes.kubelet.network import PodNetwork
from tests.kubernetes.kubelet.probes import Probe, act
from tests.kubernetes.kubelet.volumes import Token, write_volumes

__all__ = ["ENDED", "Machine", "PodLife", "now"]

ENDED = "ended"
"""The file beside the logs of a Pod with a line for each end of a container: its name and exit code."""

_RETRY_S = 1.0
_REFRESH_S = 5.0
"""How often files of ConfigMaps and Secrets are compared; a kubelet takes about a minute."""

_MOST_BACKOFF_S = 10.0
"""Longest wait before a container is started again; a kubelet waits up to five minutes."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What all Pods of the stand-in share."""

    folder: Path
    images: Path
    network: PodNetwork
    hosts: Callable[[], Awaitable[str]]
    """Returns lines of ``/etc/hosts`` for all Services."""


def now() -> str:
    """Return this moment as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(slots=True)
class _Container:
    spec: Object
    is_init: bool
    state: Object = field(default_factory=lambda: {"waiting": {"reason": "ContainerCreating"}})
    before: Object = field(default_factory=dict)
    """The state of the last run."""

    restarts: int = 0
    started: bool = False
    ready: bool = False
    process: Process | None = None

    def status(self) -> Object:
        return {
            "name": self.spec["name"],
            "image": self.spec["image"],
            "imageID": "",
            "ready": self.ready,
            "started": self.started,
            "restartCount": self.restarts,
            "state": self.state,
            "lastState": self.before,
        }

    @property
    def exit_code(self) -> int | None:
        ended = self.state.get("terminated")
        return None if ended is None else int(ended["exitCode"])


class PodLife:
    """Runs one Pod.

    Args:
        pod: The Pod, bound to a node.
        machine: What Pods share.
        find: Finds ConfigMaps and Secrets of its namespace.
        token: Asks for tokens of its service account.
        report: Writes its status.
    """

    def __init__(
        self,
        pod: Object,
        machine: Machine,
        *,
        find: Lookup,
        token: Token,
        report: Callable[[Object], Awaitable[None]],
    ) -> None:
        self._pod, self._machine = pod, machine
        self._find, self._token, self._report = find, token, report
        metadata, spec = pod["metadata"], pod["spec"]
        self._folder = machine.folder / "pods" / metadata["uid"]
        self._logs = machine.folder / "logs" / metadata["namespace"] / metadata["name"]
        self._inits = [_Container(one, is_init=True) for one in spec.get("initContainers", ())]
        self._containers = [_Container(one, is_init=False) for one in spec["containers"]]
        self._phase, self._message = "Pending", ""
        self._network, self._ip = "", ""
        self._since = now()
        self._ending = asyncio.Event()
        self._told: Object = {}
        self._reporting = asyncio.Lock()
        self._sandbox = Sandbox("", self._folder, "", self._logs)

    async def run(self) -> None:
        """Run it until its containers have ended and are not started again, or it is ended."""
        refreshing: asyncio.Task[None] | None = None
        try:
            await self._prepare()
            refreshing = asyncio.create_task(self._refresh())
            for one in self._inits:
                await self._keep(one)
                if one.exit_code != 0:
                    break
            else:
                self._phase = "Running"
                await asyncio.gather(*(self._keep(one) for one in self._containers))
            codes = [one.exit_code for one in (*self._inits, *self._containers)]
            self._phase = "Succeeded" if all(code == 0 for code in codes) else "Failed"
            await self._changed()
        finally:
            if refreshing is not None:
                refreshing.cancel()
            self.kill()

    async def end(self, grace_s: float) -> None:
        """End its containers: hooks, SIGTERM, and SIGKILL after the grace period."""
        self._ending.set()
        await asyncio.gather(*(self._end(one, grace_s) for one in (*self._inits, *self._containers)))

    def kill(self) -> None:
        """End everything at once and give back its address."""
        self._ending.set()
        for one in (*self._inits, *self._containers):
            if one.process is not None:
                one.process.kill()
        if self._network:
            self._machine.network.remove(self._network)
            self._network = ""

    # ------------------------------------------------------------------ beginning

    async def _prepare(self) -> None:
        self._network, self._ip = self._machine.network.add()
        self._folder.mkdir(parents=True, exist_ok=True)
        await self._until_there(lambda: write_volumes(self._pod, self._folder / "volumes", self._find, self._token))
        metadata = self._pod["metadata"]
        aliases = [(one["ip"], name) for one in self._pod["spec"].get("hostAliases", ()) for name in one["hostnames"]]
        own = [("127.0.0.1", "localhost"), (self._ip, metadata["name"]), *aliases]
        hosts = "".join(f"{ip}\t{name}\n" for ip, name in own) + await self._machine.hosts()
        self._sandbox = Sandbox(self._network, self._folder, hosts, self._logs)

    async def _until_there(self, attempt: Callable[[], Awaitable[Any]]) -> Any:
        """Try until everything exists that is named; what is missing stands in the status."""
        while True:
            try:
                found = await attempt()
            except ConfigMissingError as missing:
                self._message = str(missing)
                await self._changed()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), _RETRY_S)
                if self._ending.is_set():
                    raise
            else:
                self._message = ""
                return found

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(_REFRESH_S)
            with contextlib.suppress(ConfigMissingError):  # what was mounted stays
                await write_volumes(self._pod, self._folder / "volumes", self._find, self._token)

    # ------------------------------------------------------------------ one container

    async def _keep(self, one: _Container) -> None:
        """Run a container, again and again where the Pod says so."""
        policy = self._pod["spec"].get("restartPolicy", "Always")
        wait_s = _RETRY_S
        while not self._ending.is_set():
            await self._once(one)
            again = one.exit_code != 0 if one.is_init or policy == "OnFailure" else True
            if policy == "Never" or not again or self._ending.is_set():
                return
            one.before = one.state
            one.state = {"waiting": {"reason": "CrashLoopBackOff"}}
            await self._changed()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), wait_s)
            one.restarts, wait_s = one.restarts + 1, min(2 * wait_s, _MOST_BACKOFF_S)

    async def _once(self, one: _Container) -> None:
        """Run a container to its end."""
        code = image_folder(self._machine.images, one.spec["image"])
        begun = now()
        if not code.is_dir():  # of somebody else: it is said to run, or to have ended
            await self._pretend(one, begun)
            return
        found = await self._until_there(lambda: variables(one.spec, self._pod, self._ip, self._find))
        one.process = Process(one.spec, self._pod, code.resolve(), self._sandbox, found)
        await one.process.start()
        one.state = {"running": {"startedAt": begun}}
        one.started = "startupProbe" not in one.spec
        one.ready = not one.is_init and not {"startupProbe", "readinessProbe"} & one.spec.keys()
        await self._changed()
        probing = asyncio.create_task(self._probe(one, one.process))
        try:
            exit_code = await one.process.wait()
        finally:
            probing.cancel()
        await self._ended(one, begun, exit_code)

    async def _pretend(self, one: _Container, begun: str) -> None:
        if one.is_init or self._pod["spec"].get("restartPolicy") == "Never":
            await self._ended(one, begun, 0)
            return
        one.state, one.started, one.ready = {"running": {"startedAt": begun}}, True, True
        await self._changed()
        await self._ending.wait()
        await self._ended(one, begun, 0)

    async def _ended(self, one: _Container, begun: str, code: int) -> None:
        one.ready = one.started = False
        self._logs.mkdir(parents=True, exist_ok=True)
        with (self._logs / ENDED).open("a") as file:  # its object may be gone before anybody looks
            file.write(f"{one.spec['name']} {code}\n")
        reason = "Completed" if code == 0 else "Error"
        one.state = {"terminated": {"exitCode": code, "reason": reason, "startedAt": begun, "finishedAt": now()}}
        await self._changed()

    async def _probe(self, one: _Container, process: Process) -> None:
        async for has_started in self._decisions(one, process, "startupProbe"):
            if not has_started:
                await self._end(one, self._grace_s)
                return
            one.started, one.ready = True, "readinessProbe" not in one.spec
            await self._changed()
            break
        await asyncio.gather(self._stay_alive(one, process), self._stay_ready(one, process))

    async def _decisions(self, one: _Container, process: Process, name: str) -> AsyncIterator[bool]:
        """Yield what a probe says, each time that enough tries agree."""
        if name not in one.spec:
            return
        probe = Probe(one.spec[name])
        await asyncio.sleep(probe.spec.get("initialDelaySeconds", 0))
        while True:
            success = await act(probe.spec, one.spec, self._ip, process.run, within_s=probe.within_s)
            if (decided := probe.count(success=success)) is not None:
                yield decided
            await asyncio.sleep(probe.period_s)

    async def _stay_alive(self, one: _Container, process: Process) -> None:
        async for is_alive in self._decisions(one, process, "livenessProbe"):
            if not is_alive:
                await self._end(one, self._grace_s)
                return

    async def _stay_ready(self, one: _Container, process: Process) -> None:
        async for is_ready in self._decisions(one, process, "readinessProbe"):
            if is_ready != one.ready:
                one.ready = is_ready
                await self._changed()

    @property
    def _grace_s(self) -> float:
        return float(self._pod["spec"].get("terminationGracePeriodSeconds", 30))

    async def _end(self, one: _Container, grace_s: float) -> None:
        process = one.process
        if process is None or one.exit_code is not None:
            return
        hook = (one.spec.get("lifecycle") or {}).get("preStop")
        if hook is not None:
            await act(hook, one.spec, self._ip, process.run, within_s=grace_s)
        process.signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), grace_s)
        except TimeoutError:
            process.kill()

    # ------------------------------------------------------------------ status

    async def _changed(self) -> None:
        """Write the status if it is not what was written last."""
        async with self._reporting:
            status = self._status()
            if status != self._told:
                self._told = status
                await self._report(status)

    def _status(self) -> Object:
        is_initialized = all(one.exit_code == 0 for one in self._inits)
        is_ready = self._phase == "Running" and all(one.ready for one in self._containers)
        conditions = {"Initialized": is_initialized, "ContainersReady": is_ready, "Ready": is_ready}
        before = {one["type"]: one for one in self._told.get("conditions", ())}
        listed = []
        for kind, value in conditions.items():
            status = str(value)
            is_same = kind in before and before[kind]["status"] == status
            since = before[kind]["lastTransitionTime"] if is_same else now()
            listed.append({"type": kind, "status": status, "lastTransitionTime": since})
        address = {"podIP": self._ip, "podIPs": [{"ip": self._ip}]} if self._ip else {}
        return {
            "phase": self._phase,
            "message": self._message,
            "startTime": self._since,
            "conditions": listed,
            "initContainerStatuses": [one.status() for one in self._inits],
            "containerStatuses": [one.status() for one in self._containers],
            **address,
        }
