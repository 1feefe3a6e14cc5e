"""``shoal view``: a replay's folder in the browser, until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from stream.cli.main import main
from tests.builders.live_windows import sequences, told
from tests.paths import ROOT

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one release."""
    for one in told(sequences()).messages:
        with (tmp_path / f"{one.topic}.ndjson").open("ab") as file:
            file.write(one.value + b"\n")
    return tmp_path


@contextmanager
def viewing(*arguments: str | Path, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running ``shoal view``, and its address."""
    command = [sys.executable, "-m", "stream.cli.main", "view", *map(str, arguments)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=ENVIRONMENT | {"PYTHONPATH": str(ROOT)} | environment,
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        assert said.endswith("Ctrl-C ends it\n")
        yield process, said.split()[0]
    finally:
        process.kill()
        process.communicate(timeout=30)


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own server
        body: bytes = answer.read()
    return body


def test_it_serves_the_page_until_ctrl_c(folder: Path) -> None:
    """
    On this machine alone; the page, its windows and their shapes are there, and Ctrl-C ends it in order.
    """
    with viewing(folder, "--no-browser") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        assert b"<title>Shoal" in get(url)
        assert json.loads(get(f"{url}api/status"))["replay"] == folder.name
        (window,) = json.loads(get(f"{url}api/windows"))["windows"]
        assert json.loads(get(f"{url}api/windows?release={window['release']}"))["trajectories"]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_it_opens_a_browser_if_it_may(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """
    The one that ``BROWSER`` names, with the address of the page.
    """
    out = tmp_path_factory.mktemp("browser")
    browser = out / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{out}/part" && mv "{out}/part" "{out}/asked"\n')
    browser.chmod(0o755)
    with viewing(folder, BROWSER=str(browser)) as (process, url):
        while not (out / "asked").exists():
            assert process.poll() is None
        assert (out / "asked").read_text().strip() == url


def test_a_folder_without_windows_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """
    And so is what is no folder.
    """
    result = CliRunner().invoke(main, ["view", str(tmp_path), "--no-browser"])
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(f"shoal: {tmp_path} has no windows.ndjson: name the folder")
    assert CliRunner().invoke(main, ["view", str(tmp_path / "nowhere")]).exit_code == 2


def test_a_port_that_is_taken_is_named(folder: Path) -> None:
    """
    With what to do.
    """
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["view", str(folder), "--no-browser", "--port", str(port)])
    assert result.exit_code == 1
    assert f"cannot listen at port {port}" in result.stderr
    assert "--port" in result.stderr


def test_it_says_why_no_cells_are_drawn(folder: Path) -> None:
    """
    The cells need the replay's settings; the centres are drawn all the same.
    """
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(main, ["view", str(folder), "--no-browser", "--port", port])
    assert "the map shows the centres of locations" in " ".join(result.stderr.split())
