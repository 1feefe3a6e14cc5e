"""The image built by buildah on a stand-in for its base, and containers of it: no daemon, no registry of images."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.workers import children_of, is_running
from tests.paths import ROOT

__all__ = ["ROOT", "BuildahMissingError", "Container", "Image", "Running", "built"]

_CERTIFICATES = Path("/etc/ssl/certs")
_EXCLUDED = ("doc", "man", "locale")

# Debian with the Python of the base that the Dockerfile names, and without what official bases leave out.
_STAND_IN = (
    *("--quiet", "--variant=minbase", "--include=usr-is-merged,python3-venv,ca-certificates"),
    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
    *(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in _EXCLUDED),
    '--customize-hook=rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*.bin "$1"/var/log/*',
)
_SUITE = ("trixie", "deb http://deb.debian.org/debian trixie main")


class BuildahMissingError(Exception):
    """This machine cannot build images; says why."""


def _run(*command: str, timeout_s: float = 120, **environment: str) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )
    assert done.returncode == 0, f"{' '.join(command)[:300]}: {(done.stdout + done.stderr)[-4000:]}"
    return done.stdout


def _base() -> str:
    """Return the name of the stand-in, made on the first call on a machine (under a minute)."""
    recipe = hashlib.sha256(repr((_STAND_IN, _SUITE)).encode()).hexdigest()[:12]
    name = f"localhost/shoal-test-base:{recipe}"
    if (
        subprocess.run(["buildah", "inspect", "--type", "image", name], capture_output=True, check=False).returncode
        == 0
    ):
        return name
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"
    archive = caches / f"image-base-{recipe}.tar"
    if not archive.is_file():
        if shutil.which("mmdebstrap") is None:
            raise BuildahMissingError("mmdebstrap is missing: apt-get install mmdebstrap")
        caches.mkdir(parents=True, exist_ok=True)
        # Made beside its place and renamed into it, so that no half-finished one is ever used.
        with tempfile.TemporaryDirectory(dir=caches) as folder:
            made = Path(folder) / "base.tar"
            _run("mmdebstrap", *_STAND_IN, _SUITE[0], str(made), _SUITE[1], timeout_s=600)
            made.rename(archive)
    container = _run("buildah", "from", "scratch").strip()
    try:
        _run("buildah", "add", container, str(archive), "/")
        _run("buildah", "commit", container, name)
    finally:
        _run("buildah", "rm", container)
    return name


def _index_settings() -> str:
    """Return a pip.conf with where this machine's pip finds packages."""
    told = _run(sys.executable, "-m", "pip", "config", "list")
    pairs = (line.partition("=") for line in told.splitlines())
    named = {name.rpartition(".")[2]: value.strip("'\"") for name, _, value in pairs}
    wanted = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout")
    return "[global]\n" + "".join(f"{name} = {named[name]}\n" for name in wanted if name in named)


@dataclass(frozen=True)
class Image:
    """An image and what it stands on.

    Args:
        name: Its name.
        base: That of its base.
    """

    name: str
    base: str

    def inspect(self) -> dict[str, Any]:
        """Return all that its configuration tells, as Docker has it and as OCI has it."""
        found: dict[str, Any] = json.loads(_run("buildah", "inspect", "--type", "image", self.name))
        return found

    @property
    def config(self) -> dict[str, Any]:
        """How a container of it is run."""
        found: dict[str, Any] = self.inspect()["Docker"]["config"]
        return found

    @contextlib.contextmanager
    def layers(self) -> Iterator[list[tarfile.TarFile]]:
        """Open its layers, the base's first."""
        with tempfile.TemporaryDirectory(prefix="shoal-image-") as folder, contextlib.ExitStack() as stack:
            _run("buildah", "push", "--disable-compression", self.name, f"dir:{folder}")
            manifest = json.loads((Path(folder) / "manifest.json").read_text())
            digests = [layer["digest"].partition(":")[2] for layer in manifest["layers"]]
            yield [stack.enter_context(tarfile.open(Path(folder) / digest)) for digest in digests]

    @contextlib.contextmanager
    def container(self) -> Iterator[Container]:
        """Make a container that is removed at the end of the block."""
        name = _run("buildah", "from", "--pull=never", self.name).strip()
        try:
            yield Container(self, name, Path(_run("buildah", "mount", name).strip()))
        finally:
            _run("buildah", "rm", name)


@contextlib.contextmanager
def built(*more: str, **settings: str) -> Iterator[Image]:
    """Build the image by ``deploy/build_image`` and remove it at the end of the block.

    Args:
        more: Arguments for buildah.
        settings: Variables of the script.

    Raises:
        BuildahMissingError: This machine lacks what it needs.
    """
    if os.geteuid() != 0:
        raise BuildahMissingError("containers without a daemon need root here")
    if shutil.which("buildah") is None:
        raise BuildahMissingError("buildah is missing: apt-get install --no-install-recommends buildah mmdebstrap")
    base, name = _base(), f"localhost/shoal-test:{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory(prefix="shoal-image-") as folder:
        pip = Path(folder) / "pip.conf"
        pip.write_text(_index_settings())
        mounts = ["-v", f"{pip}:/etc/pip.conf:ro"]
        if _CERTIFICATES.is_dir():
            mounts += ["-v", f"{_CERTIFICATES}:{_CERTIFICATES}:ro"]
        environment = {"BUILDER": "buildah", "IMAGE": name, "BASE": base, "BUILDAH_ISOLATION": "chroot"} | settings
        _run("deploy/build_image", "--pull=never", "--network=host", *mounts, *more, timeout_s=900, **environment)
    try:
        yield Image(name, base)
    finally:
        _run("buildah", "rmi", name)


@dataclass(frozen=True)
class Container:
    """A container; its processes share the machine's network.

    Args:
        image: What it was made of.
        name: Its name.
        root: Its file system, as the machine sees it.
    """

    image: Image
    name: str
    root: Path

    def _command(self, command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None) -> list[str]:
        named = [part for name, value in environment.items() for part in ("--env", f"{name}={value}")]
        mounts = [] if folder is None else ["-v", f"{folder}:/mnt"]
        return ["buildah", "run", "--isolation", "chroot", *named, *mounts, self.name, "--", *command]

    def call(
        self, *arguments: str, environment: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the entry point with arguments, to its end; a folder of the machine is its /mnt."""
        command = self._command([*self.image.config["Entrypoint"], *arguments], environment or {}, folder)
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    @contextlib.contextmanager
    def running(self, log: Path, environment: Mapping[str, str]) -> Iterator[Running]:
        """Run what the image runs by itself; at the end of the block it is killed if it still runs."""
        config = self.image.config
        command = self._command([*config["Entrypoint"], *config["Cmd"]], environment)
        with log.open("wb") as output:
            buildah = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        running = Running(buildah, log)
        try:
            yield running
        finally:
            if buildah.poll() is None:
                for pid in children_of(buildah.pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, 9)
                buildah.wait(30)


@dataclass(frozen=True)
class Running:
    """What runs in a container, below a process of buildah that ends as it does."""

    buildah: subprocess.Popen[bytes]
    _log: Path = field(repr=False)

    @property
    def log(self) -> str:
        """All that it has written."""
        return self._log.read_text(errors="replace")

    def pids(self) -> list[int]:
        """Return the processes of Python in the container, the first started first."""
        found = []
        for pid in sorted(children_of(self.buildah.pid)):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                if command.startswith(b"/opt/shoal/bin/python") and is_running(pid):
                    found.append(pid)
        return found
