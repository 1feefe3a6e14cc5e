"""The settings of ``zga`` and ``sga``, in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from core.models.common.settings import ModelSettings
from core.models.common.values import none_by_name

__all__ = ["KLmSettings"]


class KLmSettings(ModelSettings):
    """The settings that only these models have."""

    clusters: Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(none_by_name)] = None
    """Number of clusters of similar people for ``zga`` and ``sga``; ``none``: the number with the least loss."""

    key_patterns: Annotated[int, Field(ge=1, le=1_000)] = 10
    """Number of the most frequent subtrajectories by which ``sga`` compares people."""
