"""Workers that are Pods of a release of the chart."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.workers import Place, wait_until
from tests.kubernetes.changes.fleet import Wanted
from tests.kubernetes.chart_release import ChartRelease, nested
from tests.kubernetes.cluster import Cluster

__all__ = ["Pods"]

_GONE_WITHIN_S = 120.0
_TERMINATED = 128 + signal.SIGTERM
_REPLACED = "other settings are in force"


@dataclass
class Pods:
    """Workers of a release, changed by ``helm upgrade`` and ``kubectl drain``; see ``changes.fleet.Fleet``."""

    cluster: Cluster
    release: ChartRelease
    place: Place
    servers: str
    """What Pods connect to."""

    _secrets: list[str] = field(default_factory=list)
    _ends: dict[str, list[int]] = field(default_factory=dict)

    def become(self, wanted: Wanted) -> None:
        """Upgrade the release, and wait until its Pods are ready and those before have ended."""
        if wanted.secret not in self._secrets:
            self._secrets.append(wanted.secret)
        name = f"shoal-{self._secrets.index(wanted.secret) + 1}"
        self.release.secret(name, secret=wanted.secret)
        self.release.run(
            "upgrade", "--install", values=self.values(wanted) | {"pseudonymSecret": {"existingSecret": name}}
        )
        self._wait_for(wanted.replicas)

    def values(self, wanted: Wanted) -> dict[str, Any]:
        """Return the chart's values, without those of the secret."""
        settings = self.place.values() | wanted.values() | {"kafka.bootstrap_servers": self.servers}
        del settings["privacy.secret"]
        return {
            "config": nested(settings | {"kafka.replication_factor": 1}),
            "replicas": wanted.replicas,
            "minReadySeconds": 0,  # as the periods of probes: a change takes as long as workers need
            "image": {"tag": wanted.image.partition(":")[2]},
            "topicsJob": {"create": False},  # the topics are there; it approves what is changed
            **{f"{probe}Probe": {"periodSeconds": 1} for probe in ("startup", "readiness")},
        }

    def drain(self) -> None:
        """Drain the node of a worker, and let it be used again."""
        pods = self.release.pods()
        node = pods[0]["spec"]["nodeName"]
        options = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=240s")
        self.cluster.kubectl("drain", node, *options, timeout_s=300.0)
        self._wait_for(len(pods))
        self.cluster.kubectl("uncordon", node)

    def _wait_for(self, n: int) -> None:
        def are_ready() -> bool:
            pods = self.release.pods()
            ready = [
                one
                for one in pods
                for condition in one["status"].get("conditions", ())
                if condition["type"] == "Ready" and condition["status"] == "True"
            ]
            return len(pods) == len(ready) == n

        wait_until(are_ready, within_s=_GONE_WITHIN_S, what=f"{n} Pods are ready and no others are left", every_s=1.0)

    def trouble(self) -> list[str]:
        """Return Pods that ended with another code than 0 since the last call.

        A worker with replaced settings may be started again before its Pod is deleted: then it does not start, or
        SIGTERM ends it before it has a handler.
        """
        namespace = self.release.namespace
        before, self._ends = self._ends, self.cluster.ends(namespace)
        return [
            f"{name} ended with {code}"
            for name, codes in self._ends.items()
            for code in codes[len(before.get(name, ())) :]
            if code not in (0, _TERMINATED) and not (code == 1 and _REPLACED in self.cluster.logs(namespace, name))
        ]
