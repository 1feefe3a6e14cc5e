"""Upgrades: a change that Kubernetes refuses is told from one it takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helm.example_release import GONE, changed, release
from tests.helm.immutable import immutable_changes, immutable_fields


@pytest.mark.parametrize(
    ("where", "value", "path"),
    [
        ("Deployment/web spec.selector.matchLabels.tier", "x", "Deployment/web: spec.selector"),
        ("StatefulSet/store spec.serviceName", "x", "StatefulSet/store: spec.serviceName"),
        ("StatefulSet/store spec.podManagementPolicy", "Parallel", "StatefulSet/store: spec.podManagementPolicy"),
        ("StatefulSet/store spec.volumeClaimTemplates.0.metadata.name", "x", "StatefulSet/store: spec.volumeClaim"),
        ("PersistentVolumeClaim/disk spec.accessModes", ["ReadOnlyMany"], "PersistentVolumeClaim/disk: spec.accessM"),
        ("RoleBinding/web roleRef.name", "x", "RoleBinding/web: roleRef"),
        ("Service/web spec.clusterIP", "None", "Service/web: spec.clusterIP"),
        ("Secret/passwords type", "kubernetes.io/tls", "Secret/passwords: type"),
    ],
)
def test_a_change_of_what_is_immutable_is_found(where: str, value: Any, path: str) -> None:
    """
    Two versions of a release differ in a field that an upgrade cannot change: the field is named.
    """
    changes = immutable_changes(immutable_fields(release()), immutable_fields(changed(where, value)))
    assert len(changes) == 1
    assert changes[0].startswith(path)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("Deployment/web spec.template.spec.containers.0.image", "registry.example/main:2"),
        ("StatefulSet/store spec.replicas", 5),
        ("ConfigMap/settings data.color", "red"),
        ("ConfigMap/settings immutable", True),
        ("Secret/passwords type", "Opaque"),
        ("Job/topics spec.template.spec.containers.0.image", "x"),
        ("PersistentVolumeClaim/disk spec.resources.requests.storage", "2Gi"),
        ("PersistentVolumeClaim/disk", GONE),
    ],
)
def test_a_change_of_what_may_change_is_none(where: str, value: Any) -> None:
    """
    Images, numbers and contents may change, hooks are made anew, and what goes is not changed.
    """
    assert immutable_changes(immutable_fields(release()), immutable_fields(changed(where, value))) == []


def test_what_was_immutable_stays_so() -> None:
    """
    An immutable ConfigMap may change neither its content nor back.
    """
    before = immutable_fields(changed("ConfigMap/settings immutable", True))
    assert immutable_changes(before, immutable_fields(release()))
