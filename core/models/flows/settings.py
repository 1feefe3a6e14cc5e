"""The settings of ``flows``, in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.models.common.settings import ModelSettings

__all__ = ["FlowSettings"]


class FlowSettings(ModelSettings):
    """The settings that only this model has."""

    trips: Literal["successive", "first-last"] = "successive"
    """What ``flows`` counts as a trip: ``successive`` each step from a location to the next different one,
    ``first-last`` only from a person's first location in the window to the last one."""

    max_suppressed_trips: Annotated[float, Field(ge=0, le=100)] = 100.0
    """Most trips of a window that ``flows`` may leave out to keep places small, percent. More only if one place for the
    whole window has more. At 100 the loss alone decides: a trip that is left out costs as much as one of which only the
    region of all trips is known."""
