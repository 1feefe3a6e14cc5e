"""The settings of ``lkc``, in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.models.common.settings import HorizonSettings, PatternSettings
from core.models.common.values import PositiveDuration

__all__ = ["LKCSettings"]


class LKCSettings(HorizonSettings, PatternSettings):
    """The settings that only ``lkc`` has."""

    time_slot: PositiveDuration = 3_600_000
    """Length of the slots of time that ``lkc`` releases, and that its adversary knows."""

    slots_of: Literal["window", "day"] = "window"
    """Whether slots count from the window's start, or are times of day, UTC, that all days of a window share."""

    max_confidence: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Largest share of one of ``sensitive_values`` among the people who match, for ``lkc``."""

    spare: Literal["sequences", "instances"] = "sequences"
    """What ``lkc`` spares when it suppresses: frequent sequences, for mining, or visits, for counting."""

    frequent_percent: Annotated[float, Field(ge=0, le=100)] = 1.0
    """Fewest people behind a frequent sequence of ``lkc``, the paper's K', in percent of the window's people; never
    fewer than ``k``. Frequent sequences are spared, and measured."""
