"""The API server request by request: what a cluster refuses, applies, cascades and tells its watchers."""

from __future__ import annotations

import copy
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helm.api.server import ApiServer
from tests.helm.example_release import release
from tests.helm.manifests import Object

KEPT = {f"{one['kind']}": one for one in release()}
PATHS = {
    "ConfigMap": "api/v1/namespaces/default/configmaps",
    "Deployment": "apis/apps/v1/namespaces/default/deployments",
    "Job": "apis/batch/v1/namespaces/default/jobs",
    "PersistentVolumeClaim": "api/v1/namespaces/default/persistentvolumeclaims",
    "Pod": "api/v1/namespaces/default/pods",
    "ReplicaSet": "apis/apps/v1/namespaces/default/replicasets",
    "RoleBinding": "apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
    "Service": "api/v1/namespaces/default/services",
    "StatefulSet": "apis/apps/v1/namespaces/default/statefulsets",
}
MORE = {"more": "x"}
TYPES = {"apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json"}


class Client:
    """Asks the server as a program would."""

    def __init__(self, server: ApiServer) -> None:
        self._address = json.loads(server.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]

    def ask(self, method: str, path: str, body: Any = None, type_: str = "application/json") -> tuple[int, Object]:
        sent = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"{self._address}/{path}", sent, {"Content-Type": type_}, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310 - our own address
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def make(self, kind: str) -> Object:
        code, made = self.ask("POST", PATHS[kind], KEPT[kind])
        assert code == 201, made
        return made

    def names(self, kind: str) -> list[str]:
        return [one["metadata"]["name"] for one in self.ask("GET", PATHS[kind])[1]["items"]]


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A cluster for one test."""
    with ApiServer() as running:
        yield running


@pytest.fixture
def client(server: ApiServer) -> Client:
    """What asks it."""
    return Client(server)


def test_refusals_have_the_reason_by_which_clients_decide(client: Client) -> None:
    """
    What is there cannot be made, what is not cannot be had, and a stale copy cannot be written.
    """
    made = client.make("ConfigMap")
    code, said = client.ask("POST", PATHS["ConfigMap"], KEPT["ConfigMap"])
    assert (code, said["reason"]) == (409, "AlreadyExists")
    code, said = client.ask("GET", f"{PATHS['ConfigMap']}/other")
    assert (code, said["reason"]) == (404, "NotFound")
    assert client.ask("PUT", f"{PATHS['ConfigMap']}/settings", made | {"data": {"color": "red"}})[0] == 200
    code, said = client.ask("PUT", f"{PATHS['ConfigMap']}/settings", made | {"data": {"color": "green"}})
    assert (code, said["reason"]) == (409, "Conflict")
    assert client.ask("GET", "apis/example/v1/things")[0] == 404


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("Deployment", {"spec": {"selector": {"matchLabels": MORE}, "template": {"metadata": {"labels": MORE}}}}),
        ("StatefulSet", {"spec": {"serviceName": "x"}}),
        ("Job", {"spec": {"template": {"spec": {"priority": 1}}}}),
        ("Service", {"spec": {"clusterIP": "10.96.9.9", "clusterIPs": ["10.96.9.9"]}}),
        ("PersistentVolumeClaim", {"spec": {"storageClassName": "fast"}}),
        ("RoleBinding", {"roleRef": {"name": "x"}}),
    ],
)
def test_what_is_immutable_stays(client: Client, kind: str, patch: Object) -> None:
    """
    A change of it is invalid; sending the same again, without what the server chose, is not.
    """
    name = client.make(kind)["metadata"]["name"]
    code, said = client.ask("PATCH", f"{PATHS[kind]}/{name}", patch, TYPES["merge"])
    assert (code, said["reason"]) == (422, "Invalid")
    assert "immutable" in said["message"]
    assert client.ask("PUT", f"{PATHS[kind]}/{name}", KEPT[kind])[0] == 200


def test_an_immutable_content_stays(client: Client) -> None:
    """
    A ConfigMap that was declared immutable changes neither content nor back.
    """
    path = f"{PATHS['ConfigMap']}/settings"
    client.make("ConfigMap")
    assert client.ask("PATCH", path, {"immutable": True}, TYPES["merge"])[0] == 200
    assert client.ask("PATCH", path, {"data": {"color": "red"}}, TYPES["merge"])[0] == 422
    assert client.ask("PATCH", path, {"immutable": None}, TYPES["merge"])[0] == 422
    assert client.ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, TYPES["merge"])[0] == 200


def test_versions_count_changes_and_generations_those_of_the_spec(client: Client) -> None:
    """
    A label changes the one, a spec both, and nothing neither.
    """
    path = f"{PATHS['Deployment']}/web"
    first = client.make("Deployment")["metadata"]
    same = client.ask("PUT", path, KEPT["Deployment"])[1]["metadata"]
    assert same == first
    labeled = client.ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, TYPES["merge"])[1]["metadata"]
    assert labeled["generation"] == 1
    assert int(labeled["resourceVersion"]) > int(first["resourceVersion"])
    assert client.ask("PATCH", path, {"spec": {"replicas": 3}}, TYPES["merge"])[1]["metadata"]["generation"] == 2


def test_a_dry_run_answers_and_keeps_nothing(client: Client, server: ApiServer) -> None:
    """
    Made, changed, deleted: each is checked and noted as what it was.
    """
    assert client.ask("POST", f"{PATHS['ConfigMap']}?dryRun=All", KEPT["ConfigMap"])[0] == 201
    assert server.objects() == []
    client.make("ConfigMap")
    assert client.ask("DELETE", f"{PATHS['ConfigMap']}/settings?dryRun=All")[0] == 200
    assert client.names("ConfigMap") == ["settings"]
    assert [write.dry_run for write in server.writes] == [True, False, True]


@pytest.mark.parametrize("propagation", ["Foreground", "Background", "Orphan"])
def test_deletion_cascades_as_asked(client: Client, propagation: str) -> None:
    """
    A Deployment has a ReplicaSet; it goes with it unless orphaned.
    """
    client.make("Deployment")
    assert len(client.names("ReplicaSet")) == 1
    client.ask("DELETE", f"{PATHS['Deployment']}/web", {"propagationPolicy": propagation})
    assert client.names("Deployment") == []
    assert len(client.names("ReplicaSet")) == (propagation == "Orphan")


def test_jobs_have_a_pod_that_ends_as_they_do(client: Client, server: ApiServer) -> None:
    """
    One that is to fail has a failed pod.
    """
    server.failing.add("Job/topics")
    assert client.make("Job")["status"]["conditions"][0]["type"] == "Failed"
    (pod,) = client.ask("GET", f"{PATHS['Pod']}?labelSelector=job-name%3Dtopics")[1]["items"]
    assert pod["status"]["phase"] == "Failed"


def test_a_watch_tells_what_is_there_and_what_follows(client: Client) -> None:
    """
    Who asks for the initial state gets it, then a mark, then every change, until the time is up.
    """
    client.make("ConfigMap")
    address = f"{client._address}/{PATHS['ConfigMap']}?watch=true&sendInitialEvents=true&timeoutSeconds=1"
    with urllib.request.urlopen(address, timeout=20) as answer:  # noqa: S310 - our own address
        assert [json.loads(answer.readline())["type"] for _ in range(2)] == ["ADDED", "BOOKMARK"]
        client.ask("DELETE", f"{PATHS['ConfigMap']}/settings")
        assert json.loads(answer.readline())["type"] == "DELETED"
        assert answer.readline() == b""


def applied(data: dict[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}


def test_managers_that_apply_own_what_they_set(client: Client) -> None:
    """
    What one no longer sets goes, what another set stays, and to change that is a conflict unless forced.
    """

    def apply(manager: str, data: dict[str, str], more: str = "") -> tuple[int, Object]:
        path = f"{PATHS['ConfigMap']}/settings?fieldManager={manager}{more}"
        code, found = client.ask("PATCH", path, applied(data), TYPES["apply"])
        return code, found.get("data") or found

    assert apply("helm", {"a": "1", "b": "1"}) == (201, {"a": "1", "b": "1"})
    assert apply("other", {"c": "1", "b": "1"}) == (200, {"a": "1", "b": "1", "c": "1"})
    assert apply("helm", {"a": "2"}) == (200, {"a": "2", "b": "1", "c": "1"})
    assert apply("other", {"c": "1"}) == (200, {"a": "2", "c": "1"})
    code, said = apply("other", {"a": "3", "c": "1"})
    assert (code, said["reason"]) == (409, "Conflict")
    assert 'conflict with "helm": .data.a' in said["message"]
    assert apply("other", {"a": "3", "c": "1"}, "&force=true") == (200, {"a": "3", "c": "1"})
    assert apply("helm", {}) == (200, {"a": "3", "c": "1"})


def test_what_an_update_changed_is_no_longer_the_appliers(client: Client) -> None:
    """
    An autoscaler sets replicas: whoever applies another number is in conflict, whoever applies none leaves it.
    """
    path = f"{PATHS['Deployment']}/web"
    wanted = copy.deepcopy(KEPT["Deployment"])
    assert client.ask("PATCH", f"{path}?fieldManager=helm", wanted, TYPES["apply"])[0] == 201
    client.ask("PATCH", f"{path}?fieldManager=autoscaler", {"spec": {"replicas": 5}}, TYPES["merge"])
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/main:2"
    code, after = client.ask("PATCH", f"{path}?fieldManager=helm", wanted, TYPES["apply"])
    assert (code, after["spec"]["replicas"]) == (200, 5)
    assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/main:2"
    wanted["spec"]["replicas"] = 1
    assert client.ask("PATCH", f"{path}?fieldManager=helm", wanted, TYPES["apply"])[0] == 409
