"""The container image: built, looked at, and run beside a real Apache Kafka on a real feed."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import re
import signal
import stat
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream.demo.broker import free_port
from tests.builders.feeds import WITHIN_S, Messages
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, releases, wait_until
from tests.image.containers import ROOT, BuildahMissingError, Container, Image, built

pytestmark = pytest.mark.image

DATA = ROOT.parent / "shared" / "data"
USER = 10001
MOST_BYTES = 760 * 10**6
SOURCE = "https://git.example/shoal"
BUILD = {"SOURCE": SOURCE, "SOURCE_DATE_EPOCH": "1700000000"}
N_RECORDS = 20_000
Released = dict[str, dict[bytes, bytes]]
WEEKS = {
    "topics.fragments": "",
    "window.size": "7d",
    "window.allowed_lateness": "0s",
    "location.area": "40.5,-74.3,41.0,-73.6",
    "location.cells": "20x20",
    "web.page": "true",
}


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The image, built once."""
    try:
        building = built(**BUILD)
        found = building.__enter__()
    except BuildahMissingError as missing:
        if os.environ.get("SHOAL_REQUIRE_BUILDAH") == "1":
            pytest.fail(f"SHOAL_REQUIRE_BUILDAH=1, but {missing}", pytrace=False)
        pytest.skip(str(missing))
    try:
        yield found
    finally:
        building.__exit__(None, None, None)


@pytest.fixture
def bare(image: Image) -> Iterator[Container]:
    """A container without a shell, and without a folder that anybody but root may write to."""
    with image.container() as container:
        for shell in ("sh", "bash", "dash", "rbash"):
            (container.root / "usr/bin" / shell).unlink(missing_ok=True)
        for folder in _writable(container.root):
            folder.chmod(0o555)
        assert not list(_writable(container.root))
        yield container


def _writable(root: Path) -> Iterator[Path]:
    """Find what the image's user may write to: what is his, his group's, or everybody's."""
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in (*folders, *files)):
            told = path.lstat()
            own, group = told.st_uid == USER, told.st_gid == USER
            allowed = own or (group and told.st_mode & stat.S_IWGRP) or told.st_mode & stat.S_IWOTH
            if allowed and (stat.S_ISREG(told.st_mode) or stat.S_ISDIR(told.st_mode)):
                yield path


# ---------------------------------------------------------------------- what it is


def test_how_it_is_run(image: Image) -> None:
    """
    A user by number, `shoal worker` without a shell, SIGTERM to end, a health check, and no setting of Shoal's: it
    would win over a settings file.
    """
    config = image.config
    assert config["User"] == f"{USER}:{USER}"
    assert (config["Entrypoint"], config["Cmd"]) == (["shoal"], ["worker"])
    assert config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Test"] == ["CMD", "shoal", "health"]
    assert config["ExposedPorts"].keys() == {"6066/tcp", "6067/tcp"}
    assert {name.partition("=")[0] for name in config["Env"]} == {
        "NUMBA_CACHE_DIR",
        "NUMBA_CPU_NAME",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONPYCACHEPREFIX",
        "PYTHONUNBUFFERED",
    }


def test_its_labels(image: Image) -> None:
    """
    Title, description, licence and version are the package's; revision and time are those of the commit.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    labels = image.config["Labels"]
    named = {name: labels[f"org.opencontainers.image.{name}"] for name in ("description", "licenses", "version")}
    assert named == {
        "description": project["description"],
        "licenses": project["license"],
        "version": project["version"],
    }
    assert labels["org.opencontainers.image.title"] == "Shoal"
    assert labels["org.opencontainers.image.source"] == SOURCE
    if not (ROOT / ".git").exists():  # an unpacked archive
        return
    assert re.fullmatch(r"[0-9a-f]{40}(-changed)?", labels["org.opencontainers.image.revision"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", labels["org.opencontainers.image.created"])


def test_it_is_small(image: Image) -> None:
    """
    With its base it stays below 760 MB, of which numba and llvmlite, for kernels, have 210, and pyarrow, for Parquet,
    170.
    """
    with image.layers() as layers:
        sizes = [sum(member.size for member in layer if member.isfile()) for layer in layers]
    assert sum(sizes) < MOST_BYTES, f"{sizes} bytes by layer"


def test_nothing_of_the_build_is_left(image: Image) -> None:
    """
    Above its base it has /opt/shoal alone, and nothing there or in its configuration tells how this machine finds
    packages.
    """
    n_below = len(Image(image.base, "").inspect()["OCIv1"]["rootfs"]["diff_ids"])
    told = [
        value.encode()
        for name, value in os.environ.items()
        if re.search("(?i)PIP_|proxy|token|password", name) and len(value) > 8 and not value.startswith("/")
    ]
    with image.layers() as layers:
        for layer in layers[n_below:]:
            for member in layer:
                assert member.name == "opt" or member.name.startswith(("opt/shoal", "opt/shoal/"))
                assert not member.name.startswith("opt/shoal/bytecode/build/"), "bytecode of what only builds"
                content = layer.extractfile(member) if member.isfile() else None
                text = b"" if content is None else content.read()
                assert not [value for value in told if value in text], member.name
    configuration = json.dumps(image.inspect())
    for trace in ("PIP_", "pip.conf", "_proxy", "_PROXY", "index-url", "/etc/ssl"):
        assert trace not in configuration


def test_built_again_it_is_the_same(image: Image) -> None:
    """
    From the same files, without a cache, all its layers are the same.
    """
    with built("--no-cache", **BUILD) as again:
        assert again.inspect()["OCIv1"]["rootfs"] == image.inspect()["OCIv1"]["rootfs"]


def test_nothing_in_it_can_be_written(image: Image) -> None:
    """
    All but the usual folders for temporary files is root's.
    """
    with image.container() as container:
        found = {str(path.relative_to(container.root)) for path in _writable(container.root)}
    assert found <= {"tmp", "var/tmp", "run/lock", "dev/shm", "dev/mqueue"}


# ---------------------------------------------------------------------- what it does


def _check_ins() -> Messages:
    """The first check-ins of New York, as records of the topic."""
    path = DATA / "gowalla_nyc.csv.gz"
    if not path.is_file():
        pytest.skip("the real feeds are not here: they belong into ../shared/data, beside the repository")
    with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
        return [
            (row["user"].encode(), json.dumps(row | {key: float(row[key]) for key in ("lat", "lon", "ts")}).encode())
            for row in itertools.islice(csv.DictReader(file), N_RECORDS)
        ]


def _variables(values: dict[str, Any]) -> dict[str, str]:
    return {f"SHOAL_{name}".upper().replace(".", "__"): str(value) for name, value in values.items()}


def _replayed(container: Container, feed: Messages, variables: dict[str, str], folder: Path) -> Released:
    """Replay a feed in the container: what a release is depends on the versions of libraries, which it tells."""
    folder.mkdir()
    os.chown(folder, USER, USER)
    (folder / "feed.ndjson").write_bytes(b"".join(value + b"\n" for _, value in feed))
    done = container.call(
        *("replay", "/mnt/feed.ndjson", "--kind", "checkins", "--output", "/mnt/out", "--json"),
        environment=variables,
        folder=folder,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["records"], summary["late"]) == (N_RECORDS, 0)
    assert summary["windows_released"] > 20
    return releases(folder / "out")


def _get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode()
    except OSError:
        return 0, ""


def test_a_real_feed(bare: Container, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    Without a shell, as a user who can write nowhere, it makes the topics, says when it is ready, releases a real feed
    as its own replay does, byte for byte, and ends with 0 on SIGTERM.
    """
    place = Place(apache_kafka, WEEKS)
    feed = _check_ins()
    ports = {"web.port": free_port(), "metrics.port": free_port()}
    variables = _variables(place.values() | ports)

    wanted = _replayed(bare, feed, variables, tmp_path / "replay")
    made = bare.call("topics", "create", environment=variables)
    assert made.returncode == 0, made.stderr
    assert made.stdout.count(": created") == 6
    assert bare.call("health", environment=variables).returncode == 1
    with bare.running(tmp_path / "worker.log", variables) as worker:

        def ready() -> bool:
            assert worker.buildah.poll() is None, worker.log[-3000:]
            return _get(ports["metrics.port"], "/readyz")[0] == 200

        wait_until(ready, within_s=WITHIN_S, what=lambda: worker.log[-3000:])
        assert bare.call("health", environment=variables).returncode == 0
        assert _get(ports["web.port"], "/")[0] == 200, "the page's files are missing"
        place.produce("checkins", feed)
        wait_until(
            lambda: place.outputs()["windows"].keys() >= wanted["windows"].keys(),
            within_s=WITHIN_S,
            what=lambda: worker.log[-3000:],
            every_s=1.0,
        )
        assert place.released() == wanted

        pids = worker.pids()
        assert len(pids) >= 2, "the worker and its pool"
        for pid in pids:
            status = Path(f"/proc/{pid}/status").read_text()
            assert re.search(rf"^Uid:\t{USER}\t{USER}\t{USER}\t{USER}$", status, re.MULTILINE)
            assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE)
        os.kill(pids[0], signal.SIGTERM)
        assert worker.buildah.wait(30) == 0, worker.log[-3000:]
    assert "Traceback" not in worker.log
