"""A real Apache Kafka for the tests: one KRaft node on the loopback interface, with its own data folder."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, Self

from stream.demo.broker import LOOPBACK, BrokerError, BrokerProcess, free_port
from tests.paths import ROOT

__all__ = [
    "ApacheKafka",
    "KafkaUnavailableError",
    "RunningBroker",
    "cache_folder",
    "fetch_with_maven",
    "java",
    "kafka_jars",
    "unique",
]

POM = ROOT / "tests" / "integration" / "kafka" / "pom.xml"
JAVA_AT_LEAST = 17
START_ATTEMPTS = 3

# A broker that lives for minutes gains more from starting early than from the optimizing compiler.
JVM_OPTIONS = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
LOG_OPTIONS = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)

# The broker's session is short: after a kill -9 the controller turns the restarted broker away until the
# session of the killed one has run out (nine seconds by default). Releases carry the time of their window, so the
# default retention would remove those of an old feed at once.
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
num.partitions=1
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
"""


class RunningBroker(Protocol):
    """Any broker that clients can connect to."""

    @property
    def bootstrap_servers(self) -> str:
        """What a client connects to, ``host:port``."""


def unique(name: str) -> str:
    """Return a name for a topic or a group that no other test on the same broker has."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


class KafkaUnavailableError(RuntimeError):
    """This machine has no Java, or no way to get Kafka's jars; says which."""


def cache_folder() -> Path:
    """Return the folder of what is fetched once on a machine; it may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"


def kafka_jars() -> Path:
    """Return the folder of Kafka's jars; the first call on a machine lets Maven fetch them (under a minute).

    Raises:
        KafkaUnavailableError: No Maven, or Maven could not fetch them.
    """
    pom = POM.read_bytes()
    version = re.search(rb"<artifactId>kafka_[\d.]+</artifactId>\s*<version>([\w.]+)</version>", pom)
    if version is None:
        raise BrokerError(f"{POM} names no version of Kafka: add the dependency kafka_2.13")
    jars = cache_folder() / f"kafka-{version[1].decode()}-{hashlib.sha256(pom).hexdigest()[:12]}"
    goal = ["-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    fetch_with_maven(jars, "Kafka's jars", goal, is_complete=lambda fetched: any(fetched.glob("kafka_*.jar")))
    return jars


def fetch_with_maven(folder: Path, what: str, goal: Sequence[str], *, is_complete: Callable[[Path], bool]) -> None:
    """Let Maven fetch something, unless it is there already.

    Args:
        folder: Where it is kept.
        what: What it is, for errors.
        goal: Arguments of Maven, without the folder into which files are copied.
        is_complete: Called with the folder of the files; may unpack them, and says whether they are all there.

    Raises:
        KafkaUnavailableError: No Maven, or Maven could not fetch it.
    """
    if folder.is_dir():
        return
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailableError(f"no Maven (mvn) to fetch {what} to {folder}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Fetched beside its place and renamed into it, so that no half-finished copy is ever used, not even
    # one that another run of the tests is just making.
    fetched = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        done = subprocess.run(
            [maven, "-q", "-B", *goal, f"-DoutputDirectory={fetched}"],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            cwd=fetched,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0 or not is_complete(fetched):
            raise KafkaUnavailableError(f"Maven could not fetch {what}: {done.stdout.strip()[-2000:]}")
        fetched.chmod(0o755)
        try:
            fetched.rename(folder)
        except OSError:
            if not folder.is_dir():  # no other run put it there first
                raise
    except subprocess.TimeoutExpired as error:
        raise KafkaUnavailableError(f"Maven did not fetch {what} within ten minutes") from error
    finally:
        shutil.rmtree(fetched, ignore_errors=True)


def java() -> str:
    """Return the Java program.

    Raises:
        KafkaUnavailableError: There is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    program = program or shutil.which("java")
    if program is None:
        raise KafkaUnavailableError(f"no Java: Kafka needs version {JAVA_AT_LEAST} or later")
    done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
    said = done.stderr + done.stdout
    found = re.search(r'version "(\d+)', said)
    if done.returncode != 0 or found is None or int(found[1]) < JAVA_AT_LEAST:
        raise KafkaUnavailableError(f"Kafka needs Java {JAVA_AT_LEAST} or later, found: {said.strip()[:200]}")
    return program


class ApacheKafka:
    """One Kafka broker that is its own controller, for as long as a ``with`` block.

    Ports and data outlive :meth:`stop` and :meth:`kill`, so that :meth:`start` brings the same broker back;
    leaving the block removes the data.

    Args:
        timeout_s: How long :meth:`start` waits until it answers.
        properties: Further lines of ``server.properties``, by key; they win over ours. ``{host}``, ``{port}`` and
            ``{controller_port}`` stand for what is chosen at the start.
        scram_users: Passwords by user, for SCRAM-SHA-512.
    """

    def __init__(
        self,
        *,
        timeout_s: float = 90.0,
        properties: dict[str, str] | None = None,
        scram_users: dict[str, str] | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._scram_users = dict(scram_users or {})
        self._properties = dict(properties or {})
        self._folder: Path | None = None
        self._process: BrokerProcess | None = None
        self._java = ""
        self._cluster_id = ""
        self.port = 0

    @classmethod
    def elsewhere(cls, *, port: int, folder: Path) -> Self:
        """Return the broker that another process runs, to connect to and to look into; do not start or close it."""
        kafka = cls()
        kafka.port, kafka._folder = port, folder
        return kafka

    @property
    def bootstrap_servers(self) -> str:
        """What a client connects to, ``host:port``."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Process id of the running broker, None when there is none."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    @property
    def log(self) -> Path:
        """The file with what the broker wrote, over all its starts."""
        return self._home() / "kafka.log"

    def start(self) -> Self:
        """Start the broker, with the data it has, and return once it answers.

        Raises:
            KafkaUnavailableError: No Java 17, or no jars and no way to fetch them.
            BrokerError: It does not start, does not answer in time, or runs already.
        """
        if self.pid is not None:
            raise BrokerError(f"Kafka runs already at {self.bootstrap_servers}: stop it first")
        if self._folder is not None:
            self._run()
            return self
        self._java = java()
        kafka_jars()
        for attempt in range(1, START_ATTEMPTS + 1):
            self._format()
            try:
                self._run()
                return self
            except BrokerError:
                lost_a_port = "Address already in use" in self.log.read_text(errors="replace")
                self.close()
                if attempt == START_ATTEMPTS or not lost_a_port:
                    raise
            except BaseException:
                self.close()
                raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _home(self) -> Path:
        if self._folder is None:
            raise BrokerError("Kafka has no data folder: start it first")
        return self._folder

    def _command(self, *arguments: str) -> list[str]:
        return [self._java, *JVM_OPTIONS, *LOG_OPTIONS, "-cp", f"{kafka_jars()}/*", *arguments]

    def _format(self) -> None:
        self._folder = folder = Path(tempfile.mkdtemp(prefix="shoal-kafka-"))
        try:
            self.port, controller_port = free_port(), free_port()
            # Kafka's own form of a random id: 22 characters of base64. One that begins with '-' would read as
            # an option.
            self._cluster_id = "s" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
            text = PROPERTIES + "".join(f"{key}={value}\n" for key, value in self._properties.items())
            text = text.format(host=LOOPBACK, port=self.port, controller_port=controller_port, data=folder / "data")
            (folder / "server.properties").write_text(text)
            scram = [f"SCRAM-SHA-512=[name={user},password={word}]" for user, word in self._scram_users.items()]
            done = subprocess.run(
                self._command(
                    *("kafka.tools.StorageTool", "format", "-t", self._cluster_id),
                    *("-c", str(folder / "server.properties")),
                    *(part for one in scram for part in ("--add-scram", one)),
                ),
                capture_output=True,
                text=True,
                timeout=self._timeout_s,
                check=False,
                cwd=folder,
            )
            if done.returncode != 0:
                said = (done.stderr + done.stdout).strip()[-2000:]
                raise BrokerError(f"Kafka's storage could not be formatted:\n{said}")
        except BaseException:
            self.close()
            raise

    def _run(self) -> None:
        self._process = BrokerProcess(
            self._command("kafka.Kafka", str(self._home() / "server.properties")), log=self.log
        )
        try:
            self._process.wait_until_it_answers(port=self.port, cluster_id=self._cluster_id, timeout_s=self._timeout_s)
        except BaseException:
            self._process.kill()
            raise

    def set_password(self, user: str, password: str) -> None:
        """Give a user another password, for SCRAM-SHA-512."""
        subprocess.run(
            self._command(
                *("kafka.admin.ConfigCommand", "--bootstrap-server", self.bootstrap_servers, "--alter"),
                *("--entity-type", "users", "--entity-name", user),
                *("--add-config", f"SCRAM-SHA-512=[password={password}]"),
            ),
            capture_output=True,
            timeout=self._timeout_s,
            check=True,
        )

    def stop(self) -> None:
        """Let the broker shut down in order; data and port stay. Does nothing when none runs."""
        if self._process is not None:
            self._process.stop(timeout_s=30.0)

    def kill(self) -> None:
        """End the broker as ``kill -9`` does; data and port stay."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the broker and remove its data."""
        self.kill()  # an orderly shutdown takes seconds and would only tidy data that goes away
        folder, self._folder = self._folder, None
        self._process = None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()
