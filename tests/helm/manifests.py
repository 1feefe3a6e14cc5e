"""Kubernetes objects as they stand in YAML, read without the leniency of a YAML library."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, TypeAlias

import yaml

__all__ = ["ManifestError", "Object", "load", "name_of", "walk"]

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object, as its JSON has it."""


class ManifestError(ValueError):
    """What should be Kubernetes objects is not; says where."""


class _Loader(yaml.CSafeLoader):
    """Refuses what YAML allows and Kubernetes does not do: the last of two equal keys wins silently in a library."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise ManifestError(f"line {key.start_mark.line + 1}: the key {key.value!r} stands twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


# Kubernetes reads YAML as JSON, which has no dates: 2026-01-01 is a string there.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def load(text: str) -> list[Object]:
    """Return the objects of a stream of YAML documents, in order; documents without content are none.

    Raises:
        ManifestError: A key stands twice in one mapping, it is not YAML, or a document is not an object with
            ``apiVersion``, ``kind`` and ``metadata.name``.
    """
    try:
        documents = list(yaml.load_all(text, Loader=_Loader))
    except yaml.YAMLError as error:
        raise ManifestError(f"not YAML: {error}") from error
    found = [document for document in documents if document is not None]
    for document in found:
        if not (isinstance(document, dict) and isinstance(document.get("metadata"), dict)):
            raise ManifestError(f"a document is no Kubernetes object: {str(document)[:100]}")
        for value in (document.get("apiVersion"), document.get("kind"), document["metadata"].get("name")):
            if not (isinstance(value, str) and value):
                raise ManifestError(f"apiVersion, kind or metadata.name is missing: {str(document)[:100]}")
    return found


def name_of(found: Object) -> str:
    """Return how messages and tables call an object.

    >>> name_of({"kind": "Service", "metadata": {"name": "shoal"}})
    'Service/shoal'
    """
    return f"{found['kind']}/{found['metadata']['name']}"


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return every value below one, itself too, with its path.

    >>> list(walk({"a": [1]}))
    [('', {'a': [1]}), ('a', [1]), ('a[0]', 1)]
    """
    yield path, value
    if isinstance(value, dict):
        for key, below in value.items():
            yield from walk(below, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from walk(below, f"{path}[{number}]")
