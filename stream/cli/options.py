"""Options that several commands share, and the settings loaded with them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import yaml
from pydantic import TypeAdapter, ValidationError

from core.models.common.values import PositiveDuration
from core.records.record import INPUT_KINDS, Kind
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.settings.model import Settings

__all__ = ["DURATION", "FILE", "INPUT_KIND", "KIND", "given_values", "load_given", "wants_json_logs", "with_settings"]

KIND = click.Choice([kind.value for kind in Kind])
"""What is released of records."""

INPUT_KIND = click.Choice([kind.value for kind in INPUT_KINDS])
"""What records are."""

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
"""A file that exists."""

_NO_FILE = "--config or SHOAL_CONFIG is empty: leave it out, or name a YAML file with settings"


_duration = TypeAdapter[int](PositiveDuration)


class _Duration(click.ParamType):
    """A duration such as 1d, as milliseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See :meth:`click.ParamType.convert`."""
        try:
            return _duration.validate_python(value)
        except ValidationError as fault:
            said = fault.errors()[0]["msg"].removeprefix("Value error, ")
            self.fail(f"{value}: {said}", param, ctx)


DURATION = _Duration()
"""A duration such as 1d, as milliseconds."""


class _SettingsFile(click.Path):
    """A path that is not empty: an empty one would mean the folder ``.``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not value.strip():
            raise SettingsError(_NO_FILE)
        return super().convert(value, param, ctx)


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--config`` and ``--set`` to a command, as its parameters ``config`` and ``given``."""
    command = click.option(
        "--set",
        "given",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set one setting, for instance --set privacy.k=10. May be repeated. Overrides file and environment.",
    )(command)
    return click.option(
        "--config",
        envvar="SHOAL_CONFIG",
        show_envvar=True,
        type=_SettingsFile(path_type=Path, dir_okay=False),
        help="YAML file with settings. Environment variables such as SHOAL_PRIVACY__K override it.",
    )(command)


def load_given(config: Path | None, given: tuple[str, ...], more: dict[str, Any] | None = None) -> Settings:
    """Load the settings from the options of a command.

    Args:
        config: The settings file that ``--config`` or SHOAL_CONFIG names.
        given: The values of ``--set``.
        more: Settings by dotted name; they override all others.

    Raises:
        SettingsError: A setting does not fit, or the file cannot be read.
    """
    # Click treats an empty variable as one that is not set.
    if config is None and os.environ.get("SHOAL_CONFIG") is not None:
        raise SettingsError(_NO_FILE)
    return load_settings(config, given_values(given) | (more or {}))


def wants_json_logs(config: Path | None, given: tuple[str, ...]) -> bool:
    """Return whether ``logs.format`` is ``json``, also if other settings are wrong: then their errors are JSON, too."""
    with contextlib.suppress(SettingsError):
        if (form := given_values(given).get("logs.format")) is not None:
            return bool(form == "json")
    if (form := os.environ.get("SHOAL_LOGS__FORMAT")) is not None:
        return form == "json"
    if config is None:
        return False
    try:
        found = yaml.safe_load(config.read_text(encoding="utf-8"))
        return bool(found["logs"]["format"] == "json")
    except (OSError, ValueError, AttributeError, yaml.YAMLError, TypeError, KeyError, IndexError):
        return False


def given_values(given: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of ``--set`` by dotted name.

    Raises:
        SettingsError: One is not KEY=VALUE.
    """
    named: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals:
            raise SettingsError("--set takes KEY=VALUE, for instance --set privacy.k=10")
        try:
            # YAML reads an empty value as null, which would unset the setting. An empty text is refused instead, as it
            # nearly always comes from a missing variable.
            named[name.strip()] = yaml.safe_load(value) if value.strip() else value
        except (yaml.YAMLError, ValueError):  # or looks like a date or a number, and is none
            named[name.strip()] = value
    return named
