"""The demo's ports: two demos that start at once do not take the same."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from stream.demo.broker import free_port
from stream.demo.demo import _ports, run_demo
from stream.settings.errors import SettingsError


def test_a_wrong_setting_ends_the_demo_before_anything_starts() -> None:
    """
    No broker is started for a sentence.
    """
    said: list[str] = []
    with pytest.raises(SettingsError, match=r"stops\.radius_m is -1"):
        run_demo(seconds=1, people=50, given={"stops.radius_m": -1}, say=said.append)
    assert said == []


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
