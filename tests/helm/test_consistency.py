"""Consistency: a release without faults has none, and each single fault is found by its name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helm.consistency import consistency
from tests.helm.example_release import EXTERNAL, GONE, changed, release
from tests.helm.manifests import Object
from tests.helm.pods import matches

POD = "Deployment/web spec.template.spec"
MAIN = f"{POD}.containers.0"
OTHER = {"app": "other"}
WEB = {"app": "web"}


def scaler(kind: str, name: str) -> Object:
    target = {"apiVersion": "apps/v1", "kind": kind, "name": name}
    about = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    return {**about, "spec": {"scaleTargetRef": target, "maxReplicas": 3}}


def test_what_fits_together_passes() -> None:
    """
    Nothing is found in a release without faults; without its list of external objects, those are.
    """
    assert consistency(release(), EXTERNAL) == []
    assert {problem.partition(": ")[2] for problem in consistency(release())} == {"there is no Secret/outside"}


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        # Selectors
        ("Deployment/web spec.selector.matchLabels", OTHER, "does not match the labels of its own pods"),
        ("Deployment/web spec.selector", {"matchLabels": {}}, "Deployment/web: spec.selector matches the pods of"),
        ("StatefulSet/store spec.template.metadata.labels", WEB, "Deployment/web: spec.selector matches the pods of S"),
        ("Deployment/web spec.selector.matchLabels.helm%sh/chart", "a-1", "spec.selector selects by helm.sh/chart"),
        ("Service/web spec.selector.app%kubernetes%io/version", "1", "selects by app.kubernetes.io/version"),
        ("NetworkPolicy/web spec.ingress.0.from.0.podSelector.matchLabels", {"helm.sh/chart": "a"}, "selects by helm"),
        ("Service/web spec.selector", OTHER, "Service/web: spec.selector matches no pods"),
        ("Job/topics spec.template.metadata.labels", WEB, "Service/web: sends requests to the pods of Job/topics too"),
        ("Job/topics spec.template.metadata.labels", WEB, "PodDisruptionBudget/web: protects the pods of Job/topics"),
        (
            "PodDisruptionBudget/web spec.selector.matchLabels",
            OTHER,
            "PodDisruptionBudget/web: spec.selector matches no",
        ),
        (
            "NetworkPolicy/web spec.podSelector.matchLabels",
            OTHER,
            "NetworkPolicy/web: spec.podSelector matches no pods",
        ),
        ("NetworkPolicy/web spec.ingress.0.ports.0.port", "htpp", "allows port htpp, which no selected pod has"),
        ("NetworkPolicy/web spec.ingress.0.ports.1.port", 9, "allows port 9, which no selected pod has"),
        ("ServiceMonitor/web spec.selector.matchLabels", OTHER, "ServiceMonitor/web: spec.selector matches no Service"),
        ("ServiceMonitor/web spec.endpoints.0.port", "htpp", "ServiceMonitor/web: spec.endpoints: there is no port"),
        ("PodMonitor/web spec.selector.matchLabels", OTHER, "PodMonitor/web: spec.selector matches no pods"),
        ("PodMonitor/web spec.podMetricsEndpoints.0.port", "htpp", "spec.podMetricsEndpoints: there is no port named"),
        ("Ingress/web spec.rules.0.http.paths.0.backend.service.name", "x", "Ingress/web: there is no Service x"),
        ("Ingress/web spec.rules.0.http.paths.0.backend.service.port", {"number": 9}, "Service web has no port 9"),
        (f"{POD}.topologySpreadConstraints", [{"labelSelector": {"matchLabels": OTHER}}], "labels of its own pods"),
        # Ports
        ("Service/web spec.ports.0.targetPort", "htpp", "the pods of Deployment/web have no port htpp"),
        ("Service/web spec.ports.1.port", 9, "the pods of Deployment/web have no port 9"),
        ("Service/web spec.ports.1.name", GONE, "of several, each needs a name of its own"),
        (f"{MAIN}.livenessProbe.httpGet.port", "htpp", "livenessProbe asks port htpp"),
        (f"{MAIN}.livenessProbe.httpGet.port", 9, "livenessProbe asks port 9"),
        (f"{MAIN}.ports.1.name", "http", "port http stands twice"),
        (f"{MAIN}.ports.1.name", "much-too-long-a-name", "port name 'much-too-long-a-name' is not valid"),
        # References
        (f"{MAIN}.env.0.valueFrom.configMapKeyRef.name", "x", "Deployment/web: there is no ConfigMap/x"),
        (f"{MAIN}.env.0.valueFrom.configMapKeyRef.key", "x", "ConfigMap/settings has no key x"),
        (f"{MAIN}.env.1.valueFrom.secretKeyRef.key", "x", "Secret/passwords has no key x"),
        (f"{MAIN}.envFrom.1.secretRef.optional", GONE, "there is no Secret/absent"),
        (f"{POD}.serviceAccountName", "x", "there is no ServiceAccount/x"),
        (f"{POD}.imagePullSecrets.0.name", "x", "there is no Secret/x"),
        (f"{POD}.volumes.1.projected.sources.0.secret.items.0.key", "x", "Secret/passwords has no key x"),
        (f"{POD}.volumes.2.persistentVolumeClaim.claimName", "x", "there is no PersistentVolumeClaim/x"),
        ("ConfigMap/settings", GONE, "there is no ConfigMap/settings"),
        ("Service/web", GONE, "StatefulSet/store: there is no Service/web"),
        ("RoleBinding/web roleRef.name", "x", "RoleBinding/web: there is no Role/x"),
        ("RoleBinding/web subjects.0.name", "x", "RoleBinding/web: there is no ServiceAccount/x"),
        ("ServiceMonitor/web spec.endpoints.0.tlsConfig.ca.secret.key", "x", "Secret/passwords has no key x"),
        ("TriggerAuthentication/kafka spec.secretTargetRef.0.key", "x", "Secret/passwords has no key x"),
        ("ScaledObject/web spec.triggers.0.authenticationRef.name", "x", "there is no TriggerAuthentication/x"),
        ("ScaledObject/web spec.scaleTargetRef.name", "x", "ScaledObject/web: there is no Deployment/x"),
        ("Deployment/web spec.replicas", 2, "ScaledObject/web: Deployment/web fixes its replicas"),
        ("ScaledObject/web", scaler("Deployment", "x"), "HorizontalPodAutoscaler/web: there is no Deployment/x"),
        ("ScaledObject/web", scaler("StatefulSet", "store"), "StatefulSet/store fixes its replicas"),
        # Pods
        (f"{MAIN}.volumeMounts.0.name", "x", "there is no volume x"),
        (f"{MAIN}.volumeMounts.0.mountPath", "/all", "/all is mounted twice"),
        (f"{MAIN}.volumeMounts", GONE, "volume scratch is not mounted"),
        (f"{POD}.volumes.1.name", "scratch", "volume scratch stands twice"),
        (f"{POD}.initContainers.0.name", "main", "container main stands twice"),
        (f"{POD}.initContainers.0.name", "First", "the name 'First' is no DNS label"),
        (f"{MAIN}.env.1.name", "COLOR", "variable COLOR stands twice"),
        # Names, labels, nothing
        ("ConfigMap/settings metadata.name", "Settings", "'Settings' is no DNS name"),
        ("Service/web metadata.name", "a.b", "'a.b' is no DNS name"),
        ("Service/web metadata.name", "1b", "'1b' begins with a digit"),
        ("Service/web metadata.name", "a" * 64, "metadata.name: "),
        ("CronJob/nightly metadata.name", "a" * 53, "53 characters, at most 52"),
        ("Deployment/web metadata.labels.app", "a" * 64, "is not valid, at most 63"),
        ("Deployment/web metadata.labels.app%kubernetes%io/version", "1.0+build", "the value '1.0+build' of"),
        ("Deployment/web metadata.labels.a/b/c", "1", "the key 'a/b/c' is not valid"),
        ("Deployment/web spec.template.metadata.labels.app", "a_", "the value 'a_' of app is not valid"),
        ("ConfigMap/settings data.color", None, "ConfigMap/settings: data.color: null"),
        (f"{MAIN}.args", ["--x", ""], "containers[0].args[1]: empty"),
        (f"{POD}.tolerations", [{}], "tolerations[0]: empty"),
        ("Secret/passwords", release()[5], "ConfigMap/settings: stands 2 times"),
    ],
)
def test_what_does_not_fit_is_found(where: str, value: Any, said: str) -> None:
    """
    One thing changed in a release without faults, and the problem is named.
    """
    found = consistency(changed(where, value), EXTERNAL)
    assert any(said in problem for problem in found), found


@pytest.mark.parametrize(
    ("where", "value"),
    [("NetworkPolicy/web spec.podSelector", {}), ("Deployment/web metadata.labels.empty", "")],
)
def test_what_is_allowed_is_not_reported(where: str, value: Any) -> None:
    """
    A policy for all pods, and a label without a value, are no problem.
    """
    assert consistency(changed(where, value), EXTERNAL) == []


@pytest.mark.parametrize(
    ("selector", "holds"),
    [
        ({}, True),
        ({"app": "web"}, True),
        ({"app": "web", "tier": "x"}, False),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}, False),
    ],
)
def test_selectors_mean_what_they_do_in_kubernetes(selector: dict[str, Any], holds: bool) -> None:
    """
    All conditions hold together, an empty selector matches all, and a label that is not there is not in any list.
    """
    assert matches(selector, {"app": "web"}) is holds
