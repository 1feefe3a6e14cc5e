"""Processes that are measured: CPU time and peak memory of one command, with all that it starts and waits for."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Done", "Measured", "run"]

# Linux counts the peak in KiB, macOS in bytes.
_MAXRSS_IN_MB = 1 / 1_000_000 if sys.platform == "darwin" else 1024 / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one run of one row cost, and what its release lost."""

    cpu_s: float
    """CPU time, user and system."""

    peak_mb: float
    """Peak resident memory of the process, MB."""

    figures: dict[str, float] = field(default_factory=dict)
    """What was lost, by name: ``metres`` a point, ``suppressed`` points, released ``windows`` and the like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A process that has ended well."""

    output: str
    cpu_s: float
    peak_mb: float


def run(command: list[str], *, folder: Path, environment: dict[str, str] | None = None) -> Done:
    """Run a command in a folder to its end.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        environment: Variables that are added to those of this process.

    Raises:
        SystemExit: The command failed; with the end of what it wrote.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **(environment or {})}, stdout=out, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # so that Popen does not wait for it again
        out.seek(0)
        errors.seek(0)
        output, wrong = out.read().decode(errors="replace"), errors.read().decode(errors="replace")
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {process.returncode}: {wrong.strip()[-2000:]}")
    return Done(output=output, cpu_s=usage.ru_utime + usage.ru_stime, peak_mb=usage.ru_maxrss * _MAXRSS_IN_MB)
