"""SIGTERM ends every command at once, also as the first process of a container."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stream.demo.broker import free_port

WAITING = [sys.executable, "-m", "stream.cli.main", "topics", "describe", "--set"]


def waiting() -> list[str]:
    """A command that waits for a broker that is not there."""
    return [*WAITING, f"kafka.bootstrap_servers=127.0.0.1:{free_port()}"]


def begun(command: list[str]) -> subprocess.Popen[str]:
    """Start it, and return when it waits."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert any("waiting for a Kafka broker" in line for line in process.stderr)
    return process


def test_a_command_ends_at_once() -> None:
    """
    By the signal, as any program does that has no handler for it.
    """
    process = begun(waiting())
    process.terminate()
    assert process.wait(10) == -signal.SIGTERM


def test_the_first_process_of_a_container_ends_at_once() -> None:
    """
    No signal ends process 1 that it has no handler for: it says itself what a shell says of a signal.
    """
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a namespace of processes needs root and unshare")
    process = begun(["unshare", "--pid", "--fork", "--kill-child", *waiting()])
    try:
        (first,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(first), signal.SIGTERM)
        assert process.wait(10) == 128 + signal.SIGTERM
    finally:
        process.kill()


def test_only_process_1_has_a_handler() -> None:
    """
    Whoever imports the command line keeps his own.
    """
    code = "import signal, stream.cli.main; assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL"
    subprocess.run([sys.executable, "-c", code], check=True)
