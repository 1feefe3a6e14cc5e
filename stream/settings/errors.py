"""The error that every wrong setting raises."""

from __future__ import annotations

__all__ = ["SettingsError"]


class SettingsError(Exception):
    """A setting is wrong; the message names the setting, its value and what is allowed."""
