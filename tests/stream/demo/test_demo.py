"""The demo: it says what went wrong, and two demos that start at once do not take the same ports."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from stream.demo.broker import free_port
from stream.demo.demo import DemoError, _ports, run_demo
from stream.settings.errors import SettingsError


def test_a_wrong_setting_ends_the_demo_before_anything_starts() -> None:
    """
    No broker is started for a sentence.
    """
    said: list[str] = []
    with pytest.raises(SettingsError, match=r"stops\.radius_m is -1"):
        run_demo(seconds=1, people=50, given={"stops.radius_m": -1}, say=said.append)
    assert said == []


def test_a_demo_without_a_release_says_how_to_run_it_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    By its own command, and by that of the Makefile.
    """

    async def nothing(*_: object) -> None:
        pass

    server = SimpleNamespace(bootstrap_servers="localhost:9092")
    monkeypatch.setattr("stream.demo.demo.EmbeddedBroker", lambda: contextlib.nullcontext(server))
    monkeypatch.setattr("stream.demo.demo.create_topics", nothing)
    monkeypatch.setattr("stream.demo.demo._worker", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr("stream.demo.demo._show", nothing)
    with pytest.raises(DemoError, match=r"try `shoal demo --seconds 120` \(make demo SECONDS=120\)$"):
        run_demo(seconds=60, people=50, given={}, say=lambda _: None)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port where somebody listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_demos_that_start_at_once_take_different_ports() -> None:
    """
    The first has the wanted ones, though its worker does not listen yet; when it has ended they are free again.
    """
    wanted = free_port(), free_port()
    with _ports(*wanted) as first, _ports(*wanted) as second, _ports(*wanted) as third:
        assert first == wanted
        assert len({*first, *second, *third}) == 6
    with _ports(*wanted) as again:
        assert again == wanted


def test_a_port_where_somebody_listens_is_not_taken(taken: int) -> None:
    """
    A worker or a demo of before, or another program.
    """
    with _ports(taken) as (port,):
        assert port != taken
