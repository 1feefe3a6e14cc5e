"""Which settings are in force: a worker that starts joins those that run, replaces them, or does not start.

The rules are :class:`core.windows.agreement.Agreement`; the log is the first partition of the seals topic.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any

import structlog
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from core.models.common.plan import ALGORITHMS
from core.models.common.values import show_duration
from core.records.record import Kind
from core.windows.agreement import Agreement, Duty, SettingsStep, StepKind
from stream.feeds.digests import digest
from stream.feeds.feed import Feed
from stream.kafka.client import Producer, Trouble, client_options, new_producer
from stream.kafka.topics import ClusterError
from stream.settings.model import Settings
from stream.windows.seals_log import SealsLog

__all__ = [
    "LocateAgain",
    "SettingsWatch",
    "agree_on_settings",
    "approve_settings",
    "deciding_settings",
    "differences",
    "settings_digest",
]

log = structlog.get_logger("shoal.settings")

_SECTIONS = (
    *("location", "shard", "window", "trajectories", "privacy", "release", "limits"),
    *("stops", "checkins", "fragments"),
)
"""The sections that decide what is released."""

_LOOK_EVERY_S = 0.5
_REPORT_EVERY_S = 5.0
_LONGEST = 3
"""How many times as long a worker that has answered is waited for if it is still a member of a group. Some brokers keep
the dead as members."""

_SHOWN = 5
"""Most settings that a sentence names."""

LocateAgain = Callable[[Mapping[int, int]], Awaitable[Mapping[int, int]]]
"""Locates again the records that wait under other settings, which are replaced. It is called with their
:attr:`SettingsStep.passed`, and returns that of the new settings."""


def settings_digest(feeds: Mapping[Kind, Feed]) -> str:
    """Return the digest of everything that decides what workers release: settings, secrets, files, and versions."""
    return digest([(kind.value, feed.vocabulary, feed.plan.digest) for kind, feed in sorted(feeds.items())])


def deciding_settings(settings: Settings) -> dict[str, str]:
    """Return the values that decide what is released, by dotted name, as JSON; secrets are masked."""
    masked = settings.masked()
    deciding = {"the version of Shoal": version("shoal")}
    deciding |= {f"the version of {name}": one for name, one in ALGORITHMS.items()}

    def add(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                add(f"{name}.{key}", inner)
        else:
            deciding[name] = json.dumps(value)

    for section in _SECTIONS:
        add(section, masked[section])
    for topic in ("checkins", "fragments"):
        add(f"topics.{topic}", masked["topics"][topic])
    # Where the secret stands decides nothing that is released.
    return {name: text for name, text in deciding.items() if not name.endswith(".secret_file")}


def differences(in_force: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Return how settings differ from those in force, as part of a sentence.

    >>> differences({"privacy.k": "5", "privacy.m": "2"}, {"privacy.k": "10", "privacy.m": "2"})
    'privacy.k is 5 in force and 10 in the new settings'
    """
    names = sorted(name for name in in_force.keys() | here.keys() if in_force.get(name) != here.get(name))
    if not names:
        return "the secret or the content of a file that the settings name differs"
    shown = [
        f"{one} is {in_force.get(one, 'unset')} in force and {here.get(one, 'unset')} in the new settings"
        for one in names[:_SHOWN]
    ]
    return ", ".join(shown) + (f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


class _Starter:
    """A worker that starts, and wants its settings to be in force."""

    def __init__(
        self,
        settings: Settings,
        seals: SealsLog,
        admin: AIOKafkaAdminClient,
        mine: str,
        progress: Callable[[str], None],
        locate_again: LocateAgain,
    ) -> None:
        self._settings, self._seals, self._admin, self._mine = settings, seals, admin, mine
        self._deciding, self._progress, self._locate_again = deciding_settings(settings), progress, locate_again
        self._silence_s = settings.kafka.session_timeout / 1000
        self._patience_s = max(settings.worker.grace_period / 1000 + self._silence_s, _REPORT_EVERY_S)

    @property
    def _agreement(self) -> Agreement:
        return self._seals.agreement

    async def run(self) -> SettingsStep:
        """Return once these settings are in force; see :func:`agree_on_settings`."""
        while True:
            in_force = self._agreement.in_force
            if in_force is None:
                await self._write(StepKind.IN_FORCE, uuid.uuid4().hex)
            elif self._agreement.is_changing and await self._another_changes():
                continue
            elif in_force.digest == self._mine and not self._agreement.is_changing:
                return in_force
            else:
                await self._propose(in_force)

    async def _write(self, step: StepKind, writer: str, passed: Mapping[int, int] | None = None) -> None:
        await self._seals.write(
            SettingsStep(step=step, digest=self._mine, writer=writer, settings=self._deciding, passed=passed or {})
        )
        await self._seals.read()

    async def _another_changes(self) -> bool:
        """Wait until the change that another worker is making has ended; return whether it has."""
        proposal, since_s = self._agreement.proposal, time.monotonic()
        self._progress("another worker is changing the settings: waiting until it has")
        while self._agreement.is_changing and self._agreement.proposal is proposal:
            if time.monotonic() - since_s > self._patience_s:
                self._progress("the worker that was changing the settings has not ended the change: doing it instead")
                return False
            await asyncio.sleep(_LOOK_EVERY_S)
            await self._seals.read()
        return True

    async def _propose(self, in_force: SettingsStep) -> None:
        """Propose these settings, wait until nobody runs with others, and put them into force.

        Raises:
            ClusterError: Workers run that will not leave.
        """
        how = differences(in_force.settings, self._deciding)
        writer = uuid.uuid4().hex
        await self._write(StepKind.PROPOSED, writer)
        since_s = reported_s = time.monotonic()
        while True:
            proposal, now_s = self._agreement.proposal, time.monotonic()
            if proposal is None or proposal.writer != writer:
                return  # another worker was quicker
            if self._agreement.is_refused:
                raise ClusterError(
                    f"other settings are in force, and workers run with them ({how}): give this worker the same "
                    "settings; or, to replace them, run `shoal approve` with the new settings, or stop these workers"
                )
            if await self._all_have_left(now_s - since_s):
                break
            if now_s - reported_s >= _REPORT_EVERY_S:
                reported_s = now_s
                self._progress(f"changing settings ({how}): waiting for {self._agreement.staying} workers to leave")
            await asyncio.sleep(_LOOK_EVERY_S)
            await self._seals.read()
        if self._agreement.staying:
            log.warning(
                "workers_did_not_leave",
                workers=self._agreement.staying,
                action="none: this worker treats them as stopped, and continues",
            )
        await self._write(StepKind.IN_FORCE, writer, await self._locate_again(in_force.passed))
        await self._seals.remove(self._agreement.obsolete())
        log.info("settings_in_force", how=how)

    async def _all_have_left(self, waited_s: float) -> bool:
        """Return whether no worker runs any more.

        Who has answered is waited for as long as it is a member of a group: it may be about to release a window.
        """
        has_members = await self._has_members()
        if has_members and waited_s < self._silence_s:
            return False  # who runs may not have answered yet
        are_dead = waited_s >= (_LONGEST if has_members else 1) * self._patience_s
        return not self._agreement.staying or are_dead

    async def _has_members(self) -> bool:
        """Return whether one of the groups has members, or it is not known."""
        groups = [self._settings.kafka.ingest_group, self._settings.kafka.windows_group]
        try:
            answers = await self._admin.describe_consumer_groups(groups)
        except (KafkaError, TypeError, ValueError):  # some brokers cannot say it in a way that the client understands
            return True
        found = [group for answer in answers for group in answer.groups]
        return any(fault or members for fault, _, _, _, _, members, *_ in found)


async def agree_on_settings(
    settings: Settings,
    feeds: Mapping[Kind, Feed],
    progress: Callable[[str], None],
    locate_again: LocateAgain,
) -> SettingsStep:
    """Return once these settings are in force.

    Args:
        settings: All settings.
        feeds: The feeds that are built from them.
        progress: Shows what the worker waits for.
        locate_again: Called before other settings are replaced, when nobody reads or writes with them any more.

    Raises:
        ClusterError: Workers run with other settings and will not leave, or the cluster does not answer.
    """
    producer, admin = new_producer(settings), AIOKafkaAdminClient(**client_options(settings.kafka))
    seals = _log(settings, producer, on_trouble=lambda _: None)
    limit_ms = settings.kafka.startup_timeout
    try:
        async with asyncio.timeout(limit_ms / 1000):
            await producer.start()
            await admin.start()
            await seals.open()
        return await _Starter(settings, seals, admin, settings_digest(feeds), progress, locate_again).run()
    except (KafkaError, TimeoutError) as fault:
        raise ClusterError(
            f"the settings in force cannot be read from topic {settings.topics.seals} within "
            f"kafka.startup_timeout={show_duration(limit_ms)} ({type(fault).__name__}): check that the cluster is up "
            "and the worker's user may read and write the topic"
        ) from None
    finally:
        await asyncio.gather(seals.close(), producer.stop(), admin.close())


async def approve_settings(settings: Settings, feeds: Mapping[Kind, Feed]) -> str:
    """Let workers with these settings replace those that run; return what this changes, as a sentence.

    Raises:
        ClusterError: The cluster does not answer.
    """
    producer, mine = new_producer(settings), settings_digest(feeds)
    seals = _log(settings, producer, on_trouble=lambda _: None)
    limit_ms = settings.kafka.startup_timeout
    try:
        async with asyncio.timeout(limit_ms / 1000):
            await producer.start()
            if settings.topics.seals not in (await producer.client.fetch_all_metadata()).topics():
                return f"topic {settings.topics.seals} does not exist yet, so nobody runs: nothing to approve"
            await seals.open()
            in_force = seals.agreement.in_force
            if in_force is None:
                return "no settings are in force yet: nothing to approve"
            if in_force.digest == mine:
                return "these settings are in force: nothing to approve"
            await seals.write(SettingsStep(step=StepKind.APPROVED, digest=mine, writer=uuid.uuid4().hex))
            return f"approved: {differences(in_force.settings, deciding_settings(settings))}"
    except (KafkaError, TimeoutError) as fault:
        raise ClusterError(
            f"topic {settings.topics.seals} cannot be read and written within "
            f"kafka.startup_timeout={show_duration(limit_ms)} ({type(fault).__name__}): check that the cluster is up "
            "and this user may read and write the topic"
        ) from None
    finally:
        await asyncio.gather(seals.close(), producer.stop())


class SettingsWatch:
    """Watches, in a worker that runs, whether its settings stay in force.

    Args:
        settings: All settings.
        producer: A started producer.
        mine: The digest of the worker's settings.
        writer: The worker's id.
        on_trouble: Called whenever an operation on the cluster fails.
    """

    def __init__(self, settings: Settings, producer: Producer, mine: str, writer: str, *, on_trouble: Trouble) -> None:
        self._seals = _log(settings, producer, on_trouble=on_trouble)
        self._mine, self._writer, self._deciding = mine, writer, deciding_settings(settings)
        self._is_open = False
        self._answered = ""
        self._one_at_a_time = asyncio.Lock()

    async def must_leave(self) -> bool:
        """Read what is new; answer a proposal; return whether this worker must release what is due and leave."""
        async with self._one_at_a_time:
            await (self._seals.read() if self._is_open else self._seals.open())
            self._is_open = True
            agreement = self._seals.agreement
            duty = agreement.duty(self._mine, self._writer)
            proposal = "" if duty is Duty.STAY or agreement.proposal is None else agreement.proposal.writer
            if proposal not in ("", self._answered):
                self._answered = proposal
                await self._answer(StepKind.HERE)
            return duty is Duty.LEAVE

    async def leave(self) -> None:
        """Write that this worker has left, if it has answered that it is here; it must write nothing after this."""
        if self._answered:
            await self._answer(StepKind.LEFT)

    async def _answer(self, step: StepKind) -> None:
        await self._seals.write(
            SettingsStep(step=step, digest=self._mine, writer=self._writer, proposal=self._answered)
        )

    @property
    def why(self) -> str:
        """How the settings that replace this worker's differ, as part of a sentence."""
        agreement = self._seals.agreement
        other = agreement.proposal if agreement.proposal is not None else agreement.in_force
        return "" if other is None else differences(self._deciding, other.settings)

    async def close(self) -> None:
        """Stop reading."""
        await self._seals.close()


def _log(settings: Settings, producer: Producer, *, on_trouble: Trouble) -> SealsLog:
    return SealsLog(settings.kafka, producer, settings.topics.seals, 0, on_trouble=on_trouble)
