"""Schema registries for the tests: a real Apicurio Registry, and a stand-in that answers as it is told."""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

from stream.demo.broker import LOOPBACK, BrokerError, BrokerProcess, free_port
from tests.cluster.brokers import JVM_OPTIONS, cache_folder, fetch_with_maven, java
from tests.cluster.http_stand_in import HttpStandIn, basic_names

__all__ = ["ApicurioRegistry", "RegistryStandIn"]

VERSION = "3.0.9"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
WITHIN_S = 120.0


def _program() -> Path:
    """Return Apicurio's jar; the first call on a machine lets Maven fetch it (100 MB).

    Raises:
        KafkaUnavailableError: No Maven, or Maven could not fetch it.
    """
    folder = cache_folder() / f"apicurio-registry-{VERSION}"
    jar = f"apicurio-registry-app-{VERSION}-runner.jar"

    def unpacked(fetched: Path) -> bool:
        for file in fetched.glob("*.tar.gz"):
            with tarfile.open(file) as archive:
                archive.extractall(fetched, filter="data")
            file.unlink()
        return (fetched / jar).is_file()

    fetch_with_maven(folder, "Apicurio Registry", ["dependency:copy", f"-Dartifact={ARTIFACT}"], is_complete=unpacked)
    return folder / jar


class ApicurioRegistry:
    """An Apicurio Registry with a database in a file, for as long as a ``with`` block.

    Port and data outlive :meth:`stop`, so that :meth:`start` brings the same registry back.
    """

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._process: BrokerProcess | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """The address of the interface that is Confluent's."""
        return f"http://{LOOPBACK}:{self.port}/apis/ccompat/v7"

    def start(self) -> Self:
        """Start it, with the data it has, and return once it answers.

        Raises:
            KafkaUnavailableError: No Java 17, or no jar and no way to fetch it.
            BrokerError: It does not start.
        """
        program, jar = java(), _program()
        if self._folder is None:
            self._folder, self.port = Path(tempfile.mkdtemp(prefix="shoal-registry-")), free_port()
        options = {
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": self.port,
            "quarkus.log.level": "WARN",
            "apicurio.datasource.url": f"jdbc:h2:file:{self._folder}/registry",
        }
        command = [program, *JVM_OPTIONS, *(f"-D{name}={value}" for name, value in options.items()), "-jar", str(jar)]
        self._process = BrokerProcess(command, log=self._folder / "registry.log")
        deadline = time.monotonic() + WITHIN_S
        while not self._answers():
            if self._process.returncode is not None or time.monotonic() > deadline:
                said = self._process.tail()
                self._process.kill()
                raise BrokerError(f"Apicurio Registry does not answer on {self.url}:\n{said}")
            time.sleep(0.2)
        return self

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5) as answer:  # noqa: S310 - our own registry
                return bool(answer.status == 200)
        except OSError:
            return False

    def stop(self) -> None:
        """Let it shut down in order; data and port stay."""
        if self._process is not None:
            self._process.stop(timeout_s=30.0)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


class RegistryStandIn(HttpStandIn):
    """A registry's interface on the loopback interface for as long as a ``with`` block.

    Args:
        schemas: What it answers for each id.
        versions: What it answers for each subject and version.
        certificate: Certificate and key, for HTTPS.
    """

    def __init__(
        self,
        schemas: dict[int, dict[str, Any]] | None = None,
        versions: dict[tuple[str, int], dict[str, Any]] | None = None,
        *,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        super().__init__(certificate=certificate)
        self.schemas, self.versions = schemas or {}, versions or {}
        self.asked: list[str] = []
        """Methods and paths, in order."""

        self.authorizations: list[str | None] = []
        """Headers of authorization; for basic authentication user and password."""

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self.scheme}://localhost:{self.port}"

    def note(self, method: str, path: str, authorization: str | None, body: bytes) -> None:
        """See :meth:`HttpStandIn.note`."""
        is_basic = authorization is not None and authorization.startswith("Basic ")
        self.asked.append(f"{method} {path}")
        self.authorizations.append(basic_names(authorization or "") if is_basic else authorization)

    def reply(self, method: str, path: str, authorization: str | None, body: bytes) -> tuple[int, bytes]:
        """See :meth:`HttpStandIn.reply`."""
        parts = path.strip("/").split("/")
        found: dict[str, Any] | None = None
        code = 40403
        if method == "POST":
            schema = json.loads(body)
            number = next((n for n, one in self.schemas.items() if one == schema), len(self.schemas) + 1)
            self.schemas[number] = schema
            found = {"id": number}
        elif parts[:2] == ["schemas", "ids"]:
            found = self.schemas.get(int(parts[2]))
        elif parts[0] == "subjects":
            found, code = self.versions.get((parts[1], int(parts[3]))), 40401
        if found is None:
            return 404, json.dumps({"error_code": code, "message": "not found"}).encode()
        return 200, json.dumps(found).encode()
