"""Whether the operators of Prometheus, KEDA and Strimzi would take an object: the fields of their custom resources.

Their definitions are not among Kubernetes' schemas; the package `cloudcoil` has those of the first two as models.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from tests.helm.manifests import Object

__all__ = ["MODELS", "load_models", "model_problems"]

MODELS = {
    ("monitoring.coreos.com/v1", "PodMonitor"): "cloudcoil.models.prometheus_operator.v1",
    ("monitoring.coreos.com/v1", "PrometheusRule"): "cloudcoil.models.prometheus_operator.v1",
    ("monitoring.coreos.com/v1", "ServiceMonitor"): "cloudcoil.models.prometheus_operator.v1",
    ("keda.sh/v1alpha1", "ScaledObject"): "cloudcoil.models.keda.v1alpha1",
    ("keda.sh/v1alpha1", "TriggerAuthentication"): "cloudcoil.models.keda.v1alpha1",
    ("kafka.strimzi.io/v1beta2", "KafkaTopic"): "tests.helm.strimzi.resources",
    ("kafka.strimzi.io/v1beta2", "KafkaUser"): "tests.helm.strimzi.resources",
    ("kafka.strimzi.io/v1", "KafkaTopic"): "tests.helm.strimzi.resources",
    ("kafka.strimzi.io/v1", "KafkaUser"): "tests.helm.strimzi.resources",
}
"""The custom kinds a chart may use, by ``apiVersion`` and kind, with the module of their models."""


def load_models() -> None:
    """Import the models now, which takes seconds, and not while somebody waits for an answer."""
    for module in set(MODELS.values()):
        importlib.import_module(module)


def model_problems(one: Object) -> Iterator[str]:
    """Return what is wrong with an object of a kind in :data:`MODELS`."""
    # Imported when asked for: the modules take seconds.
    module = importlib.import_module(MODELS[one["apiVersion"], one["kind"]])
    model: type[BaseModel] = getattr(module, one["kind"])
    try:
        # As JSON, for which strict still takes a string for an enumeration, but no "5" for a number.
        understood = model.model_validate_json(json.dumps(one), strict=True)
    except ValidationError as error:
        for fault in error.errors():
            yield f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
        return
    # The models ignore what they do not know, so that what is gone from the object as they write it is unknown.
    yield from _lost(one, understood.model_dump(mode="json", by_alias=True, exclude_unset=True), "")


def _lost(given: Any, written: Any, path: str) -> Iterator[str]:
    if isinstance(given, dict):
        for key, value in given.items():
            where = f"{path}.{key}".lstrip(".")
            if not isinstance(written, dict) or key not in written:
                yield f"{where}: unknown field"
            else:
                yield from _lost(value, written[key], where)
    elif isinstance(given, list):
        for number, value in enumerate(given):
            yield from _lost(value, written[number], f"{path}[{number}]")
