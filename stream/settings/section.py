"""What every section of the settings has in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationInfo, field_validator, model_validator

from stream.settings.secret import secret_in
from stream.settings.values import not_empty, wrong_in_section

__all__ = ["Section"]


class Section(BaseModel):
    """Names with values. Unknown names and empty texts are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    with_rules_for_empty: ClassVar[frozenset[str]] = frozenset()
    """Settings whose own type decides what an empty text means."""

    secrets_in_files: ClassVar[frozenset[str]] = frozenset()
    """Settings with a secret that may stand in a file instead: the setting with ``_file`` at its end names the file."""

    @model_validator(mode="before")
    @classmethod
    def _read_secrets(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        found: dict[str, SecretStr] = {}
        for name in sorted(cls.secrets_in_files):
            path = given.get(f"{name}_file")
            if not isinstance(path, str | Path) or not str(path).strip():
                continue  # not set, or refused by its own type
            if given.get(name) is not None:
                raise wrong_in_section(f"{name}_file", f"and {name} are both set: leave one of the two out")
            found[name] = SecretStr(secret_in(f"{name}_file", Path(path)))
        return {**given, **found}

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_empty(cls, value: object, info: ValidationInfo) -> object:
        return value if info.field_name in cls.with_rules_for_empty else not_empty(value)
