"""Load the settings from a file, the environment and the command line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource
from pydantic_settings import SettingsError as VariableError

from core.records.record import INPUT_KINDS
from stream.settings.checks import check_overrides, check_topics
from stream.settings.errors import SettingsError, cannot_be_read
from stream.settings.model import Settings

__all__ = ["load_settings"]

_MASK = "**********"
"""What pydantic shows in place of a secret."""

_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
"""What PyYAML quotes in a problem, as Python writes texts."""

_SIGN = re.compile(r"""'(?:<[a-z ]+>|[ ,:\]}@`%!]|\\t)'""")
"""Names of PyYAML's tokens, and characters that mean something in YAML."""


def load_settings(file: Path | None = None, given: dict[str, Any] | None = None) -> Settings:
    """Load the settings: the command line wins over the environment, the environment over the file.

    Args:
        file: A YAML file, or None.
        given: Dotted names and values from the command line.

    Raises:
        SettingsError: A setting is wrong; the message says what is allowed.
    """
    from_file = _read(file) if file is not None else {}
    _refuse_unknown_variables()

    class _Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=from_file)

    try:
        settings = _Loaded(**_nested(given or {}))
    except ValidationError as fault:
        raise SettingsError("\n".join(_sentence(error) for error in fault.errors())) from None
    except VariableError:
        raise SettingsError(
            "a SHOAL_... variable names a section: name one setting, as SHOAL_PRIVACY__K does"
        ) from None
    check_overrides(settings.checkins, settings.fragments, settings.stops)
    check_topics(settings.topics)
    for kind in INPUT_KINDS:
        settings.check_input(kind)
    return settings


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as fault:
        raise SettingsError(f"{file}: {cannot_be_read(fault)}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: is not text in UTF-8: save it as UTF-8") from None
    try:
        loaded = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as fault:
        raise SettingsError(f"{file}{_yaml_sentence(fault, text)}") from None
    if not isinstance(loaded, dict | None) or any(not isinstance(name, str) for name in loaded or {}):
        raise SettingsError(f"{file}: must hold sections such as `privacy:` with names and values below")
    return {name: _unmasked(section) for name, section in (loaded or {}).items() if section is not None}


class _Loader(yaml.SafeLoader):
    """Names the line of a value that looks like a date or a number and is none."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, AttributeError):  # PyYAML does not expect !!timestamp before another text
            problem = "found an impossible date or number"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


def _yaml_sentence(fault: yaml.YAMLError, text: str) -> str:
    """Say in which line a file is not YAML and why, without any value of it: a value may be a secret."""
    if isinstance(fault, yaml.reader.ReaderError):
        line, problem = text.count("\n", 0, fault.position) + 1, "found a control character"
    elif isinstance(fault, yaml.MarkedYAMLError) and fault.problem_mark is not None:
        line, problem = fault.problem_mark.line + 1, _without_values(fault.problem or "")
    else:
        return ": is not YAML: check the indentation and the quotation marks"
    return f", line {line}: is not YAML ({problem}): check the indentation and the quotation marks"


def _without_values(problem: str) -> str:
    """Return what PyYAML says without the names and characters that it quotes, except for signs of YAML itself.

    >>> _without_values("found undefined alias 'hunter2'"), _without_values("expected ',' or ']', but got '<scalar>'")
    ("found undefined alias '…'", "expected ',' or ']', but got '<scalar>'")
    """
    return _QUOTED.sub(lambda quoted: quoted[0] if _SIGN.fullmatch(quoted[0]) else "'…'", problem)


def _unmasked(value: Any) -> Any:
    """Leave out secrets that :meth:`Settings.masked` has masked: they must be set elsewhere."""
    if not isinstance(value, dict):
        return value
    return {name: _unmasked(below) for name, below in value.items() if below != _MASK}


def _nested(given: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for dotted, value in given.items():
        at = nested
        *sections, name = dotted.split(".")
        for section in sections:
            at = at.setdefault(section, {})
            if not isinstance(at, dict):
                raise SettingsError(f"--set {dotted}: another --set gives {section} a value, so it cannot be a section")
        at[name] = value
    return nested


def _sentence(error: Any) -> str:
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "said":  # see `values.wrong_value`
        return f"{name} {error['msg']}"
    if error["type"] == "said_of":  # see `values.wrong_in_section`
        return f"{name}.{error['msg']}"
    if error["type"] == "extra_forbidden":
        return f"{name} is not a setting: `shoal check-config` lists them"
    if error["type"] in ("model_type", "dict_type"):  # not shown: it could be a misplaced secret
        return f"{name} is a section: it must hold names and values, such as privacy.k"
    shown = "hidden" if re.search("secret|password|token_url|headers", name) else repr(error["input"])
    rule = re.sub(r"^(Value error, |Input )", "", error["msg"])
    rule = rule if rule.startswith("it ") else f"it {rule}"
    return f"{name} is {shown}: {rule}"


def _refuse_unknown_variables() -> None:
    for variable in os.environ:
        # Kubernetes adds SHOAL_SERVICE_HOST and the like; a setting always has a section.
        if not variable.startswith("SHOAL_") or "__" not in variable:
            continue
        section, name = variable.removeprefix("SHOAL_").lower().split("__")[:2]
        field = Settings.model_fields.get(section)
        model = field.annotation if field else None
        known = model.model_fields if isinstance(model, type) and issubclass(model, BaseModel) else {}
        if name not in known:
            raise SettingsError(f"{variable} is not a setting: `shoal check-config` lists them")
