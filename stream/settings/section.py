"""What every section of the settings has in common."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from stream.settings.values import not_empty

__all__ = ["Section"]


class Section(BaseModel):
    """Names with values. Unknown names and empty texts are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    with_rules_for_empty: ClassVar[frozenset[str]] = frozenset()
    """Settings whose own type decides what an empty text means."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_empty(cls, value: object, info: ValidationInfo) -> object:
        return value if info.field_name in cls.with_rules_for_empty else not_empty(value)
