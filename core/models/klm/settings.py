"""The settings of ``zga`` and ``sga``, as they stand in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from core.models.common.settings import ModelSettings
from core.models.common.values import none_by_name

__all__ = ["KLmSettings"]


class KLmSettings(ModelSettings):
    """The settings of these models alone; all models share others."""

    clusters: Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(none_by_name)] = None
    """In how many clusters of similar people ``zga`` and ``sga`` generalize, or ``none``: as many as lose least."""

    key_patterns: Annotated[int, Field(ge=1, le=1_000)] = 10
    """How many of the most frequent subtrajectories make people similar for ``sga``."""
