"""The life of one Pod: volumes, network, init containers, containers, status, and its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.helm.manifests import Object
from tests.kubernetes.kubelet.container import Sandbox
from tests.kubernetes.kubelet.container_life import ContainerLife, OfPod, now
from tests.kubernetes.kubelet.environment import ConfigMissingError, Lookup, variables
from tests.kubernetes.kubelet.network import PodNetwork
from tests.kubernetes.kubelet.volumes import Token, write_volumes

__all__ = ["Machine", "PodLife"]

_RETRY_S = 1.0
_REFRESH_S = 5.0
"""How often files of ConfigMaps and Secrets are compared; a kubelet takes about a minute."""

_PRETENDED_IP = "192.0.2.1"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Machine:
    """What all Pods of the stand-in share."""

    folder: Path
    images: Path
    network: PodNetwork
    hosts: Callable[[], Awaitable[str]]
    """Returns lines of ``/etc/hosts`` for all Services."""


class PodLife:
    """Runs one Pod.

    Args:
        pod: The Pod, bound to a node.
        machine: What Pods share.
        is_pretended: Whether it is said to run, without processes, files and a network.
        find: Finds ConfigMaps and Secrets of its namespace.
        token: Asks for tokens of its service account.
        report: Writes its status.
    """

    def __init__(
        self,
        pod: Object,
        machine: Machine,
        *,
        is_pretended: bool,
        find: Lookup,
        token: Token,
        report: Callable[[Object], Awaitable[None]],
    ) -> None:
        self._pod, self._machine, self._is_pretended = pod, machine, is_pretended
        self._find, self._token, self._report = find, token, report
        self._folder = machine.folder / "pods" / pod["metadata"]["uid"]
        self._inits = [ContainerLife(one, is_init=True) for one in pod["spec"].get("initContainers", ())]
        self._containers = [ContainerLife(one, is_init=False) for one in pod["spec"]["containers"]]
        self._phase, self._message, self._since = "Pending", "", now()
        self._network, self._ip = "", ""
        self._of: OfPod | None = None
        self._ending = asyncio.Event()
        self._told: Object = {}
        self._reporting = asyncio.Lock()

    async def run(self) -> None:
        """Run it until its containers have ended and are not started again, or it is ended."""
        refreshing: asyncio.Task[None] | None = None
        try:
            of = self._of = await self._prepare()
            refreshing = None if self._is_pretended else asyncio.create_task(self._refresh())
            for one in self._inits:
                await one.keep(of)
                if one.exit_code != 0:
                    break
            else:
                self._phase = "Running"
                await asyncio.gather(*(one.keep(of) for one in self._containers))
            codes = [one.exit_code for one in (*self._inits, *self._containers)]
            self._phase = "Succeeded" if all(code == 0 for code in codes) else "Failed"
            await self._changed()
        finally:
            if refreshing is not None:
                refreshing.cancel()
            self.kill()

    async def end(self, grace_s: float) -> None:
        """End its containers in order, and start none any more."""
        self._ending.set()
        if (of := self._of) is not None:
            await asyncio.gather(*(one.end(of, grace_s) for one in (*self._inits, *self._containers)))

    def kill(self) -> None:
        """End everything at once and give back its address."""
        self._ending.set()
        for one in (*self._inits, *self._containers):
            one.kill()
        if self._network:
            self._machine.network.remove(self._network)
            self._network = ""

    # ------------------------------------------------------------------ beginning

    async def _prepare(self) -> OfPod:
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._is_pretended:
            self._ip = _PRETENDED_IP
        else:
            self._network, self._ip = self._machine.network.add()
            await self._until_there(self._write_volumes)
        metadata, spec = self._pod["metadata"], self._pod["spec"]
        aliases = [(one["ip"], name) for one in spec.get("hostAliases", ()) for name in one["hostnames"]]
        own = [("127.0.0.1", "localhost"), (self._ip, metadata["name"]), *aliases]
        hosts = "".join(f"{ip}\t{name}\n" for ip, name in own) + await self._machine.hosts()
        logs = self._machine.folder / "logs" / metadata["namespace"] / metadata["name"]

        async def variables_of(container: Object) -> dict[str, str]:
            return await self._until_there(lambda: variables(container, self._pod, self._ip, self._find))

        return OfPod(
            self._pod,
            None if self._is_pretended else self._machine.images,
            Sandbox(self._network, self._folder, hosts, logs),
            self._ip,
            self._ending,
            variables_of,
            self._changed,
        )

    async def _write_volumes(self) -> None:
        await write_volumes(self._pod, self._folder / "volumes", self._find, self._token)

    async def _until_there(self, attempt: Callable[[], Awaitable[T]]) -> T:
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
                await self._write_volumes()

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
