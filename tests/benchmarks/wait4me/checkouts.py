"""The two checkouts that are compared, and how a row is run by either of them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.wait4me.processes import Measured, run
from tests.paths import ROOT

__all__ = ["EARLIER", "Checkout", "earlier_checkout"]

EARLIER = "5cfdee3"
"""The last commit before there were compiled kernels."""

_CALL = Path(__file__).with_name("call.py")
_SECRET = "0123456789abcdef0123"  # noqa: S105 - of no real deployment
# The entry of `shoal` has moved: it was stream.cli, and is stream.cli.main.
_SHOAL = "import importlib, sys; sys.argv[0] = 'shoal'; importlib.import_module(sys.argv.pop(1)).main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A copy of the code, run by the interpreter of this process."""

    root: Path
    """The folder that holds ``core`` and ``stream``."""

    kernel_cache: Path
    """Where numba keeps what it compiles: the folder that ``shoal replay`` chooses as well."""

    def prepare(self) -> tuple[int, float]:
        """Make all kernels ready in a new process; return how many there are, and the CPU seconds it took."""
        answer, _ = self._called({})
        return answer["n_kernels"], answer["cpu_s"]

    def call(self, job: dict[str, Any]) -> Measured:
        """Call Wait for Me in a new process with its kernels ready; the time is that of the call alone."""
        answer, peak_mb = self._called(job)
        return Measured(cpu_s=answer.pop("cpu_s"), peak_mb=peak_mb, figures=answer)

    def replay(self, file: Path, settings: dict[str, object]) -> Measured:
        """Run ``shoal replay`` on a file of positions; the time is that of the whole process, start included."""
        entry = "stream.cli.main" if (self.root / "stream/cli/main.py").is_file() else "stream.cli"
        given = {"privacy.secret": _SECRET, **settings}
        if self.root == ROOT:
            given |= {"privacy.span_step": "30s", "privacy.across": "none"}  # the earlier commit knows nothing else
        with tempfile.TemporaryDirectory() as folder:
            arguments = [str(file), "--kind", "fragments", "--output", folder]
            for name, value in given.items():
                arguments += ["--set", f"{name}={value}"]
            done = run(
                [sys.executable, "-P", "-c", _SHOAL, entry, "replay", *arguments],
                folder=self.root,
                environment=self._environment,
            )
            lines = (Path(folder) / "windows.ndjson").read_bytes().splitlines()
        return Measured(cpu_s=done.cpu_s, peak_mb=done.peak_mb, figures=_lost([json.loads(line) for line in lines]))

    def _called(self, job: dict[str, Any]) -> tuple[dict[str, Any], float]:
        text = json.dumps({"root": str(self.root), **job})
        done = run([sys.executable, "-P", str(_CALL), text], folder=self.root, environment=self._environment)
        answer: dict[str, Any] = json.loads(done.output)
        return answer, done.peak_mb

    @property
    def _environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.root), "NUMBA_CACHE_DIR": str(self.kernel_cache), "COLUMNS": "80"}


def _lost(windows: list[dict[str, Any]]) -> dict[str, float]:
    released = [window for window in windows if window["outcome"] == "released"]
    points = sum(window["points_released"] for window in released)
    moved = sum(
        window["points_released"] * (window["information_loss"]["mean_space_translation_m"] or 0.0)
        for window in released
    )
    return {
        "metres": moved / max(points, 1),
        "suppressed": sum(window["points_suppressed"] for window in released),
        "windows": len(released),
    }


@contextmanager
def earlier_checkout(kernel_cache: Path) -> Iterator[Checkout | None]:
    """Copy :data:`EARLIER` from the git history into a temporary folder; None if the history does not hold it."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", EARLIER, "core", "stream"], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode != 0:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Checkout(root=Path(folder), kernel_cache=kernel_cache)
