"""Settings of ``disassociation``, in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from core.models.common.settings import ModelSettings
from core.models.common.values import none_by_name

__all__ = ["DisassociationSettings"]


class DisassociationSettings(ModelSettings):
    """Settings of this model alone; ``stream`` adds those that all models share."""

    largest_cluster: Annotated[Annotated[int, Field(ge=3)] | None, BeforeValidator(none_by_name)] = None
    """Most people of a cluster of ``disassociation``, at least ``2 k - 1``; ten times ``k`` if not set. With
    ``sensitive_locations`` the larger one of ``k`` and ``l`` takes the place of ``k`` here."""

    rare_locations: bool = False
    """Whether ``disassociation`` releases locations that fewer than ``k`` people visited, as in the paper."""
