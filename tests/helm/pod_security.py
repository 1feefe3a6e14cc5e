"""Kubernetes' Pod Security Standard `restricted`, control by control, as its page lists them.

https://kubernetes.io/docs/concepts/security/pod-security-standards/ (of Kubernetes 1.34 and later, the strictest).
A namespace that enforces it turns such a pod away, and the chart's Deployment then waits without one for ever.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.helm.manifests import Object
from tests.helm.pods import PodTemplate, containers_of, probes_of

__all__ = ["restricted_problems"]

_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
_SYSCTLS = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
}
_SELINUX_TYPES = {"", "container_engine_t", "container_init_t", "container_kvm_t", "container_t"}
_CONFINED = ("RuntimeDefault", "Localhost")
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def restricted_problems(template: PodTemplate) -> Iterator[str]:
    """Return why pods would be turned away from a namespace that enforces `restricted`; nothing if they are not."""
    pod = template.spec.get("securityContext") or {}
    yield from _of_the_pod(template, pod)
    yield from _of_any_context("spec", pod)
    for where, container in containers_of(template.spec):
        own = container.get("securityContext") or {}
        yield from _of_any_context(where, own)
        yield from _of_a_container(where, container, own)
        # What holds for the pod holds for a container that does not say otherwise.
        if own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
            yield f"{where}: runAsNonRoot is not true"
        profile = own.get("seccompProfile") or pod.get("seccompProfile") or {}
        if profile.get("type") not in _CONFINED:
            yield f"{where}: seccompProfile is none of {', '.join(_CONFINED)}"


def _of_the_pod(template: PodTemplate, pod: Object) -> Iterator[str]:
    for namespace in ("hostNetwork", "hostPID", "hostIPC"):
        if template.spec.get(namespace):
            yield f"spec: {namespace}"
    for volume in template.spec.get("volumes") or ():
        for kind in volume.keys() - {"name"} - _VOLUMES:
            yield f"spec: volume {volume['name']} is a {kind}"
    for sysctl in pod.get("sysctls") or ():
        if sysctl["name"] not in _SYSCTLS:
            yield f"spec: sysctl {sysctl['name']}"
    for key, value in (template.metadata.get("annotations") or {}).items():
        if key.startswith(_APPARMOR) and not (value == "runtime/default" or value.startswith("localhost/")):
            yield f"metadata: {key} is {value}"


def _of_any_context(where: str, context: Object) -> Iterator[str]:
    if (context.get("windowsOptions") or {}).get("hostProcess"):
        yield f"{where}: windowsOptions.hostProcess"
    if (context.get("appArmorProfile") or {}).get("type", _CONFINED[0]) not in _CONFINED:
        yield f"{where}: appArmorProfile is none of {', '.join(_CONFINED)}"
    if (context.get("seccompProfile") or {}).get("type", _CONFINED[0]) not in _CONFINED:
        yield f"{where}: seccompProfile is none of {', '.join(_CONFINED)}"
    options = context.get("seLinuxOptions") or {}
    if options.get("type", "") not in _SELINUX_TYPES or options.get("user") or options.get("role"):
        yield f"{where}: seLinuxOptions"
    if context.get("runAsUser") == 0:
        yield f"{where}: runAsUser is 0"


def _of_a_container(where: str, container: Object, own: Object) -> Iterator[str]:
    if own.get("privileged"):
        yield f"{where}: privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield f"{where}: allowPrivilegeEscalation is not false"
    if own.get("procMount", "Default") != "Default":
        yield f"{where}: procMount is {own['procMount']}"
    capabilities = own.get("capabilities") or {}
    if "ALL" not in (capabilities.get("drop") or ()):
        yield f"{where}: capabilities.drop is without ALL"
    for added in capabilities.get("add") or ():
        if added != "NET_BIND_SERVICE":
            yield f"{where}: capability {added}"
    for port in container.get("ports") or ():
        if port.get("hostPort"):
            yield f"{where}: hostPort {port['hostPort']}"
    for probe, action in probes_of(container):
        for kind in ("httpGet", "tcpSocket"):
            if (action.get(kind) or {}).get("host"):
                yield f"{where}: {probe}.{kind}.host"
