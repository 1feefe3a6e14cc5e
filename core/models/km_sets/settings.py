"""The settings of the models of sets, in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from core.models.common.settings import SuppressionSettings
from core.models.common.values import none_by_name

__all__ = ["KmSetSettings"]


class KmSetSettings(SuppressionSettings):
    """The settings that only these models have."""

    people_per_part: Annotated[Annotated[int, Field(ge=2)] | None, BeforeValidator(none_by_name)] = None
    """People in each part that ``sets-lra`` generalizes on its own, at least ``k``; the last parts may have more. Ten
    times ``k`` if not set."""
