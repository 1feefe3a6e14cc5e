"""Schemas: what is right passes under every version, what Kubernetes or an operator would not take is found."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.helm.custom_resources import MODELS
from tests.helm.example_release import GONE, changed, release
from tests.helm.manifests import ManifestError, load
from tests.helm.schemas import NEWEST, OLDEST, problems, schema_versions

CONTAINER = "Deployment/web spec.template.spec.containers.0"
RULE = "PrometheusRule/web spec.groups.0.rules.0"
TRIGGER = "ScaledObject/web spec.triggers.0"


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_what_is_right_passes(version: str) -> None:
    """
    No object of a release without faults has a problem, nor do free maps and fields with an alias.
    """
    assert problems(release(), version) == []
    assert {one["kind"] for one in release()} >= {kind for _, kind in MODELS}


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (f"{CONTAINER}.prots", [], r"Deployment/web: .*containers\[0\]: .*'prots' was unexpected"),
        ("Deployment/web spec.replicas", "2", "Deployment/web: spec.replicas: '2' is not of type"),
        ("Deployment/web spec.selector", GONE, "Deployment/web: spec: 'selector' is a required property"),
        ("Deployment/web metadata.lables", {}, "'lables' was unexpected"),
        ("Deployment/web metadata.annotations", {"a": 1}, "1 is not of type"),
        ("Deployment/web kind", "Deplyoment", "has no Deplyoment in apps/v1"),
        ("Deployment/web apiVersion", "apps.example/v1", "has no Deployment in apps.example/v1"),
        ("PodDisruptionBudget/web apiVersion", "policy/v1beta1", "has no PodDisruptionBudget in policy/v1beta1"),
        ("PrometheusRule/web apiVersion", "monitoring.coreos.com/v2", "has no PrometheusRule in"),
        ("NetworkPolicy/web spec.ingress.0.form", [], "'form' was unexpected"),
        (f"{RULE}.epxr", "up", r"PrometheusRule/web: spec.groups\[0\].rules\[0\].epxr: unknown field"),
        (f"{RULE}.expr", GONE, r"PrometheusRule/web: .*expr: Field required"),
        (f"{RULE}.labels.severity", 1, r"PrometheusRule/web: .*severity: "),
        (f"{RULE}.for", "five minutes", r"PrometheusRule/web: .*for: "),
        ("ServiceMonitor/web spec.endpoints.0.tlsConfig.ca.secret.nmae", "x", r"secret\.nmae: unknown field"),
        ("ServiceMonitor/web spec.endpoints.0.honor_labels", True, "honor_labels: unknown field"),
        ("ServiceMonitor/web spec.endpoints.0.relabelings.0.action", "replcae", "relabelings"),
        ("PodMonitor/web spec.podMetricsEndpoints.0.intervall", "15s", "intervall: unknown field"),
        ("ScaledObject/web spec.minReplicaCount", "1", "minReplicaCount: "),
        (f"{TRIGGER}.metadata.lagThreshold", 10, "lagThreshold: "),
        (f"{TRIGGER}.metdata", {}, r"triggers\[0\].metdata: unknown field"),
        ("TriggerAuthentication/kafka spec.secretTargetRef.0.parameter", GONE, "parameter: Field required"),
        ("KafkaTopic/web metadata.labels.strimzi%io/cluster", GONE, "strimzi.io/cluster: Field required"),
        ("KafkaTopic/web spec.partitons", 3, "partitons: Extra inputs"),
        ("KafkaTopic/web spec.config.retention%ms", 1000, "retention.ms: "),
        ("KafkaUser/web spec.authorization.acls.0.resource.patternType", "prefixed", "patternType: "),
        ("KafkaUser/web spec.authorization.acls.0.operations", ["Raed"], "operations.0: "),
    ],
)
def test_what_is_wrong_is_found(where: str, value: Any, said: str) -> None:
    """
    A misspelt field, a wrong type, a missing field, an unknown kind: each is found, however deep, and nothing else.
    """
    objects = changed(where, value)
    for version in (OLDEST, NEWEST):
        found = problems(objects, version)
        assert len(found) == 1, found
        assert re.search(said, found[0]), found


def test_a_version_knows_only_its_own_fields() -> None:
    """
    A field that came later is an error under the oldest version and none under the newest.
    """
    objects = changed(f"{CONTAINER}.lifecycle.preStop", {"sleep": {"seconds": 1}})
    assert problems(objects, NEWEST) == []
    assert len(problems(objects, OLDEST)) == 1


def test_a_version_without_schemas_is_refused() -> None:
    """
    Schemas of another version are never taken instead, in silence.
    """
    assert {OLDEST, NEWEST} <= schema_versions().keys()
    with pytest.raises(KeyError, match=r"no schemas of Kubernetes 1\.99"):
        problems(release(), "1.99")


HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "data:\n  a: 1\n  a: 2\n", "line 6: the key 'a' stands twice"),
        (HEAD + "kind: Secret\n", "line 4: the key 'kind' stands twice"),
        (HEAD + "data: {a: [}\n", "not YAML"),
        ("just words", "no Kubernetes object"),
        ("[1]", "no Kubernetes object"),
        ("kind: ConfigMap\nmetadata: {name: x}\n", "apiVersion, kind or metadata.name is missing"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ''}\n", "apiVersion, kind or metadata.name is missing"),
    ],
)
def test_what_are_no_objects_is_not_read(text: str, said: str) -> None:
    """
    A key that stands twice, broken YAML and documents that are no objects are errors, not guesses.
    """
    with pytest.raises(ManifestError, match=said):
        load(text)


def test_yaml_is_read_as_kubernetes_does() -> None:
    """
    Documents without content are none, dates are strings, and an anchor may be merged into two places.
    """
    text = f"---\n# nothing\n---\n{HEAD}data:\n  when: 2026-01-01\n  one: &a {{b: c}}\n  two: {{<<: *a, d: e}}\n"
    (found,) = load(text)
    assert found["data"] == {"when": "2026-01-01", "one": {"b": "c"}, "two": {"b": "c", "d": "e"}}
