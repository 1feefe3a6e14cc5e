"""The error that every wrong setting ends in."""

from __future__ import annotations

__all__ = ["SettingsError"]


class SettingsError(Exception):
    """A setting is wrong; the message is a sentence that says which, what it is, and what is allowed."""
