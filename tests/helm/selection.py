"""Whether every selector finds what it should, and nothing that passes by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.helm.manifests import Object, name_of
from tests.helm.pods import CONTROLLERS, PodTemplate, matches, selectors_of

__all__ = ["selection_problems"]

_VERSION_LABELS = ("app.kubernetes.io/version", "helm.sh/chart")


def selection_problems(release: list[Object], templates: list[PodTemplate]) -> Iterator[str]:
    """Return which selectors find nothing, too much, or pods without the ports that are asked for."""
    checks: dict[str, Callable[[Object, list[Object], list[PodTemplate]], Iterator[str]]] = {
        **dict.fromkeys(CONTROLLERS, _controller),
        "Ingress": _ingress,
        "NetworkPolicy": _network_policy,
        "PodDisruptionBudget": _disruption_budget,
        "PodMonitor": _pod_monitor,
        "Service": _service,
        "ServiceMonitor": _service_monitor,
    }
    for one in release:
        for path, selector in selectors_of(one.get("spec") or {}):
            # They change with every upgrade, and a selector must not: it could not be upgraded, or would lose its pods.
            expressions = selector.get("matchExpressions") or ()
            keys = {*selector, *(selector.get("matchLabels") or {}), *(each["key"] for each in expressions)}
            yield from (f"{name_of(one)}: {path} selects by {label}" for label in _VERSION_LABELS if label in keys)
        if check := checks.get(one["kind"]):
            yield from (f"{name_of(one)}: {problem}" for problem in check(one, release, templates))
    for template in templates:
        yield from (f"{template.name}: {problem}" for problem in _placement(template))


def _placement(template: PodTemplate) -> Iterator[str]:
    """Return the rules that would spread pods, or keep them apart, but count those of others."""
    for path, selector in selectors_of(template.spec):
        spreads = "topologySpreadConstraints" in path or "podAntiAffinity" in path
        if spreads and path.endswith("labelSelector") and not matches(selector, template.labels):
            yield f"{path} does not match the labels of its own pods"


def _selected(selector: Object | None, templates: list[PodTemplate]) -> list[PodTemplate]:
    return [template for template in templates if matches(selector or {}, template.labels)]


def _passing(selected: list[PodTemplate], who: str) -> Iterator[str]:
    yield from (f"{who} the pods of {one.name} too, which do not stay" for one in selected if not one.stays)


def _controller(one: Object, _: list[Object], templates: list[PodTemplate]) -> Iterator[str]:
    selected = _selected(one["spec"]["selector"], templates)
    if not any(template.owner is one for template in selected):
        yield "spec.selector does not match the labels of its own pods"
    yield from (f"spec.selector matches the pods of {found.name} too" for found in selected if found.owner is not one)


def _disruption_budget(one: Object, _: list[Object], templates: list[PodTemplate]) -> Iterator[str]:
    selected = _selected(one["spec"].get("selector"), templates)
    if not selected:
        yield "spec.selector matches no pods"
    yield from _passing(selected, "protects")


def _network_policy(one: Object, _: list[Object], templates: list[PodTemplate]) -> Iterator[str]:
    selected = _selected(one["spec"].get("podSelector"), templates)
    if not selected:
        yield "spec.podSelector matches no pods"
    for rule in one["spec"].get("ingress") or ():
        for port in rule.get("ports") or ():
            wanted = port.get("port")
            if wanted is not None and not any(template.has_port(wanted) for template in selected):
                yield f"spec.ingress allows port {wanted}, which no selected pod has"


def _service(one: Object, _: list[Object], templates: list[PodTemplate]) -> Iterator[str]:
    if not (selector := one["spec"].get("selector")):
        return  # its endpoints are somebody else's
    selected = _selected(selector, templates)
    if not selected:
        yield "spec.selector matches no pods"
    yield from _passing(selected, "sends requests to")
    names = [port.get("name") for port in one["spec"].get("ports") or ()]
    if len(names) > 1 and (None in names or len(set(names)) < len(names)):
        yield "spec.ports: of several, each needs a name of its own"
    for port in one["spec"].get("ports") or ():
        wanted = port.get("targetPort", port["port"])
        for template in selected:
            if template.stays and not template.has_port(wanted):
                yield f"spec.ports: the pods of {template.name} have no port {wanted}"


def _service_monitor(one: Object, release: list[Object], _: list[PodTemplate]) -> Iterator[str]:
    services = [
        found
        for found in release
        if found["kind"] == "Service" and matches(one["spec"]["selector"], found["metadata"].get("labels") or {})
    ]
    if not services:
        yield "spec.selector matches no Service"
        return
    names = {port.get("name") for found in services for port in found["spec"].get("ports") or ()}
    yield from _unnamed("endpoints", one, names)


def _pod_monitor(one: Object, _: list[Object], templates: list[PodTemplate]) -> Iterator[str]:
    selected = _selected(one["spec"]["selector"], templates)
    if not selected:
        yield "spec.selector matches no pods"
        return
    yield from _passing(selected, "scrapes")
    yield from _unnamed("podMetricsEndpoints", one, {name for found in selected for name in found.port_names()})


def _unnamed(field: str, one: Object, names: set[Any]) -> Iterator[str]:
    for endpoint in one["spec"].get(field) or ():
        if "port" in endpoint and endpoint["port"] not in names:
            yield f"spec.{field}: there is no port named {endpoint['port']}"


def _ingress(one: Object, release: list[Object], _: list[PodTemplate]) -> Iterator[str]:
    services = {found["metadata"]["name"]: found for found in release if found["kind"] == "Service"}
    paths = [path for rule in one["spec"].get("rules") or () for path in (rule.get("http") or {}).get("paths") or ()]
    for backend in [*(path["backend"] for path in paths), one["spec"].get("defaultBackend") or {}]:
        if not (wanted := backend.get("service")):
            continue
        if (found := services.get(wanted["name"])) is None:
            yield f"there is no Service {wanted['name']}"
            continue
        offered = [(port.get("name"), port["port"]) for port in found["spec"].get("ports") or ()]
        port = wanted.get("port") or {}
        if not any(port.get("name") == name if "name" in port else port.get("number") == at for name, at in offered):
            yield f"Service {wanted['name']} has no port {port.get('name', port.get('number'))}"
