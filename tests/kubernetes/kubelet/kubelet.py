"""A stand-in for kubelets: nodes whose Pods are processes of this machine.

``python -m tests.kubernetes.kubelet.kubelet CONFIG`` registers the nodes and runs what is bound to them until SIGTERM.
Pods of a namespace with the label ``pods: pretended`` are said to run, and have no processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import aiohttp

from tests.helm.manifests import Object
from tests.kubernetes.kubelet.api import Api, ApiError
from tests.kubernetes.kubelet.container_life import now
from tests.kubernetes.kubelet.network import PodNetwork
from tests.kubernetes.kubelet.pod import Machine, PodLife

__all__ = ["Kubelet"]

_HEARTBEAT_S = 10.0
_CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110"}


class Kubelet:
    """The nodes and their Pods.

    Args:
        api: The API server.
        nodes: Names of the nodes.
        machine: What Pods share.
    """

    def __init__(self, api: Api, nodes: list[str], machine: Machine) -> None:
        self._api, self._nodes, self._machine = api, nodes, machine
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """By the uid of the Pod."""

        self._lives: dict[str, PodLife] = {}
        """Of Pods that have processes."""

        self._endings: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Run until cancelled."""
        beating = asyncio.create_task(self._beat())
        try:
            while True:
                with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                    async for event, pod in self._api.watch("/api/v1/pods"):
                        if pod["spec"].get("nodeName") in self._nodes:
                            self._take(event, pod)
                if beating.done():
                    beating.result()
                await asyncio.sleep(0.2)
        finally:
            beating.cancel()
            for uid in list(self._tasks):
                self._drop(uid)

    async def _beat(self) -> None:
        """Register the nodes, and say again and again that they are there."""
        for number, name in enumerate(self._nodes, 1):
            labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
            labels["topology.kubernetes.io/zone"] = f"zone-{number}"
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
            await self._api.create("/api/v1/nodes", node)
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now()}
            status = {"capacity": _CAPACITY, "allocatable": _CAPACITY, "conditions": [ready]}
            await self._api.patch(f"/api/v1/nodes/{name}/status", {"status": status})
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        while True:
            for name in self._nodes:
                renewed = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewed}
                lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
                await self._api.create(leases, {**lease, "spec": spec})
                await self._api.patch(f"{leases}/{name}", {"spec": spec})
            await asyncio.sleep(_HEARTBEAT_S)

    # ------------------------------------------------------------------ Pods

    def _take(self, event: str, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        is_over = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if event == "DELETED":
            self._drop(uid)
        elif pod["metadata"].get("deletionTimestamp") is not None:
            if uid not in self._endings:
                self._endings[uid] = asyncio.create_task(self._end(pod))
        elif uid not in self._tasks and not is_over:
            self._tasks[uid] = asyncio.create_task(self._live(pod))

    def _drop(self, uid: str) -> None:
        if (life := self._lives.pop(uid, None)) is not None:
            life.kill()
        if (task := self._tasks.pop(uid, None)) is not None:
            task.cancel()

    async def _live(self, pod: Object) -> None:
        metadata = pod["metadata"]
        namespace = await self._api.get(f"/api/v1/namespaces/{metadata['namespace']}") or {"metadata": {}}
        life = self._lives[metadata["uid"]] = PodLife(
            pod,
            self._machine,
            is_pretended=(namespace["metadata"].get("labels") or {}).get("pods") == "pretended",
            find=partial(self._find, metadata["namespace"]),
            token=partial(self._ask_token, pod),
            report=partial(self._report, pod),
        )
        try:
            await life.run()
        except Exception as fault:
            why = f"{metadata['namespace']}/{metadata['name']}: {type(fault).__name__}: {fault}"
            sys.stderr.write(f"{why[:1000]}\n")
            await self._report(pod, {"phase": "Failed", "reason": type(fault).__name__, "message": why[:1000]})

    async def _end(self, pod: Object) -> None:
        """End a Pod that is being deleted, then let its object go."""
        metadata = pod["metadata"]
        if (life := self._lives.get(metadata["uid"])) is not None:
            await life.end(float(metadata.get("deletionGracePeriodSeconds") or 0))
            await asyncio.gather(self._tasks[metadata["uid"]], return_exceptions=True)
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        await self._api.delete(_path(pod), body)

    async def _report(self, pod: Object, status: Object) -> None:
        with contextlib.suppress(ApiError):  # a Pod of the same name that is another one refuses it
            await self._api.patch(
                f"{_path(pod)}/status", {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
            )

    async def _find(self, namespace: str, kind: str, name: str) -> Object | None:
        return await self._api.get(f"/api/v1/namespaces/{namespace}/{kind.lower()}s/{name}")

    async def _ask_token(self, pod: Object, audience: str, seconds: int) -> str:
        account = pod["spec"].get("serviceAccountName", "default")
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/serviceaccounts/{account}/token"
        spec: Object = {"expirationSeconds": seconds, **({"audiences": [audience]} if audience else {})}
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = await self._api.create(path, request)
        return "" if answer is None else str(answer["status"]["token"])


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


async def _hosts(api: Api) -> str:
    """Return lines for ``/etc/hosts``: each Service at one of its ready Pods, in place of DNS and kube-proxy."""
    listed = await api.get("/apis/discovery.k8s.io/v1/endpointslices") or {"items": []}
    lines = []
    for one in listed["items"]:
        ready = [end for end in one.get("endpoints") or () if (end.get("conditions") or {}).get("ready")]
        name = (one["metadata"].get("labels") or {}).get("kubernetes.io/service-name")
        if ready and name:
            whole = f"{name}.{one['metadata']['namespace']}"
            lines.append(f"{ready[0]['addresses'][0]}\t{name} {whole} {whole}.svc {whole}.svc.cluster.local\n")
    return "".join(lines)


async def _main(config: Object) -> None:
    folder = Path(config["folder"])
    async with Api(Path(config["kubeconfig"])) as api:
        network = PodNetwork(config["bridge"], config["network"])
        machine = Machine(folder, Path(config["images"]), network, partial(_hosts, api))
        kubelet = Kubelet(api, config["nodes"], machine)
        running = asyncio.create_task(kubelet.run())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await running


if __name__ == "__main__":
    asyncio.run(_main(json.loads(Path(sys.argv[1]).read_text())))
