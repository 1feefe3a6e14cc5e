"""One Kafka for all processes of a run: the first that needs it starts it, and ends it after the last."""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.brokers import ApacheKafka

__all__ = ["shared_kafka"]


@contextlib.contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    """Hold a lock that the system releases even when the process is killed."""
    with path.open("a") as file:
        fcntl.flock(file, how)
        yield


@contextlib.contextmanager
def shared_kafka(folder: Path) -> Iterator[ApacheKafka]:
    """Yield the Kafka that all processes with this folder share.

    Args:
        folder: Where the processes find one another; it has to exist and to belong to this run alone.

    Raises:
        KafkaUnavailableError: No Java 17, or no jars and no way to fetch them.
        BrokerError: Kafka does not start.
    """
    entry, users, address = folder / "entry.lock", folder / "users.lock", folder / "kafka.json"
    with contextlib.ExitStack() as stack:
        with _locked(entry, fcntl.LOCK_EX):
            if address.exists():
                stack.enter_context(_locked(users, fcntl.LOCK_SH))
                its = json.loads(address.read_text())
                kafka = ApacheKafka.elsewhere(port=its["port"], folder=Path(its["folder"]))
            else:
                kafka = stack.enter_context(ApacheKafka())
                address.write_text(json.dumps({"port": kafka.port, "folder": str(kafka.log.parent)}))
                stack.callback(_wait_for_the_last, entry, users, address)
        yield kafka


def _wait_for_the_last(entry: Path, users: Path, address: Path) -> None:
    """Let no process in any more, and wait for those that are."""
    with _locked(entry, fcntl.LOCK_EX):
        address.unlink()
    with _locked(users, fcntl.LOCK_EX):
        pass
