"""The settings of ``p2ka``, as they stand in the section ``privacy``."""

from __future__ import annotations

from core.models.common.settings import ModelSettings

__all__ = ["P2kASettings"]


class P2kASettings(ModelSettings):
    """What this model can be told beside what all models share."""

    alike: bool = True
    """Whether under ``p2ka`` each released sequence is released of at least ``k`` people; without it single people can
    be found, as in the published model."""
