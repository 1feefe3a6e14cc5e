"""The parts of the kubelet stand-in that need no cluster: variables, volumes and probes, as Kubernetes has them."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.kubelet.environment import ConfigMissingError, variables
from tests.kubernetes.kubelet.probes import Probe
from tests.kubernetes.kubelet.volumes import write_volumes

POD: dict[str, Any] = {
    "metadata": {"name": "shoal-1", "namespace": "city", "uid": "u", "labels": {"app": "shoal"}},
    "spec": {"nodeName": "node-1"},
}


class Objects:
    """ConfigMaps and Secrets by kind and name."""

    def __init__(self) -> None:
        self.there: dict[tuple[str, str], dict[str, str]] = {
            ("ConfigMap", "settings"): {"settings.yaml": "a: 1", "HOST": "kafka"},
            ("Secret", "shoal"): {"secret": "of the tests"},
        }

    async def find(self, kind: str, name: str) -> dict[str, Any] | None:
        data = self.there.get((kind, name))
        if data is None:
            return None
        is_secret = kind == "Secret"
        return {"data": {k: base64.b64encode(v.encode()).decode() if is_secret else v for k, v in data.items()}}


async def token(audience: str, seconds: int) -> str:
    return f"for {audience}, {seconds} s"


def reference(kind: str, name: str, key: str, **more: object) -> dict[str, Any]:
    return {"name": "GIVEN", "valueFrom": {f"{kind}KeyRef": {"name": name, "key": key, **more}}}


async def test_variables_come_from_where_the_container_says() -> None:
    """
    Plain values with earlier ones in them, keys of Secrets and ConfigMaps, fields of the Pod, and whole ConfigMaps,
    whose values a variable by name replaces.
    """
    container = {
        "envFrom": [{"configMapRef": {"name": "settings"}, "prefix": "ALL_"}],
        "env": [
            {"name": "PORT", "value": "9092"},
            {"name": "ADDRESS", "value": "$(ALL_HOST):$(PORT) $(NOBODY) $$(PORT)"},
            {"name": "ALL_settings.yaml", "value": "mine"},
            reference("secret", "shoal", "secret"),
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        ],
    }
    assert await variables(container, POD, "10.0.0.2", Objects().find) == {
        "ALL_HOST": "kafka",
        "ALL_settings.yaml": "mine",
        "PORT": "9092",
        "ADDRESS": "kafka:9092 $(NOBODY) $(PORT)",
        "GIVEN": "of the tests",
        "NODE": "node-1",
        "IP": "10.0.0.2",
        "APP": "shoal",
    }


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (reference("secret", "another", "secret"), "Secret another does not exist"),
        (reference("secret", "shoal", "another"), "Secret shoal has no key another"),
        ({"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "spec.hostname"}}}, "is not known here"),
        ({"name": "X", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}, "is not known here"),
    ],
)
async def test_what_is_missing_is_named(one: dict[str, Any], says: str) -> None:
    """A container that names what does not exist, or what the stand-in does not know, does not start."""
    with pytest.raises(ConfigMissingError, match=says):
        await variables({"env": [one]}, POD, "", Objects().find)


async def test_what_may_be_missing_is_left_out() -> None:
    """An optional key that does not exist is no variable."""
    one = reference("configMap", "another", "key", optional=True)
    assert await variables({"env": [one]}, POD, "", Objects().find) == {}


def with_volumes(*volumes: dict[str, Any]) -> dict[str, Any]:
    return {**POD, "spec": {"volumes": list(volumes)}}


async def test_volumes_are_files(tmp_path: Path) -> None:
    """
    Keys of a ConfigMap, items of a Secret with their modes, a token, an empty folder that all may write to, and items
    of several Secrets in one folder, of which one need not exist.
    """
    pod = with_volumes(
        {"name": "settings", "configMap": {"name": "settings"}},
        {
            "name": "secret",
            "secret": {"secretName": "shoal", "items": [{"key": "secret", "path": "a/b", "mode": 0o400}]},
        },
        {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "kafka"}}]}},
        {"name": "scratch", "emptyDir": {}},
        {
            "name": "several",
            "projected": {
                "defaultMode": 0o440,
                "sources": [
                    {"secret": {"name": "shoal", "items": [{"key": "secret", "path": "S"}]}},
                    {"secret": {"name": "nowhere", "optional": True, "items": [{"key": "x", "path": "X"}]}},
                ],
            },
        },
    )
    await write_volumes(pod, tmp_path, Objects().find, token)
    assert (tmp_path / "several/S").read_text() == "of the tests"
    assert (tmp_path / "several/S").stat().st_mode & 0o777 == 0o440
    assert not (tmp_path / "several/X").exists()
    assert (tmp_path / "settings/settings.yaml").read_text() == "a: 1"
    assert (tmp_path / "secret/a/b").read_text() == "of the tests"
    assert (tmp_path / "secret/a/b").stat().st_mode & 0o777 == 0o400
    assert (tmp_path / "token/t").read_text() == "for kafka, 3600 s"
    assert list((tmp_path / "scratch").iterdir()) == []


async def test_files_follow_their_config_map(tmp_path: Path) -> None:
    """
    A second call shows the new content under the same name, all files at once; what is mounted by the path of a file
    stays.
    """
    objects, pod = Objects(), with_volumes({"name": "settings", "configMap": {"name": "settings"}})
    await write_volumes(pod, tmp_path, objects.find, token)
    with (tmp_path / "settings/settings.yaml").open() as mounted:
        objects.there["ConfigMap", "settings"] = {"settings.yaml": "a: 2", "HOST": "kafka"}
        await write_volumes(pod, tmp_path, objects.find, token)
        assert mounted.read() == "a: 1"
    assert (tmp_path / "settings/settings.yaml").read_text() == "a: 2"
    before = (tmp_path / "settings/..data").resolve()
    await write_volumes(pod, tmp_path, objects.find, token)
    assert (tmp_path / "settings/..data").resolve() == before, "nothing has changed"


@pytest.mark.parametrize(
    ("volume", "says"),
    [
        ({"name": "x", "configMap": {"name": "another"}}, "ConfigMap another does not exist"),
        ({"name": "x", "secret": {"secretName": "shoal", "items": [{"key": "k", "path": "p"}]}}, "has no key k"),
        ({"name": "x", "hostPath": {"path": "/"}}, "of a kind that is not known here"),
    ],
)
async def test_a_volume_that_cannot_be_written_is_named(tmp_path: Path, volume: dict[str, Any], says: str) -> None:
    """A Pod whose volume names what does not exist, or is of another kind, waits and says so."""
    with pytest.raises(ConfigMissingError, match=says):
        await write_volumes(with_volumes(volume), tmp_path, Objects().find, token)


def test_a_probe_decides_after_enough_tries_in_a_row() -> None:
    """A success between two failures begins the count anew."""
    probe = Probe({"failureThreshold": 2, "successThreshold": 2})
    tries = (False, True, False, False, True, True)
    assert [probe.count(success=one) for one in tries] == [None, None, None, False, None, True]


@pytest.mark.cluster
def test_bridges_that_begin_at_once_have_addresses_of_their_own() -> None:
    """As those of two processes that test side by side."""
    program = (
        "import sys\n"
        "from tests.kubernetes.kubelet.network import Bridge\n"
        "with Bridge() as one:\n"
        "    print(one.address, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    addresses = [one.stdout.readline() for one in running if one.stdout is not None]
    for one in running:
        one.communicate()
    assert len({address for address in addresses if address}) == 4
