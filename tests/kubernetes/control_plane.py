"""A real Kubernetes control plane on the loopback interface: etcd, API server, controllers and scheduler."""

from __future__ import annotations

import os
import secrets
import ssl
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Self

import yaml

from stream.demo.broker import LOOPBACK, BrokerProcess, free_port
from tests.kubernetes.programs import find

__all__ = ["ControlPlane", "ControlPlaneError"]

_READY_WITHIN_S = 120.0


class ControlPlaneError(RuntimeError):
    """The control plane does not start; says which program, and where its log is."""


class ControlPlane:
    """A control plane for as long as a ``with`` block; it has no nodes.

    Args:
        folder: Where it keeps its data, keys and logs; empty, and of this one alone.

    Raises:
        ProgramsMissingError: Its programs are not built.
        ControlPlaneError: It does not start.
    """

    def __init__(self, folder: Path) -> None:
        self._programs = find()
        self._folder = folder
        self._processes: list[BrokerProcess] = []
        self.kubeconfig = folder / "kubeconfig"
        """Of a user who may do everything."""

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.kill()  # its data goes away

    def _start(self) -> None:
        keys = self._folder / "keys"
        keys.mkdir(parents=True)
        key = keys / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        token = secrets.token_hex(16)
        (keys / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
        etcd, peers, api, controllers, scheduler = (free_port() for _ in range(5))
        self._write_kubeconfig(api, token)
        here = f"http://{LOOPBACK}"
        self._launch(
            "etcd",
            *("--data-dir", str(self._folder / "etcd"), "--unsafe-no-fsync", "--log-level", "error"),
            *("--listen-client-urls", f"{here}:{etcd}", "--advertise-client-urls", f"{here}:{etcd}"),
            *("--listen-peer-urls", f"{here}:{peers}", "--initial-advertise-peer-urls", f"{here}:{peers}"),
            *("--initial-cluster", f"default={here}:{peers}"),
        )
        self._launch(
            "kube-apiserver",
            *(f"--etcd-servers={here}:{etcd}", f"--bind-address={LOOPBACK}", f"--advertise-address={LOOPBACK}"),
            *(f"--secure-port={api}", f"--cert-dir={keys}", f"--token-auth-file={keys / 'tokens.csv'}"),
            *("--authorization-mode=Node,RBAC", f"--service-account-key-file={key}"),
            *(f"--service-account-signing-key-file={key}", "--service-account-issuer=https://kubernetes.default.svc"),
            *("--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none", "--event-ttl=10m"),
        )
        self._wait("kube-apiserver", f"https://{LOOPBACK}:{api}/readyz", token)
        kubeconfig = f"--kubeconfig={self.kubeconfig}"
        self._launch(
            "kube-controller-manager",
            *(kubeconfig, "--leader-elect=false", f"--service-account-private-key-file={key}"),
            *(f"--bind-address={LOOPBACK}", f"--secure-port={controllers}", f"--cert-dir={keys / 'controllers'}"),
            "--horizontal-pod-autoscaler-sync-period=5s",
        )
        self._launch(
            "kube-scheduler",
            *(kubeconfig, "--leader-elect=false", f"--bind-address={LOOPBACK}"),
            *(f"--secure-port={scheduler}", f"--cert-dir={keys / 'scheduler'}"),
        )
        account = "api/v1/namespaces/default/serviceaccounts/default"
        self._wait("kube-controller-manager", f"https://{LOOPBACK}:{api}/{account}", token)

    def _write_kubeconfig(self, port: int, token: str) -> None:
        cluster = {"server": f"https://{LOOPBACK}:{port}", "insecure-skip-tls-verify": True}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }
        self.kubeconfig.write_text(yaml.safe_dump(content))
        self.kubeconfig.chmod(0o600)

    def _launch(self, name: str, *arguments: str) -> None:
        command = [str(self._programs[name]), *arguments]
        environment = os.environ | {"GOGC": "400"}  # memory is not short, and processors are
        self._processes.append(BrokerProcess(command, log=self._folder / f"{name}.log", environment=environment))

    def _wait(self, name: str, url: str, token: str) -> None:
        """Wait until something is there, which a program makes."""
        context = ssl._create_unverified_context()  # noqa: S323 - it has just signed its own certificate
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - our own
        deadline = time.monotonic() + _READY_WITHIN_S
        while True:
            try:
                with urllib.request.urlopen(request, timeout=5, context=context):  # noqa: S310
                    return
            except OSError as fault:
                ended = [one.log.stem for one in self._processes if one.returncode is not None]
                if ended or time.monotonic() > deadline:
                    why = f"{ended[0]} ended" if ended else f"not ready within {_READY_WITHIN_S:g} s ({fault})"
                    log = self._folder / f"{ended[0] if ended else name}.log"
                    last = "\n".join(log.read_text(errors="replace").splitlines()[-10:])
                    raise ControlPlaneError(f"{name}: {why}; the end of {log}:\n{last}") from fault
                time.sleep(0.25)
