"""``shoal status``: what the page shows, in a terminal, from a worker that is there, away, or none of ours."""

from __future__ import annotations

import http.server
import io
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from stream.cli.main import main
from stream.demo.broker import free_port
from stream.worker import status as worker_status
from tests.builders.live_windows import PageServer, live, many, sequences, told, tracks, withheld


def shoal_status(url: str, *more: str) -> Result:
    """Run the command in a wide terminal."""
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, ["status", "--url", url, *more])


@pytest.mark.parametrize("page", [True, False])
def test_status_shows_models_windows_and_what_was_withheld(page: bool) -> None:
    """
    From any worker, also where its page is off.
    """
    shown = live({"web.page": page})
    for window in (told(withheld()), told(tracks()), told(sequences())):
        shown.add(window)
    with PageServer(shown) as server:
        result = shoal_status(server.url + "/")
    assert result.exit_code == 0
    assert "ready" in result.stdout
    assert "2 released, 1 withheld, 0 refused" in result.stdout
    for words in (
        "seqanon",
        "w4m",
        "too few people",
        "fewer than k people",
        "at least 3 people",
        "0.25 s",
    ):
        assert words in result.stdout


def test_status_tells_what_is_waited_for() -> None:
    """
    A worker that is not ready says why, and one that has just begun that no window has left.
    """
    with PageServer(live()) as server:
        server.health.checks["the Kafka cluster"] = lambda: False
        result = shoal_status(server.url)
    assert "waiting for: the Kafka cluster" in result.stdout
    assert "No window has been emitted yet." in result.stdout


def test_status_shows_as_many_windows_as_asked_for() -> None:
    """
    The newest ones.
    """
    shown = live()
    for window in many(sequences(), 20):
        shown.add(window)
    with PageServer(shown) as server:
        few, all_of_them = (shoal_status(server.url, "--windows", str(n)).stdout for n in (3, 60))
    assert [len(re.findall(r"\d-\d\d \d\d:\d\d-", shown_)) for shown_ in (few, all_of_them)] == [3, 20]


def test_the_worker_of_the_settings_is_asked(tmp_path: Path) -> None:
    """
    Where no address is given; one that listens everywhere is asked at the loopback interface.
    """
    with PageServer(live()) as server:
        port = server.url.rpartition(":")[2]
        file = tmp_path / "settings.yaml"
        file.write_text(f"web: {{host: 0.0.0.0, port: {port}}}")
        for arguments, variables in (
            ([], {"SHOAL_CONFIG": str(file)}),
            (["--config", str(file)], {}),
            ([], {"SHOAL_WEB__PORT": port}),
            (["--set", f"web.port={port}"], {}),
        ):
            result = CliRunner(env=variables).invoke(main, ["status", *arguments])
            assert result.exit_code == 0
            assert f"http://127.0.0.1:{port}: " in result.stdout


def test_a_worker_is_not_asked_through_a_proxy() -> None:
    """
    Proxies of the variables are for the world outside.
    """
    nobody = f"http://127.0.0.1:{free_port()}"
    with PageServer(live()) as server:
        result = CliRunner(env={"http_proxy": nobody, "HTTP_PROXY": nobody}).invoke(
            main, ["status", "--url", server.url]
        )
    assert result.exit_code == 0


def test_nobody_answers() -> None:
    """
    One sentence says what was asked and what to look at; the exit code is 1.
    """
    result = shoal_status(f"http://127.0.0.1:{free_port()}")
    assert result.exit_code == 1
    assert result.stderr.startswith("shoal: no answer from http://127.0.0.1:")
    assert "web.port" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("url", ["127.0.0.1:6066", "file:///etc/passwd", "ftp://127.0.0.1/"])
def test_only_the_web_is_asked(url: str) -> None:
    """
    An address that is none of a web server is refused with an example.
    """
    result = shoal_status(url)
    assert result.exit_code == 1
    assert "http://127.0.0.1:6066" in result.stderr


@pytest.fixture
def stranger() -> Iterator[Any]:
    """A web server that is no worker; ``answer`` is what it says to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        answer: tuple[int, bytes] = (404, b"")

        def do_GET(self) -> None:
            code, body = Handler.answer
            self.send_response(code)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    Handler.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Handler
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "answer", [(404, b"no"), (500, b""), (200, b"<html>"), (200, b"[]"), (200, b"\xff{"), (200, b"")]
)
def test_somebody_else_answers(stranger: Any, answer: tuple[int, bytes]) -> None:
    """
    What is not a worker's answer is a sentence, not a traceback.
    """
    stranger.answer = answer
    result = shoal_status(stranger.url)
    assert result.exit_code == 1
    assert result.stderr.startswith("shoal: ")
    assert "Traceback" not in result.output


def test_what_would_steer_a_terminal_is_left_out() -> None:
    """
    Names come over the network: no escape sequence of theirs reaches the terminal.
    """
    shown = live()
    shown.add(told(withheld(shard="\x1b[31mred\x07 [bold]")))
    with PageServer(shown) as server:
        result = shoal_status(server.url)
    assert "\x1b" not in result.stdout
    assert "[31mred [bold]" in result.stdout


def test_watching_goes_on_while_the_worker_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    It shows the worker anew each time, says when it cannot be reached, and shows it again when it is back.
    """
    monkeypatch.setattr(worker_status, "WATCH_EVERY_S", 0.01)
    console = Console(width=200, record=True, file=io.StringIO())
    port = free_port()

    def watched(rounds: int) -> str:
        left = iter(range(rounds))
        url = f"http://127.0.0.1:{port}"
        worker_status.watch(url, console, most=5, is_over=lambda: next(left, None) is None)
        return console.export_text()

    with PageServer(live(), port=port):
        assert "models in force" in watched(2)
    assert "no answer from" in watched(2)
    with PageServer(live(), port=port):
        assert "models in force" in watched(1)
