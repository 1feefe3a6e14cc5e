"""Strimzi's own classes of its resources, which Maven fetches once."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

from tests.cluster.brokers import KafkaUnavailableError, cache_folder, fetch_with_maven
from tests.helm.manifests import Object

__all__ = ["read_as_strimzi_does"]

_HERE = Path(__file__).parent


def read_as_strimzi_does(resources: list[Object]) -> list[str]:
    """Return ``Kind/name`` of each resource that Strimzi's classes read.

    Raises:
        KafkaUnavailableError: No Java with a compiler, no Maven, or Maven could not fetch the classes.
        ValueError: They refuse a field or a value; the message is theirs.
    """
    java = shutil.which("java")
    if java is None or "jdk.compiler" not in _output(java, "--list-modules"):
        raise KafkaUnavailableError("no Java with a compiler (a JDK) to read resources with Strimzi's classes")
    pom = _HERE / "pom.xml"
    jars = cache_folder() / f"strimzi-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    goal = ["-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    fetch_with_maven(jars, "Strimzi's classes", goal, is_complete=lambda fetched: any(fetched.glob("api-*.jar")))
    done = subprocess.run(
        [java, "-cp", f"{jars}/*", str(_HERE / "ReadResources.java")],
        input=json.dumps(resources),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return done.stdout.splitlines()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
