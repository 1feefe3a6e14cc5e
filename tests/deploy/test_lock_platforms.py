"""One lock file for two processors: what it names can be installed on both, by the digests that it has."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from deploy.release.chart import PLATFORMS
from tests.deploy.promql import DEPLOY

SOURCE_ONLY = {"docopt", "extratools", "prefixspan"}
"""Packages that are published as source alone: Python without extensions, which the image builds on any processor."""

WITHOUT_WHEEL = {"linux/amd64": SOURCE_ONLY, "linux/arm64": SOURCE_ONLY | {"faust-streaming"}}
"""Of Faust there is no wheel for Linux on ARM64: the image builds it without its optional extensions."""

PROCESSORS = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}
OLDEST_GLIBC, NEWEST_GLIBC = 5, 41
"""Minor versions for which wheels are made, up to that of the image's Debian."""

# Asks the package index.
pytestmark = pytest.mark.deep


def entries(lock: Path) -> dict[str, str]:
    """Return the entries of a lock file by package, each with its digests; a package may have several."""
    found: dict[str, str] = {}
    for entry in re.findall(r"^(?![# ])(?:.*\\\n)*.*$", lock.read_text(encoding="utf-8"), re.MULTILINE):
        if named := re.match(r"([\w.-]+)==", entry):
            found[named[1]] = found.get(named[1], "") + entry + "\n"
    return found


LOCKED = entries(DEPLOY / "requirements.txt")


def python() -> tuple[int, int]:
    """Return the version of the image's Python."""
    found = re.search(r"python:(\d+)\.(\d+)", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1]), int(found[2])


def tags(platform: str) -> set[Tag]:
    """Return the tags of the wheels that the image's Python installs on a platform."""
    processor = PROCESSORS[platform]
    kinds = [f"manylinux_2_{minor}_{processor}" for minor in range(OLDEST_GLIBC, NEWEST_GLIBC + 1)]
    kinds += [f"manylinux{year}_{processor}" for year in (1, 2010, 2014)]
    return {*cpython_tags(python(), platforms=kinds), *compatible_tags(python(), "cp", kinds)}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The wheels of the locked versions by package: digest by file name, as the package index has them."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        pytest.skip("uv is missing: pip install uv")
    output = tmp_path_factory.mktemp("lock") / "pylock.toml"
    command = [uv, "pip", "compile", "--quiet", "--no-deps", "--universal", "--format", "pylock.toml"]
    command += ["--python-version", ".".join(map(str, python()))]
    command += ["--output-file", str(output), str(DEPLOY / "requirements.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"the package index does not answer: {done.stderr.strip()[-200:]}")
    return {
        package["name"]: {one["url"].rsplit("/", 1)[1]: one["hashes"]["sha256"] for one in package.get("wheels", [])}
        for package in tomllib.loads(output.read_text(encoding="utf-8"))["packages"]
    }


def installable(wheels: dict[str, dict[str, str]], locked: dict[str, str], platform: str) -> set[str]:
    """Return the packages of which a platform has a wheel whose digest is locked."""
    fitting = tags(platform)
    return {
        name
        for name, files in wheels.items()
        for file, digest in files.items()
        if parse_wheel_filename(file)[3] & fitting and f"--hash=sha256:{digest}" in locked[name]
    }


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_locked_package_has_a_wheel_with_a_locked_digest(
    wheels: dict[str, dict[str, str]], platform: str
) -> None:
    """
    For both processors, but for the packages that are built from source; their source has a locked digest as well.
    """
    assert set(wheels) - installable(wheels, LOCKED, platform) == WITHOUT_WHEEL[platform]
    assert len(wheels) > 50
    of_wheels = {name: len(files) for name, files in wheels.items()}
    assert all(LOCKED[name].count("--hash") > of_wheels[name] for name in WITHOUT_WHEEL[platform])


def test_a_digest_that_is_not_locked_is_found(wheels: dict[str, dict[str, str]]) -> None:
    """
    The check above can fail: without the digest of its wheel for one processor, a package is only for the other.
    """
    gone = next(digest for file, digest in wheels["msgspec"].items() if "manylinux" in file and "aarch64" in file)
    without = LOCKED | {"msgspec": LOCKED["msgspec"].replace(gone, "0" * 64)}
    assert "msgspec" not in installable(wheels, without, "linux/arm64")
    assert "msgspec" in installable(wheels, without, "linux/amd64")


def test_faust_is_built_without_a_compiler(tmp_path: Path) -> None:
    """
    As in the image for ARM64: from source, by the locked build tools alone, as pure Python of the right version.
    """
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "tools"], check=True)
    pip = tmp_path / "tools" / "bin" / "pip"
    lock = str(DEPLOY / "requirements-build.txt")
    tools = [str(pip), "install", "--quiet", "--require-hashes", "--requirement", lock]
    fetched = subprocess.run(tools, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"the package index does not answer: {fetched.stderr.strip()[-200:]}")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    file = tmp_path / "faust.txt"
    file.write_text(LOCKED["faust-streaming"])
    build = ["wheel", "--quiet", "--no-cache-dir", "--no-deps", "--no-build-isolation", "--use-pep517"]
    build += ["--require-hashes", "--no-binary", "faust-streaming", "--wheel-dir", str(tmp_path / "wheels")]
    subprocess.run([pip, *build, "--requirement", file], check=True, env={"PATH": str(programs), "HOME": str(tmp_path)})
    (wheel,) = (tmp_path / "wheels").iterdir()
    version = re.search(r"==(\S+)", LOCKED["faust-streaming"])
    assert version is not None
    assert wheel.name == f"faust_streaming-{version[1]}-py3-none-any.whl"
