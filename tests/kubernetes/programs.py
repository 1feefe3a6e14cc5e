"""The programs of a Kubernetes control plane, built from their Go modules once on a machine.

``python -m tests.kubernetes.programs`` builds what is missing, which takes most of an hour on two cores.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.brokers import cache_folder

__all__ = ["KUBERNETES", "ProgramsMissingError", "build", "crds", "find", "published"]

KUBERNETES = "1.34.2"
_STAGING = f"v0.{KUBERNETES.removeprefix('1.')}"
"""Version of the modules that Kubernetes publishes beside itself."""

_VERSION = "k8s.io/component-base/version"
_LINKED = f"-w -s -X {_VERSION}.gitVersion=v{KUBERNETES} -X {_VERSION}.gitMajor=1 -X {_VERSION}.gitMinor=34"
_OPERATOR = "example/prometheus-operator-crd/monitoring.coreos.com_"
_CUSTOM_RESOURCES = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        f"{_OPERATOR}podmonitors.yaml",
        f"{_OPERATOR}prometheusrules.yaml",
        f"{_OPERATOR}servicemonitors.yaml",
    ),
    "github.com/kedacore/keda/v2@v2.18.1": (
        "config/crd/bases/keda.sh_scaledobjects.yaml",
        "config/crd/bases/keda.sh_triggerauthentications.yaml",
    ),
}
"""Definitions of the resources that the chart has, by module. The others make every request of Helm slower."""


class ProgramsMissingError(RuntimeError):
    """The programs are not built, or cannot be; says what to do."""


@dataclass(frozen=True, slots=True)
class _Program:
    name: str
    module: str
    package: str
    """The folder of its main package in the module."""

    minutes: int
    """How long its build takes on two cores, for who waits."""


_PROGRAMS = (
    _Program("etcd", "go.etcd.io/etcd/server/v3@v3.6.5", ".", 2),
    _Program("kube-apiserver", f"k8s.io/kubernetes@v{KUBERNETES}", "./cmd/kube-apiserver", 30),
    _Program("kube-controller-manager", f"k8s.io/kubernetes@v{KUBERNETES}", "./cmd/kube-controller-manager", 5),
    _Program("kube-scheduler", f"k8s.io/kubernetes@v{KUBERNETES}", "./cmd/kube-scheduler", 3),
)


def _folder() -> Path:
    return cache_folder() / f"kubernetes-{KUBERNETES}"


def find() -> dict[str, Path]:
    """Return the programs by name.

    Raises:
        ProgramsMissingError: They are not all built.
    """
    found = {one.name: _folder() / one.name for one in _PROGRAMS}
    missing = [name for name, path in found.items() if not path.is_file()]
    if missing:
        raise ProgramsMissingError(f"not built yet: {', '.join(missing)}; run python -m tests.kubernetes.programs")
    return found


def build(say: Callable[[str], None]) -> None:
    """Build the programs that are missing.

    Args:
        say: Called with what goes on.

    Raises:
        ProgramsMissingError: Go is missing, or a build fails.
    """
    missing = [one for one in _PROGRAMS if not (_folder() / one.name).is_file()]
    for number, one in enumerate(missing, 1):
        say(f"building {one.name}, {number} of {len(missing)}: about {one.minutes} minutes ...")
        begun = time.monotonic()
        _build(one)
        say(f"built {one.name} in {time.monotonic() - begun:.0f} s")


def _build(program: _Program) -> None:
    source = _folder() / "source" / program.module.replace("/", "_")
    if not source.is_dir():
        # Prepared beside its place and renamed into it, so that no half-prepared one is ever used.
        half = source.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(_module(program.module), half, copy_function=shutil.copyfile)
        for folder in (half, *(one for one in half.rglob("*") if one.is_dir())):
            folder.chmod(0o755)
        _name_published_modules(half)
        half.rename(source)
    new = _folder() / f"{program.name}.new"
    _go("build", "-mod=mod", "-ldflags", _LINKED, "-o", str(new), program.package, cwd=source)
    new.rename(_folder() / program.name)


def _name_published_modules(source: Path) -> None:
    """Let go.mod name the published siblings of a module, because its archive has no folders beside it."""
    shutil.rmtree(source / "vendor", ignore_errors=True)
    for name in ("go.work", "go.work.sum"):
        (source / name).unlink(missing_ok=True)
    mod = source / "go.mod"
    mod.write_text(published(mod.read_text()))


def published(go_mod: str) -> str:
    """Return a go.mod that names the published modules in place of the folders beside it."""
    lines = [line for line in go_mod.splitlines() if "=> ./" not in line and "=> ../" not in line]
    return "\n".join(re.sub(r"(\bk8s\.io/[a-z-]+) v0\.0\.0$", rf"\1 {_STAGING}", line) for line in lines) + "\n"


def _module(name: str) -> Path:
    """Return the folder of a module, downloaded on the first call on a machine."""
    return Path(json.loads(_go("mod", "download", "-json", name, cwd=Path("/")))["Dir"])


def _go(*arguments: str, cwd: Path) -> str:
    go = shutil.which("go")
    if go is None:
        raise ProgramsMissingError(f"Go is missing: Kubernetes {KUBERNETES} is built with it (1.24 or newer)")
    environment = {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local"}
    done = subprocess.run(
        [go, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )
    if done.returncode != 0:
        raise ProgramsMissingError(f"go {' '.join(arguments)[:200]} failed:\n{done.stderr.strip()[-3000:]}")
    return done.stdout


def crds() -> list[Path]:
    """Return the files that define the chart's resources of the Prometheus operator and of KEDA.

    Raises:
        ProgramsMissingError: Go is missing, or cannot download them.
    """
    return [_module(module) / file for module, files in _CUSTOM_RESOURCES.items() for file in files]


def main() -> None:
    """Build what is missing."""

    def say(line: str) -> None:
        sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
        sys.stdout.flush()

    try:
        build(say)
        crds()
    except ProgramsMissingError as missing:
        sys.exit(str(missing))
    say(f"the programs are in {_folder()}")


if __name__ == "__main__":
    main()
