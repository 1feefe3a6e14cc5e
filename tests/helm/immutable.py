"""What Kubernetes never lets an upgrade change: a chart that does so cannot be upgraded, only installed anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.helm.manifests import Object, name_of

__all__ = ["immutable_changes", "immutable_fields", "immutable_fields_of"]

_FIELDS = {
    "ClusterRoleBinding": ("roleRef",),
    "DaemonSet": ("spec.selector",),
    "Deployment": ("spec.selector",),
    "Job": ("spec.template", "spec.selector", "spec.completionMode", "spec.completions"),
    "ReplicaSet": ("spec.selector",),
    "RoleBinding": ("roleRef",),
    "Service": ("spec.clusterIP", "spec.clusterIPs"),
}
"""By kind, the fields that stay as they were made."""

_MUTABLE_IN_SPEC = {
    "PersistentVolumeClaim": {"resources", "volumeAttributesClassName"},
    "Pod": {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "containers", "initContainers"},
    "StatefulSet": {
        "minReadySeconds",
        "ordinals",
        "persistentVolumeClaimRetentionPolicy",
        "replicas",
        "revisionHistoryLimit",
        "template",
        "updateStrategy",
    },
}
"""By kind, the only fields of ``spec`` that may change."""

_CONTENT = ("data", "binaryData", "immutable")
_HOOK = "helm.sh/hook"


def immutable_fields_of(one: Object) -> dict[str, Any]:
    """Return the fields of an object that no update may change, by path, with None for those it does not set.

    >>> immutable_fields_of({"kind": "Deployment", "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}})
    {'spec.selector': {'matchLabels': {'a': 'b'}}}
    """
    kind, spec = one["kind"], one.get("spec") or {}
    fields = {path: _at(one, path) for path in _FIELDS.get(kind, ())}
    if kind == "Secret":
        fields["type"] = one.get("type") or "Opaque"
    if (mutable := _MUTABLE_IN_SPEC.get(kind)) is not None:
        fields |= {f"spec.{key}": value for key, value in spec.items() if key not in mutable}
    if kind in ("ConfigMap", "Secret") and one.get("immutable"):
        fields |= {path: one.get(path) for path in _CONTENT}
    return fields


def immutable_fields(objects: Iterable[Object]) -> dict[str, dict[str, Any]]:
    """Return what an upgrade must leave as it is: of each object ``Kind/name`` with its immutable fields.

    Plain JSON, in the order of the names, so that it can be stored and compared with a later version's. Hooks are
    left out: Helm deletes and makes them anew.
    """
    kept = (one for one in objects if _HOOK not in (one["metadata"].get("annotations") or {}))
    return {name_of(one): immutable_fields_of(one) for one in sorted(kept, key=name_of)}


def immutable_changes(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> list[str]:
    """Return what an upgrade would be refused for, given :func:`immutable_fields` of both versions.

    Objects that only one of them has are no matter: those are made or deleted, not changed.
    """
    return [
        f"{name}: {path} was {before[name].get(path)!r}, is {after[name].get(path)!r}"
        for name in before
        if name in after
        for path in {**before[name], **after[name]}
        # What was not immutable may become so; a field that a spec did not have may not be added to it.
        if (path in before[name] or path.startswith("spec.")) and before[name].get(path) != after[name].get(path)
    ]


def _at(one: Object, path: str) -> Any:
    found: Any = one
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found
