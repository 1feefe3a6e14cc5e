"""Builds a release: ``make release``. It publishes only where a registry or an image is named.

Everything is built in one folder: wheel, source archive, chart, list of components (SBOM), provenance and checksums.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from deploy.release.chart import PLATFORMS, stage
from deploy.release.statement import provenance, sha256

__all__ = ["Release", "main"]

ROOT = Path(__file__).parents[2]
_LOCKS = (ROOT / "deploy" / "requirements.txt", ROOT / "deploy" / "requirements-build.txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What is asked for."""

    folder: Path
    """Where the files are written; what was there is removed."""

    registry: str
    """The OCI registry of the chart, ``oci://host/path``; empty to publish none."""

    image: str
    """The image's name without a tag, ``host/path``; empty to publish none."""

    source: str
    """Address of the repository, for the metadata; may be empty."""

    icon: str
    """Address of the chart's picture."""

    builder: str
    """URI of the machine or service that builds it."""

    is_dry: bool
    """Whether commands that publish or sign are printed and not run."""

    def build(self) -> None:
        """Build all files.

        Raises:
            click.ClickException: Something is missing or failed; the message says what to do.
        """
        began = datetime.now(UTC)
        revision = self._revision()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        # File times in the archives are those of the commit, so that a second build gives the same wheel and archive.
        times = {
            "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or _output("git", "log", "-1", "--format=%ct")
        }
        click.echo("building wheel and source archive ...")
        _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", self.folder, ROOT, more=times)
        click.echo("packaging the chart ...")
        with tempfile.TemporaryDirectory() as folder:
            image = f"{self.image}:{self.version}" if self.image else ""
            chart = stage(ROOT, Path(folder), source=self.source, icon=self.icon, image=image)
            _run(_helm(), "package", chart, "--destination", self.folder)
        click.echo("listing the locked components ...")
        sbom = self.folder / f"shoal-{self.version}.cdx.json"
        listing = ("requirements", _LOCKS[0], "--pyproject", ROOT / "pyproject.toml", "--output-reproducible")
        _run(sys.executable, "-m", "cyclonedx_py", *listing, "--output-file", sbom, more=times)
        statement = provenance(
            sorted(self.folder.iterdir()),
            revision=revision,
            source=self.source,
            locks=_LOCKS,
            parameters={"version": self.version, "registry": self.registry, "image": self.image},
            builder=self.builder,
            began=began,
            ended=datetime.now(UTC),
        )
        (self.folder / "provenance.json").write_text(json.dumps(statement, indent=1) + "\n", encoding="utf-8")
        files = sorted(self.folder.iterdir())
        lines = [f"{sha256(file)}  {file.name}\n" for file in files]
        (self.folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
        for file in files:
            click.echo(f"  {file.name}  {file.stat().st_size:,} bytes")

    def publish(self) -> None:
        """Push and sign what has a place to go to, or print the commands.

        Raises:
            click.ClickException: A command failed.
        """
        digests = []
        if self.registry:
            (chart,) = self.folder.glob("shoal-*.tgz")
            said = self._do(_helm(), "push", chart, self.registry)
            digests.append(f"{self.registry.removeprefix('oci://').rstrip('/')}/shoal@{_digest(said)}")
        else:
            click.echo("the chart is not pushed: no REGISTRY is named")
        if self.image:
            asked = {"IMAGE": f"{self.image}:{self.version}", "PLATFORMS": ",".join(PLATFORMS), "PUSH": "1"}
            said = self._do(ROOT / "deploy" / "build_image", more=asked | {"SOURCE": self.source})
            digests.append(f"{self.image}@{_digest(said)}")
        else:
            click.echo("the image is not built: no IMAGE is named")
        if not digests:
            click.echo("nothing is signed, because nothing is published")
            return
        if shutil.which("cosign") is None and not self.is_dry:
            click.echo("nothing is signed: cosign is not installed")
            return
        sums = self.folder / "SHA256SUMS"
        self._do("cosign", "sign-blob", "--yes", "--bundle", f"{sums}.sigstore.json", sums)
        for digest in digests:
            self._do("cosign", "sign", "--yes", digest)

    @property
    def version(self) -> str:
        """The version of the package."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return str(project["version"])

    def _revision(self) -> str:
        revision = _output("git", "rev-parse", "HEAD")
        if _output("git", "status", "--porcelain", "--untracked-files=no"):
            if not self.is_dry:
                raise click.ClickException("there are changes that are not committed: commit them, or set DRY_RUN=1")
            click.echo("there are changes that are not committed: the provenance names the commit before them")
        return revision

    def _do(self, *command: str | Path, more: Mapping[str, str] | None = None) -> str:
        """Run a command that others will see, or print it."""
        if self.is_dry:
            variables = [f"{name}={shlex.quote(value)}" for name, value in (more or {}).items() if value]
            click.echo(f"would run: {' '.join([*variables, shlex.join(map(str, command))])}")
            return ""
        done = _run(*command, more=more)
        return done.stdout + done.stderr  # Helm prints the digest of what it pushed to standard error


def _digest(said: str) -> str:
    """Return the digest that a command has printed last."""
    found = re.findall(r"sha256:[0-9a-f]{64}", said)
    return found[-1] if found else "DIGEST"


def _helm() -> str:
    helm = os.environ.get("HELM") or shutil.which("helm")
    if helm is None:
        raise click.ClickException("helm is missing: install Helm 3.17 or newer, or name it with HELM=/path/to/helm")
    return helm


def _output(*command: str) -> str:
    return _run(*command).stdout.strip()


def _run(*command: str | Path, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end.

    Raises:
        click.ClickException: It cannot be found or has failed; the message has all that it printed.
    """
    words = [str(word) for word in command]
    environment = {**os.environ, **(more or {})}
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)  # noqa: S603
    except FileNotFoundError:
        raise click.ClickException(f"{words[0]} is missing: install it") from None
    if done.returncode != 0:
        raise click.ClickException(f"{shlex.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


@click.command()
@click.option("--registry", default="", metavar="oci://HOST/PATH", help="Where the chart is pushed.")
@click.option("--image", default="", metavar="HOST/PATH", help="The image that is built for all platforms and pushed.")
@click.option("--source", default="", metavar="URL", help="Address of the repository, for metadata and labels.")
@click.option("--icon", default="", metavar="URL", help="The chart's picture; by default the one in the repository.")
@click.option(
    "--builder", default="urn:shoal:local", show_default=True, metavar="URI", help="Who builds it, for the provenance."
)
@click.option("--folder", default=ROOT / "build" / "release", type=click.Path(path_type=Path), help="Where files go.")
@click.option("--dry-run", is_flag=True, help="Build everything; print what would be pushed and signed.")
def main(*, registry: str, image: str, source: str, icon: str, builder: str, folder: Path, dry_run: bool) -> None:
    """Build a release, and publish it where a registry or an image is named."""
    release = Release(
        folder=folder.resolve(),
        registry=registry,
        image=image,
        source=source.rstrip("/"),
        icon=icon or f"{source.rstrip('/')}/raw/HEAD/docs/pictures/icon.svg",
        builder=builder,
        is_dry=dry_run,
    )
    release.build()
    release.publish()


if __name__ == "__main__":
    main()
