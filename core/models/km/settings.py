"""The settings of ``u-seqanon``, ``least-loss`` and ``auto``, as they stand in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.models.common.settings import ModelSettings

__all__ = ["KmSettings"]


class KmSettings(ModelSettings):
    """The settings of these models alone; all models share others."""

    suppression_percent: Annotated[float, Field(ge=0, le=100)] = 5.0
    """Most locations of a window that ``u-seqanon`` may suppress, percent."""

    suppression_price: Annotated[float, Field(ge=0, le=1_000)] = 1.0
    """What ``least-loss`` and ``auto`` count for a suppressed visit: as much as for this many visits that are moved as
    far as if the whole window were one location. At 0 visits are suppressed first, up to ``max_suppressed``."""

    split_price: Annotated[float, Field(ge=0, le=1_000)] = 1.0
    """The same for splitting a trajectory in two with pseudonyms of their own, whose order nobody is told."""

    max_suppressed: Annotated[float, Field(ge=0, le=100)] = 5.0
    """Most visits of a window that ``least-loss`` may suppress, percent; more only where one location for the whole
    window would need it too."""

    max_split: Annotated[float, Field(ge=0, le=100)] = 5.0
    """Most splits, in percent of a window's trajectories."""

    max_work: Annotated[int, Field(ge=1)] = 50_000_000
    """How many subtrajectories ``auto`` may look at in a window, over all models that it tries; ``least-loss`` always
    is. A count and not a time, so that a replay chooses alike."""
