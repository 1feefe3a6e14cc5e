"""Null, with which Helm takes a value away: a worker is told, or a sentence says that it cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from core.records.record import INPUT_KINDS, Kind
from deploy.chart.settings import settings
from stream.settings.load import load_settings
from tests.helm.chart import FEATURES, MINIMAL, merged, only, render, settings_of
from tests.helm.programs import Helm, HelmError

COMPUTED = {
    "kafka.security_protocol",
    "kafka.sasl_mechanism",
    "kafka.partitions",
    "window.size",
    "window.allowed_lateness",
    "metrics.host",
    "metrics.port",
    "web.host",
    "web.port",
    "worker.grace_period",
}
"""Settings that templates compute with."""

PLAIN = [setting.dotted for setting in settings() if not setting.is_secret]
TOLD = [name for name in PLAIN if name not in COMPUTED and name != "kafka.bootstrap_servers"]

OF_OBJECTS = [
    "global",
    "commonLabels",
    "commonAnnotations",
    "imagePullSecrets",
    "updateStrategy.rollingUpdate",
    "resources",
    "startupProbe",
    "autoscaling.behavior",
    "autoscaling.hpa.metrics",
    "autoscaling.keda.fallback",
    "autoscaling.keda.authenticationRef",
    "autoscaling.keda.kafka.authenticationRef",
    "autoscaling.keda.extraTriggers",
    "topicsJob.annotations",
    "topicsJob.resources",
    "service.labels",
    "service.annotations",
    "networkPolicy.metricsFrom",
    "networkPolicy.pageFrom",
    "networkPolicy.extraIngress",
    "networkPolicy.egress.kafkaTo",
    "networkPolicy.egress.kafkaPorts",
    "networkPolicy.egress.extra",
    "serviceMonitor.labels",
    "serviceMonitor.relabelings",
    "serviceMonitor.metricRelabelings",
    "prometheusRule.labels",
    "prometheusRule.disabled",
    "prometheusRule.extraGroups",
    "dashboards.namespace",
    "dashboards.labels",
    "dashboards.annotations",
    "serviceAccount.annotations",
    "podLabels",
    "podAnnotations",
    "podSecurityContext",
    "securityContext",
    "topologySpreadConstraints",
    "hostAliases",
    "dnsConfig",
    "lifecycle",
    "strimzi.namespace",
    "nodeSelector",
    "tolerations",
    "affinity",
    "extraEnv",
    "extraEnvFrom",
    "extraVolumes",
    "extraVolumeMounts",
    "extraContainers",
    "extraInitContainers",
    "extraObjects",
]
"""Maps, lists and what need not be set: null is none of it."""

EVERYTHING = merged(
    FEATURES["monitoring"], FEATURES["page"], FEATURES["closed"], FEATURES["keda"], {"service": {"enabled": True}}
)


def nulled(path: str) -> dict[str, Any]:
    value: Any = None
    for part in reversed(path.split(".")):
        value = {part: value}
    found: dict[str, Any] = value
    return found


def test_a_worker_is_told_of_every_null(helm: Helm) -> None:
    """Null of a setting reaches the worker, which takes it or says why not: no default comes back in silence."""
    objects = render(helm, values=[merged(MINIMAL, *(nulled(f"config.{name}") for name in TOLD))])
    for suffix in ("", "-topics"):
        found = settings_of(objects, suffix)
        for section, setting in (name.split(".") for name in TOLD):
            assert setting in found[section]
            assert found[section][setting] is None


@pytest.mark.deep
@pytest.mark.parametrize("name", TOLD)
def test_a_worker_is_told_null(helm: Helm, name: str) -> None:
    """Null of a setting reaches the worker, also where it is the only one."""
    section, setting = name.split(".")
    objects = render(helm, values=[merged(MINIMAL, nulled(f"config.{name}"))])
    for suffix in ("", "-topics"):
        found = settings_of(objects, suffix)[section]
        assert setting in found
        assert found[setting] is None


@pytest.mark.parametrize("name", ["window.max_lead", "trajectories.max_speed_m_s", "privacy.chunk_size"])
def test_null_is_none(helm: Helm, name: str, tmp_path: Path) -> None:
    """Of a setting whose default is something, null and ``none`` are the same to a worker."""
    section, setting = name.split(".")
    objects = render(helm, values=[merged(MINIMAL, nulled(f"config.{name}"))])
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump(settings_of(objects)), encoding="utf-8")
    assert load_settings(file).masked()[section][setting] is None


@pytest.mark.parametrize("kind", list(INPUT_KINDS))
def test_null_for_one_kind_of_feed(helm: Helm, kind: Kind) -> None:
    """Where all feeds have a value, one can have none."""
    given = {"window": {"max_lead": None, "size": "1h"}, "privacy": {"chunk_size": None}}
    assert settings_of(render(helm, values=[merged(MINIMAL, {"config": {kind.value: given}})]))[kind] == given


@pytest.mark.parametrize("name", sorted(COMPUTED))
@pytest.mark.parametrize("feature", ["minimal", "closed", "keda"])
def test_what_templates_compute_with(helm: Helm, name: str, feature: str) -> None:
    """A port, a host or a time that is null is a sentence."""
    with pytest.raises(HelmError, match=rf"config\.{name} is null: .* leave it out"):
        render(helm, values=[merged(FEATURES[feature], nulled(f"config.{name}"))])


def test_brokers_that_are_null(helm: Helm) -> None:
    """They are not set."""
    for feature in ("minimal", "closed"):
        with pytest.raises(HelmError, match=r"config\.kafka\.bootstrap_servers is not set"):
            render(helm, values=[merged(FEATURES[feature], nulled("config.kafka.bootstrap_servers"))])


def test_null_of_everything_is_nothing(helm: Helm) -> None:
    """Of a map or a list, null is none of it."""
    assert only(render(helm, values=[merged(EVERYTHING, *map(nulled, OF_OBJECTS))]), "Deployment")


@pytest.mark.deep
@pytest.mark.parametrize("path", OF_OBJECTS)
def test_null_is_nothing(helm: Helm, path: str) -> None:
    """The same of each map and list beside all the others."""
    objects = render(helm, values=[merged(EVERYTHING, nulled(path))])
    assert only(objects, "Deployment")


@pytest.mark.parametrize(
    "path",
    [
        "config",
        "config.window",
        "kafka",
        "kafka.credentials",
        "kafka.credentials.passwordKey",
        "image.repository",
        "autoscaling.hpa",
        "autoscaling.minReplicas",
        "topicsJob.enabled",
        "topicsJob.create",
        "topicsJob.credentials",
        "revisionHistoryLimit",
        "updateStrategy",
        "updateStrategy.type",
        "serviceMonitor.interval",
        "prometheusRule.runbookUrlPrefix",
    ],
)
def test_null_of_what_has_to_be_there(helm: Helm, path: str) -> None:
    """The schema refuses it by name."""
    with pytest.raises(HelmError, match=path.rpartition(".")[2]) as refused:
        render(helm, values=[merged(EVERYTHING, nulled(path))])
    assert "schema" in str(refused.value)
