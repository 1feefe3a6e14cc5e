"""Real Helm on the API server: what it does there is what it does on a cluster, good and bad."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helm.api.server import ApiError, ApiServer
from tests.helm.programs import Helm, HelmError
from tests.helm.schemas import OLDEST
from tests.helm.tiny_chart import write_chart

Do = Callable[..., str]
PATIENCE = ("--wait", "--timeout", "20s")
"""Far more than it takes where all goes well."""

IMPATIENCE = ("--wait", "--timeout", "2s")
"""For what never becomes ready."""


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A cluster for one test."""
    with ApiServer() as running:
        yield running


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """The chart, for one test to change."""
    return write_chart(tmp_path / "chart")


@pytest.fixture
def do(helm: Helm, server: ApiServer) -> Do:
    """Runs Helm on the cluster."""
    return lambda *arguments: helm.run(*arguments, kubeconfig=server.kubeconfig)


def since(server: ApiServer, start: int) -> list[str]:
    """Return what was written, as `verb Kind/name`; whether Helm applied, patched or created is left out."""
    return [str(write).replace("apply ", "create ").replace("patch ", "create ") for write in server.writes[start:]]


def test_a_release_lives_from_installation_to_its_end(do: Do, server: ApiServer, chart: Path) -> None:
    """
    install, upgrade, test, rollback, uninstall: the hook runs before the rest, what was there before comes back,
    and nothing but hooks stays.
    """
    do("install", "r", chart, *PATIENCE)
    written = since(server, 0)
    assert written[0] == "create Job/r-before"
    assert sorted(written[1:]) == [
        f"create {name}" for name in ("ConfigMap/r-settings", "Deployment/r", "PodMonitor/r", "Service/r")
    ]
    assert server.get("Deployment", "r")["status"]["readyReplicas"] == 2

    start = len(server.writes)
    do("upgrade", "r", chart, *PATIENCE, "--set", "color=red,image=registry.example/tiny:2")
    assert since(server, start)[:2] == ["delete Job/r-before", "create Job/r-before"]
    assert server.get("ConfigMap", "r-settings")["data"] == {"color": "red"}
    deployment = server.get("Deployment", "r")
    assert deployment["metadata"]["generation"] == 2
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/tiny:2"
    assert deployment["spec"]["template"]["spec"]["containers"][0]["ports"]  # a patch leaves the rest of a list

    assert "Succeeded" in do("test", "r", "--timeout", "20s", "--logs")
    do("rollback", "r", "1", *PATIENCE)
    assert server.get("ConfigMap", "r-settings")["data"] == {"color": "blue"}
    assert "Rollback to 1" in do("history", "r")

    do("uninstall", "r", *PATIENCE)
    assert [one["kind"] for one in server.objects()] == ["Job", "Pod"]
    assert "r" not in do("list", "--short").split()


def test_a_failing_hook_stops_the_installation(do: Do, server: ApiServer, chart: Path) -> None:
    """
    Nothing of the release is made, and the release has failed.
    """
    server.failing.add("Job/r-before")
    with pytest.raises(HelmError, match="pre-install"):
        do("install", "r", chart, *PATIENCE)
    assert since(server, 0) == ["create Job/r-before"]
    assert "STATUS: failed" in do("status", "r")


def test_a_failing_test_fails(do: Do, server: ApiServer, chart: Path) -> None:
    """
    The release's test is a Pod, and its end decides.
    """
    do("install", "r", chart, *PATIENCE)
    server.failing.add("Pod/r-test")
    with pytest.raises(HelmError, match="r-test"):
        do("test", "r", "--timeout", "20s")


def test_what_never_becomes_ready_ends_the_waiting(do: Do, server: ApiServer, chart: Path) -> None:
    """
    --wait ends in failure for a Deployment without ready pods.
    """
    server.failing.add("Deployment/r")
    with pytest.raises(HelmError, match=r"timed out|deadline|not ready"):
        do("install", "r", chart, *IMPATIENCE)
    assert server.get("Deployment", "r")["status"]["readyReplicas"] == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("deployment", "replicas:", "replica:", "'replica' was unexpected"),
        ("deployment", "component: server\n  template", "component: x\n  template", "does not match template"),
        ("service", "port: 80", "port: eighty", "'eighty' is not of type"),
        ("monitor", "interval: 30s", "intervall: 30s", "intervall: unknown field"),
        ("hook", "restartPolicy", "restrtPolicy", "'restrtPolicy' was unexpected"),
    ],
)
def test_what_is_not_valid_is_turned_away(do: Do, chart: Path, file: str, old: str, new: str, said: str) -> None:
    """
    Every write is checked, of hooks too, and Helm passes on what was wrong.
    """
    template = chart / "templates" / f"{file}.yaml"
    text = template.read_text()
    assert old in text
    template.write_text(text.replace(old, new))
    with pytest.raises(HelmError, match=said):
        do("install", "r", chart)


def test_an_upgrade_cannot_change_what_is_immutable(do: Do, server: ApiServer, chart: Path) -> None:
    """
    Another selector of the Deployment is refused, and it stays as it was.
    """
    do("install", "r", chart)
    with pytest.raises(HelmError, match=r"field is immutable: Deployment/r: spec\.selector"):
        do("upgrade", "r", chart, "--set", "selector=other")
    selector = server.get("Deployment", "r")["spec"]["selector"]["matchLabels"]
    assert selector["app.kubernetes.io/name"] == "tiny"


def test_custom_resources_are_there_or_not(helm: Helm, chart: Path) -> None:
    """
    Without the operators a chart that asks makes none of their objects, and one that does not ask fails.
    """
    with ApiServer(custom_resources=False, version=OLDEST) as server:
        helm.run("install", "r", chart, *PATIENCE, kubeconfig=server.kubeconfig)
        assert "PodMonitor" not in {one["kind"] for one in server.objects()}
        monitor = chart / "templates" / "monitor.yaml"
        monitor.write_text("\n".join(monitor.read_text().splitlines()[1:-1]))
        with pytest.raises(HelmError, match="PodMonitor"):
            helm.run("upgrade", "r", chart, kubeconfig=server.kubeconfig)


def test_what_another_release_made_is_not_taken_over(do: Do, server: ApiServer, chart: Path) -> None:
    """
    An object that is there already stops an installation.
    """
    server.make({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r-settings"}, "data": {"a": "b"}})
    with pytest.raises(HelmError, match="r-settings"):
        do("install", "r", chart)
    assert server.get("ConfigMap", "r-settings")["data"] == {"a": "b"}


def test_a_namespace_has_to_be_there(do: Do, server: ApiServer, chart: Path) -> None:
    """
    As in a cluster, nothing is made in a namespace that is not, until Helm is told to make it.
    """
    with pytest.raises(HelmError, match='namespaces "new" not found'):
        do("install", "r", chart, "--namespace", "new")
    do("install", "r", chart, "--namespace", "new", "--create-namespace", *PATIENCE)
    assert server.get("Deployment", "r", namespace="new")
    with pytest.raises(ApiError, match="not found"):
        server.get("Deployment", "r")


def test_a_field_that_the_chart_gives_up_goes_and_others_stay(do: Do, server: ApiServer, chart: Path) -> None:
    """
    An upgrade without a key that the version before had takes it away, and only that.
    """
    do("install", "r", chart)
    settings = chart / "templates" / "configmap.yaml"
    settings.write_text(settings.read_text().replace("\ndata: {", "\ndata: {more: here, "))
    do("upgrade", "r", chart)
    assert server.get("ConfigMap", "r-settings")["data"] == {"more": "here", "color": "blue"}
    settings.write_text(settings.read_text().replace("more: here, ", ""))
    do("upgrade", "r", chart)
    assert server.get("ConfigMap", "r-settings")["data"] == {"color": "blue"}


def test_a_release_may_go_from_one_major_version_of_helm_to_the_other(
    helm3: Helm, helm4: Helm, server: ApiServer, chart: Path
) -> None:
    """
    Helm 4 takes over what Helm 3 installed, even by server-side apply, and Helm 3 what it left.
    """
    for helm, command, color in ((helm3, "install", "a"), (helm4, "upgrade", "b"), (helm3, "upgrade", "c")):
        helm.run(command, "r", chart, "--set", f"color={color}", kubeconfig=server.kubeconfig)
        assert server.get("ConfigMap", "r-settings")["data"] == {"color": color}
    applies = ("--server-side=true", "--set", "color=d")
    helm4.run("upgrade", "r", chart, *applies, kubeconfig=server.kubeconfig)
    assert server.get("ConfigMap", "r-settings")["data"] == {"color": "d"}


def test_an_upgrade_that_never_becomes_ready_is_rolled_back(do: Do, helm: Helm, server: ApiServer, chart: Path) -> None:
    """
    Told to, Helm brings back what was there before, and says that it failed.
    """
    do("install", "r", chart)
    server.failing.add("Deployment/r")
    safely = "--atomic" if helm.version.startswith("3") else "--rollback-on-failure"
    with pytest.raises(HelmError, match="rolling back"):
        do("upgrade", "r", chart, safely, "--timeout", "1s", "--set", "color=red,image=registry.example/tiny:2")
    assert server.get("ConfigMap", "r-settings")["data"] == {"color": "blue"}


def test_kubectl_tries_a_release_without_keeping_it(helm: Helm, server: ApiServer, chart: Path, tmp_path: Path) -> None:
    """
    kubectl apply --dry-run=server checks everything and makes nothing.
    """

    def apply(*arguments: str) -> str:
        rendered = tmp_path / "rendered.yaml"
        rendered.write_text(helm.run("template", "r", chart, *arguments))
        command = ("apply", "--dry-run=server", "-f", rendered)
        return helm.run(*command, kubeconfig=server.kubeconfig, program=helm.kubectl)

    assert "deployment.apps/r created (server dry run)" in apply()
    assert server.objects() == []
    assert all(write.dry_run for write in server.writes)
    with pytest.raises(HelmError, match=r"'zero' is not of type"):
        apply("--set-string", "replicas=zero")
