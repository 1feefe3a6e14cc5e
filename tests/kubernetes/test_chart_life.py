"""The life of the chart on a real control plane: installed, tested, upgraded, rolled back, drained and removed."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.brokers import ApacheKafka, unique
from tests.cluster.workers import SECRET, wait_until
from tests.helm.chart import CHART, EXTERNAL, FEATURES, MINIMAL, merged
from tests.helm.programs import Helm, HelmError
from tests.kubernetes.chart_release import RESTRICTED, ChartRelease, listed
from tests.kubernetes.cluster import NODES, Cluster
from tests.kubernetes.programs import crds

pytestmark = pytest.mark.cluster

PRETENDED = RESTRICTED | {"pods": "pretended"}
QUICK = ("--set", "minReadySeconds=0")
AT_A_TIME = 6
"""Releases that live at the same time; they mostly wait."""


ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CLUSTER_WIDE = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
    {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "runsc"},
    *(
        # Strimzi publishes its own with its operator alone; what it would take is tested with its classes.
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{kind.lower()}s.kafka.strimzi.io"},
            "spec": {
                "group": "kafka.strimzi.io",
                "names": {"kind": kind, "plural": f"{kind.lower()}s"},
                "scope": "Namespaced",
                "versions": [
                    {"name": name, "served": True, "storage": name == "v1beta2", "schema": {"openAPIV3Schema": ANY}}
                    for name in ("v1beta2", "v1")
                ],
            },
        }
        for kind in ("KafkaTopic", "KafkaUser")
    ),
)
"""What values name and no namespace has."""

ALSO = {"placement": ("--set", "schedulerName=default-scheduler")}
"""What a feature needs here: there is no other scheduler."""

OUTLIVING = "kafkatopic."
"""Topics of Strimzi are kept, with the records in them."""

QUOTA = {"requests.cpu": "10", "requests.memory": "20Gi", "limits.cpu": "20", "limits.memory": "40Gi"}
"""Every container has to say what it asks for."""


@pytest.fixture(scope="module")
def furnished(cluster: Cluster) -> Cluster:
    """The cluster with the resources of the Prometheus operator and of KEDA, and what else values expect of it."""
    files = [part for file in crds() for part in ("-f", str(file))]
    cluster.kubectl("apply", "--server-side", *files)
    cluster.apply(CLUSTER_WIDE)
    return cluster


def release_of(cluster: Cluster, helm: Helm, namespace: str, labels: dict[str, str]) -> ChartRelease:
    """Return a release in a new namespace that has what values name and somebody else makes."""
    release = ChartRelease(cluster, helm, namespace, labels)
    named = [one.split("/") for one in sorted(EXTERNAL)]
    there = [
        {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}
        for kind, name in named
        if kind in ("ServiceAccount", "ConfigMap", "Secret")
    ]
    cluster.apply(there)
    return release


# ---------------------------------------------------------------------- every values file, with Pods that are pretended


def live(cluster: Cluster, helm: Helm, feature: str) -> str:
    """Let a release with the values of a feature live and end; return what went wrong."""
    namespace = f"{feature}-{helm.version.split('.')[0]}"
    values = FEATURES[feature]
    try:
        release = release_of(cluster, helm, namespace, PRETENDED)
        if feature == "quota":
            metadata = {"name": "quota", "namespace": namespace}
            cluster.apply(
                [{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": QUOTA}}]
            )
        before = listed(cluster, namespace)
        options = QUICK + ALSO.get(feature, ())
        release.run("install", *options, values=values)
        release.run("test")
        release.run("upgrade", *options, values=merged(values, {"config": {"privacy": {"k": 30}}}))
        release.run("rollback", "1")
        release.run("uninstall")
        left = {one for one in listed(cluster, namespace) - before if not one.startswith(OUTLIVING)}
        return f"{feature}: left behind {sorted(left)}" if left else ""
    except HelmError as fault:
        return f"{feature}: {fault}"


def test_every_values_file(helm: Helm, furnished: Cluster) -> None:
    """
    Install, test, upgrade, rollback and uninstall with each file of ``helm/ci``, in namespaces that Pod Security
    restricts: the API server takes every object, Helm waits until all is ready, and nothing is left.
    """
    before = listed(furnished, "monitoring")
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        faults = list(threads.map(lambda feature: live(furnished, helm, feature), FEATURES))
    assert [fault for fault in faults if fault] == []
    assert listed(furnished, "monitoring") == before


@pytest.mark.parametrize("feature", ["minimal", "monitoring", "keda"])
def test_a_dry_run_by_the_server(helm4: Helm, furnished: Cluster, feature: str, tmp_path: Path) -> None:
    """All that is rendered, but for hooks, passes the server's admission before anything exists."""
    release = ChartRelease(furnished, helm4, f"dry-{feature}", RESTRICTED)
    rendered = tmp_path / "rendered.yaml"
    rendered.write_text(release.run("template", "--no-hooks", values=FEATURES[feature]))
    said = furnished.kubectl("apply", "--dry-run=server", "-f", str(rendered))
    assert "deployment.apps/shoal created (server dry run)" in said
    assert listed(furnished, release.namespace) == {"configmap/kube-root-ca.crt", "serviceaccount/default"}


def other_version(folder: Path) -> Path:
    """Copy the chart as a version before this one."""
    chart = Path(shutil.copytree(CHART, folder / "shoal"))
    file = chart / "Chart.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    file.write_text(yaml.safe_dump(content | {"version": "0.0.9", "appVersion": "0.0.9"}), encoding="utf-8")
    return chart


def test_an_upgrade_from_the_version_before(helm: Helm, furnished: Cluster, tmp_path: Path) -> None:
    """The image changes with the chart's version, by an upgrade and back by a rollback; nothing is made anew."""
    namespace = f"upgrade-{helm.version.split('.')[0]}"
    release = release_of(furnished, helm, namespace, PRETENDED)

    def deployment() -> tuple[str, str]:
        found = furnished.get("deployment", "shoal", "-n", namespace)
        return found["metadata"]["uid"], found["spec"]["template"]["spec"]["containers"][0]["image"]

    release.run("install", *QUICK, values=MINIMAL, chart=other_version(tmp_path))
    uid, image = deployment()
    assert image == "shoal:0.0.9"
    release.run("upgrade", *QUICK, values=MINIMAL)
    now = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]
    assert deployment() == (uid, f"shoal:{now}")
    release.run("rollback", "1")
    assert deployment() == (uid, "shoal:0.0.9")
    release.run("uninstall")


def test_an_autoscaler_starts_its_least_number_of_workers(helm4: Helm, furnished: Cluster) -> None:
    """The HorizontalPodAutoscaler of the chart finds its Deployment and raises it to ``minReplicas``."""
    release = release_of(furnished, helm4, "scaled", PRETENDED)
    release.run("install", *QUICK, values=FEATURES["hpa"])
    wait_until(
        lambda: len(release.pods()) == FEATURES["hpa"]["autoscaling"]["minReplicas"],
        within_s=60,
        what=lambda: furnished.kubectl("describe", "hpa", "-n", "scaled"),
        every_s=1.0,
    )
    release.run("uninstall")


# ---------------------------------------------------------------------- Pods that are processes


class Watched:
    """The least number of ready workers within a ``with`` block."""

    def __init__(self, release: ChartRelease) -> None:
        self._release = release
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.least = len(release.pods())
        self.looks = 0

    def _watch(self) -> None:
        while not self._over.wait(0.3):
            self.least = min(self.least, len(ready(self._release)))
            self.looks += 1

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def ready(release: ChartRelease) -> list[str]:
    """Return the names of the workers that are ready."""
    return [
        one["metadata"]["name"]
        for one in release.pods()
        for condition in one["status"].get("conditions", ())
        if (condition["type"], condition["status"]) == ("Ready", "True")
    ]


def test_workers_live_and_leave(furnished: Cluster, kafka: ApacheKafka, helm4: Helm) -> None:
    """
    The Job makes the topics, two workers become ready without rights, below a read-only root and with their secret in a
    file, and ``helm test`` passes. Settings that no worker would start with stop an upgrade and replace nobody. A drain
    of their node takes one after the other. In the end each worker has ended with 0, and nothing is left.
    """
    release = ChartRelease(furnished, helm4, "real", RESTRICTED)
    furnished.add_image("shoal:0.1.0")
    release.secret("shoal", secret=SECRET)
    topics = ("checkins", "shards", "seals", "anonymized", "windows", "dead_letters")
    values: dict[str, Any] = {
        "pseudonymSecret": {"existingSecret": "shoal"},
        "secretsAsFiles": True,
        "config": {
            "kafka": {
                "bootstrap_servers": furnished.kafka_for_pods(kafka),
                "replication_factor": 1,
                "partitions": 2,
                "group": unique("group"),
            },
            "topics": {name: unique(name.replace("_", "-")) for name in topics} | {"fragments": ""},
        },
        "replicas": 2,
        "image": {"tag": "0.1.0"},
        "minReadySeconds": 0,
    }
    before = listed(furnished, "real")
    others = NODES[1:]
    for node in others:
        furnished.kubectl("cordon", node)
    release.run("install", values=values)
    for node in others:
        furnished.kubectl("uncordon", node)
    first = ready(release)
    assert len(first) == 2
    release.run("test")

    with pytest.raises(HelmError):
        release.run(
            "upgrade", "--set", "topicsJob.backoffLimit=0", values=merged(values, {"config": {"privacy": {"k": 1}}})
        )
    assert ready(release) == first

    with Watched(release) as watched:
        options = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=240s")
        furnished.kubectl("drain", NODES[0], *options, timeout_s=300.0)
    furnished.kubectl("uncordon", NODES[0])
    assert watched.looks > 3
    assert watched.least >= 1
    wait_until(lambda: len(ready(release)) == 2, within_s=90, what="two workers are ready on other nodes", every_s=1.0)
    assert {one["spec"]["nodeName"] for one in release.pods()} <= set(others)

    release.run("uninstall")
    wait_until(lambda: release.pods() == [], within_s=60, what="no worker is left", every_s=1.0)
    # The Job that stopped the upgrade stays, so that its reason can be read.
    left = {one for one in listed(furnished, "real") - before if "shoal-topics" not in one}
    assert left == set()
    ends = furnished.ends("real")
    workers = {name: codes for name, codes in ends.items() if not name.startswith(("shoal-topics", "shoal-test"))}
    assert len(workers) == 4
    assert all(codes == [0] for codes in workers.values()), workers
