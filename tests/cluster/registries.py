"""Schema registries for the tests: a real Apicurio Registry, and a stand-in that answers as it is told."""

from __future__ import annotations

import base64
import http.server
import json
import shutil
import ssl
import subprocess
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

from stream.demo.broker import LOOPBACK, BrokerError, BrokerProcess, free_port
from tests.cluster.brokers import JVM_OPTIONS, KafkaUnavailableError, cache_folder, java

__all__ = ["ApicurioRegistry", "RegistryStandIn"]

VERSION = "3.0.9"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
WITHIN_S = 120.0


def _program() -> Path:
    """Return Apicurio's jar; the first call on a machine lets Maven fetch it (100 MB).

    Raises:
        KafkaUnavailableError: No Maven, or Maven could not fetch it.
    """
    caches = cache_folder()
    folder = caches / f"apicurio-registry-{VERSION}"
    jar = folder / f"apicurio-registry-app-{VERSION}-runner.jar"
    if jar.is_file():
        return jar
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailableError(f"no Maven (mvn) to fetch Apicurio Registry to {folder}")
    caches.mkdir(parents=True, exist_ok=True)
    # Fetched beside its place and renamed into it, so that no half-finished copy is ever used.
    fetched = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=caches))
    try:
        done = subprocess.run(
            [maven, "-q", "-B", "dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={fetched}"],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            cwd=fetched,
            stdin=subprocess.DEVNULL,
        )
        archives = list(fetched.glob("*.tar.gz"))
        if done.returncode != 0 or not archives:
            raise KafkaUnavailableError(f"Maven could not fetch Apicurio Registry: {done.stdout.strip()[-2000:]}")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(fetched, filter="data")
        archives[0].unlink()
        try:
            fetched.rename(folder)
        except OSError:
            if not jar.is_file():  # no other run put it there first
                raise
    except subprocess.TimeoutExpired as error:
        raise KafkaUnavailableError("Maven did not fetch Apicurio Registry within ten minutes") from error
    finally:
        shutil.rmtree(fetched, ignore_errors=True)
    return jar


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


class RegistryStandIn:
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
        self.schemas, self.versions = schemas or {}, versions or {}
        self.asked: list[str] = []
        """Methods and paths, in order."""

        self.authorizations: list[str | None] = []
        """Headers of authorization; for basic authentication user and password."""

        self.answer: tuple[int, bytes] | None = None
        """What is answered instead, whatever is asked."""

        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer("GET", b"")

            def do_POST(self) -> None:
                self._answer("POST", self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, method: str, body: bytes) -> None:
                stand_in.asked.append(f"{method} {self.path}")
                given = self.headers.get("Authorization")
                if given is not None and given.startswith("Basic "):
                    given = base64.b64decode(given.removeprefix("Basic ")).decode()
                stand_in.authorizations.append(given)
                code, content = stand_in.answer or stand_in._found(method, self.path, body)
                self.send_response(code)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._scheme = "http" if certificate is None else "https"

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self._scheme}://localhost:{self._server.server_address[1]}"

    def _found(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
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

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
