"""The Pod Security Standard `restricted`: each control is checked, in every kind that makes pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helm.consistency import consistency
from tests.helm.example_release import EXTERNAL, GONE, changed

POD = "Deployment/web spec.template.spec"
MAIN = f"{POD}.containers.0"
CONTEXT = f"{MAIN}.securityContext"


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (f"{POD}.hostNetwork", True, "spec: hostNetwork"),
        (f"{POD}.hostPID", True, "spec: hostPID"),
        (f"{POD}.hostIPC", True, "spec: hostIPC"),
        (f"{POD}.volumes.0", {"name": "scratch", "hostPath": {"path": "/"}}, "volume scratch is a hostPath"),
        (f"{POD}.volumes.0", {"name": "scratch", "nfs": {"server": "a", "path": "/"}}, "volume scratch is a nfs"),
        (f"{POD}.securityContext.runAsNonRoot", GONE, "runAsNonRoot is not true"),
        (f"{POD}.securityContext.runAsNonRoot", False, "runAsNonRoot is not true"),
        (f"{POD}.securityContext.runAsUser", 0, "spec: runAsUser is 0"),
        (f"{POD}.securityContext.seccompProfile", GONE, "spec.containers[0]: seccompProfile is none of"),
        (f"{POD}.securityContext.seccompProfile.type", "Unconfined", "spec: seccompProfile is none of"),
        (f"{POD}.securityContext.sysctls", [{"name": "kernel.msgmax", "value": "1"}], "sysctl kernel.msgmax"),
        (f"{POD}.securityContext.appArmorProfile", {"type": "Unconfined"}, "spec: appArmorProfile"),
        (f"{POD}.securityContext.seLinuxOptions", {"user": "root"}, "spec: seLinuxOptions"),
        (f"{POD}.securityContext.windowsOptions", {"hostProcess": True}, "spec: windowsOptions.hostProcess"),
        (
            "Deployment/web spec.template.metadata.annotations",
            {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"},
            "apparmor",
        ),
        (f"{CONTEXT}", GONE, "spec.containers[0]: allowPrivilegeEscalation is not false"),
        (f"{CONTEXT}.privileged", True, "spec.containers[0]: privileged"),
        (f"{CONTEXT}.allowPrivilegeEscalation", GONE, "spec.containers[0]: allowPrivilegeEscalation is not false"),
        (f"{CONTEXT}.runAsNonRoot", False, "spec.containers[0]: runAsNonRoot is not true"),
        (f"{CONTEXT}.runAsUser", 0, "spec.containers[0]: runAsUser is 0"),
        (f"{CONTEXT}.seccompProfile", {"type": "Unconfined"}, "spec.containers[0]: seccompProfile is none of"),
        (f"{CONTEXT}.seLinuxOptions", {"type": "spc_t"}, "spec.containers[0]: seLinuxOptions"),
        (f"{CONTEXT}.procMount", "Unmasked", "spec.containers[0]: procMount is Unmasked"),
        (f"{CONTEXT}.capabilities.drop", ["NET_RAW"], "spec.containers[0]: capabilities.drop is without ALL"),
        (f"{CONTEXT}.capabilities.add", ["SYS_ADMIN"], "spec.containers[0]: capability SYS_ADMIN"),
        (f"{POD}.initContainers.0.securityContext", GONE, "spec.initContainers[0]: allowPrivilegeEscalation is not"),
        (f"{MAIN}.ports.0.hostPort", 80, "spec.containers[0]: hostPort 80"),
        (f"{MAIN}.livenessProbe.httpGet.host", "10.0.0.1", "livenessProbe.httpGet.host"),
        (f"{MAIN}.lifecycle.preStop", {"httpGet": {"port": "http", "host": "a"}}, "lifecycle.preStop.httpGet.host"),
        ("Job/topics spec.template.spec.hostPID", True, "Job/topics: spec: hostPID"),
        ("CronJob/nightly spec.jobTemplate.spec.template.spec.hostPID", True, "CronJob/nightly: spec: hostPID"),
    ],
)
def test_pods_that_the_restricted_standard_turns_away_are_found(where: str, value: Any, said: str) -> None:
    """
    Each control of the Pod Security Standard `restricted`, broken alone, is found in every kind that makes pods.
    """
    found = consistency(changed(where, value), EXTERNAL)
    assert any(said in problem for problem in found), found


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (f"{CONTEXT}.capabilities.add", ["NET_BIND_SERVICE"]),
        (f"{CONTEXT}.seLinuxOptions", {"type": "container_t"}),
        (f"{CONTEXT}.runAsUser", 10001),
        (f"{POD}.securityContext.sysctls", [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]),
        (f"{POD}.securityContext.appArmorProfile", {"type": "RuntimeDefault"}),
    ],
)
def test_what_is_allowed_is_not_reported(where: str, value: Any) -> None:
    """
    What the standard expressly allows is no problem.
    """
    assert consistency(changed(where, value), EXTERNAL) == []
