"""What the API server offers, and how it says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.helm.manifests import Object

__all__ = ["Resource", "discovery", "openapi", "resources_offered"]

_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object, and where it is found."""

    group: str
    """Empty for the core group."""

    version: str
    plural: str
    kind: str
    is_namespaced: bool = True
    short_names: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """As objects have it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Of its group and version, without a slash at either end."""
        return f"apis/{self.group}/{self.version}" if self.group else f"api/{self.version}"


_RBAC = "rbac.authorization.k8s.io"
_MONITORING = "monitoring.coreos.com"

_BUILT_IN = (
    Resource("", "v1", "configmaps", "ConfigMap", short_names=("cm",)),
    Resource("", "v1", "events", "Event"),
    Resource("", "v1", "namespaces", "Namespace", is_namespaced=False, short_names=("ns",)),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", short_names=("pvc",)),
    Resource("", "v1", "pods", "Pod", short_names=("po",)),
    Resource("", "v1", "secrets", "Secret"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",)),
    Resource("", "v1", "services", "Service", short_names=("svc",)),
    Resource("apps", "v1", "daemonsets", "DaemonSet", short_names=("ds",)),
    Resource("apps", "v1", "deployments", "Deployment", short_names=("deploy",)),
    Resource("apps", "v1", "replicasets", "ReplicaSet", short_names=("rs",)),
    Resource("apps", "v1", "statefulsets", "StatefulSet", short_names=("sts",)),
    Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", short_names=("hpa",)),
    Resource("batch", "v1", "cronjobs", "CronJob", short_names=("cj",)),
    Resource("batch", "v1", "jobs", "Job"),
    Resource("networking.k8s.io", "v1", "ingresses", "Ingress", short_names=("ing",)),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", short_names=("netpol",)),
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", short_names=("pdb",)),
    Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", is_namespaced=False),
    Resource(_RBAC, "v1", "clusterroles", "ClusterRole", is_namespaced=False),
    Resource(_RBAC, "v1", "rolebindings", "RoleBinding"),
    Resource(_RBAC, "v1", "roles", "Role"),
)
_CUSTOM = (
    Resource("kafka.strimzi.io", "v1beta2", "kafkatopics", "KafkaTopic", short_names=("kt",)),
    Resource("kafka.strimzi.io", "v1beta2", "kafkausers", "KafkaUser", short_names=("ku",)),
    Resource("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject", short_names=("so",)),
    Resource("keda.sh", "v1alpha1", "triggerauthentications", "TriggerAuthentication"),
    Resource(_MONITORING, "v1", "podmonitors", "PodMonitor"),
    Resource(_MONITORING, "v1", "prometheusrules", "PrometheusRule"),
    Resource(_MONITORING, "v1", "servicemonitors", "ServiceMonitor"),
)


def resources_offered(*, custom: bool) -> tuple[Resource, ...]:
    """Return what a cluster knows, with the operators of Prometheus, KEDA and Strimzi or without."""
    return _BUILT_IN + _CUSTOM if custom else _BUILT_IN


def discovery(path: str, resources: tuple[Resource, ...], version: str) -> Object | None:
    """Return the answer to a question about the server itself, None if the path is none.

    Args:
        path: Of the request, without a slash at either end.
        resources: What it offers.
        version: Of Kubernetes, ``major.minor``.
    """
    major, minor = version.split(".")
    offered: dict[str, Any] = {
        "version": {"major": major, "minor": minor, "gitVersion": f"v{version}.0"},
        "api": {"kind": "APIVersions", "versions": ["v1"]},
        "apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups(resources)},
        "openapi/v3": {"paths": {one.path: {"serverRelativeURL": f"/openapi/v3/{one.path}"} for one in resources}},
    }
    for one in resources:
        listed = offered.setdefault(
            one.path,
            {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": one.api_version, "resources": []},
        )
        listed["resources"].append(
            {
                "name": one.plural,
                "singularName": one.kind.lower(),
                "namespaced": one.is_namespaced,
                "kind": one.kind,
                "shortNames": list(one.short_names),
                "verbs": list(_VERBS),
            }
        )
    return offered.get(path) or openapi(path.removeprefix("openapi/v3/"), resources, version)


def _groups(resources: tuple[Resource, ...]) -> list[Object]:
    versions = {one.group: one for one in resources if one.group}
    return [
        {
            "name": group,
            "versions": [{"groupVersion": one.api_version, "version": one.version}],
            "preferredVersion": {"groupVersion": one.api_version, "version": one.version},
        }
        for group, one in versions.items()
    ]


def openapi(path: str, resources: tuple[Resource, ...], version: str) -> Object | None:
    """Return just enough of a group's OpenAPI that kubectl sees the server checks fields itself, None if unknown."""
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string"}}
        for name in ("dryRun", "fieldManager", "fieldValidation")
    ]
    paths = {}
    for one in resources:
        if one.path == path:
            namespace = "namespaces/{namespace}/" if one.is_namespaced else ""
            paths[f"/{path}/{namespace}{one.plural}/{{name}}"] = {
                "patch": {
                    "operationId": f"patch{one.kind}",
                    "parameters": parameters,
                    "responses": {},
                    "x-kubernetes-action": "patch",
                    "x-kubernetes-group-version-kind": {
                        "group": one.group,
                        "version": one.version,
                        "kind": one.kind,
                    },
                }
            }
    info = {"title": "Kubernetes", "version": version}
    return {"openapi": "3.0.0", "info": info, "paths": paths} if paths else None
