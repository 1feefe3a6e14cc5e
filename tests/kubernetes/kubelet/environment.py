"""The variables of a container, as its Pod names them."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable, Mapping

from tests.helm.manifests import Object

__all__ = ["ConfigMissingError", "Lookup", "content", "field_of", "variables"]

Lookup = Callable[[str, str], Awaitable[Object | None]]
"""Finds an object of the Pod's namespace by kind and name: ``ConfigMap`` or ``Secret``."""


class ConfigMissingError(Exception):
    """A container cannot start, because what it names does not exist; says what."""


async def variables(container: Object, pod: Object, pod_ip: str, find: Lookup) -> dict[str, str]:
    """Return the variables of a container.

    Args:
        container: The container of the Pod's ``spec``.
        pod: The Pod.
        pod_ip: Its address.
        find: Finds what it names.

    Raises:
        ConfigMissingError: Something that it names does not exist.
    """
    found: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        for kind in ("ConfigMap", "Secret"):
            if (named := source.get(f"{kind[0].lower()}{kind[1:]}Ref")) is not None:
                values = await content(kind, named, find)
                found |= {source.get("prefix", "") + name: value.decode() for name, value in values.items()}
    for one in container.get("env", ()):
        value = await _value(one, pod, pod_ip, find)
        if value is not None:
            found[one["name"]] = value if "valueFrom" in one else expanded(value, found)
    return found


async def _value(one: Object, pod: Object, pod_ip: str, find: Lookup) -> str | None:
    source = one.get("valueFrom")
    if source is None:
        return str(one.get("value", ""))
    if "fieldRef" in source:
        return field_of(source["fieldRef"]["fieldPath"], pod, pod_ip)
    for kind in ("ConfigMap", "Secret"):
        if (named := source.get(f"{kind[0].lower()}{kind[1:]}KeyRef")) is not None:
            values = await content(kind, named, find)
            if named["key"] in values:
                return values[named["key"]].decode()
            if named.get("optional"):
                return None
            raise ConfigMissingError(f"{kind} {named['name']} has no key {named['key']}")
    raise ConfigMissingError(f"the variable {one['name']} has a source that is not known here: {', '.join(source)}")


async def content(kind: str, named: Object, find: Lookup) -> dict[str, bytes]:
    """Return the keys of a ConfigMap or Secret that is named by ``name``, none if it may be missing.

    Raises:
        ConfigMissingError: It does not exist.
    """
    name = named.get("name") or named["secretName"]
    found = await find(kind, name)
    if found is None:
        if named.get("optional"):
            return {}
        raise ConfigMissingError(f"{kind} {name} does not exist")
    data: dict[str, str] = found.get("data") or {}
    if kind == "Secret":
        return {key: base64.b64decode(value) for key, value in data.items()}
    binary: dict[str, str] = found.get("binaryData") or {}
    plain = {key: value.encode() for key, value in data.items()}
    return plain | {key: base64.b64decode(value) for key, value in binary.items()}


def field_of(path: str, pod: Object, pod_ip: str) -> str:
    """Return a field of a Pod for a ``fieldRef``.

    Raises:
        ConfigMissingError: It is not known here.

    >>> field_of("metadata.labels['app']", {"metadata": {"labels": {"app": "shoal"}}}, "")
    'shoal'
    """
    if path in ("status.podIP", "status.podIPs"):
        return pod_ip
    if (keyed := re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path)) is not None:
        return str((pod["metadata"].get(keyed[1]) or {}).get(keyed[2], ""))
    if path in ("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"):
        section, name = path.split(".")
        return str(pod[section].get(name, ""))
    raise ConfigMissingError(f"the field {path} is not known here")


def expanded(text: str, known: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by variables that stand before; ``$$`` is a dollar.

    >>> expanded("$(HOST):1 $(NONE) $$(HOST)", {"HOST": "a"})
    'a:1 $(NONE) $(HOST)'
    """

    def replaced(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else known.get(match[1], match[0])

    return re.sub(r"\$\$|\$\(([^()]+)\)", replaced, text)
