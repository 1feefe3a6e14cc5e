"""The chart under test: where it is, its values for each feature, and what is found in a rendering."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import yaml

from deploy.chart.generate import CHART
from tests.helm.manifests import Object, name_of
from tests.helm.programs import Helm

__all__ = ["CHART", "EXTERNAL", "FEATURES", "MINIMAL", "merged", "only", "pod_of", "render", "settings_of"]

FEATURES: dict[str, dict[str, Any]] = {
    file.name.removesuffix("-values.yaml"): yaml.safe_load(file.read_text(encoding="utf-8"))
    for file in sorted((CHART / "ci").glob("*-values.yaml"))
}
"""Values by feature, as ``helm/ci`` has them."""

MINIMAL = FEATURES["minimal"]

EXTERNAL = {
    "ServiceAccount/default",
    "ServiceAccount/existing-account",
    "ServiceAccount/kafka-admin",
    "ConfigMap/shoal-venues",
    *(
        f"Secret/{name}"
        for name in (
            "kafka-cluster-ca-cert",
            "otlp",
            "otlp-ca",
            "pull",
            "pull-global",
            "registry-ca",
            "shoal",
            "shoal-demands",
            "shoal-kafka",
            "shoal-kafka-admin",
            "shoal-kafka-tls",
            "shoal-more",
            "shoal-oauth",
            "shoal-registry",
        )
    ),
    "TriggerAuthentication/prometheus",
}
"""What these values name and somebody else makes."""


def merged(*values: dict[str, Any]) -> dict[str, Any]:
    """Lay values over one another as Helm does: maps key by key, everything else whole."""
    result: dict[str, Any] = {}
    for one in values:
        for key, value in one.items():
            below = result.get(key)
            result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def render(
    helm: Helm, *arguments: str, values: Sequence[Mapping[str, object]] = (), name: str = "test"
) -> list[Object]:
    """Render the chart as :meth:`Helm.template` does, each distinct rendering once; the objects are the caller's own.

    Raises:
        HelmError: The chart cannot be rendered with these values.
    """
    objects: list[Object] = pickle.loads(_rendered(helm, arguments, json.dumps(values), name))  # noqa: S301 - our own
    return objects


@cache
def _rendered(helm: Helm, arguments: tuple[str, ...], values: str, name: str) -> bytes:
    return pickle.dumps(helm.template(CHART, *arguments, values=json.loads(values), name=name))


def only(objects: list[Object], kind: str, name: str | None = None) -> Object:
    """Return the one object of a kind (and name) of a rendering."""
    found = [one for one in objects if one["kind"] == kind and name in (None, one["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} of kind {kind}: {[name_of(one) for one in objects]}"
    return found[0]


def pod_of(objects: list[Object], kind: str = "Deployment") -> dict[str, Any]:
    """Return the spec of the Pods of the Deployment, or of the Job."""
    spec: dict[str, Any] = only(objects, kind)["spec"]["template"]["spec"]
    return spec


def settings_of(objects: list[Object], suffix: str = "") -> dict[str, Any]:
    """Return the settings that a rendering gives the workers, or the topics Job (``-topics``)."""
    workers = only(objects, "Deployment")["metadata"]["name"]
    loaded: dict[str, Any] = yaml.safe_load(only(objects, "ConfigMap", workers + suffix)["data"]["settings.yaml"])
    return loaded
