"""The settings of ``p2ka``, in the section ``privacy``."""

from __future__ import annotations

from core.models.common.settings import PatternSettings

__all__ = ["P2kASettings"]


class P2kASettings(PatternSettings):
    """The settings that only this model has."""

    alike: bool = True
    """Whether ``p2ka`` releases each sequence for at least ``k`` people. If not, single people can be identified, as in
    the published model."""
