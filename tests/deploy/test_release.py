"""A release: everything is built, described and counted, and nothing leaves the machine unless it is asked for."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.release.chart import PLATFORMS, changes, metadata
from deploy.release.release import Release
from deploy.release.statement import provenance
from tests.deploy.promql import DEPLOY
from tests.helm.distributions import HELM_4, HelmMissingError, cached

ROOT = DEPLOY.parent
CHART: dict[str, Any] = yaml.safe_load((ROOT / "helm" / "Chart.yaml").read_text(encoding="utf-8"))
DIGEST = f"sha256:{'1' * 64}"


def release(folder: Path, **asked: Any) -> Release:
    given: dict[str, Any] = {"registry": "", "image": "", "source": "", "icon": "", "builder": "urn:x", "is_dry": False}
    given |= asked
    return Release(folder=folder, **given)


def test_a_chart_says_to_artifact_hub_what_it_is() -> None:
    """
    Where it is from, its picture, license and images, and what has changed; only what is known is said.
    """
    changed = ["The chart is new."]
    known = {
        "source": "https://git.example/shoal",
        "icon": "https://git.example/icon.svg",
        "image": "r.example/shoal:1",
    }
    found = metadata(CHART, **known, changed=changed)
    assert (found["home"], found["sources"], found["icon"]) == (known["source"], [known["source"]], known["icon"])
    annotations = {name: yaml.safe_load(text) for name, text in found["annotations"].items()}
    assert annotations["artifacthub.io/license"] == "Apache-2.0"
    assert annotations["artifacthub.io/changes"] == changed
    (image,) = annotations["artifacthub.io/images"]
    assert (image["image"], image["platforms"]) == (known["image"], list(PLATFORMS))
    assert all(isinstance(text, str) for text in found["annotations"].values())
    unknown = metadata(CHART, source="", icon="", image="", changed=[])
    assert not {"home", "sources", "icon"} & set(unknown)
    assert "artifacthub.io/images" not in unknown["annotations"]


def test_the_changes_are_sentences() -> None:
    """
    Of the newest version, about the chart, without Markdown.
    """
    found = changes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert found
    assert not [text for text in found if re.search(r"[`*]|\n|^$", text)]


def test_a_statement_has_the_digest_of_everything(tmp_path: Path) -> None:
    """
    In the form of in-toto and SLSA: what was built, of which commit and lock files, by whom and when.
    """
    file, lock = tmp_path / "a.whl", tmp_path / "requirements.txt"
    file.write_bytes(b"a")
    lock.write_bytes(b"b")
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    statement = provenance(
        [file],
        revision="c" * 40,
        source="https://git.example/shoal",
        locks=[lock],
        parameters={"version": "1"},
        builder="urn:x",
        began=at,
        ended=at,
    )
    digests = [hashlib.sha256(content).hexdigest() for content in (b"a", b"b")]
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    assert statement["subject"] == [{"name": "a.whl", "digest": {"sha256": digests[0]}}]
    build, run = statement["predicate"]["buildDefinition"], statement["predicate"]["runDetails"]
    assert build["resolvedDependencies"] == [
        {"uri": f"git+https://git.example/shoal@{'c' * 40}", "digest": {"gitCommit": "c" * 40}},
        {"name": "requirements.txt", "digest": {"sha256": digests[1]}},
    ]
    assert run == {
        "builder": {"id": "urn:x"},
        "metadata": {"startedOn": "2026-01-02T03:04:05Z", "finishedOn": "2026-01-02T03:04:05Z"},
    }


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in which helm, docker and cosign, which are not the real ones, write how they were called."""
    programs, calls = tmp_path / "programs", tmp_path / "calls"
    programs.mkdir()
    for name, answer in (("helm", f"Digest: {DIGEST}"), ("cosign", ""), ("docker", DIGEST)):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> {calls}\necho "{answer}"\n')
        program.chmod(0o755)
    calls.touch()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.delenv("HELM", raising=False)
    return calls


def built(folder: Path) -> Path:
    """A folder with a chart and checksums, as a build leaves it."""
    folder.mkdir()
    (folder / "shoal-1.tgz").touch()
    (folder / "SHA256SUMS").touch()
    return folder


def test_nothing_is_published_without_a_place(tmp_path: Path, said: Path) -> None:
    """
    No registry, no image: nothing is pushed, and nothing signed.
    """
    release(built(tmp_path / "release")).publish()
    assert said.read_text() == ""


def test_a_dry_run_prints_what_it_would_do(tmp_path: Path, said: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """
    Every command, and none is run.
    """
    asked = {"registry": "oci://r.example/charts", "image": "r.example/shoal", "is_dry": True}
    release(built(tmp_path / "release"), **asked).publish()
    assert said.read_text() == ""
    printed = capsys.readouterr().out
    for command in (
        "helm push ",
        "PLATFORMS=linux/amd64,linux/arm64 PUSH=1 ",
        "cosign sign-blob ",
        "cosign sign --yes ",
    ):
        assert re.search(rf"^would run: .*{command}", printed, re.MULTILINE)


def test_what_is_published_is_signed_by_its_digest(tmp_path: Path, said: Path) -> None:
    """
    Chart and image are pushed, and their digests, which no tag can change, are signed, with the checksums of all files.
    """
    folder = built(tmp_path / "release")
    asked = release(folder, registry="oci://r.example/charts/", image="r.example/shoal")
    asked.publish()
    calls = said.read_text().splitlines()
    assert f"helm push {folder / 'shoal-1.tgz'} oci://r.example/charts/" in calls
    (image,) = [call for call in calls if call.startswith("docker buildx build ")]
    assert f"--platform {','.join(PLATFORMS)} --push --tag r.example/shoal:{asked.version} " in image
    assert [call for call in calls if call.startswith("cosign")] == [
        f"cosign sign-blob --yes --bundle {folder / 'SHA256SUMS'}.sigstore.json {folder / 'SHA256SUMS'}",
        f"cosign sign --yes r.example/charts/shoal@{DIGEST}",
        f"cosign sign --yes r.example/shoal@{DIGEST}",
    ]


@pytest.mark.deep
def test_a_release_is_whole(tmp_path: Path) -> None:
    """
    A dry run builds wheel, source archive, chart and list of components, and the checksums and the provenance name each
    of them. A second run gives the same bytes, except for the chart, whose times are those of the run.
    """
    pytest.importorskip("cyclonedx_py", reason="the group `release` is not installed: make install")
    try:
        helm = cached(HELM_4) / "helm"
    except HelmMissingError as missing:
        pytest.skip(str(missing))
    command = [sys.executable, "-m", "deploy.release.release", "--dry-run", "--source", "https://git.example/shoal"]
    digests = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        environment = os.environ | {"HELM": str(helm)}
        subprocess.run([*command, "--folder", folder], check=True, capture_output=True, cwd=ROOT, env=environment)
        subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], check=True, capture_output=True, cwd=folder)
        lines = [line.split() for line in (folder / "SHA256SUMS").read_text().splitlines()]
        found = {name: digest for digest, name in lines}
        assert set(found) == {file.name for file in folder.iterdir()} - {"SHA256SUMS"}
        statement = json.loads((folder / "provenance.json").read_text())
        subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
        assert subjects == {name: digest for name, digest in found.items() if name != "provenance.json"}
        assert len(statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"]["gitCommit"]) == 40
        digests.append({name: digest for name, digest in subjects.items() if not name.endswith(".tgz")})
    assert digests[0] == digests[1]
    assert len(digests[0]) == 3

    (listing,) = (tmp_path / "one").glob("*.cdx.json")
    listed = {(one["name"], one["version"]) for one in json.loads(listing.read_text())["components"]}
    lock = (DEPLOY / "requirements.txt").read_text(encoding="utf-8")
    assert listed == set(re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE))
    (wheel,) = (tmp_path / "one").glob("*.whl")
    assert "LICENSE" in subprocess.run(["unzip", "-l", wheel], check=True, capture_output=True, text=True).stdout
    (chart,) = (tmp_path / "one").glob("*.tgz")
    with tarfile.open(chart) as archive:
        assert {"shoal/LICENSE", "shoal/templates/strimzi.yaml"} <= set(archive.getnames())
    subprocess.run(
        [
            helm,
            "lint",
            "--strict",
            chart,
            "--set",
            "insecureDevelopmentSecret=true",
            "--set",
            "config.kafka.bootstrap_servers=kafka:9092",
        ],
        check=True,
        capture_output=True,
    )
