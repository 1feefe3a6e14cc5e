"""The pods that objects make, and what selects them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.helm.manifests import Object, name_of

__all__ = ["CONTROLLERS", "PodTemplate", "containers_of", "matches", "pod_templates", "probes_of", "selectors_of"]

CONTROLLERS = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
"""Kinds that keep pods running and find them again by a selector."""

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """The pods one object makes."""

    owner: Object
    """The object; a Pod is its own."""

    labels: dict[str, str]
    """Their labels."""

    spec: Object
    """Their ``spec``."""

    metadata: Object
    """Their ``metadata``."""

    @property
    def name(self) -> str:
        """The owner, as messages name it."""
        return name_of(self.owner)

    @property
    def stays(self) -> bool:
        """Whether these pods stay, unlike those of jobs, hooks and tests."""
        return self.owner["kind"] in CONTROLLERS

    def port_names(self) -> set[str]:
        """Return the names of the containers' ports."""
        return {port["name"] for _, one in containers_of(self.spec) for port in one.get("ports", ()) if "name" in port}

    def port_numbers(self) -> set[int]:
        """Return the numbers of the containers' ports."""
        return {port["containerPort"] for _, one in containers_of(self.spec) for port in one.get("ports", ())}

    def has_port(self, port: int | str) -> bool:
        """Return whether a container declares a port of this name or number."""
        return port in (self.port_names() if isinstance(port, str) else self.port_numbers())


def pod_templates(objects: Iterable[Object]) -> list[PodTemplate]:
    """Return what pods the objects make, in order."""
    found = []
    for one in objects:
        spec = one.get("spec") or {}
        match one["kind"]:
            case "Pod":
                template = one
            case "DaemonSet" | "Deployment" | "Job" | "ReplicaSet" | "StatefulSet":
                template = spec["template"]
            case "CronJob":
                template = spec["jobTemplate"]["spec"]["template"]
            case _:
                continue
        metadata = template.get("metadata") or {}
        found.append(PodTemplate(one, metadata.get("labels") or {}, template["spec"], metadata))
    return found


def containers_of(spec: Object) -> Iterator[tuple[str, Object]]:
    """Return the containers of a pod, those that only initialize it too, each with its path in the ``spec``."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for number, container in enumerate(spec.get(field) or ()):
            yield f"spec.{field}[{number}]", container


def probes_of(container: Object) -> Iterator[tuple[str, Object]]:
    """Return the actions of a container's probes and lifecycle hooks, each with its path in the container."""
    for probe in _PROBES:
        if probe in container:
            yield probe, container[probe]
    for hook, action in (container.get("lifecycle") or {}).items():
        if isinstance(action, dict):
            yield f"lifecycle.{hook}", action


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether labels satisfy a selector, be it of labels alone (Service) or with ``matchLabels``.

    >>> matches({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {"app": "shoal"})
    True
    """
    expressions = selector.get("matchExpressions") or []
    is_plain = not selector.keys() & {"matchLabels", "matchExpressions"}
    wanted = selector if is_plain else selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    for one in expressions:
        value = labels.get(one["key"])
        right = {
            "In": value in one.get("values", ()),
            "NotIn": value not in one.get("values", ()),
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[one["operator"]]
        if not right:
            return False
    return True


def selectors_of(value: Any, path: str = "spec") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return every label selector below a value, with its path: ``selector``, ``podSelector``, ``labelSelector``."""
    if isinstance(value, dict):
        for key, below in value.items():
            # Those of volume claims and custom metrics choose other things, but by labels all the same.
            if key.lower().endswith("selector") and isinstance(below, dict) and key != "nodeSelector":
                yield f"{path}.{key}", below
            else:
                yield from selectors_of(below, f"{path}.{key}")
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from selectors_of(below, f"{path}[{number}]")
