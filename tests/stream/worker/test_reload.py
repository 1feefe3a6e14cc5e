"""Settings read again: safe ones take effect, all others wait for a restart, and a wrong file changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from structlog.testing import capture_logs

import stream.worker.reload
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.worker.reload import LIVE, SettingsReload

SECRET = "correct-horse-battery-staple"  # noqa: S105 - of no real deployment


class Reloaded:
    """A settings file, a file with a secret, and what a worker does with them."""

    def __init__(self, folder: Path) -> None:
        self.file, self.secret = folder / "settings.yaml", folder / "secret"
        self.secret.write_text(SECRET)
        self.write({})
        self.taken: list[tuple[Settings, frozenset[str]]] = []
        self.reload = SettingsReload(
            self.load(), load=self.load, take=lambda now, names: self.taken.append((now, names)), file=self.file
        )

    def write(self, given: dict[str, Any]) -> None:
        self.file.write_text(yaml.safe_dump({"privacy": {"secret_file": str(self.secret)}} | given))

    def load(self) -> Settings:
        return load_settings(self.file)

    def again(self) -> list[dict[str, Any]]:
        """Read them again, and return what is logged."""
        with capture_logs() as logs:
            asyncio.run(self.reload.reload())
        return [dict(line) for line in logs]


@pytest.fixture
def reloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reloaded:
    import os  # noqa: PLC0415 - only here

    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)
    return Reloaded(tmp_path)


def names(settings: Settings) -> set[str]:
    return {f"{section}.{name}" for section, model in settings for name in type(model).model_fields}


def test_every_live_setting_exists_and_decides_nothing_that_is_released(reloaded: Reloaded) -> None:
    """
    No section that decides what a release contains, who reads what, or where it goes has a live setting.
    """
    assert names(load_settings()) >= LIVE
    assert {name.split(".")[0] for name in LIVE} == {"kafka", "logs", "registry", "web", "worker"}
    assert {"kafka.bootstrap_servers", "kafka.group", "worker.processes", "web.port", "metrics.count_step"}.isdisjoint(
        LIVE
    )


def test_live_settings_take_effect_and_are_named(reloaded: Reloaded) -> None:
    """
    One line with the names; the settings in force differ in these alone.
    """
    reloaded.write({"logs": {"level": "debug"}, "web": {"page": True}, "worker": {"grace_period": "5s"}})
    (line,) = reloaded.again()
    assert (line["event"], line["taken"]) == ("settings_reloaded", ["logs.level", "web.page", "worker.grace_period"])
    ((now, taken),) = reloaded.taken
    assert taken == {"logs.level", "web.page", "worker.grace_period"}
    assert (now.logs.level, now.web.page, now.worker.grace_period) == ("debug", True, 5000)
    assert reloaded.reload.in_force == now


def test_all_others_wait_for_a_restart_and_are_named_once(reloaded: Reloaded) -> None:
    """
    The settings in force keep the values of the start; the same names are logged again only when they change.
    """
    reloaded.write({"privacy": {"k": 9, "secret_file": str(reloaded.secret)}, "topics": {"anonymized": "elsewhere"}})
    (line,) = reloaded.again()
    assert (line["event"], line["waiting"]) == ("settings_wait_for_restart", ["privacy.k", "topics.anonymized"])
    assert "restart" in line["action"]
    assert reloaded.taken == []
    assert reloaded.reload.in_force.privacy.k == 5
    assert [(line["event"], line["waiting"]) for line in reloaded.again()] == [
        ("settings_unchanged", ["privacy.k", "topics.anonymized"])
    ]
    reloaded.write({})
    assert [(line["event"], line["waiting"]) for line in reloaded.again()] == [("settings_unchanged", [])]


def test_live_and_other_settings_in_one_change(reloaded: Reloaded) -> None:
    """
    What is safe does not wait for the rest; what waits does not come in by the way.
    """
    reloaded.write({"logs": {"level": "debug"}, "window": {"size": "7m"}, "checkins": {"window": {"size": "8m"}}})
    assert [line.get("taken") or line.get("waiting") for line in reloaded.again()] == [
        ["logs.level"],
        ["checkins.window.size", "window.size"],
    ]
    ((now, _),) = reloaded.taken
    assert now.window == load_settings().window
    assert now.checkins.window.model_fields_set == set()


@pytest.mark.parametrize("text", ["logs: {level: loud}", "nonsense: {}", "]", "privacy: {secret_file: /nowhere}"])
def test_a_wrong_file_changes_nothing_and_says_what_is_wrong(reloaded: Reloaded, text: str) -> None:
    """
    The worker goes on with what it has, also after the next right file, which is taken.
    """
    before = reloaded.reload.in_force
    reloaded.file.write_text(text)
    (line,) = reloaded.again()
    assert (line["event"], line["log_level"]) == ("settings_not_reloaded", "error")
    assert line["why"]
    assert reloaded.taken == []
    assert reloaded.reload.in_force is before
    reloaded.write({"logs": {"level": "error"}})
    assert [line["event"] for line in reloaded.again()] == ["settings_reloaded"]


def test_credentials_that_cannot_be_used_leave_the_old_ones(tmp_path: Path, reloaded: Reloaded) -> None:
    """
    What the worker refuses when it takes the settings is not in force either.
    """

    def refuse(now: Settings, names: frozenset[str]) -> None:
        raise SettingsError("kafka.ssl_certfile cannot be used")

    reloaded.reload._take = refuse
    before = reloaded.reload.in_force
    reloaded.write({"logs": {"level": "debug"}})
    assert [line["event"] for line in reloaded.again()] == ["settings_not_reloaded"]
    assert reloaded.reload.in_force is before


def test_no_error_while_settings_are_read_ends_a_worker(reloaded: Reloaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Not even one that nobody foresaw, of which only the kind is logged.
    """

    def fail() -> Settings:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(reloaded.reload, "_load", fail)
    (line,) = reloaded.again()
    assert (line["event"], line["why"]) == ("settings_not_reloaded", "RuntimeError")
    assert SECRET not in str(line)


@pytest.mark.usefixtures("quick")
async def test_a_file_that_changes_while_it_is_read_is_read_again(reloaded: Reloaded) -> None:
    """
    What counts as seen is the content before the file was read, not the content afterwards.
    """
    load, n_read = reloaded.load, 0

    def slow() -> Settings:
        nonlocal n_read
        settings = load()
        n_read += 1
        if n_read == 1:
            reloaded.write({"logs": {"level": "error"}})
        return settings

    reloaded.reload._load = slow
    watching = asyncio.create_task(reloaded.reload.run())
    reloaded.write({"logs": {"level": "debug"}})
    await until(lambda: len(reloaded.taken) == 2)
    watching.cancel()
    assert [now.logs.level for now, _ in reloaded.taken] == ["debug", "error"]


def test_no_value_is_logged(reloaded: Reloaded) -> None:
    """
    Neither a new secret nor another value, whether it is taken or waits.
    """
    reloaded.secret.write_text("another-secret-that-nobody-knows")
    reloaded.write(
        {"kafka": {"sasl_username": "somebody-new"}, "web": {"tile_url": "https://tiles.example/{z}/{x}/{y}"}}
    )
    lines = reloaded.again()
    assert [line.get("taken") or line.get("waiting") for line in lines] == [
        ["kafka.sasl_username", "web.tile_url"],
        ["privacy.secret"],
    ]
    assert not any(part in str(lines) for part in ("nobody-knows", "somebody-new", "tiles.example", SECRET))


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110 - files and logs have no event
            await asyncio.sleep(0.01)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream.worker.reload, "_TICK_S", 0.01)
    monkeypatch.setattr(stream.worker.reload, "_LOOK_EVERY_S", 0.02)


@pytest.mark.usefixtures("quick")
async def test_a_file_that_changes_is_noticed(tmp_path: Path, reloaded: Reloaded) -> None:
    """
    By its content, because Kubernetes swaps a link to the folder above; the file with a secret as well.
    """
    folder = tmp_path / "mounted"
    for name, level in (("old", "info"), ("new", "debug")):
        (tmp_path / name).mkdir()
        text = yaml.safe_dump({"logs": {"level": level}, "privacy": {"secret_file": str(reloaded.secret)}})
        (tmp_path / name / "settings.yaml").write_text(text)
    folder.symlink_to("old")
    reloaded.file = folder / "settings.yaml"
    reloaded.reload = SettingsReload(
        reloaded.load(), load=reloaded.load, take=lambda now, of: reloaded.taken.append((now, of)), file=reloaded.file
    )
    with capture_logs() as logs:
        watching = asyncio.create_task(reloaded.reload.run())
        await asyncio.sleep(0.1)
        assert logs == []
        (tmp_path / "next").symlink_to("new")
        (tmp_path / "next").rename(folder)
        await until(lambda: len(reloaded.taken) == 1)
        reloaded.secret.write_text("another-secret-that-nobody-knows")
        await until(lambda: len(logs) == 2)
        watching.cancel()
    assert [line.get("taken") or line.get("waiting") for line in logs] == [["logs.level"], ["privacy.secret"]]


@pytest.mark.usefixtures("quick")
async def test_files_are_not_watched_where_the_settings_say_so(reloaded: Reloaded) -> None:
    """
    SIGHUP is heard in any case.
    """
    reloaded.write({"worker": {"watch_files": False}})
    reloaded.reload = SettingsReload(
        reloaded.load(), load=reloaded.load, take=lambda now, of: reloaded.taken.append((now, of)), file=reloaded.file
    )
    watching = asyncio.create_task(reloaded.reload.run())
    reloaded.write({"worker": {"watch_files": False}, "logs": {"level": "debug"}})
    await asyncio.sleep(0.3)
    assert reloaded.taken == []
    reloaded.reload.ask()
    await until(lambda: len(reloaded.taken) == 1)
    watching.cancel()
