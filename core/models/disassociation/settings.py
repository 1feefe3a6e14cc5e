"""The settings of ``disassociation``, as they stand in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from core.models.common.settings import ModelSettings
from core.models.common.values import none_by_name

__all__ = ["DisassociationSettings"]


class DisassociationSettings(ModelSettings):
    """The settings of this model alone; all models share others."""

    largest_cluster: Annotated[Annotated[int, Field(ge=3)] | None, BeforeValidator(none_by_name)] = None
    """Most people of a cluster of ``disassociation``, at least ``2 k - 1``; ten times ``k`` where it is not set."""

    rare_locations: bool = False
    """Whether ``disassociation`` names locations that fewer than ``k`` people visited, as published."""
