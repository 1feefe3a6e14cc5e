"""A Kubernetes API server small enough for tests: real Helm and kubectl install, upgrade, test and uninstall on it.

What they write is checked against Kubernetes' schemas and for fields that may not change; workloads are ready at
once, and jobs done, unless told to fail. A Pod needs its ServiceAccount. There is no access control, no admission by
policy, no scheduler, no pods of Deployments, and no defaulting but of what clients rely on; who owns a field is kept
but not shown.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Self

from tests.helm.api.admission import ApiError
from tests.helm.api.discovery import Resource, resources_offered
from tests.helm.api.http import HttpServer
from tests.helm.api.storage import Key, Storage, Write
from tests.helm.custom_resources import load_models
from tests.helm.manifests import Object
from tests.helm.schemas import NEWEST

__all__ = ["ApiError", "ApiServer", "Write"]


class ApiServer:
    """A cluster on the loopback interface for as long as a ``with`` block, empty at its beginning.

    Args:
        version: Of Kubernetes, ``major.minor``, one there are schemas of.
        custom_resources: Whether the operators of Prometheus, KEDA and Strimzi are installed.
        failing: ``Kind/name`` of what shall not become ready, or shall end in failure.
        namespaces: Those there are from the beginning.
    """

    def __init__(
        self,
        *,
        version: str = NEWEST,
        custom_resources: bool = True,
        failing: Collection[str] = (),
        namespaces: Collection[str] = ("default",),
    ) -> None:
        if custom_resources:
            load_models()
        self._storage = Storage(version, resources_offered(custom=custom_resources), set(failing))
        for name in namespaces:
            self.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self._http = HttpServer(self._storage)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._folder = tempfile.TemporaryDirectory(prefix="shoal-cluster-")

    @property
    def failing(self) -> set[str]:
        """``Kind/name`` of what shall fail; whoever changes it decides about the writes that follow."""
        return self._storage.failing

    @property
    def kubeconfig(self) -> Path:
        """A file that leads clients here, in a folder of its own."""
        return Path(self._folder.name) / "kubeconfig"

    @property
    def writes(self) -> list[Write]:
        """What clients wrote, in order, Helm's own records left out."""
        return list(self._storage.writes)

    def objects(self) -> list[Object]:
        """Return what there is besides namespaces, what controllers made, and Helm's own records."""
        return list(self._storage.kept())

    def get(self, kind: str, name: str, *, namespace: str = "default") -> Object:
        """Return an object.

        Raises:
            ApiError: There is none.
        """
        return self._storage.get(self._key(kind, name, namespace))

    def make(self, one: Object, *, namespace: str = "default") -> None:
        """Put an object there, as somebody would have before a release; it is not in :attr:`writes`.

        Raises:
            ApiError: It is not valid.
        """
        key = self._key(one["kind"], one["metadata"]["name"], namespace)
        self._storage.write(key, "create", lambda _, __: json.loads(json.dumps(one)))
        self._storage.writes.pop()

    def _key(self, kind: str, name: str, namespace: str) -> Key:
        of: Resource = next(one for one in self._storage.resources if one.kind == kind)
        return Key(of, namespace if of.is_namespaced else "", name)

    def __enter__(self) -> Self:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": self._http.address}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "users": [{"name": "test", "user": {}}],
            "current-context": "test",
        }
        self.kubeconfig.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self._folder.cleanup()
