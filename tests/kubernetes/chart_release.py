"""A release of the chart in a namespace of a cluster, by real Helm."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.helm.chart import CHART
from tests.helm.programs import Helm
from tests.kubernetes.cluster import Cluster

__all__ = ["RESTRICTED", "ChartRelease", "listed", "nested"]

RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
"""Labels of a namespace that refuses Pods with more rights than they need."""

_TIMEOUT = "300s"


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted names as the sections of ``config``.

    >>> nested({"privacy.k": 5})
    {'privacy': {'k': 5}}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        section, _, setting = name.partition(".")
        found.setdefault(section, {})[setting] = value
    return found


def listed(cluster: Cluster, namespace: str) -> set[str]:
    """Return every object of a namespace but what Kubernetes keeps there by itself, as ``kind/name``."""
    kinds = ",".join(_kinds(cluster))
    return set(cluster.kubectl("get", kinds, "-n", namespace, "-o", "name", "--ignore-not-found").split())


@cache
def _kinds(cluster: Cluster) -> list[str]:
    """Return the kinds of objects of namespaces; asked for once, when all custom resources are defined."""
    kinds = cluster.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    return [one for one in kinds if not one.startswith("events")]


class ChartRelease:
    """The release ``shoal`` of a namespace.

    Args:
        cluster: The cluster.
        helm: Which Helm to use.
        namespace: Its namespace, created if it does not exist.
        labels: Labels of the namespace.
    """

    def __init__(self, cluster: Cluster, helm: Helm, namespace: str, labels: Mapping[str, str]) -> None:
        self._cluster, self._helm, self.namespace = cluster, helm, namespace
        cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}])

    def run(self, verb: str, *arguments: str, values: Mapping[str, Any] | None = None, chart: Path = CHART) -> str:
        """Run ``helm VERB shoal ...`` and wait until all is ready where the verb can wait.

        Args:
            verb: Such as ``install``.
            arguments: Further arguments.
            values: Values, if the verb takes a chart.
            chart: The chart.

        Raises:
            HelmError: Helm failed.
        """
        waits = [] if verb in ("test", "template") else ["--wait"]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(dict(values or {}), file)
            file.flush()
            given = [] if values is None else [str(chart), "--values", file.name]
            return self._helm.run(
                *(verb, "shoal", *given, "--namespace", self.namespace, *waits, "--timeout", _TIMEOUT, *arguments),
                kubeconfig=self._cluster.kubeconfig,
                timeout_s=360.0,
            )

    def secret(self, name: str, **values: str) -> None:
        """Create a Secret, or change it."""
        metadata = {"name": name, "namespace": self.namespace}
        self._cluster.apply([{"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values}])

    def pods(self) -> list[Any]:
        """Return its workers."""
        found = self._cluster.get("pods", "-n", self.namespace, "-l", "app.kubernetes.io/component=worker")
        return list(found["items"])
