"""Commands by which people make a secret: where what makes it is missing, they make none instead of an empty one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from stream.settings.secret import secret_fault
from tests.paths import ROOT

FILES = [
    "README.md",
    "docs/operate/compose.md",
    "docs/tutorials/deploy.md",
    "deploy/compose.yaml",
    "helm/README.md.gotmpl",
    "helm/README.md",
    "helm/values.yaml",
    "helm/templates/checks.yaml",
]
_COMMAND = re.compile(r"\w*SECRET=\$\$?\((openssl rand -hex 32|shoal secret)\).*?(?=`| {2,}#|\}|$)", re.MULTILINE)
_MADE = "for anyone who runs the tests 0123456789"


def commands() -> list[tuple[str, str]]:
    """Return the commands that make a secret, with the file that shows each, as people would type them."""
    found = []
    for name in FILES:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert len(_COMMAND.findall(text)) == len(re.findall(r"\((openssl rand|shoal secret)", text)), name
        for match in _COMMAND.finditer(text):
            typed = match[0].replace("$$", "$").replace('\\"', '"').replace("%s", "shoal")
            found.append((name, typed))
    return found


def run(command: str, folder: Path, programs: dict[str, str]) -> str:
    """Run a command where only some programs are, and return all that it left: files, exported variables, calls."""
    (folder / "deploy").mkdir()
    (folder / "bin").mkdir()
    for name, script in programs.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / name).chmod(0o755)
    script = f"{command}\n/bin/sh -c 'echo \"exported:$SHOAL_PRIVACY__SECRET\"'"
    environment = {"PATH": str(folder / "bin")}
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    written = "".join(path.read_text() for path in (folder / "deploy").iterdir())
    return done.stdout.removesuffix("exported:\n") + written


KUBECTL = {"kubectl": 'for one in "$@"; do echo "called:$one"; done'}


def test_every_place_shows_one() -> None:
    """
    None is forgotten: README, documentation, Compose's file and the chart each say how to make a secret.
    """
    assert list(dict.fromkeys(name for name, _ in commands())) == FILES


@pytest.mark.parametrize(("name", "command"), commands())
def test_nothing_is_made_where_a_program_is_missing(name: str, command: str, tmp_path: Path) -> None:
    """
    Neither a Secret nor a file nor a variable: an empty one would look like one.
    """
    assert run(command, tmp_path, KUBECTL) == "", name


@pytest.mark.parametrize(("name", "command"), commands())
def test_what_is_made_is_a_secret(name: str, command: str, tmp_path: Path) -> None:
    """
    With the program there the whole of what it prints arrives.
    """
    programs = KUBECTL | dict.fromkeys(("openssl", "shoal"), f"echo '{_MADE}'")
    left = run(command, tmp_path, programs)
    (secret,) = re.findall(r"(?:called:--from-literal=secret=|exported:|SHOAL_PRIVACY__SECRET=)(.*)", left)
    assert secret == _MADE, name
    assert secret_fault(secret) is None
