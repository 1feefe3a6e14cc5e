"""Server-side apply: each manager owns the fields it set, and what it no longer sets goes.

As https://kubernetes.io/docs/reference/using-api/server-side-apply/ has it. A field is a path: names, and for the
element of a keyed list its keys with their values.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, TypeAlias

from tests.helm.api.merge import keys_of_list
from tests.helm.manifests import Object

__all__ = ["ApplyConflictError", "Owners", "Path", "apply", "note_update"]

Path: TypeAlias = tuple[Any, ...]
"""Of a field: names, and for the element of a keyed list pairs of key and value."""

Owners: TypeAlias = dict[tuple[str, str], set[Path]]
"""By manager and operation (`Apply` or `Update`), the fields it owns."""

_DEFAULTS = {"protocol": "TCP"}
_NOT_OWNED = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}


class ApplyConflictError(Exception):
    """Another manager owns a field that would change; says which and whose."""


def apply(live: Object | None, applied: Object, owners: Owners, *, manager: str, force: bool) -> Object:
    """Return the object as one manager wants it, and note in ``owners`` what it owns now.

    Raises:
        ApplyConflictError: Another manager owns a field and set it to something else, and force is off.
    """
    kind = applied["kind"]
    fields = dict(_leaves(kind, applied))
    before = dict(_leaves(kind, live or {}))
    me = (manager, "Apply")
    # Before Helm 4 applies what Helm 3 made, it makes the fields its own by rewriting managedFields, which are not
    # shown here; so what a manager owns by updates is the same manager's when it applies.
    owners.setdefault(me, set()).update(owners.pop((manager, "Update"), set()))
    for path, value in fields.items():
        others = [who for who, owned in owners.items() if who != me and path in owned]
        if others and before.get(path) != value:
            if not force:
                whose = " and ".join(f'"{who}"' for who, _ in others)
                raise ApplyConflictError(f"conflict with {whose}: {_written(path)}")
            for other in others:
                owners[other].discard(path)
    merged: Object = _merged(kind, live or {}, applied)
    dropped = owners[me] - fields.keys()
    for path in sorted(dropped, key=len, reverse=True):
        if _is_key(path):  # goes with its element, which could not be found without it
            continue
        if not any(path in owned for who, owned in owners.items() if who != me):
            _remove(kind, merged, path)
    owners[me] = set(fields)
    return merged


def note_update(before: Object | None, after: Object, owners: Owners, *, manager: str) -> None:
    """Note in ``owners`` that a manager has created or updated an object: it owns what it changed, nobody else does."""
    old, new = dict(_leaves(after["kind"], before or {})), dict(_leaves(after["kind"], after))
    changed = {path for path, value in new.items() if path not in old or old[path] != value}
    for owned in owners.values():
        owned.difference_update(changed, owned - new.keys())
    owners.setdefault((manager, "Update"), set()).update(changed)


def _element(keys: tuple[str, ...], one: Object) -> Path:
    return tuple((key, one.get(key, _DEFAULTS.get(key))) for key in keys)


def _is_key(path: Path) -> bool:
    return len(path) > 1 and isinstance(path[-2], tuple) and path[-1] in dict(path[-2])


def _leaves(kind: str, value: Any, path: Path = (), field: str = "") -> Iterator[tuple[Path, Any]]:
    if path in _NOT_OWNED or path == ("status",):
        return
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _leaves(kind, below, (*path, key), key)
    elif isinstance(value, list) and value and (keys := keys_of_list(kind, field, value)):
        for one in value:
            element = (*path, _element(keys, one))
            yield element, None
            for key, below in one.items():
                yield from _leaves(kind, below, (*element, key), key)
    elif path:
        yield path, value


def _merged(kind: str, live: Any, applied: Any, field: str = "") -> Any:
    if isinstance(applied, dict) and isinstance(live, dict):
        below = {key: _merged(kind, live.get(key), value, key) for key, value in applied.items() if value is not None}
        return copy.deepcopy(live) | below
    if isinstance(applied, list) and isinstance(live, list) and (keys := keys_of_list(kind, field, [*live, *applied])):
        elements = {_element(keys, one): one for one in live}
        for one in applied:
            name = _element(keys, one)
            elements[name] = _merged(kind, elements.get(name), one)
        return list(elements.values())
    return copy.deepcopy(applied)


def _remove(kind: str, value: Any, path: Path, field: str = "") -> None:
    """Remove a field, and the mapping that is left empty by it."""
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        keys = keys_of_list(kind, field, value)
        found = next((one for one in value if _element(keys, one) == first), None)
        if found is not None and not rest:
            value.remove(found)
        elif found is not None:
            _remove(kind, found, rest)
    elif isinstance(value, dict) and first in value:
        if rest:
            _remove(kind, value[first], rest, first)
        if not rest or value[first] in ({}, []):
            del value[first]


def _written(path: Path) -> str:
    return "".join(f".{part}" if isinstance(part, str) else f"[{part[0][0]}={part[0][1]!r}]" for part in path)
