"""Whether the objects of a release fit each other: what no schema of a single object can see."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from tests.helm.manifests import Object, name_of, walk
from tests.helm.pod_security import restricted_problems
from tests.helm.pods import PodTemplate, containers_of, pod_templates, probes_of
from tests.helm.references import reference_problems
from tests.helm.selection import selection_problems

__all__ = ["consistency"]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PORT_NAME = re.compile(r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")

_LONGEST_NAME = {
    "CronJob": 52,  # its jobs' names end in eleven characters of time
    "DaemonSet": 63,
    "Deployment": 63,  # larger ones are legal, but then the pods' host names are cut
    "Job": 63,
    "Namespace": 63,
    "Pod": 63,
    "Service": 63,
    "StatefulSet": 52,  # its revision, name and ten characters of digest, is a label of its pods
}

# "" is the core group of an RBAC rule, and a rule {} of a network policy allows everything.
_MAY_BE_EMPTY = re.compile(r".*\.(apiGroups|ingress|egress)\[\d+\]")


def consistency(objects: Iterable[Object], external: Collection[str] = ()) -> list[str]:
    """Return what does not fit together in a release; nothing if everything does.

    Args:
        objects: Every object of one release, hooks and tests too, that :func:`~tests.helm.schemas.problems` has
            nothing against.
        external: What the release may refer to without having it, as ``Kind/name``, such as ``Secret/kafka-tls``.
    """
    release = list(objects)
    templates = pod_templates(release)
    found = [*_twice(release)]
    for one in release:
        found += [f"{name_of(one)}: {problem}" for problem in (*_names(one), *_empty(one))]
    for template in templates:
        found += [f"{template.name}: {problem}" for problem in (*_pod(template), *restricted_problems(template))]
    return [*found, *selection_problems(release, templates), *reference_problems(release, templates, external)]


def _twice(release: list[Object]) -> Iterator[str]:
    names = Counter((name_of(one), one["metadata"].get("namespace")) for one in release)
    yield from (f"{name}: stands {count} times" for (name, _), count in names.items() if count > 1)


def _names(one: Object) -> Iterator[str]:
    name, kind = one["metadata"]["name"], one["kind"]
    pattern, longest = (_LABEL, 63) if kind in ("Namespace", "Service") else (_SUBDOMAIN, 253)
    longest = _LONGEST_NAME.get(kind, longest)
    if one["apiVersion"].startswith("rbac."):  # any segment of a path
        pattern = re.compile(r"[^/%]+")
    if not pattern.fullmatch(name):
        yield f"metadata.name: {name!r} is no DNS name"
    if kind == "Service" and name[0].isdigit():
        yield f"metadata.name: {name!r} begins with a digit"
    if len(name) > longest:
        yield f"metadata.name: {len(name)} characters, at most {longest}"
    for path, value in walk(one):
        if not (isinstance(value, dict) and path.endswith(("metadata.labels", "selector.matchLabels"))):
            continue
        for key, label in value.items():
            prefix, _, last = key.rpartition("/")
            if not _LABEL_NAME.fullmatch(last) or (prefix and not _SUBDOMAIN.fullmatch(prefix)) or len(prefix) > 253:
                yield f"{path}: the key {key!r} is not valid"
            if label != "" and not _LABEL_NAME.fullmatch(str(label)):
                yield f"{path}: the value {label!r} of {key} is not valid, at most 63 letters, digits and -_."


def _empty(one: Object) -> Iterator[str]:
    for path, value in walk(one):
        if value is None:
            yield f"{path}: null"
        elif path.endswith("]") and value in ("", {}, []) and not _MAY_BE_EMPTY.fullmatch(path):
            yield f"{path}: empty"


def _repeated(values: Iterable[Any]) -> list[Any]:
    return [value for value, count in Counter(values).items() if count > 1]


def _pod(template: PodTemplate) -> Iterator[str]:
    spec = template.spec
    containers = list(containers_of(spec))
    # Of a stateful set, what its claims hold can be mounted like a volume of the pod.
    claims = (template.owner.get("spec") or {}).get("volumeClaimTemplates") or ()
    volumes = [one["name"] for one in spec.get("volumes") or ()] + [one["metadata"]["name"] for one in claims]
    mounted = {mount["name"] for _, one in containers for mount in one.get("volumeMounts") or ()}
    ports = [port["name"] for _, one in containers for port in one.get("ports") or () if "name" in port]
    yield from (f"spec: container {name} stands twice" for name in _repeated(one["name"] for _, one in containers))
    yield from (f"spec: volume {name} stands twice" for name in _repeated(volumes))
    yield from (f"spec: port {name} stands twice" for name in _repeated(ports))
    yield from (f"spec: port name {name!r} is not valid" for name in ports if not _PORT_NAME.fullmatch(name))
    yield from (f"spec: volume {name} is not mounted" for name in sorted(set(volumes) - mounted))
    yield from (f"spec: {name!r} is no DNS label" for name in volumes if not _LABEL.fullmatch(name))
    for where, container in containers:
        if not _LABEL.fullmatch(container["name"]):
            yield f"{where}: the name {container['name']!r} is no DNS label"
        variables = (one["name"] for one in container.get("env") or ())
        yield from (f"{where}: variable {name} stands twice" for name in _repeated(variables))
        mounts = container.get("volumeMounts") or ()
        paths = (one["mountPath"] for one in mounts)
        yield from (f"{where}: {path} is mounted twice" for path in _repeated(paths))
        yield from (f"{where}: there is no volume {one['name']}" for one in mounts if one["name"] not in volumes)
        yield from _probe_ports(where, container)


def _probe_ports(where: str, container: Object) -> Iterator[str]:
    named = {port["name"] for port in container.get("ports") or () if "name" in port}
    numbers = {port["containerPort"] for port in container.get("ports") or ()}
    for probe, action in probes_of(container):
        for kind in ("httpGet", "tcpSocket", "grpc"):
            port = (action.get(kind) or {}).get("port")
            if port is not None and port not in (named if isinstance(port, str) else numbers):
                yield f"{where}: {probe} asks port {port}, which this container does not have"
