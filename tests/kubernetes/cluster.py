"""A cluster: a real control plane, and three nodes whose Pods are processes of this machine.

``python -m tests.kubernetes.cluster`` starts one, prints its kubeconfig, and stops it on Ctrl-C.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from stream.demo.broker import BrokerProcess
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import wait_until
from tests.helm.programs import HELM_4, Helm, HelmError, find
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.kubelet.container import PACKAGES, image_folder
from tests.kubernetes.kubelet.container_life import ENDED
from tests.kubernetes.kubelet.network import Bridge
from tests.paths import ROOT

__all__ = ["NODES", "Cluster"]

NODES = ("node-1", "node-2", "node-3")
_READY_WITHIN_S = 60.0
_KAFKA = {
    "listeners": "PLAINTEXT://0.0.0.0:{port},CONTROLLER://{host}:{controller_port}",
    "log.cleaner.enable": "false",  # seals are removed only by compaction, and an audit wants to see all of them
}


class Cluster:
    """A cluster for as long as a ``with`` block.

    Args:
        folder: Where it keeps everything; empty, and of this one alone.
        helm: Helm with a kubectl.

    Raises:
        ProgramsMissingError: The programs of the control plane are not built.
        NetworkMissingError: Pods cannot have a network here.
        ControlPlaneError: It does not start.
    """

    def __init__(self, folder: Path, helm: Helm) -> None:
        self._folder, self._helm = folder, helm
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            self._bridge = self._stack.enter_context(Bridge())
            self.kubeconfig = self._stack.enter_context(ControlPlane(self._folder / "control-plane")).kubeconfig
            self._start_kubelet()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start_kubelet(self) -> None:
        folder = self._folder / "kubelet"
        self._images = folder / "images"
        self._images.mkdir(parents=True)
        config = folder / "config.json"
        content = {
            "kubeconfig": str(self.kubeconfig),
            "folder": str(folder),
            "images": str(self._images),
            "nodes": NODES,
            "bridge": self._bridge.name,
            "network": self._bridge.number,
        }
        config.write_text(json.dumps(content))
        program = [sys.executable, "-m", "tests.kubernetes.kubelet.kubelet", str(config)]
        kubelet = BrokerProcess(program, log=folder / "kubelet.log")
        self._stack.callback(kubelet.stop)
        wait_until(
            lambda: kubelet.returncode is not None or self._are_ready(),
            within_s=_READY_WITHIN_S,
            what=lambda: f"nodes ready; the kubelet's log:\n{kubelet.tail()}",
        )
        assert kubelet.returncode is None, kubelet.tail()

    def _are_ready(self) -> bool:
        try:
            return self.kubectl("get", "nodes", "--no-headers").count(" Ready") == len(NODES)
        except HelmError:
            return False

    def kubectl(self, *arguments: str, timeout_s: float = 120.0) -> str:
        """Run kubectl and return what it printed.

        Raises:
            HelmError: It failed.
        """
        return self._helm.run(*arguments, kubeconfig=self.kubeconfig, program=self._helm.kubectl, timeout_s=timeout_s)

    def get(self, *arguments: str) -> Any:
        """Return what ``kubectl get`` finds, as JSON has it."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, objects: Sequence[Any]) -> None:
        """Create objects, or change them."""
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self._folder) as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": list(objects)}, file)
            file.flush()
            self.kubectl("apply", "--server-side", "--force-conflicts", "-f", file.name)

    def add_image(self, name: str, code: Path = ROOT) -> None:
        """Let a name stand for a folder with Shoal's code; containers of other images are pretended."""
        for package in PACKAGES:  # containers cannot write bytecode, and would compile everything at each start
            compileall.compile_dir(code / package, quiet=1)
        image_folder(self._images, name).symlink_to(code)

    def kafka(self) -> ApacheKafka:
        """Return a Kafka that Pods reach at :meth:`kafka_for_pods`, not started yet."""
        return ApacheKafka(properties=_KAFKA | {"advertised.listeners": f"PLAINTEXT://{self._bridge.address}:{{port}}"})

    def kafka_for_pods(self, kafka: ApacheKafka) -> str:
        """Return what Pods connect to."""
        return f"{self._bridge.address}:{kafka.port}"

    def logs(self, namespace: str, pod: str) -> str:
        """Return all that the containers of a Pod have written, also after its end."""
        folder = self._folder / "kubelet" / "logs" / namespace / pod
        return "\n".join(file.read_text(errors="replace") for file in sorted(folder.glob("*.log")))

    def ends(self, namespace: str) -> dict[str, list[int]]:
        """Return the exit codes of all containers that have ended, by the name of their Pod."""
        folder = self._folder / "kubelet" / "logs" / namespace
        return {
            file.parent.name: [int(line.split()[1]) for line in file.read_text().splitlines()]
            for file in sorted(folder.glob(f"*/{ENDED}"))
        }


def main() -> None:
    """Run a cluster until Ctrl-C or SIGTERM."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="shoal-cluster-") as name:
        folder = Path(name)
        begun = time.monotonic()
        with Cluster(folder, find(HELM_4, home=folder)) as cluster:
            cluster.add_image("shoal:dev")
            sys.stdout.write(f"ready after {time.monotonic() - begun:.0f} s: export KUBECONFIG={cluster.kubeconfig}\n")
            sys.stdout.write(f"image.tag=dev runs this checkout; logs are in {folder}/kubelet/logs\n")
            sys.stdout.flush()
            stop.wait()


if __name__ == "__main__":
    main()
