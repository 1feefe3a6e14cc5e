"""The network of Pods: a bridge, and for each Pod a network namespace with an address of its own."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from tests.cluster.workers import is_running

__all__ = ["Bridge", "NetworkMissingError", "PodNetwork"]

_PREFIX = "shoal"
_NAMESPACES = Path("/run/netns")
_LAST_HOST = 250


class NetworkMissingError(RuntimeError):
    """This machine cannot give Pods a network of their own; says why."""


def _ip(*lines: str, namespace: str | None = None) -> str:
    """Run commands of ``ip``, one a line, in this or in another network namespace."""
    program = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise NetworkMissingError("ip is missing: install iproute2")
    done = subprocess.run(
        [program, *([] if namespace is None else ["-netns", namespace]), "-batch", "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NetworkMissingError(f"ip {lines[0]}: {done.stderr.strip()[:300]}")
    return done.stdout


class Bridge:
    """A bridge for as long as a ``with`` block. The machine has an address on it, which Pods reach.

    Raises:
        NetworkMissingError: No ``ip``, or no right to use it.
    """

    def __init__(self) -> None:
        self.name = f"{_PREFIX}-{os.getpid()}"
        self.number = 0
        """The third number of all addresses."""

    @property
    def address(self) -> str:
        """The machine's address on it."""
        return f"10.199.{self.number}.1"

    def __enter__(self) -> Self:
        if os.geteuid() != 0:
            raise NetworkMissingError("Pods have network namespaces of their own, which needs root")
        _remove_left_over()
        with (Path(tempfile.gettempdir()) / f"{_PREFIX}-bridges").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two that begin at once would choose the same number
            used = {int(found) for found in re.findall(r"inet 10\.199\.(\d+)\.1/", _ip("address show"))}
            self.number = next(number for number in itertools.count(1) if number not in used)
            _ip(
                f"link add {self.name} type bridge",
                f"address add {self.address}/24 dev {self.name}",
                f"link set {self.name} up",
            )
        return self

    def __exit__(self, *_: object) -> None:
        _ip(f"link delete {self.name}")


def _remove_left_over() -> None:
    """Remove what processes have left that were killed."""
    for name in re.findall(rf"^\d+: ({_PREFIX}-(?:\d+))\b", _ip("link show type bridge"), re.MULTILINE):
        if not is_running(int(name.rpartition("-")[2])):
            _ip(f"link delete {name}")
    for path in _NAMESPACES.glob(f"{_PREFIX}-*-*"):
        if not is_running(int(path.name.split("-")[1])):
            with contextlib.suppress(NetworkMissingError):  # another run removes it as well
                _ip(f"netns delete {path.name}")


class PodNetwork:
    """Gives Pods their namespaces and addresses.

    Args:
        bridge: Name of the bridge.
        number: See :attr:`Bridge.number`.
    """

    def __init__(self, bridge: str, number: int) -> None:
        self._bridge, self._number = bridge, number
        self._hosts = itertools.cycle(range(2, _LAST_HOST + 1))
        self._used: set[int] = set()

    def add(self) -> tuple[str, str]:
        """Make a namespace; return its name and its address."""
        host = next(one for one in itertools.islice(self._hosts, _LAST_HOST) if one not in self._used)
        self._used.add(host)
        name, outside = f"{_PREFIX}-{os.getpid()}-{host}", f"{_PREFIX}{self._number}-{host}"
        address = f"10.199.{self._number}.{host}"
        _ip(
            f"netns add {name}",
            f"link add {outside} type veth peer name eth0 netns {name}",
            f"link set {outside} master {self._bridge} up",
        )
        _ip(f"address add {address}/24 dev eth0", "link set eth0 up", "link set lo up", namespace=name)
        return name, address

    def remove(self, name: str) -> None:
        """Remove a namespace, and with it its end of the wire."""
        _ip(f"netns delete {name}")
        self._used.discard(int(name.rpartition("-")[2]))
