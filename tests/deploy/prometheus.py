"""A Prometheus of our own on loopback, and what it answers."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stream.demo.broker import free_port
from tests.deploy.promql import RULES


class PrometheusMissingError(Exception):
    """There is no Prometheus; the message says how to get one."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: labels, and values at Unix times; what is not a number is left out."""

    labels: dict[str, str]
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Where one answers."""

    url: str

    def ask(self, expression: str, *, since_s: float, until_s: float, step_s: float) -> list[Series]:
        """Return the series of an expression over a time, those without a number left out."""
        arguments = {"query": expression, "start": since_s, "end": until_s, "step": step_s}
        address = f"{self.url}/api/v1/query_range?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - an address of ours
            result = json.load(answer)["data"]["result"]
        found = []
        for one in result:
            points = [(at, float(value)) for at, value in one["values"] if math.isfinite(float(value))]
            if points:
                found.append(Series(one["metric"], points))
        return found

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2):  # noqa: S310 - an address of ours
                return True
        except (urllib.error.URLError, OSError):
            return False


@contextlib.contextmanager
def running(
    target: str, *, at_most_s: float, program: str | None = None, more: Sequence[str] = ()
) -> Iterator[Prometheus]:
    """Run a Prometheus with our rules and its data in a folder that goes with it.

    Args:
        target: Host and port to scrape, every five seconds.
        at_most_s: After how long it ends even if we have been killed.
        program: Another Prometheus than the installed one.
        more: More of its options.

    Raises:
        PrometheusMissingError: It is not installed, or did not start.
    """
    program = program or shutil.which("prometheus")
    if program is None:
        raise PrometheusMissingError("prometheus is missing: apt-get install --no-install-recommends prometheus")
    with tempfile.TemporaryDirectory(prefix="shoal-prometheus-") as folder:
        configuration = {
            "global": {"scrape_interval": "5s", "evaluation_interval": "5s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "shoal", "static_configs": [{"targets": [target]}]}],
        }
        file = Path(folder) / "prometheus.yml"
        file.write_text(json.dumps(configuration))  # JSON is YAML
        address = f"127.0.0.1:{free_port()}"
        command = ["timeout", str(math.ceil(at_most_s)), program, f"--config.file={file}", "--log.level=warn"]
        command += [f"--storage.tsdb.path={folder}/data", f"--web.listen-address={address}", *more]
        process = subprocess.Popen(command)
        prometheus = Prometheus(f"http://{address}")
        try:
            begun_s = time.monotonic()
            while not prometheus.is_ready():
                if process.poll() is not None or time.monotonic() - begun_s > 60:
                    raise PrometheusMissingError("prometheus did not start; its messages are above")
                time.sleep(0.2)
            yield prometheus
        finally:
            process.terminate()
            process.wait()
