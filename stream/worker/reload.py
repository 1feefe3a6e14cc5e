"""Settings that are read again while a worker runs: on SIGHUP, and when the settings file or a secret's file changes.

Only settings of :data:`LIVE` take effect. All others wait for a restart, above all those that decide what a release
contains: two workers must not release under different ones. Neither a value nor a secret is logged, only names.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import structlog
from pydantic import BaseModel

from core.records.record import Kind
from stream.settings.errors import SettingsError
from stream.settings.model import Settings

__all__ = ["LIVE", "SettingsReload"]

log = structlog.get_logger("shoal.settings")

_LOOK_EVERY_S = 5.0
_TICK_S = 0.5
_HIDE_INFO = ("warning", "error")

LIVE = frozenset(
    {
        "kafka.oauth_client_id",
        "kafka.oauth_client_secret",
        "kafka.oauth_client_secret_file",
        "kafka.sasl_password",
        "kafka.sasl_password_file",
        "kafka.sasl_username",
        "kafka.ssl_cafile",
        "kafka.ssl_certfile",
        "kafka.ssl_key_password",
        "kafka.ssl_key_password_file",
        "kafka.ssl_keyfile",
        "logs.format",
        "logs.level",
        "registry.password",
        "registry.password_file",
        "registry.timeout",
        "registry.token",
        "registry.username",
        "web.page",
        "web.tile_url",
        "worker.grace_period",
        "worker.watch_files",
    }
)
"""Settings that take effect while a worker runs: none of them changes what is released, or who works on what."""

_CERTIFICATES = ("ssl_cafile", "ssl_certfile", "ssl_keyfile")
"""Files of ``kafka`` whose content takes effect as well."""

_Leaves = dict[str, Any]


class SettingsReload:
    """Reads the settings again and lets the worker use those that may change.

    Args:
        started: The settings with which the worker has started.
        load: Reads and checks them again.
        take: Called with all settings, of which only live ones have changed, and the names of those that have.
        file: The settings file, if there is one.
    """

    def __init__(
        self,
        started: Settings,
        *,
        load: Callable[[], Settings],
        take: Callable[[Settings, frozenset[str]], None],
        file: Path | None,
    ) -> None:
        self.in_force = started
        """The settings that the worker uses now."""
        self._load, self._take, self._file = load, take, file
        self._started, self._loaded = started, _leaves(started)
        self._asked = False
        self._seen = self._digests()

    def ask(self, *_: object) -> None:
        """Read the settings soon; a handler of a signal may call this at any time."""
        self._asked = True

    async def run(self) -> None:
        """Look for changes until cancelled."""
        waited_s = 0.0
        while True:
            await asyncio.sleep(_TICK_S)
            waited_s += _TICK_S
            is_due = self.in_force.worker.watch_files and waited_s >= _LOOK_EVERY_S
            if not self._asked and not is_due:
                continue
            waited_s, was_asked, self._asked = 0.0, self._asked, False
            seen = await asyncio.to_thread(self._digests)
            if was_asked or seen != self._seen:
                changed = {name for name in {*seen, *self._seen} if seen.get(name) != self._seen.get(name)}
                self._seen = seen
                await self.reload(frozenset(changed))

    async def reload(self, changed_files: frozenset[str] = frozenset()) -> None:
        """Read the settings; a fault in them is logged, and changes nothing.

        Args:
            changed_files: Settings that name a file whose content has changed.
        """
        try:
            loaded = await asyncio.to_thread(self._load)
            self._use(loaded, changed_files)
        except Exception as fault:  # of any kind: a file must not stop a worker that runs
            log.error(
                "settings_not_reloaded",
                why=str(fault) if isinstance(fault, SettingsError) else type(fault).__name__,
                action="correct it: the worker continues with the settings that it has",
            )

    def _use(self, loaded: Settings, changed_files: frozenset[str]) -> None:
        before, now, started = self._loaded, _leaves(loaded), _leaves(self._started)
        changed = {name for name in {*before, *now} if before.get(name) != now.get(name)}
        taken = frozenset(changed & LIVE | {name for name in changed_files if name in LIVE})
        waiting = sorted(name for name in {*started, *now} - LIVE if started.get(name) != now.get(name))
        is_hidden_after = loaded.logs.level in _HIDE_INFO
        if taken and is_hidden_after:
            log.info("settings_reloaded", taken=sorted(taken))
        if taken:
            in_force = _with(self._started, loaded)
            self._take(in_force, taken)
            self.in_force = in_force
        if taken and not is_hidden_after:
            log.info("settings_reloaded", taken=sorted(taken))
        self._loaded = now
        # Another file may be named now. Of the others the content before they were read counts: they may have changed
        # since.
        self._seen = {name: self._seen.get(name, content) for name, content in self._digests().items()}
        if changed - LIVE and waiting:
            log.warning(
                "settings_wait_for_restart",
                waiting=waiting,
                action="restart the workers to use them; until then they keep the settings of their start",
            )
        elif not taken:
            log.info("settings_unchanged", waiting=waiting)

    def _digests(self) -> dict[str, bytes]:
        """Return digests of the settings file and of the files that the settings in force name, by setting.

        The content is read and not the time of its change: Kubernetes replaces a link to the folder above.
        """
        kafka = self.in_force.kafka
        files = {f"kafka.{name}": getattr(kafka, name) for name in _CERTIFICATES}
        files |= {name: path for name, path in _leaves(self.in_force).items() if name.endswith("_file") and path}
        named = {name: Path(path) for name, path in files.items() if path is not None and _is_watched(name)}
        if self._file is not None:
            named["--config"] = self._file
        return {name: _digest(path) for name, path in named.items()}


def _is_watched(name: str) -> bool:
    return name.removeprefix("kafka.") in _CERTIFICATES or name.endswith(("secret_file", "password_file"))


def _digest(path: Path) -> bytes:
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
    except OSError:
        return b""


def _with(started: Settings, loaded: Settings) -> Settings:
    """Return the settings of the start with the live ones of others."""
    sections: dict[str, Any] = {}
    for dotted in LIVE:
        section, _, name = dotted.partition(".")
        sections.setdefault(section, {})[name] = getattr(getattr(loaded, section), name)
    return started.model_copy(
        update={name: getattr(started, name).model_copy(update=values) for name, values in sections.items()}
    )


def _leaves(settings: Settings) -> _Leaves:
    """Return every setting by its dotted name; of sections for one kind of feed, those that are set."""
    return dict(_below(settings, "", is_override=False))


def _below(model: BaseModel, prefix: str, *, is_override: bool) -> Iterator[tuple[str, Any]]:
    for name, value in model:
        dotted = f"{prefix}{name}"
        if isinstance(value, BaseModel):
            yield from _below(value, f"{dotted}.", is_override=is_override or dotted in set(Kind))
        elif not is_override or name in model.model_fields_set:
            yield dotted, value
