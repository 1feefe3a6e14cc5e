"""Receivers of OTLP: a stand-in that keeps what it is sent, and a real OpenTelemetry Collector."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from stream.demo.broker import LOOPBACK, BrokerProcess, free_port
from tests.cluster.brokers import cache_folder
from tests.cluster.http_stand_in import HttpStandIn

__all__ = ["Collector", "CollectorMissingError", "OtlpReceiver", "OtlpStandIn", "ReceivedSpan"]

VERSION = "v0.161.0"
BUILD = f"""\
dist: {{name: collector, output_path: ., version: {VERSION.removeprefix("v")}}}
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver {VERSION}
exporters:
  - gomod: github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter {VERSION}
"""
BUILD_WITHIN_S = 3600.0
STARTS_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    """A span as a receiver has it; ids are hexadecimal."""

    name: str
    trace_id: str
    span_id: str
    parent: str
    begun_ns: int
    ended_ns: int
    is_error: bool
    attributes: dict[str, Any]
    links: tuple[str, ...]
    """Trace ids of the linked spans."""


class OtlpReceiver(ABC):
    """What tests ask of a receiver."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Its address, without the path of a signal."""

    @abstractmethod
    def traces_sent(self) -> Iterable[bytes]:
        """Return what was sent of traces, one message of Protobuf each time."""

    @abstractmethod
    def metrics_sent(self) -> Iterable[bytes]:
        """Return what was sent of metrics."""

    def spans(self) -> list[ReceivedSpan]:
        """Return all spans so far."""
        return [
            _received(span)
            for sent in self.traces_sent()
            for resource in TracesData.FromString(sent).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def metrics(self) -> dict[str, Metric]:
        """Return the last reading of each metric, by name."""
        return {
            metric.name: metric
            for sent in self.metrics_sent()
            for resource in MetricsData.FromString(sent).resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def resources(self) -> list[dict[str, Any]]:
        """Return what each message of traces or metrics says of its sender."""
        traces = [one.resource for sent in self.traces_sent() for one in TracesData.FromString(sent).resource_spans]
        metrics = [
            one.resource for sent in self.metrics_sent() for one in MetricsData.FromString(sent).resource_metrics
        ]
        return [_values(one.attributes) for one in (*traces, *metrics)]


class OtlpStandIn(HttpStandIn, OtlpReceiver):
    """A receiver that accepts everything, for as long as a ``with`` block.

    Args:
        certificate: Certificate and key, for HTTPS.
    """

    def __init__(self, *, certificate: tuple[Path, Path] | None = None) -> None:
        super().__init__(certificate=certificate)
        self.asked: list[tuple[str, str | None, bytes]] = []
        """Path, header ``Authorization`` and body of each request."""

    def note(self, method: str, path: str, authorization: str | None, body: bytes) -> None:
        """Keep what is sent."""
        self.asked.append((path, authorization, gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body))

    def reply(self, method: str, path: str, authorization: str | None, body: bytes) -> tuple[int, bytes]:
        """Accept everything."""
        return 200, b""

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self.scheme}://{LOOPBACK}:{self.port}"

    def traces_sent(self) -> Iterable[bytes]:
        """Return what was sent of traces."""
        return [body for path, _, body in self.asked if path == "/v1/traces"]

    def metrics_sent(self) -> Iterable[bytes]:
        """Return what was sent of metrics."""
        return [body for path, _, body in self.asked if path == "/v1/metrics"]


class CollectorMissingError(RuntimeError):
    """This machine has no collector and cannot build one; says why."""


class Collector(OtlpReceiver):
    """A real OpenTelemetry Collector that writes to files, for as long as a ``with`` block.

    Port and data outlive :meth:`stop`, so that :meth:`start` brings the same receiver back.

    Raises:
        CollectorMissingError: There is no collector and no way to build one.
    """

    def __init__(self) -> None:
        self._program, self._port = _program(), free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="shoal-collector-"))
        self._process: BrokerProcess | None = None
        (self._folder / "config.yaml").write_text(f"""\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "{LOOPBACK}:{self._port}"}}}}}}}}
exporters:
  file/traces: {{path: "{self._folder}/traces", format: proto, append: true, flush_interval: 100ms}}
  file/metrics: {{path: "{self._folder}/metrics", format: proto, append: true, flush_interval: 100ms}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [file/traces]}}
    metrics: {{receivers: [otlp], exporters: [file/metrics]}}
""")

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{LOOPBACK}:{self._port}"

    def traces_sent(self) -> Iterable[bytes]:
        """Return what was sent of traces."""
        return _framed(self._folder / "traces")

    def metrics_sent(self) -> Iterable[bytes]:
        """Return what was sent of metrics."""
        return _framed(self._folder / "metrics")

    def start(self) -> None:
        """Start it, and return once it answers."""
        command = [str(self._program), "--config", str(self._folder / "config.yaml")]
        self._process = BrokerProcess(command, log=self._folder / "collector.log")
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not self._answers():
            assert self._process.returncode is None, self._process.tail()
            assert time.monotonic() < deadline, self._process.tail()
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self.url, timeout=5).close()  # noqa: S310 - our own collector
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """Let it shut down in order."""
        if self._process is not None:
            self._process.stop(timeout_s=30.0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _program() -> Path:
    """Return the collector; the first call on a machine builds it with Go, in some minutes."""
    folder = cache_folder() / f"collector-{VERSION}"
    program = folder / "collector"
    if program.is_file():
        return program
    go = shutil.which("go")
    if go is None:
        raise CollectorMissingError("no Go, which builds the OpenTelemetry Collector")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        (Path(made) / "build.yaml").write_text(BUILD)
        command = [go, "run", f"go.opentelemetry.io/collector/cmd/builder@{VERSION}", "--config", "build.yaml"]
        environment = os.environ | {"CGO_ENABLED": "0"}
        built = subprocess.run(
            command, cwd=made, env=environment, capture_output=True, text=True, timeout=BUILD_WITHIN_S, check=False
        )
        if built.returncode:
            raise CollectorMissingError(f"the OpenTelemetry Collector cannot be built: {built.stderr[-500:]}")
        folder.mkdir(exist_ok=True)
        shutil.move(Path(made) / "collector", program)
    return program


def _framed(file: Path) -> Iterator[bytes]:
    """Yield the messages of a file; each follows its length in four bytes."""
    content = file.read_bytes() if file.exists() else b""
    at = 0
    while at + 4 <= len(content):
        end = at + 4 + int.from_bytes(content[at : at + 4], "big")
        if end > len(content):  # it is being written
            return
        yield content[at + 4 : end]
        at = end


def _received(span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        begun_ns=span.start_time_unix_nano,
        ended_ns=span.end_time_unix_nano,
        is_error=span.status.code == span.status.STATUS_CODE_ERROR,
        attributes=_values(span.attributes),
        links=tuple(link.trace_id.hex() for link in span.links),
    )


def _values(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value") for one in attributes}
