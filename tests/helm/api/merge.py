"""How a patch changes an object: JSON merge (RFC 7386) and Kubernetes' strategic merge, which knows lists by key."""

from __future__ import annotations

import copy
from typing import Any

from tests.helm.manifests import Object

__all__ = ["UnknownDirectiveError", "json_merge", "keys_of_list", "strategic_merge"]

_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
"""By field, what tells elements of its list apart (`x-kubernetes-list-map-keys` of Kubernetes' OpenAPI)."""

_ORDER, _PATCH, _RETAIN = "$setElementOrder/", "$patch", "$retainKeys"


class UnknownDirectiveError(ValueError):
    """A directive of strategic merge that is not understood here; says which."""


def keys_of_list(kind: str, field: str, elements: list[Any]) -> tuple[str, ...]:
    """Return the keys by which elements of a list are told apart; empty if the list is replaced as a whole.

    >>> keys_of_list("Service", "ports", [{"port": 80}])
    ('port', 'protocol')
    """
    if not all(isinstance(one, dict) for one in elements):
        return ()
    if field == "groups" and kind == "PrometheusRule":
        return ("name",)
    if kind in ("PodMonitor", "PrometheusRule", "ScaledObject", "ServiceMonitor", "TriggerAuthentication"):
        return ()
    if field == "ports" and kind == "Service":
        return ("port", "protocol")
    if field == "ports" and kind != "NetworkPolicy" and all("containerPort" in one for one in elements):
        return ("containerPort", "protocol")
    return _KEYS.get(field, ())


def json_merge(live: Any, patch: Any) -> Any:
    """Return a value with a patch applied: null removes, lists are replaced.

    >>> json_merge({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": 3}})
    {'b': {'c': 2, 'd': 3}}
    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(live) if isinstance(live, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = json_merge(merged.get(key), value)
    return merged


def strategic_merge(kind: str, live: Any, patch: Object) -> Object:
    """Return an object with a patch applied as its kind wants it: elements of some lists are changed one by one.

    Raises:
        UnknownDirectiveError: The patch has a ``$`` directive other than those kubectl and Helm write.
    """
    merged: Object = copy.deepcopy(live) if isinstance(live, dict) else {}
    if patch.get(_PATCH) == "replace":
        return {key: value for key, value in patch.items() if key != _PATCH}
    for key, value in patch.items():
        if key.startswith(_ORDER) or key == _RETAIN:
            continue
        if key.startswith("$"):
            raise UnknownDirectiveError(f"{key} is not understood here")
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = strategic_merge(kind, merged.get(key), value)
        elif isinstance(value, list):
            # Strategic merge goes by the first key alone, server-side apply by all of them.
            keys = keys_of_list(kind, key, [*value, *(merged.get(key) or [])])[:1] if _is_keyed(key, value) else ()
            merged[key] = _merge_list(kind, keys[0], merged.get(key) or [], value) if keys else copy.deepcopy(value)
        else:
            merged[key] = value
    if _RETAIN in patch:
        merged = {key: value for key, value in merged.items() if key in patch[_RETAIN]}
    for key, order in patch.items():
        field = key.removeprefix(_ORDER)
        if key.startswith(_ORDER) and (names := keys_of_list(kind, field, order)) and field in merged:
            ranks = {one.get(names[0]): rank for rank, one in enumerate(order)}
            merged[field].sort(key=lambda one, by=names[0], ranks=ranks: ranks.get(one.get(by), len(ranks)))
    return merged


def _is_keyed(field: str, elements: list[Any]) -> bool:
    # A deletion names only the key, so that a list of nothing but deletions is keyed too.
    return field == "ports" or field in _KEYS or any(isinstance(one, dict) and _PATCH in one for one in elements)


def _merge_list(kind: str, key: str, live: list[Object], patch: list[Object]) -> list[Object]:
    merged = {one.get(key): one for one in live}
    for one in patch:
        if one.get(_PATCH) == "delete":
            merged.pop(one.get(key), None)
        elif one.get(_PATCH) == "replace":
            return [each for each in patch if _PATCH not in each]
        else:
            merged[one.get(key)] = strategic_merge(kind, merged.get(one.get(key)), one)
    return list(merged.values())
