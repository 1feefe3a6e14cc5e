"""Starts workers by a fork of a process that has imported everything already: of a start, imports are nearly all.

``python -m tests.cluster.forked_workers`` reads one request a line from its standard input, and answers with a
process id. When that worker has ended, the file ``exit-code`` in its folder holds the code. The end of the input ends
all.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.paths import ROOT

__all__ = ["EXIT_CODE", "ForkedWorkers"]

EXIT_CODE = "exit-code"
"""Name of the file that says how a worker has ended, as :attr:`subprocess.Popen.returncode` does."""


class ForkedWorkers:
    """The process that workers are forked from, for as long as a ``with`` block."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def start(self, program: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> int:
        """Start a program as ``python -m`` does, in a session of its own, and return its process id."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=folder.parent,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            "program": list(program),
            "environment": dict(environment),
            "folder": str(folder),
            "log": str(log),
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> ForkedWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.communicate()


def _become(request: dict[str, Any]) -> None:
    """Turn into a worker; what a new process has of its own, a fork has to be given."""
    os.setsid()
    os.chdir(request["folder"])
    for number, file, how in (
        (0, os.devnull, os.O_RDONLY),
        (1, request["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT),
    ):
        opened = os.open(file, how, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    os.dup2(1, 2)
    os.environ.clear()
    os.environ.update(request["environment"])
    module, *arguments = request["program"]
    sys.argv = [module, *arguments]
    sys.path[0] = request["folder"]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _serve() -> None:
    import stream.cli.main  # noqa: PLC0415 - only here: whoever starts this process needs none of it
    import stream.worker.run  # noqa: PLC0415

    del sys.modules["stream.cli.main"]  # it runs as a program, or is imported by one, in every worker anew
    del stream.cli.main
    folders: dict[int, Path] = {}
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    pending = b""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _collect(folders)
        if 0 not in ready:
            continue
        read = os.read(0, 2**20)
        if not read:
            return
        *lines, pending = (pending + read).split(b"\n")
        for line in lines:
            request = json.loads(line)
            if (pid := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(woken)
                os.close(wake)
                _become(request)
                sys.exit()
            folders[pid] = Path(request["folder"])
            os.write(1, b"%d\n" % pid)


def _collect(folders: dict[int, Path]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            folder = folders.pop(ended[0])
            half = folder / f"{EXIT_CODE}.half"
            with contextlib.suppress(FileNotFoundError):  # nobody waits for it any more
                half.write_text(str(os.waitstatus_to_exitcode(ended[1])))
                half.rename(folder / EXIT_CODE)


if __name__ == "__main__":
    _serve()
