"""Whether Kubernetes would take an object at all: its schema, with every unknown field an error.

The API server drops a misspelt field with a warning that Helm does not show, so a chart can be wrong for years.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from tests.helm.custom_resources import MODELS, model_problems
from tests.helm.manifests import Object, name_of

__all__ = ["NEWEST", "OLDEST", "problems", "schema_versions"]

OLDEST = "1.28"
"""The oldest Kubernetes the chart is for."""


def _schemas() -> Traversable:
    return resources.files("kubernetes_validate") / "kubernetes-json-schema"


@cache
def schema_versions() -> dict[str, Traversable]:
    """Return the folders of strict schemas by Kubernetes version (``major.minor``), oldest first."""
    found = {}
    for folder in _schemas().iterdir():
        if named := re.fullmatch(r"v(\d+)\.(\d+)\.\d+-local-strict", folder.name):
            found[int(named[1]), int(named[2])] = folder
    return {f"{major}.{minor}": found[major, minor] for major, minor in sorted(found)}


NEWEST = list(schema_versions())[-1]
"""The newest Kubernetes there are schemas of."""


@cache
def _definitions(version: str) -> Registry[Any]:
    """Every definition of a version; a megabyte or two, so read once."""
    content = json.loads((schema_versions()[version] / "_definitions.json").read_text(encoding="utf-8"))
    return Resource.from_contents(content) @ Registry()


@cache
def _validator(api_version: str, kind: str, version: str) -> Draft202012Validator | None:
    # The files are named by the group's first word: rbac.authorization.k8s.io/v1 is rbac-v1.
    group, _, rest = api_version.rpartition("/")
    prefix = f"{group.split('.')[0]}-" if group else ""
    file = schema_versions()[version] / f"{kind.lower()}-{prefix}{rest}.json"
    if not file.is_file() or (group and "." in group and not group.endswith(".k8s.io")):
        return None
    return Draft202012Validator(json.loads(file.read_text(encoding="utf-8")), registry=_definitions(version))


def problems(objects: Iterable[Object], kubernetes_version: str) -> list[str]:
    """Return what is wrong with objects by their schemas: unknown kinds and fields, types, what is missing.

    Args:
        objects: Objects of Kubernetes itself, and of the custom kinds in :data:`MODELS`.
        kubernetes_version: One of :func:`schema_versions`.

    Raises:
        KeyError: There are no schemas of this version. An older one would not do: it knows other fields.
    """
    if kubernetes_version not in schema_versions():
        raise KeyError(f"no schemas of Kubernetes {kubernetes_version}, only of {', '.join(schema_versions())}")
    return [f"{name_of(one)}: {problem}" for one in objects for problem in _problems(one, kubernetes_version)]


def _problems(one: Object, version: str) -> Iterator[str]:
    api_version, kind = one["apiVersion"], one["kind"]
    if (api_version, kind) in MODELS:
        yield from model_problems(one)
        return
    validator = _validator(api_version, kind, version)
    if validator is None:
        yield f"Kubernetes {version} has no {kind} in {api_version}"
        return
    for error in validator.iter_errors(one):
        yield f"{error.json_path.removeprefix('$').lstrip('.') or 'object'}: {error.message}"
