"""Docker Compose's file: pinned, hardened, whole, and the same settings, rules and dashboards as everywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream.settings.load import load_settings
from tests.cluster.brokers import POM
from tests.deploy.promql import DASHBOARDS, DEPLOY

FILE = DEPLOY / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
RUN_ONCE = {"topics", "city"}
SECRET = "a secret of the tests, long enough"  # noqa: S105 - of no worth anywhere

every_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


def mounts(service: dict[str, Any]) -> dict[str, tuple[Path, bool]]:
    """Return folders and files of this repository by where a service sees them, and whether it can only read them."""
    parts = [volume.split(":") for volume in service.get("volumes", []) if volume.startswith(".")]
    return {target: (DEPLOY / source, rest == ["ro"]) for source, target, *rest in parts}


def read(path: Path) -> Any:
    """Read a file of YAML."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------------- each service


@every_service
def test_an_image_is_pinned(service: dict[str, Any]) -> None:
    """
    What starts is the same tomorrow: a tag that is a version.
    """
    assert re.search(r":v?\d+\.\d+\.\d+\}?$", service["image"])


@every_service
def test_it_has_no_rights_that_it_does_not_need(service: dict[str, Any]) -> None:
    """
    No capability, no new privileges, a root that is read, not written; what can be written is a volume or in memory.
    """
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.keys() & {"cap_add", "privileged", "network_mode", "pid", "ipc", "devices", "user"}
    assert all(only_read for _, only_read in mounts(service).values())


@every_service
def test_only_this_machine_reaches_it(service: dict[str, Any]) -> None:
    """
    Nothing here has a log-in, so ports are those of the loopback interface.
    """
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


@every_service
def test_what_it_reads_is_there(service: dict[str, Any]) -> None:
    """
    Docker makes an empty folder of a file that is missing, and says nothing.
    """
    assert all(path.exists() for path, _ in mounts(service).values())


@pytest.mark.parametrize("name", SERVICES)
def test_it_comes_back_and_says_how_it_is(name: str) -> None:
    """
    What serves is started again when it ends, and has a health check, Shoal in its image; what runs once has neither.
    """
    service = SERVICES[name]
    if name in RUN_ONCE:
        assert service["restart"] == "no"
        assert service["healthcheck"] == {"disable": True}
        return
    assert service["restart"] == "unless-stopped"
    if name == "shoal":
        assert "healthcheck" not in service
    else:
        assert service["healthcheck"]["test"][0] == "CMD"


# ---------------------------------------------------------------------- together


def test_versions_are_those_of_the_package_and_its_tests() -> None:
    """
    Shoal is the package's version, Kafka the one that the tests run on.
    """
    version = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for name in ("shoal", "topics", "city"):
        assert SERVICES[name]["image"].endswith(f":-shoal:{version}}}")
        assert SERVICES[name]["build"]["args"] == {"VERSION": version}
    kafka = re.search(r"<artifactId>kafka_[\d.]+</artifactId>\s*<version>([\w.]+)</version>", POM.read_text())
    assert kafka is not None
    assert SERVICES["kafka"]["image"].endswith(f"/kafka:{kafka[1]}")


def test_a_worker_has_time_to_end() -> None:
    """
    Docker waits for longer than a worker takes at most.
    """
    assert int(SERVICES["shoal"]["stop_grace_period"].removesuffix("s")) * 1000 > load_settings().worker.grace_period


def test_the_settings_are_valid() -> None:
    """
    What the services share is a settings file that the worker takes, and it reaches Kafka by its name.
    """
    (path,) = (path for path, _ in mounts(SERVICES["shoal"]).values())
    settings = load_settings(path, {"privacy.secret": SECRET}).checked()
    assert settings.kafka.bootstrap_servers == "kafka:9092"
    assert settings.web.host == "0.0.0.0"  # noqa: S104 - of the container


def test_variables_are_the_place_of_the_settings_file_and_the_secret() -> None:
    """
    Another variable would win over the file, and whoever edits the file would wonder.
    """
    environment = SERVICES["shoal"]["environment"]
    assert environment.keys() == {"SHOAL_CONFIG", "SHOAL_PRIVACY__SECRET"}
    assert environment["SHOAL_CONFIG"] in mounts(SERVICES["shoal"])


def test_a_secret_that_is_missing_or_empty_stops_the_start() -> None:
    """
    ``:?`` refuses both, where ``?`` would take an empty one; all else that is no secret the services refuse.
    """
    for name in ("shoal", "topics", "city"):
        assert SERVICES[name]["environment"]["SHOAL_PRIVACY__SECRET"].startswith("${SHOAL_PRIVACY__SECRET:?")


def test_dashboards_have_their_data_source() -> None:
    """
    Grafana is given the dashboards of deploy/grafana, and the Prometheus beside it.
    """
    inside = mounts(SERVICES["grafana"])
    provisioning = "/etc/grafana/provisioning"
    (provider,) = read(inside[f"{provisioning}/dashboards"][0] / "shoal.yaml")["providers"]
    folder = inside[provider["options"]["path"]][0]
    assert sorted(folder.resolve().glob("*.json")) == [path.resolve() for path in DASHBOARDS]
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert (inside[str(home.parent)][0] / home.name).is_file()
    (source,) = read(inside[f"{provisioning}/datasources"][0] / "prometheus.yaml")["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert source["isDefault"]
    assert "prometheus" in SERVICES


def test_prometheus_scrapes_the_worker(promtool: str, tmp_path: Path) -> None:
    """
    One configuration and one set of rules serve everywhere; what differs is the file of the targets.
    """
    for target, (source, _) in mounts(SERVICES["prometheus"]).items():
        place = tmp_path / target.removeprefix("/")
        if source.is_dir():
            shutil.copytree(source, place)
            continue
        assert place.is_file() or not place.parent.exists(), (
            "in a folder that is only read the mount point must be there"
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place)
    command = SERVICES["prometheus"]["command"]
    file = next(option.partition("=")[2] for option in command if option.startswith("--config.file="))
    done = subprocess.run(
        [promtool, "check", "config", tmp_path / file.removeprefix("/")], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (job,) = read(DEPLOY / "prometheus" / "prometheus.yml")["scrape_configs"]
    assert job["file_sd_configs"] == [{"files": ["targets.yaml"]}]
    assert read(DEPLOY / "prometheus" / "targets.yaml") == [{"targets": ["127.0.0.1:6067"]}]
    assert read(DEPLOY / "compose" / "targets.yaml") == [{"targets": ["shoal:6067"]}]


# ---------------------------------------------------------------------- as Compose reads it


def _compose() -> tuple[list[str], int]:
    """Return how Compose is called here, and its major version."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) is None:
            continue
        done = subprocess.run([*command, "version", "--short"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return command, 1 if done.stdout.startswith("1.") else 2
    pytest.skip("Docker Compose is missing: apt-get install docker-compose")


@pytest.mark.parametrize("secret", [SECRET, None, ""])
def test_compose_takes_it(secret: str | None, tmp_path: Path) -> None:
    """
    The file is valid, with all profiles; without a secret or with an empty one nothing starts, and it says what to do.
    """
    command, version = _compose()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    environment |= {} if secret is None else {"SHOAL_PRIVACY__SECRET": secret}
    text = FILE.read_text(encoding="utf-8")
    if version == 1:  # it knows no names of projects, and all the rest
        text = re.sub(r"^name: .*\n", "", text, flags=re.MULTILINE)
    copy = tmp_path / "compose.yaml"
    copy.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [*command, "-f", copy, "--profile", "city", "config", "-q"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert (done.returncode == 0) == bool(secret), done.stderr
    if not secret:
        assert "openssl rand -hex 32" in done.stderr
