"""Whether what objects refer to by name is there: in the release, or known to be outside."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from tests.helm.manifests import Object, name_of
from tests.helm.pods import PodTemplate, containers_of

__all__ = ["reference_problems"]


class Reference(NamedTuple):
    """Something that has to be there."""

    kind: str
    name: str
    keys: tuple[str, ...] = ()
    """Of a ConfigMap or Secret, the keys that it has to have."""


def reference_problems(
    release: list[Object], templates: list[PodTemplate], external: Collection[str] = ()
) -> Iterator[str]:
    """Return the references that lead nowhere, and scaled workloads that also fix their own number of pods.

    Args:
        release: All objects of a release.
        templates: The pods they make.
        external: What is outside of it, as ``Kind/name``.
    """
    # Kubernetes itself makes a service account of this name in every namespace.
    outside = {*external, "ServiceAccount/default"}
    # Strimzi makes a Secret for each user, under the same name.
    outside |= {f"Secret/{one['metadata']['name']}" for one in release if one["kind"] == "KafkaUser"}
    present = {name_of(one): one for one in release}
    asked = [(template.name, reference) for template in templates for reference in _of_pods(template)]
    asked += [(name_of(one), reference) for one in release for reference in _of_object(one)]
    for who, reference in asked:
        target = f"{reference.kind}/{reference.name}"
        if target in present:
            content = present[target]
            there = {key for field in ("data", "stringData", "binaryData") for key in content.get(field) or ()}
            yield from (f"{who}: {target} has no key {key}" for key in reference.keys if key not in there)
        elif target not in outside:
            yield f"{who}: there is no {target}"
    for one in release:
        if one["kind"] in ("HorizontalPodAutoscaler", "ScaledObject"):
            scaled = "{0.kind}/{0.name}".format(_scaled(one))
            if "replicas" in (present.get(scaled, {}).get("spec") or {}):
                # Every upgrade would reset what the autoscaler chose.
                yield f"{name_of(one)}: {scaled} fixes its replicas"


def _scaled(one: Object) -> Reference:
    target = one["spec"]["scaleTargetRef"]
    return Reference(target.get("kind", "Deployment"), target["name"])


def _of_object(one: Object) -> Iterator[Reference]:  # noqa: PLR0912 - a table of kinds
    spec: Object = one.get("spec") or {}
    match one["kind"]:
        case "HorizontalPodAutoscaler":
            yield _scaled(one)
        case "ScaledObject":
            yield _scaled(one)
            for trigger in spec.get("triggers") or ():
                if reference := trigger.get("authenticationRef"):
                    yield Reference(reference.get("kind", "TriggerAuthentication"), reference["name"])
        case "TriggerAuthentication":
            for field, kind in (("secretTargetRef", "Secret"), ("configMapTargetRef", "ConfigMap")):
                for reference in spec.get(field) or ():
                    yield Reference(kind, reference["name"], (reference["key"],))
        case "RoleBinding" | "ClusterRoleBinding":
            yield Reference(one["roleRef"]["kind"], one["roleRef"]["name"])
            for subject in one.get("subjects") or ():
                if subject["kind"] == "ServiceAccount":
                    yield Reference("ServiceAccount", subject["name"])
        case "StatefulSet":
            if name := spec.get("serviceName"):
                yield Reference("Service", name)
        case "Ingress":
            yield from (Reference("Secret", one["secretName"]) for one in spec.get("tls") or () if "secretName" in one)
        case "ServiceAccount":
            yield from (Reference("Secret", each["name"]) for each in one.get("imagePullSecrets") or ())
        case "ServiceMonitor" | "PodMonitor":
            for endpoint in (spec.get("endpoints") or []) + (spec.get("podMetricsEndpoints") or []):
                yield from _selected_keys(endpoint)


def _selected_keys(value: Any) -> Iterator[Reference]:
    """Return the keys that a scrape endpoint takes from elsewhere: TLS, basic authentication, a bearer token."""
    kinds = {"secret": "Secret", "keySecret": "Secret", "username": "Secret", "password": "Secret"}
    kinds |= {"credentials": "Secret", "bearerTokenSecret": "Secret", "configMap": "ConfigMap"}
    if isinstance(value, dict):
        for key, below in value.items():
            if key in kinds and isinstance(below, dict) and {"name", "key"} <= below.keys():
                if not below.get("optional"):
                    yield Reference(kinds[key], below["name"], (below["key"],))
            else:
                yield from _selected_keys(below)


def _of_pods(template: PodTemplate) -> Iterator[Reference]:
    spec = template.spec
    if account := spec.get("serviceAccountName"):
        yield Reference("ServiceAccount", account)
    yield from (Reference("Secret", one["name"]) for one in spec.get("imagePullSecrets") or ())
    for volume in spec.get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            yield Reference("PersistentVolumeClaim", claim["claimName"])
        for source in [volume, *((volume.get("projected") or {}).get("sources") or ())]:
            yield from _volume(source)
    for _, container in containers_of(spec):
        for source in container.get("envFrom") or ():
            yield from _named(source.get("configMapRef"), "ConfigMap")
            yield from _named(source.get("secretRef"), "Secret")
        for variable in container.get("env") or ():
            chosen = variable.get("valueFrom") or {}
            yield from _named(chosen.get("configMapKeyRef"), "ConfigMap")
            yield from _named(chosen.get("secretKeyRef"), "Secret")


def _volume(source: Object) -> Iterator[Reference]:
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        content = source.get(field)
        if content and not content.get("optional"):
            # A volume calls a secret secretName, a projected one name.
            keys = tuple(item["key"] for item in content.get("items") or ())
            yield Reference(kind, content.get("secretName") or content["name"], keys)


def _named(reference: Object | None, kind: str) -> Iterator[Reference]:
    if reference and not reference.get("optional"):
        yield Reference(kind, reference["name"], (reference["key"],) if "key" in reference else ())
